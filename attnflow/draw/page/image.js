// The page of a picture: what is chosen, the controls, and when what is drawn.
// @ts-check

const STRIP_SIDE = 220;

/** @param {string} id @returns {any} */
const byId = (id) => /** @type {any} */ (document.getElementById(id));

/** @param {ImageReport} data */
function start(data) {
  const { document: source, settings, layers, image } = data;
  const state = {
    method: data.methods.includes("rollout") ? "rollout" : data.methods[data.methods.length - 1],
    side: false,
    layerIndex: layers.length - 1,
    token: source.output_token,
    opacity: 65,
    smooth: false,
    grey: true,
    least: false,
    lines: false,
    ownScale: false,
    allRanks: false,
  };
  // The patch that the arrow keys start from.
  let focusPatch = data.isPatch(state.token) ? state.token : data.tokenOf({ row: 0, column: 0 });
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  let colours = new Colours(darkQuery.matches);
  /** The picture, once it is decoded. @type {HTMLImageElement | null} */
  let picture = null;

  /** @param {Partial<typeof state>} change */
  function update(change) {
    Object.assign(state, change);
    if (data.isPatch(state.token)) focusPatch = state.token;
    draw();
  }

  const shownMethods = () => (state.side ? data.methods : [state.method]);
  const name = (/** @type {number} */ i) => own(data.tokens[i].label, "name");
  const where = () => `${state.method}, layer ${layers[state.layerIndex]}: `;

  // ---- Fixed parts ----

  function describe() {
    const { model } = source;
    const parts = [model.name, model.architecture && model.architecture !== model.name ? model.architecture : ""];
    parts.push(model.layers ? `${model.layers} ${model.layers === 1 ? "layer" : "layers"} × ${model.heads} heads` : "");
    parts.push(`${data.rows} × ${data.columns} patches`);
    byId("model").textContent = parts.filter(Boolean).join(" · ");
    byId("predictions").append(...predictionSections(source));
    for (const [term, text] of imageSettings(data)) {
      if (text) byId("settings").append(html("dt", {}, term), html("dd", {}, text));
    }
    byId("notes").hidden = source.notes.length === 0;
    byId("notes").append(...source.notes.map((/** @type {string} */ note) => html("li", {}, note)));
  }

  // ---- Controls ----

  function makeControls() {
    for (const method of METHODS) {
      const input = html("input", { type: "radio", name: "method", value: method });
      input.disabled = !data.methods.includes(method);
      input.addEventListener("change", () => update({ method }));
      byId("methods").append(html("label", {}, input, html("span", {}, method)));
    }
    byId("side-control").hidden = data.methods.length < 2;
    const layer = byId("layer");
    layer.max = layers.length - 1;
    layer.disabled = layers.length < 2;
    layer.addEventListener("input", () => update({ layerIndex: Number(layer.value) }));
    const opacity = byId("opacity");
    opacity.addEventListener("input", () => {
      state.opacity = Number(opacity.value);
      drawControls();
    });
    /** @type {["side" | "smooth" | "grey" | "least" | "lines" | "ownScale", string][]} */
    const boxes = [
      ["side", "side"],
      ["smooth", "smooth"],
      ["grey", "grey"],
      ["least", "least"],
      ["lines", "lines"],
      ["ownScale", "own-scale"],
    ];
    for (const [key, id] of boxes) byId(id).addEventListener("change", () => update({ [key]: byId(id).checked }));
    byId("rank-all").addEventListener("click", () => update({ allRanks: !state.allRanks }));
    byId("controls").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
    for (const token of data.specials) {
      const button = html("button", { type: "button", "data-token": token }, own(data.tokens[token].label));
      button.addEventListener("click", () => update({ token }));
      byId("specials").append(button);
    }
    byId("specials").append(html("span", { id: "chosen-patch", class: "help" }));
  }

  function drawControls() {
    for (const input of byId("methods").querySelectorAll("input")) input.checked = input.value === state.method;
    byId("layer").value = state.layerIndex;
    byId("layer-name").textContent = `${layers[state.layerIndex]} of ${source.model.layers}`;
    byId("layer").setAttribute("aria-valuetext", `layer ${layers[state.layerIndex]}`);
    byId("opacity").value = state.opacity;
    byId("opacity-name").textContent = `${state.opacity}%`;
    byId("opacity").setAttribute("aria-valuetext", `${state.opacity}% opaque`);
    byId("side").checked = state.side;
    byId("smooth").checked = state.smooth;
    byId("grey").checked = state.grey;
    byId("least").checked = state.least;
    byId("lines").checked = state.lines;
    byId("own-scale").checked = state.ownScale;
    const page = byId("page");
    page.style.setProperty("--opacity", String(state.opacity / 100));
    page.classList.toggle("grey", state.grey);
    page.classList.toggle("lines", state.lines);
    page.classList.toggle("beside", state.side);
    for (const button of byId("specials").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.getAttribute("data-token")) === state.token));
    }
    byId("chosen-patch").textContent = data.isPatch(state.token) ? `Chosen: ${data.tokens[state.token].label}` : "";
    const heading = ["What ", own(data.tokens[state.token].label, "quote"), " draws on"];
    if (image.name) heading.push(" in “", own(shorten(image.name, 60)), "”");
    byId("heading").replaceChildren(...heading);
  }

  // ---- Over the picture ----

  /** @type {{method: string, stage: ReturnType<typeof makeStage>, title: any, legend: any, missing: any, figure: any}[]} */
  let stages = [];

  const { grid, cells } = patchGrid(data, {
    onMove: (token) => {
      update({ token });
      cells[token - data.first].focus();
    },
    current: () => focusPatch,
  });

  function makeStages() {
    stages = data.methods.map((method) => {
      const stage = makeStage(data);
      const title = html("h3", {}, method);
      const legend = html("div", { class: "legend" });
      const missing = html("div", { class: "missing", hidden: "" }, html("span", {}, `No ${method} values here`));
      stage.box.append(missing);
      const figure = html("figure", { "data-method": method }, title, stage.box, legend);
      figure.style.maxWidth = `calc(75vh * ${stage.aspect})`;
      stage.box.addEventListener("click", (/** @type {MouseEvent} */ event) => {
        const cell = /** @type {Element} */ (event.target).closest(".cell");
        const token = cell ? Number(cell.getAttribute("data-token")) : stage.patchAt(event);
        if (token === null) return;
        update({ token });
        if (cell) cells[token - data.first].focus();
      });
      stage.box.addEventListener("pointermove", (/** @type {MouseEvent} */ event) =>
        point(stage.patchAt(event), method),
      );
      stage.box.addEventListener("pointerleave", () => point(null));
      byId("stages").append(figure);
      return { method, stage, title, legend, missing, figure };
    });
    stages[0].stage.place(grid, data.seen);
  }

  /** @param {any} target @param {Scale} scale */
  function drawLegend(target, { low, top, above }) {
    colours.legend(target, top);
    target.firstChild.textContent = format(low);
    if (above > top) target.append(html("span", {}, `(itself ${format(above)})`));
  }

  function drawStages() {
    const shown = shownMethods();
    for (const { method, stage, title, legend, missing, figure } of stages) {
      figure.hidden = !shown.includes(method);
      if (figure.hidden) continue;
      const map = data.map(method, state.layerIndex, state.token);
      const scale = data.scale([map], state.token, state.least);
      paintMap(stage.map, data, map, { scale, smooth: state.smooth, colours });
      title.textContent = `${method}, layer ${layers[state.layerIndex]}`;
      missing.hidden = map !== null;
      legend.hidden = map === null;
      if (map) drawLegend(legend, scale);
      stage.pick(state.token);
      if (method === state.method && grid.parentElement !== stage.box) stage.box.append(grid);
    }
    const row = data.row(state.method, state.layerIndex, state.token);
    for (const [p, cell] of cells.entries()) {
      const token = data.first + p;
      const value = row ? row[token] : undefined;
      const said = row ? format(value) : "not computed";
      cell.setAttribute("aria-label", `${data.tokens[token].label}, ${said}`);
      cell.setAttribute("aria-selected", String(token === state.token));
      cell.tabIndex = token === focusPatch ? 0 : -1;
      cell.dataset.value = value ?? "";
    }
  }

  /** Says a value in words. @param {number | null} input @param {string} [method] */
  function point(input, method = state.method) {
    const target = byId("picture-readout");
    const row = data.row(method, state.layerIndex, state.token);
    if (!row) {
      const rows = data.outputTokens(method);
      target.replaceChildren(`No ${method} values for `, name(state.token), `: ${method} was computed for `);
      for (const [k, token] of rows.slice(0, 4).entries()) target.append(k > 0 ? ", " : "", name(token));
      target.append(rows.length > 4 ? ` and ${rows.length - 4} others.` : " only.");
      return;
    }
    const { all, patches } = data.sums(row);
    const begin = `${method}, layer ${layers[state.layerIndex]}: `;
    if (input === null) {
      target.replaceChildren(begin, html("b", {}, percent(all > 0 ? patches / all : 0)), " of what ");
      target.append(
        name(state.token),
        " draws on are patches",
        data.specials.length > 0 ? ", the rest special tokens." : ".",
      );
    } else {
      target.replaceChildren(begin, name(state.token), " draws ", html("b", {}, format(row[input])), " on ");
      target.append(name(input), all > 0 ? `, ${percent(row[input] / all)} of all` : "");
    }
  }

  // ---- Shares and ranking ----

  function drawShares() {
    const row = data.row(state.method, state.layerIndex, state.token);
    byId("shares").replaceChildren();
    if (row) {
      const { all, patches } = data.sums(row);
      const share = (/** @type {number} */ part) => (all > 0 ? part / all : 0);
      const first = shareBar(html("bdi", {}, `${data.patches} patches`), share(patches), percent(share(patches)));
      first.classList.add("all");
      byId("shares").append(first);
      for (const token of data.specials) {
        const bar = shareBar(own(data.tokens[token].label), share(row[token]), percent(share(row[token])));
        bar.setAttribute("data-token", String(token));
        bar.title = format(row[token]);
        byId("shares").append(bar);
      }
    }
    const text = [];
    if (!row) text.push(byId("picture-readout").textContent);
    else if (state.method === "flow")
      text.push("Shares of the sum of the flow values, each of which is a flow by itself.");
    else text.push("Shares of all that the output token draws on.");
    if (row && data.specials.length > 0)
      text.push("Special tokens stand for no part of the picture and are not on the map.");
    byId("share-help").textContent = text.join(" ");
  }

  function drawRanking() {
    const row = data.row(state.method, state.layerIndex, state.token);
    const flags = state.method === "flow" ? data.row("flow_degenerate", state.layerIndex, state.token) : null;
    const ranking = data
      .ranking(state.method, state.layerIndex, state.token, false)
      .filter(({ token }) => data.isPatch(token));
    // Ranks among the patches: ties share one.
    const ranks = new Map();
    for (const [at, { rank }] of ranking.entries()) if (!ranks.has(rank)) ranks.set(rank, at + 1);
    const shown = state.allRanks ? ranking : ranking.slice(0, settings.top_k);
    const all = row ? data.sums(row).all : 0;
    const largest = ranking.length > 0 ? ranking[0].value : 0;
    const head = html("tr", {}, html("th", { scope: "col", class: "number" }, "Rank"));
    head.append(html("td"), html("th", { scope: "col" }, "Patch"));
    head.append(html("th", { scope: "col", class: "number by" }, state.method));
    head.append(html("th", { scope: "col", class: "number" }, "of all"));
    const body = html("tbody");
    for (const { token, rank, value } of shown) {
      const number = html("td", { class: "number by", "data-value": value }, format(value));
      number.style.setProperty("--share", String(largest > 0 ? value / largest : 0));
      if (flags?.[token]) number.append("°");
      const button = html("button", { type: "button", title: "Choose this patch" }, data.tokens[token].piece);
      button.addEventListener("click", () => update({ token }));
      const line = html("tr", { "data-token": token, class: token === state.token ? "chosen" : "" });
      line.append(html("td", { class: "number" }, String(ranks.get(rank))), html("td", { class: "cut" }));
      if (picture) line.children[1].append(thumbnail(data, token, picture));
      line.append(html("th", { scope: "row" }, button), number);
      line.append(html("td", { class: "number" }, percent(all > 0 ? value / all : 0)));
      body.append(line);
    }
    byId("rank").replaceChildren(html("table", {}, html("thead", {}, head), body));
    const help = [];
    const degenerate = flags ? ranking.filter(({ token }) => flags[token]).length : 0;
    if (degenerate > 0) {
      help.push(
        `° ${degenerate} of ${ranking.length} flow values repeat the first layer's attention or are as large as they can be; layers between do not matter.`,
      );
    }
    if (!row) help.push(byId("picture-readout").textContent);
    byId("rank-help").textContent = help.join(" ");
    byId("rank-all").hidden = ranking.length <= settings.top_k;
    byId("rank-all").textContent = state.allRanks ? `Show the first ${settings.top_k}` : `Show all ${ranking.length}`;
  }

  // ---- By layer ----

  /** @type {{method: string, strip: any, legend: any, figure: any, items: {button: any, stage: any}[]}[]} */
  let strips = [];

  function makeStrips() {
    strips = data.methods.map((method) => {
      const legend = html("div", { class: "legend" });
      const title = html("h3", {}, method);
      const strip = html("div", { class: "strip", role: "listbox", "aria-orientation": "horizontal" });
      strip.setAttribute("aria-label", `Layers, ${method}`);
      const items = layers.map((layer, index) => {
        const stage = makeStage(data);
        const label = html("span", { class: "name" }, `layer ${layer}`);
        const button = html("div", { class: "layer", role: "option", "data-layer": layer }, stage.box, label);
        button.addEventListener("click", () => {
          update({ layerIndex: index, method });
          button.focus();
        });
        strip.append(button);
        return { button, stage };
      });
      strip.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const last = layers.length;
        const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -last, End: last };
        if (!(event.key in moves)) return;
        const step = moves[/** @type {keyof typeof moves} */ (event.key)];
        update({ layerIndex: Math.max(0, Math.min(last - 1, state.layerIndex + step)), method });
        items[state.layerIndex].button.focus();
        event.preventDefault();
      });
      const figure = html(
        "figure",
        { "data-method": method },
        html("div", { class: "strip-head" }, title, legend),
        strip,
      );
      byId("strips").append(figure);
      return { method, strip, legend, figure, items };
    });
  }

  function drawStrips() {
    const shown = shownMethods();
    for (const { method, strip, legend, figure, items } of strips) {
      figure.hidden = !shown.includes(method);
      if (figure.hidden) continue;
      const maps = layers.map((_, index) => data.map(method, index, state.token));
      const scale = data.scale(maps, state.token, state.least);
      strip.hidden = maps[0] === null;
      legend.replaceChildren(maps[0] === null ? `no values for ${data.tokens[state.token].label}` : "");
      if (maps[0] === null) continue;
      if (state.ownScale) legend.replaceChildren("from the palest to the darkest of each layer");
      else drawLegend(legend, scale);
      for (const [index, { button, stage }] of items.entries()) {
        const own = state.ownScale ? data.scale([maps[index]], state.token, state.least) : scale;
        paintMap(stage.map, data, maps[index], { scale: own, smooth: state.smooth, colours, side: STRIP_SIDE / 2 });
        stage.pick(state.token);
        button.setAttribute("aria-selected", String(index === state.layerIndex));
        button.tabIndex = index === state.layerIndex ? 0 : -1;
      }
    }
    byId("layers-card").hidden = layers.length < 2;
  }

  // ---- Drawing ----

  function draw() {
    drawControls();
    drawStages();
    drawStrips();
    point(null);
    drawShares();
    drawRanking();
    const row = data.map(state.method, state.layerIndex, state.token);
    const best = row ? [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3) : [];
    const strongest = best.map((p) => `${data.tokens[data.first + p].label} ${format(row?.[p])}`).join(", ");
    byId("live").textContent = `${where()}${data.tokens[state.token].label}: ${strongest || "not computed"}`;
  }

  /** @param {boolean} dark */
  function recolour(dark) {
    colours = new Colours(dark);
    draw();
  }

  byId("page").hidden = false;
  describe();
  makeControls();
  makeStages();
  makeStrips();
  draw();
  darkQuery.addEventListener("change", () => recolour(darkQuery.matches));
  addEventListener("beforeprint", () => recolour(false));
  addEventListener("afterprint", () => recolour(darkQuery.matches));

  const loaded = new Image();
  loaded.src = `data:image/png;base64,${image.picture.data}`;
  loaded.decode().then(
    () => {
      picture = loaded;
      for (const { stage } of stages) paintPhoto(stage, loaded, Infinity);
      for (const { items } of strips) for (const { stage } of items) paintPhoto(stage, loaded, STRIP_SIDE);
      drawRanking();
      byId("page").dataset.ready = "";
    },
    () => {
      byId("failure").hidden = false;
      byId("failure").textContent =
        "The picture in this page could not be read; maps and numbers are shown without it.";
    },
  );
}

try {
  const data = new ImageReport(JSON.parse(byId("report").textContent));
  if (data.methods.length === 0) throw new Error("expected values of raw, rollout or flow, found none");
  start(data);
} catch (error) {
  byId("failure").hidden = false;
  byId("failure").textContent = `This page could not be drawn: ${/** @type {Error} */ (error).message}`;
  throw error;
}
