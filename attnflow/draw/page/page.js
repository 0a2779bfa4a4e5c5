// The page: what is chosen, the controls, and when which view is drawn.
// @ts-check

const MOST_GRAPH_TOKENS = 48;

/** @param {string} id @returns {any} */
const byId = (id) => /** @type {any} */ (document.getElementById(id));

/** What gradients make of the attention, in words. @param {ReportData} report */
function gradientMixing(report) {
  const { target } = report.document;
  const score = target?.kind === "next" ? "the next token" : "class";
  const of = target ? ` for ${score} “${visible(target.label)}”` : "";
  const rows =
    report.settings.mixing === "gradient" ? "for flow, rows divided by their sums" : "rows divided by their sums";
  return `gradient-adjusted attention${of}; identity added, ${rows}`;
}

/** @param {ReportData} report */
function start(report) {
  const { document: source, settings, n, layers } = report;
  const state = {
    method: report.methods.at(-1) ?? "raw",
    layerIndex: layers.length - 1,
    token: source.output_token,
    // [CLS] and [SEP] often take most of the mass, and every other token would look alike.
    skipSpecial: report.hasSpecial,
    allRanks: false,
    ownScale: false,
    allGraph: source.all_output_tokens,
  };
  // Rollout is the method whose values neither stay in one layer nor saturate; start there when it is present.
  if (report.methods.includes("rollout")) state.method = "rollout";
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  let colours = new Colours(darkQuery.matches);
  const counts = (/** @type {number} */ i) => !(state.skipSpecial && report.tokens[i].special);
  const name = (/** @type {number} */ i) => {
    const index = html("span", { class: "index" }, String(i));
    return html("span", {}, own(shorten(report.tokens[i].label, 40), "name"), " ", index);
  };
  const plainName = (/** @type {number} */ i) => `${i} “${report.tokens[i].label}”`;

  /** @param {Partial<typeof state>} change */
  function update(change) {
    Object.assign(state, change);
    draw();
  }

  // ---- Fixed parts ----

  function describeModel() {
    const { model } = source;
    const parts = [model.name, model.architecture && model.architecture !== model.name ? model.architecture : ""];
    parts.push(model.layers ? `${model.layers} ${model.layers === 1 ? "layer" : "layers"} × ${model.heads} heads` : "");
    parts.push(model.causal ? "causal" : "", `${n} ${n === 1 ? "token" : "tokens"}`);
    byId("model").textContent = parts.filter(Boolean).join(" · ");
  }

  function describeText() {
    const { text, text_pair: pair } = source.input;
    const shown = [text, pair].filter((/** @type {string} */ part) => part?.trim());
    byId("input-text").hidden = shown.length === 0;
    for (const part of shown) byId("input-text").append(html("span", { title: part }, "“", own(part), "”"));
  }

  function describePredictions() {
    for (const prediction of source.predictions ?? []) {
      const masked = prediction.kind === "masked";
      const next = prediction.kind === "next";
      const title = html("h2", {}, masked ? "Prediction at " : next ? "Prediction of the next token" : "Prediction");
      if (masked) title.append(name(prediction.position));
      const bars = html("ol", { class: "bars" });
      const add = (/** @type {{label: string, probability: number}} */ choice) => {
        const bar = html("span", { class: "bar" });
        bar.style.width = `${100 * choice.probability}%`;
        const track = html("span", { class: "track", "aria-hidden": "true" }, bar);
        const number = html("span", { class: "number" }, format(choice.probability));
        bars.append(html("li", {}, own(choice.label), track, number));
      };
      prediction.choices.slice(0, 5).forEach(add);
      if (prediction.candidates.length > 0) bars.append(html("li", { class: "help" }, "Candidates"));
      prediction.candidates.forEach(add);
      byId("predictions").append(html("section", {}, title, bars));
    }
  }

  function describeSettings() {
    const heads = { mean: "mean over heads", max: "maximum over heads", min: "minimum over heads" };
    const normalisations = { none: "none, as computed", row: "each output token's values sum to 1" };
    const asides = { none: "", first: "the first token", special: "special tokens" };
    const flow = report.methods.includes("flow");
    const contiguous = layers.length > 2 && layers.at(-1) === layers[0] + layers.length - 1;
    const computed = contiguous ? `${layers[0]} to ${layers.at(-1)}` : layers.join(", ");
    const rows = [
      ["Methods", settings.method.join(", ")],
      ["Mixing", report.gradient ? gradientMixing(report) : ""],
      ["Heads", heads[settings.heads] ?? `head ${settings.heads} in the layer looked at, the mean in those below`],
      ["Residual", report.gradient ? "" : `${settings.residual} of each token stays in place in every layer`],
      ["Layers", `${computed}, each down to ${settings.to_layer ? `layer ${settings.to_layer}` : "the input"}`],
      ["Discarded", settings.discard ? `the smallest ${100 * settings.discard}% of each layer's weights` : ""],
      ["Set aside", asides[settings.set_aside] ?? `tokens ${settings.set_aside}`],
      ["Normalisation", normalisations[settings.normalize] ?? `by ${settings.normalize.replace("-", " ")}`],
      ["Tokens", settings.words ? "pieces of a word merged" : ""],
      ["[?]", report.hasUnknown ? "marks what is not in the model's vocabulary; such words look the same to it" : ""],
      ["Flow", flow ? `certified lower ends, at most ${format(source.flow_gap_max)} below the true maximum` : ""],
      ["Precision here", source.arrays.raw?.dtype === "f16" ? "3 digits; a json or npz file has all of them" : ""],
      ["attnflow report", `version ${source.version}`],
    ];
    for (const [term, text] of rows) {
      if (text) byId("settings").append(html("dt", {}, term), html("dd", {}, text));
    }
  }

  function describeNotes() {
    byId("notes").hidden = source.notes.length === 0;
    byId("notes").append(...source.notes.map((/** @type {string} */ note) => html("li", {}, note)));
  }

  // ---- Controls ----

  function makeControls() {
    for (const method of METHODS) {
      const input = html("input", { type: "radio", name: "method", value: method });
      input.disabled = !report.methods.includes(method);
      input.addEventListener("change", () => update({ method }));
      byId("methods").append(html("label", {}, input, html("span", {}, method)));
    }
    const layer = byId("layer");
    layer.max = layers.length - 1;
    layer.disabled = layers.length < 2;
    layer.addEventListener("input", () => update({ layerIndex: Number(layer.value) }));
    const select = byId("output-token");
    for (const [i, token] of report.tokens.entries()) {
      select.append(html("option", { value: i, dir: "auto", lang: "" }, `${i}: ${shorten(token.label, 24)}`));
    }
    select.addEventListener("change", () => update({ token: Number(select.value) }));
    byId("special-control").hidden = !report.hasSpecial;
    byId("skip-special").addEventListener("change", () => update({ skipSpecial: byId("skip-special").checked }));
    byId("own-scale").addEventListener("change", () => update({ ownScale: byId("own-scale").checked }));
    byId("graph-all").addEventListener("change", () => update({ allGraph: byId("graph-all").checked }));
    byId("rank-all").addEventListener("click", () => update({ allRanks: !state.allRanks }));
    byId("controls").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  }

  function drawControls() {
    for (const input of byId("methods").querySelectorAll("input")) input.checked = input.value === state.method;
    byId("layer").value = state.layerIndex;
    const layer = layers[state.layerIndex];
    byId("layer-name").textContent = `${layer} of ${report.model.layers}`;
    byId("layer").setAttribute("aria-valuetext", `layer ${layer}`);
    byId("output-token").value = state.token;
    byId("skip-special").checked = state.skipSpecial;
    byId("own-scale").checked = state.ownScale;
    byId("graph-all").checked = state.allGraph;
    byId("heading").replaceChildren("What ", own(shorten(report.tokens[state.token].label, 40), "quote"), " draws on");
  }

  // ---- The text ----

  /** @type {any[]} */
  const options = [];

  function makeStrip() {
    const strip = byId("strip");
    const line = () => html("div", { class: "line", role: "group", "aria-label": "text", dir: "auto", lang: "" });
    let current = line();
    strip.append(current);
    for (const part of report.stripParts()) {
      if ("line" in part) {
        strip.append((current = line()));
      } else if ("gap" in part) {
        current.append(part.gap);
      } else {
        const { token, chip } = part;
        const { label, special, unknown, segment, begin, end } = report.tokens[token];
        // A chip is not part of the text: the direction of the line must not depend on it.
        const attributes = { role: "option", "data-token": token, class: chip ? "token chip" : "token" };
        const option = html("span", chip ? { ...attributes, dir: "auto" } : attributes);
        // A token whose characters an earlier one has shown already (a piece of an emoji) continues it.
        const shown = begin === end ? label : `…${label}`;
        option.textContent = chip ? shown : report.slice(segment, begin, end);
        if (special) option.classList.add("special");
        if (unknown) option.classList.add("unknown");
        if (!chip && option.textContent.includes("\n")) option.classList.add("line-break");
        options[token] = option;
        current.append(option);
      }
    }
    const tokenOf = (/** @type {Event} */ event) => {
      const option = /** @type {Element} */ (event.target).closest(".token");
      return option ? Number(option.getAttribute("data-token")) : null;
    };
    strip.addEventListener("click", (/** @type {Event} */ event) => {
      const token = tokenOf(event);
      if (token !== null) choose(token);
    });
    strip.addEventListener("pointerover", (/** @type {Event} */ event) => point("strip-readout", tokenOf(event)));
    strip.addEventListener("pointerleave", () => point("strip-readout", null));
    strip.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const line = /** @type {Element} */ (event.target).closest(".line");
      const forward = line && getComputedStyle(line).direction === "rtl" ? -1 : 1;
      const moves = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1, Home: -n, End: n };
      const move = moves[event.key];
      if (move === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(n - 1, state.token + move)));
    });
  }

  /** Chooses an output token and moves the keyboard focus with it. @param {number} token */
  function choose(token) {
    update({ token });
    options[token].focus();
  }

  function drawStrip() {
    const row = report.row(state.method, state.layerIndex, state.token);
    const max = row ? maximum(row.entries(), counts) : 0;
    for (const [i, option] of options.entries()) {
      const coloured = row !== null && counts(i);
      option.style.backgroundColor = coloured ? colours.css(row[i], max) : "";
      option.style.color = coloured ? colours.ink(row[i], max) : "";
      option.classList.toggle("left-out", row !== null && !counts(i));
      option.setAttribute("aria-selected", String(i === state.token));
      option.setAttribute("aria-label", `${report.tokens[i].label}, ${row ? format(row[i]) : "not computed"}`);
      option.dataset.value = row ? row[i] : "";
      option.tabIndex = i === state.token ? 0 : -1;
    }
    byId("strip-legend").hidden = row === null;
    colours.legend(byId("strip-legend"), max);
    point("strip-readout", null);
  }

  // ---- Readouts ----

  /**
   * Says a value in words under a picture.
   * @param {string} id @param {number | null} input @param {number} [output] @param {number} [layerIndex]
   */
  function point(id, input, output = state.token, layerIndex = state.layerIndex) {
    const target = byId(id);
    const row = report.row(state.method, layerIndex, output);
    const where = `${state.method}, layer ${layers[layerIndex]}: `;
    if (row === null) {
      const rows = report.outputTokens(state.method);
      target.replaceChildren(`No ${state.method} values for `, name(output), "; they were computed for ");
      for (const [k, i] of rows.slice(0, 4).entries()) target.append(k > 0 ? ", " : "", name(i));
      target.append(rows.length > 4 ? " and others." : ".");
    } else if (input === null) {
      const best = report.ranking(state.method, layerIndex, output, state.skipSpecial)[0];
      target.replaceChildren(where, name(output), " draws most on ");
      const without = state.skipSpecial ? ", special tokens left out" : "";
      if (best) target.append(name(best.token), ` (${format(best.value)})${without}`);
      else target.append("nothing");
    } else {
      target.replaceChildren(where, name(output), " draws ", html("b", {}, format(row[input])), " on ", name(input));
      const degenerate = report.row("flow_degenerate", layerIndex, output);
      if (state.method === "flow" && degenerate?.[input])
        target.append(" (repeats the first layer, or as large as it can be)");
    }
  }

  // ---- Ranking ----

  function drawRanking() {
    const ranking = report.ranking(state.method, state.layerIndex, state.token, state.skipSpecial);
    const shown = state.allRanks ? ranking : ranking.slice(0, settings.top_k);
    const rows = new Map(report.methods.map((method) => [method, report.row(method, state.layerIndex, state.token)]));
    const degenerate = report.row("flow_degenerate", state.layerIndex, state.token);
    const max = ranking[0]?.value ?? 0;
    const head = html(
      "tr",
      {},
      html("th", { scope: "col", class: "number" }, "Rank"),
      html("th", { scope: "col" }, "Token"),
    );
    for (const method of report.methods) {
      const column = html("th", { scope: "col", class: method === state.method ? "number by" : "number" }, method);
      if (method === state.method) column.setAttribute("aria-sort", "descending");
      head.append(column);
    }
    const body = html("tbody");
    for (const { token, rank, value } of shown) {
      const label = html("th", { scope: "row" }, name(token));
      const line = html("tr", { "data-token": token }, html("td", { class: "number" }, String(rank)), label);
      for (const [method, row] of rows) {
        const own = row ? row[token] : undefined;
        const text = html("td", { class: "number", "data-method": method, "data-value": own ?? "" }, format(own));
        if (method === "flow" && degenerate?.[token]) text.append(html("span", { class: "mark" }, "°"));
        if (method === state.method) text.style.setProperty("--share", max > 0 ? String(value / max) : "0");
        if (method === state.method) text.classList.add("by");
        line.append(text);
      }
      body.append(line);
    }
    byId("rank").replaceChildren(html("table", {}, html("thead", {}, head), body));
    const help = [];
    if (ranking.some((entry, at) => entry.rank !== at + 1)) {
      help.push("Flow values that their enclosures cannot tell apart share a rank.");
    }
    // Of the tokens listed: a footnote needs its mark.
    const count = degenerate ? ranking.filter(({ token }) => degenerate[token]).length : 0;
    if (count > 0 && report.methods.includes("flow")) {
      help.push(
        `° ${count} of ${ranking.length} flow values repeat the first layer's attention or are as large as they can be; layers between do not matter.`,
      );
    }
    if (ranking.length === 0) help.push(byId("strip-readout").textContent);
    byId("rank-help").textContent = help.join(" ");
    byId("rank-all").hidden = ranking.length <= settings.top_k;
    byId("rank-all").textContent = state.allRanks ? `Show the first ${settings.top_k}` : `Show all ${ranking.length}`;
  }

  // ---- Referents ----

  function drawReferents() {
    byId("referents-card").hidden = !source.referents?.length;
    if (byId("referents-card").hidden) return;
    const table = referentTable({ report, token: state.token, layerIndex: state.layerIndex });
    const help = [];
    if (table) {
      byId("referents").replaceChildren(table.root);
      help.push(candidateShares(report, state.token), "Beside each weight its share of the sum over the referents.");
      if (table.marked) help.push("° repeats the first layer's attention or is as large as it can be.");
    } else {
      byId("referents").replaceChildren();
      help.push("These were not computed for this output token.");
    }
    byId("referents-help").textContent = help.filter(Boolean).join(" ");
  }

  // ---- Pictures ----

  /** Width that a view has. @param {string} id */
  const widthOf = (id) => byId(id).clientWidth;

  function drawPictures() {
    const chosen = { report, colours, counts, ...state };
    const heat = heatMap({
      ...chosen,
      width: widthOf("heat"),
      onLayer: (layerIndex) => update({ layerIndex }),
      onToken: (token) => update({ token }),
      onPoint: (layerIndex, input) => point("heat-readout", input, state.token, layerIndex),
    });
    const computed = report.row(state.method, state.layerIndex, state.token) !== null;
    byId("heat").replaceChildren(...(computed ? [heat.root] : []));
    byId("heat-legend").hidden = !computed;
    colours.legend(byId("heat-legend"), heat.max, state.ownScale ? "each layer's maximum" : undefined);
    point("heat-readout", null);
    byId("matrix-card").hidden = report.outputTokens(state.method).length < 2;
    if (!byId("matrix-card").hidden) {
      const pairs = matrix({
        ...chosen,
        width: widthOf("matrix"),
        onToken: (token) => update({ token }),
        onPoint: (output, input) => point("matrix-readout", input, output),
      });
      byId("matrix").replaceChildren(pairs.root);
      colours.legend(byId("matrix-legend"), pairs.max);
      point("matrix-readout", null);
    }
    drawGraph();
  }

  function drawGraph() {
    const card = byId("graph-card");
    card.hidden = n > MOST_GRAPH_TOKENS || !report.attention(1);
    if (card.hidden) return;
    const graph = flowGraph({
      report,
      token: state.token,
      layer: layers[state.layerIndex],
      all: state.allGraph,
      width: widthOf("graph"),
      onToken: (token) => update({ token }),
    });
    card.hidden = graph === null;
    if (graph === null) return;
    byId("graph").replaceChildren(graph.root);
    byId("graph-help").textContent = state.allGraph
      ? `A line is ${report.gradient ? "gradient-adjusted " : ""}attention of a layer, wider for more. The residual is not drawn.`
      : `A line is the share of the chosen output token that passes there (rollout, residual included${report.gradient ? ", each layer's rows divided by their sums" : ""}).`;
  }

  // ---- Drawing ----

  function announce() {
    const { layerIndex, method, token } = state;
    const best = report.ranking(method, layerIndex, token, state.skipSpecial).slice(0, 3);
    const strongest = best.map((entry) => `${plainName(entry.token)} ${format(entry.value)}`).join(", ");
    byId("live").textContent =
      `Output token ${plainName(token)}, ${method}, layer ${layers[layerIndex]}: ${strongest || "not computed"}`;
  }

  function draw() {
    drawControls();
    drawStrip();
    drawPictures();
    drawRanking();
    drawReferents();
    announce();
  }

  /** @param {boolean} dark */
  function recolour(dark) {
    colours = new Colours(dark);
    draw();
  }

  byId("page").hidden = false;
  if (source.input.kind !== "text") byId("strip-heading").textContent = "Tokens";
  describeModel();
  describeText();
  describePredictions();
  describeSettings();
  describeNotes();
  makeControls();
  makeStrip();
  draw();
  darkQuery.addEventListener("change", () => recolour(darkQuery.matches));
  addEventListener("beforeprint", () => recolour(false));
  addEventListener("afterprint", () => recolour(darkQuery.matches));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    drawPictures();
  });
}

try {
  start(new ReportData(JSON.parse(byId("report").textContent)));
} catch (error) {
  byId("failure").hidden = false;
  byId("failure").textContent = `This page could not be drawn: ${/** @type {Error} */ (error).message}`;
  throw error;
}
