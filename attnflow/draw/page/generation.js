// The page of a generation: what is chosen, the controls, and when what is drawn.
// @ts-check

const STEP_MILLISECONDS = 900;
const POINT_HINT = "Point at a cell to read its value.";

/** @param {string} id @returns {any} */
const byId = (id) => /** @type {any} */ (document.getElementById(id));

/** @param {GenerationData} data */
function start(data) {
  const { document: source, generation, settings, n, count } = data;
  const state = {
    method: data.methods.includes("rollout") ? "rollout" : data.methods[0],
    normalized: false,
    token: 0,
    span: "all",
    from: 0, // layers, set by makeControls
    to: 0,
    special: false,
    rules: data.dropped.map(() => true),
    pattern: /** @type {RegExp | null} */ (null),
    byHand: new Map(),
    allRanks: false,
  };
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  let colours = new Colours(darkQuery.matches);
  let timer = 0;

  // ---- What is chosen ----

  /** Positions in the method's layers. */
  function chosenLayers() {
    const layers = data.layersOf(state.method);
    const all = [...layers.keys()];
    if (state.span === "last") return all.slice(-1);
    const from = state.span === "all" ? layers[0] : state.from;
    const to = state.span === "all" ? layers.at(-1) : state.span === "one" ? state.from : state.to;
    return all.filter((at) => layers[at] >= from && layers[at] <= to);
  }

  const choice = (token = state.token, layers = chosenLayers()) => ({
    method: state.method,
    normalized: state.normalized && data.hasNormalized(state.method),
    token,
    layers,
  });

  /** "mean over layers 1–6" @param {number[]} positions */
  function spanText(positions) {
    const layers = positions.map((at) => data.layersOf(state.method)[at]);
    if (layers.length === 1) return `layer ${layers[0]}`;
    const contiguous = layers[layers.length - 1] - layers[0] === layers.length - 1;
    return `mean over ${contiguous ? "" : `${layers.length} of the `}layers ${layers[0]}–${layers.at(-1)}`;
  }

  /** @param {Partial<typeof state>} change */
  function update(change) {
    Object.assign(state, change);
    draw();
  }

  /** Another generated token, as far as there are any. @param {number} token */
  const step = (token) => update({ token: Math.max(0, Math.min(count - 1, token)) });

  /** @param {ReportData} text @param {number} i */
  function name(text, i) {
    const index = html("span", { class: "index" }, String(i));
    return html("span", {}, own(shorten(text.tokens[i].label, 40), "name"), " ", index);
  }

  // ---- Fixed parts ----

  function describeModel() {
    const { model } = source;
    const parts = [model.name, model.architecture && model.architecture !== model.name ? model.architecture : ""];
    parts.push(model.layers ? `${model.layers} layers × ${model.heads} heads` : "");
    parts.push(`${n} prompt ${settings.words ? "words" : "tokens"}`, `${count} generated`);
    byId("model").textContent = parts.filter(Boolean).join(" · ");
  }

  function describeSettings() {
    for (const [term, text] of settingsRows(data)) {
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
      input.addEventListener("change", () => {
        state.method = method;
        fillLayers();
        draw();
      });
      byId("methods").append(html("label", {}, input, html("span", {}, method)));
    }
    byId("normalized-control").hidden = !data.methods.some((method) => data.hasNormalized(method));
    byId("normalized").addEventListener("change", () => update({ normalized: byId("normalized").checked }));
    byId("layers").addEventListener("change", () => update({ span: byId("layers").value }));
    const range = () => {
      const from = Number(byId("from-layer").value);
      const to = Number(byId("to-layer").value);
      update({ from: state.span === "one" ? from : Math.min(from, to), to: Math.max(from, to) });
    };
    for (const id of ["from-layer", "to-layer"]) byId(id).addEventListener("change", range);
    byId("previous").addEventListener("click", () => step(state.token - 1));
    byId("next").addEventListener("click", () => step(state.token + 1));
    byId("play").addEventListener("click", () => play(timer === 0));
    byId("rank-all").addEventListener("click", () => update({ allRanks: !state.allRanks }));
    byId("controls").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
    addEventListener("keydown", (event) => {
      const target = /** @type {Element} */ (event.target);
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (target.closest("input, select, .strip, .scroll") || !/^Arrow(Left|Right)$/u.test(event.key)) return;
      step(state.token + (event.key === "ArrowRight" ? 1 : -1));
      event.preventDefault();
    });
    fillLayers();
  }

  /** The layers of the method, in the two lists. */
  function fillLayers() {
    const layers = data.layersOf(state.method);
    if (!layers.includes(state.from)) state.from = layers[0];
    if (!layers.includes(state.to)) state.to = layers[layers.length - 1];
    for (const id of ["from-layer", "to-layer"]) {
      byId(id).replaceChildren(...layers.map((layer) => html("option", { value: layer }, String(layer))));
    }
    byId("layers").disabled = layers.length < 2;
  }

  /** @param {boolean} on */
  function play(on) {
    clearInterval(timer);
    timer = 0;
    if (on) {
      if (state.token === count - 1) step(0);
      timer = setInterval(() => {
        step(state.token + 1);
        if (state.token === count - 1) play(false);
      }, STEP_MILLISECONDS);
    }
    byId("play").textContent = on ? "Pause" : "Play";
    byId("play").setAttribute("aria-pressed", String(on));
  }

  function drawControls() {
    for (const input of byId("methods").querySelectorAll("input")) input.checked = input.value === state.method;
    byId("step").textContent = `${state.token + 1} of ${count}`;
    byId("previous").disabled = state.token === 0;
    byId("next").disabled = state.token === count - 1;
    byId("layers").value = state.span;
    byId("layer-range").hidden = state.span === "all" || state.span === "last";
    byId("to-part").hidden = state.span === "one";
    byId("from-name").textContent = state.span === "one" ? "layer" : "from";
    byId("from-layer").value = state.from;
    byId("to-layer").value = state.to;
    byId("normalized").disabled = !data.hasNormalized(state.method);
    byId("normalized").checked = choice().normalized;
    const shown = own(shorten(data.said.tokens[state.token].label, 40), "quote");
    byId("heading").replaceChildren(`What token ${state.token} “`, shown, "” drew on");
  }

  // ---- Filters ----

  /** @type {{input: any, share: any}[]} */
  const filters = [];

  function makeFilters() {
    /** @param {string} text @param {boolean} checked @param {(on: boolean) => void} change */
    const add = (text, checked, change) => {
      const input = html("input", { type: "checkbox" });
      input.checked = checked;
      input.addEventListener("change", () => {
        change(input.checked);
        draw();
      });
      const share = html("span", { class: "index" });
      byId("filters").append(html("label", {}, input, " ", own(text), " ", share));
      filters.push({ input, share });
    };
    add("special tokens", state.special, (on) => (state.special = on));
    filters[0].input.parentElement.hidden = !data.tokens.some((token) => token.special);
    for (const [k, { rule }] of data.dropped.entries()) add(rule, true, (on) => (state.rules[k] = on));
    const pattern = byId("pattern");
    pattern.addEventListener("input", () => {
      let problem = "";
      state.pattern = null;
      try {
        if (pattern.value) state.pattern = new RegExp(pattern.value, "iu");
      } catch (error) {
        problem = `Not a regular expression yet: ${/** @type {Error} */ (error).message}`;
      }
      byId("pattern-problem").textContent = problem;
      pattern.setAttribute("aria-invalid", String(problem !== ""));
      draw();
    });
    byId("reset").addEventListener("click", () => {
      pattern.value = "";
      byId("pattern-problem").textContent = "";
      pattern.setAttribute("aria-invalid", "false");
      update({ special: false, rules: state.rules.map(() => false), pattern: null, byHand: new Map() });
    });
  }

  /** @param {number} j */
  function toggle(j) {
    const byHand = new Map(state.byHand);
    const isAside = data.aside(state)[j] !== "";
    // Without the clicks it may stand where this click wants it.
    byHand.delete(j);
    if ((data.aside({ ...state, byHand })[j] !== "") === isAside) byHand.set(j, !isAside);
    update({ byHand });
  }

  /** @param {Float64Array | null} values @param {string[]} reasons */
  function drawFilters(values, reasons) {
    const mass = values?.reduce((a, b) => a + b, 0) ?? 0;
    const share = (/** @type {(j: number) => boolean} */ of) =>
      values && mass > 0 ? percent(values.reduce((sum, value, j) => sum + (of(j) ? value : 0), 0) / mass) : "–";
    filters[0].input.checked = state.special;
    filters[0].share.textContent = share((j) => data.tokens[j].special);
    for (const [k, { tokens }] of data.dropped.entries()) {
      const own = new Set(tokens);
      filters[k + 1].input.checked = state.rules[k];
      filters[k + 1].share.textContent =
        `${own.size} ${own.size === 1 ? "token" : "tokens"}, ${share((j) => own.has(j))}`;
    }
    const { size } = state.byHand;
    byId("toggled").textContent = size > 0 ? `${size} ${size === 1 ? "token" : "tokens"} changed by a click.` : "";
    byId("reset").disabled = reasons.every((reason) => reason === "");
  }

  /** Where the mass lies, in words. @param {Float64Array | null} values @param {string[]} reasons */
  function drawShares(values, reasons) {
    if (!values) return byId("shares").replaceChildren();
    const mass = values.reduce((a, b) => a + b, 0);
    const elsewhere = data.generatedShare(choice(), mass);
    const first =
      elsewhere === null
        ? "How much lies on generated tokens was not kept. "
        : `Of what it drew on, ${percent(1 - elsewhere)} lies on the prompt and ${percent(elsewhere)} on generated tokens. `;
    /** @type {Map<string, number>} */
    const byReason = new Map();
    for (const [j, reason] of reasons.entries()) {
      if (reason) byReason.set(reason, (byReason.get(reason) ?? 0) + values[j]);
    }
    const all = [...byReason.values()].reduce((a, b) => a + b, 0);
    const parts = [...byReason].map(([reason, held]) => `${reason} ${percent(mass > 0 ? held / mass : 0)}`);
    const aside = html("b", { id: "aside-share" }, percent(mass > 0 ? all / mass : 0));
    byId("shares").replaceChildren(first, "Set aside: ", aside, " of the prompt's part");
    byId("shares").append(parts.length > 0 ? ` (${parts.join(", ")}).` : ".");
  }

  // ---- The texts ----

  let promptTokens = /** @type {any[]} */ ([]);
  let saidTokens = /** @type {any[]} */ ([]);
  let promptFocus = 0;

  function makeTexts() {
    promptTokens = textStrip(byId("prompt"), data, {
      role: "button",
      onChoose: (token) => {
        focusPrompt(token);
        toggle(token);
      },
      onMove: focusPrompt,
      onPoint: point,
      current: () => promptFocus,
    });
    saidTokens = textStrip(byId("generated"), data.said, {
      role: "option",
      onChoose: (token) => {
        step(token);
        saidTokens[token].focus();
      },
      onMove: step,
      onPoint: () => point(null),
      current: () => state.token,
    });
    focusPrompt(0);
  }

  /** @param {number} token */
  function focusPrompt(token) {
    promptFocus = token;
    for (const [j, element] of promptTokens.entries()) element.tabIndex = j === token ? 0 : -1;
  }

  /** @param {Float64Array | null} values @param {string[]} reasons */
  function drawTexts(values, reasons) {
    const { top, above } = data.scale([values], [state.token], reasons);
    const paint = (/** @type {any} */ element, /** @type {number | undefined} */ value) => {
      element.style.backgroundColor = value === undefined ? "" : colours.css(value, top);
      element.style.color = value === undefined ? "" : colours.ink(value, top);
      element.classList.toggle("above", value !== undefined && value > top * (1 + 1e-6));
    };
    for (const [j, element] of promptTokens.entries()) {
      paint(element, values && !reasons[j] ? values[j] : undefined);
      element.classList.toggle("left-out", reasons[j] !== "");
      element.setAttribute("aria-pressed", String(reasons[j] !== ""));
      const said = reasons[j] ? `, set aside (${reasons[j]})` : "";
      element.setAttribute(
        "aria-label",
        `${data.tokens[j].label}, ${values ? format(values[j]) : "not computed"}${said}`,
      );
      element.dataset.value = values ? values[j] : "";
    }
    const { normalized } = choice();
    const columns = normalized ? null : data.mean(`${state.method}_generated`, choice(), count);
    for (const [s, element] of saidTokens.entries()) {
      paint(element, columns && s < state.token ? columns[s] : undefined);
      element.classList.toggle("later", s > state.token);
      element.setAttribute("aria-selected", String(s === state.token));
      element.setAttribute("aria-label", `generated token ${s}: ${data.said.tokens[s].label}`);
      element.tabIndex = s === state.token ? 0 : -1;
    }
    byId("text-legend").hidden = values === null;
    drawLegend("text-legend", top, above);
    keepInView(byId("generated"), saidTokens[state.token]);
  }

  /** Scrolls a strip, not the page. @param {any} strip @param {any} element */
  function keepInView(strip, element) {
    const box = strip.getBoundingClientRect();
    const own = element.getBoundingClientRect();
    if (own.top < box.top || own.bottom > box.bottom) strip.scrollTop += own.top - box.top - box.height / 3;
  }

  /** @param {string} id @param {number} top @param {number} above the largest value */
  function drawLegend(id, top, above) {
    colours.legend(byId(id), top);
    if (above <= top) return;
    const corner = html("span", { class: "corner", "aria-hidden": "true" });
    corner.style.backgroundColor = colours.css(top, top);
    byId(id).append(corner, html("span", {}, `up to ${format(above)}`));
  }

  /** Says a value in words. @param {number | null} input a prompt token */
  function point(input) {
    const target = byId("text-readout");
    const chosen = choice();
    const values = data.values(chosen);
    const where = `${state.method}${chosen.normalized ? ", normalised" : ""}, ${spanText(chosen.layers)}: `;
    const output = name(data.said, state.token);
    if (!values) {
      const rows = data.rowsOf(state.method);
      target.replaceChildren(`No ${state.method} values for `, output, "; they were computed for ");
      for (const [k, t] of rows.slice(0, 4).entries()) target.append(k > 0 ? ", " : "", name(data.said, t));
      target.append(rows.length > 4 ? " and others." : ".");
    } else if (input === null) {
      const best = data.strongest(chosen, data.aside(state))[0];
      target.replaceChildren(where, output, " drew most on ");
      if (best) target.append(name(data, best.token), ` (${format(best.value)})`);
      else target.append("nothing that is not set aside");
    } else {
      const mass = values.reduce((a, b) => a + b, 0);
      target.replaceChildren(where, output, " drew ", html("b", {}, format(values[input])), " on ", name(data, input));
      if (mass > 0) target.append(`, ${percent(values[input] / mass)} of the prompt's part`);
      const reason = data.aside(state)[input];
      if (reason) target.append(` (set aside: ${reason})`);
    }
  }

  // ---- Ranking ----

  /** @param {Float64Array | null} values @param {string[]} reasons */
  function drawRanking(values, reasons) {
    const ranking = data.strongest(choice(), reasons);
    const shown = state.allRanks ? ranking : ranking.slice(0, settings.top_k);
    const mass = values?.reduce((a, b) => a + b, 0) ?? 0;
    const largest = ranking[0]?.value ?? 0;
    const head = html("tr", {}, html("th", { scope: "col", class: "number" }, "Rank"));
    head.append(html("th", { scope: "col" }, "Token"));
    head.append(html("th", { scope: "col", class: "number by" }, state.method));
    head.append(html("th", { scope: "col", class: "number" }, "of the prompt"));
    const body = html("tbody");
    for (const { token, rank, value, degenerate } of shown) {
      const number = html("td", { class: "number by", "data-value": value }, format(value));
      number.style.setProperty("--share", String(value / largest));
      if (degenerate) number.append(html("span", { class: "mark" }, "°"));
      const line = html("tr", { "data-token": token }, html("td", { class: "number" }, String(rank)));
      line.append(html("th", { scope: "row" }, name(data, token)), number);
      line.append(html("td", { class: "number" }, percent(value / mass)));
      body.append(line);
    }
    byId("rank").replaceChildren(html("table", {}, html("thead", {}, head), body));
    const degenerate = ranking.filter((entry) => entry.degenerate).length;
    const help = [];
    if (degenerate > 0) {
      help.push(
        `° ${degenerate} of ${ranking.length} flow values repeat the first layer's attention or are as large as they can be; layers between do not matter.`,
      );
    }
    if (ranking.length === 0) help.push(byId("text-readout").textContent);
    byId("rank-help").textContent = help.join(" ");
    byId("rank-all").hidden = ranking.length <= settings.top_k;
    byId("rank-all").textContent = state.allRanks ? `Show the first ${settings.top_k}` : `Show all ${ranking.length}`;
  }

  function drawChoices() {
    const token = generation.tokens[state.token];
    byId("choices").replaceChildren(...choiceBars(token));
    const how = generation.temperature > 0 ? ", before temperature and cuts" : "";
    byId("choices-help").textContent =
      `Probability of the chosen token ${format(token.probability)}, with the most probable alternatives${how}.`;
  }

  // ---- Maps ----

  /** Rows of the whole map, kept while method and layers stay. @type {{key: string, rows: (Float64Array | null)[]}} */
  let kept = { key: "", rows: [] };

  function mapRows() {
    const chosen = choice();
    const key = [chosen.method, chosen.normalized, ...chosen.layers].join();
    if (kept.key !== key) {
      kept = { key, rows: data.rowsOf(state.method).map((token) => data.values({ ...chosen, token })) };
    }
    return kept.rows;
  }

  /** @param {string} id @param {number} row @param {number} column @param {string} where */
  function pointAt(id, value, column, where) {
    byId(id).replaceChildren(where, " drew ", html("b", {}, format(value)), " on ", name(data, column));
  }

  function drawMaps(reasons = data.aside(state)) {
    const columns = data.tokens.map(({ label }, j) => ({ label, aside: reasons[j] !== "" }));
    const layers = data.layersOf(state.method);
    const isKnown = data.values(choice()) !== null;
    byId("heat-card").hidden = !isKnown;
    if (isKnown) {
      const chosen = new Set(chosenLayers());
      // The last layer on top.
      const order = [...layers.keys()].reverse();
      const rows = order.map((at) => data.values(choice(state.token, [at])));
      const { top, above } = data.scale(rows, Array(rows.length).fill(state.token), reasons);
      const isShare = data.sinkShare(state.token, layers[0]) !== null;
      const map = cellMap({
        name: `Picture of ${layers.length} layers by ${n} prompt tokens; the ranking has the numbers.`,
        rows: order.map((at) => {
          const share = data.sinkShare(state.token, layers[at]);
          const isChosen = chosen.has(at) && chosen.size < layers.length;
          return { label: `Layer ${layers[at]}`, chosen: isChosen, side: share === null ? "" : percent(share) };
        }),
        columns,
        value: (r, c) => rows[r]?.[c],
        top,
        colours,
        width: byId("heat").clientWidth,
        sideName: isShare ? "on first" : "",
        onRow: (r) => layers.length > 1 && update({ span: "one", from: layers[order[r]] }),
        onPoint: (r, c) => pointAt("heat-readout", rows[r]?.[c], c, `Layer ${layers[order[r]]}:`),
      });
      byId("heat").replaceChildren(map);
      drawLegend("heat-legend", top, above);
      byId("heat-readout").textContent = POINT_HINT;
    }
    const rows = mapRows();
    const tokens = data.rowsOf(state.method);
    const { top, above } = data.scale(rows, tokens, reasons);
    const map = cellMap({
      name: `Picture of ${tokens.length} generated tokens by ${n} prompt tokens, ${spanText(chosenLayers())}.`,
      rows: tokens.map((t) => ({ label: data.said.tokens[t].label, chosen: t === state.token })),
      columns,
      value: (r, c) => rows[r]?.[c],
      top,
      colours,
      width: byId("map").clientWidth,
      onRow: (r) => step(tokens[r]),
      onPoint: (r, c) => pointAt("map-readout", rows[r]?.[c], c, `“${data.said.tokens[tokens[r]].label}”`),
    });
    byId("map").replaceChildren(map);
    drawLegend("map-legend", top, above);
    byId("map-readout").textContent = POINT_HINT;
  }

  // ---- Drawing ----

  function draw() {
    const reasons = data.aside(state);
    const values = data.values(choice());
    drawControls();
    drawTexts(values, reasons);
    point(null);
    drawShares(values, reasons);
    drawFilters(values, reasons);
    drawRanking(values, reasons);
    drawChoices();
    drawMaps(reasons);
    const best = data.strongest(choice(), reasons).slice(0, 3);
    const strongest = best.map(({ token, value }) => `${data.tokens[token].label} ${format(value)}`).join(", ");
    byId("live").textContent =
      `Generated token ${state.token}, ${data.said.tokens[state.token].label}: ${strongest || "nothing"}`;
  }

  /** @param {boolean} dark */
  function recolour(dark) {
    colours = new Colours(dark);
    draw();
  }

  byId("page").hidden = false;
  document.body.append(
    svg("svg", { width: 0, height: 0, "aria-hidden": "true", class: "visually-hidden" }, hatching()),
  );
  describeModel();
  describeSettings();
  makeControls();
  makeFilters();
  makeTexts();
  draw();
  darkQuery.addEventListener("change", () => recolour(darkQuery.matches));
  addEventListener("beforeprint", () => recolour(false));
  addEventListener("afterprint", () => recolour(darkQuery.matches));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    drawMaps();
  });
}

try {
  const data = new GenerationData(JSON.parse(byId("report").textContent));
  if (data.count === 0 || data.n === 0) throw new Error("expected prompt tokens and generated ones, found none");
  if (data.methods.length === 0) throw new Error("expected values of raw, rollout or flow, found none");
  start(data);
} catch (error) {
  byId("failure").hidden = false;
  byId("failure").textContent = `This page could not be drawn: ${/** @type {Error} */ (error).message}`;
  throw error;
}
