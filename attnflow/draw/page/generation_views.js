// The running texts and the maps of a generation's page.
// @ts-check

/** A share for people. @param {number} share */
function percent(share) {
  if (share > 0 && share < 0.005) return "under 1%";
  if (share < 1 && share >= 0.995) return "over 99%";
  return `${Math.round(100 * share)}%`;
}

/**
 * Fills `target` with the text of `data`, an element for each token, and returns those. The one that is `current` takes
 * the keyboard focus; arrow keys, Home and End go to others, in the direction of the text.
 * @param {any} target @param {ReportData} data
 * @param {{role: string, onChoose: (token: number) => void, onMove: (token: number) => void,
 *   onPoint: (token: number | null) => void, current: () => number}} options
 */
function textStrip(target, data, { role, onChoose, onMove, onPoint, current }) {
  /** @type {any[]} */
  const elements = [];
  const line = html("div", { class: "line", role: "group", "aria-label": "text", dir: "auto", lang: "" });
  target.append(line);
  for (const part of data.stripParts()) {
    if ("gap" in part) line.append(part.gap);
    if (!("token" in part)) continue;
    const { token, chip } = part;
    const { label, special, begin, end } = data.tokens[token];
    const attributes = { role, "data-token": token, class: chip ? "token chip" : "token" };
    // A chip is not part of the text: the direction of the line must not depend on it.
    const element = html("span", chip ? { ...attributes, dir: "auto" } : attributes);
    // A token whose characters an earlier one has shown already (a piece of an emoji) continues it.
    element.textContent = chip ? (begin === end ? label : `…${label}`) : data.slice(0, begin, end);
    if (special) element.classList.add("special");
    if (!chip && element.textContent.includes("\n")) element.classList.add("line-break");
    elements[token] = element;
    line.append(element);
  }
  const tokenOf = (/** @type {Event} */ event) => {
    const element = /** @type {Element} */ (event.target).closest(".token");
    return element ? Number(element.getAttribute("data-token")) : null;
  };
  target.addEventListener("click", (/** @type {Event} */ event) => {
    const token = tokenOf(event);
    if (token !== null) onChoose(token);
  });
  target.addEventListener("pointerover", (/** @type {Event} */ event) => onPoint(tokenOf(event)));
  target.addEventListener("pointerleave", () => onPoint(null));
  target.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const token = tokenOf(event);
    const forward = getComputedStyle(line).direction === "rtl" ? -1 : 1;
    const last = elements.length;
    const moves = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1, Home: -last, End: last };
    if (event.key in moves) {
      const next = Math.max(0, Math.min(last - 1, current() + moves[event.key]));
      onMove(next);
      elements[next].focus();
    } else if ((event.key === "Enter" || event.key === " ") && token !== null) {
      onChoose(token);
    } else {
      return;
    }
    event.preventDefault();
  });
  return elements;
}

/** Every k-th of labels that stand `pitch` apart, so that they do not touch. @param {number} pitch @param {number} room */
const labelStep = (pitch, room) => Math.max(1, Math.ceil(room / pitch));

/**
 * A map of cells: rows with a label on the left (and a text on the right), columns with a label below.
 * @param {{name: string, rows: {label: string, chosen?: boolean, side?: string, sideTitle?: string}[],
 *   columns: {label: string, aside: boolean}[], value: (row: number, column: number) => number | undefined,
 *   top: number, colours: Colours, width: number, sideName?: string, onRow: (row: number) => void,
 *   onPoint: (row: number, column: number) => void}} options
 */
function cellMap({ name, rows, columns, value, top, colours, width, sideName = "", onRow, onPoint }) {
  const n = columns.length;
  const rowLabels = rows.map(({ label }) => shorten(label, 14));
  const columnLabels = columns.map(({ label }) => shorten(label, 16));
  const left = Math.min(120, Math.max(...rowLabels.map(measure))) + 14;
  const side = sideName ? Math.max(measure(sideName), 42) + 10 : 0;
  const widest = Math.max(...columnLabels.map(measure));
  const cell = Math.max(4, Math.min(72, (width - left - side - 4) / n));
  const height = rows.length <= 16 ? 26 : rows.length <= 40 ? 18 : 14;
  const level = widest + 8 <= cell;
  const bottom = level ? 24 : Math.min(widest, 140) + 14;
  const head = sideName ? 18 : 2;
  const total = { width: left + n * cell + side + 4, height: head + rows.length * height + bottom };
  const root = svg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, role: "img", "aria-label": name });

  const image = new ImageData(n, rows.length);
  const blank = colours.dark ? [52, 56, 66] : [226, 228, 233];
  const ground = colours.dark ? [26, 29, 36] : [255, 255, 255];
  const marks = svg("g", { class: "corners" });
  const texts = svg("g");
  for (const r of rows.keys()) {
    for (const [c, { aside }] of columns.entries()) {
      const number = value(r, c);
      const known = number !== undefined && !Number.isNaN(number);
      const colour = aside ? ground : known ? colours.ramp[colours.step(number, top)] : blank;
      image.data.set([...colour, 255], 4 * (r * n + c));
      if (aside || !known) continue;
      const x = left + c * cell;
      const y = head + r * height;
      if (number > top * (1 + 1e-6)) marks.append(svg("path", { d: `M${x + cell - 7} ${y}h6v6z` }));
      if (cell >= 52) {
        const at = { x: x + cell / 2, y: y + height / 2 + 4, "text-anchor": "middle", class: "value" };
        texts.append(svg("text", { ...at, fill: colours.ink(number, top) }, format(number)));
      }
    }
  }
  const canvas = html("canvas", { width: n, height: rows.length, "aria-hidden": "true" });
  canvas.getContext("2d").putImageData(image, 0, 0);
  const place = { left, top: head, width: n * cell, height: rows.length * height };
  for (const [key, size] of Object.entries(place)) canvas.style[key] = `${size}px`;

  for (const [c, { aside }] of columns.entries()) {
    const hatched = { x: left + c * cell, y: head, width: cell, height: rows.length * height };
    if (aside) root.append(svg("rect", { ...hatched, fill: "url(#left-out)" }));
  }
  if (cell >= 9 && height >= 9) root.append(marks);
  root.append(texts);
  for (let c = 0; c < n; c += level ? 1 : labelStep(cell, 14)) {
    const text = tokenLabel(left + (c + 0.5) * cell, head + rows.length * height + 8, columnLabels[c], level);
    text.append(svg("title", {}, columns[c].label));
    root.append(text);
  }
  const anchor = { "text-anchor": "end" };
  if (sideName) root.append(svg("text", { x: total.width - 4, y: 13, ...anchor, class: "side" }, sideName));
  for (const [r, { chosen, side: text, label }] of rows.entries()) {
    const y = head + (r + 0.5) * height + 4;
    const row = svg("text", { x: left - 8, y, ...anchor, class: chosen ? "label chosen" : "label" }, rowLabels[r]);
    row.append(svg("title", {}, label));
    root.append(row);
    if (text) root.append(svg("text", { x: total.width - 4, y, ...anchor, class: "side" }, text));
    const box = { x: left - 1, y: head + r * height - 1, width: n * cell + 2, height: height + 2 };
    if (chosen) root.append(svg("rect", { ...box, class: "frame" }));
  }
  const locate = (/** @type {MouseEvent} */ event) => {
    const box = root.getBoundingClientRect();
    return {
      r: Math.floor((event.clientY - box.top - head) / height),
      c: Math.floor((event.clientX - box.left - left) / cell),
    };
  };
  root.addEventListener("pointermove", (event) => {
    const { r, c } = locate(event);
    if (r in rows && c in columns) onPoint(r, c);
  });
  root.addEventListener("click", (event) => {
    const { r } = locate(event);
    if (r in rows) onRow(r);
  });
  return html("div", { class: "matrix" }, canvas, root);
}

/** The bars of a token's most probable alternatives. @param {any} token of the document */
function choiceBars(token) {
  const choices = [...token.choices];
  // A choice is written for people, "Paris", a token as the tokenizer spells it, "ĠParis"; both hold the same number.
  let chosen = choices.findIndex(({ label, probability }) => label === token.text || probability === token.probability);
  if (chosen < 0) chosen = choices.push({ label: token.text, probability: token.probability }) - 1;
  return choices.map(({ label, probability }, at) => {
    const bar = html("span", { class: "bar" });
    bar.style.width = `${100 * probability}%`;
    const item = html("li", { class: at === chosen ? "chosen" : "" }, own(marked(label)));
    item.append(html("span", { class: "track", "aria-hidden": "true" }, bar));
    item.append(html("span", { class: "number" }, format(probability)));
    if (at === chosen) item.setAttribute("aria-current", "true");
    return item;
  });
}

/** How the numbers were made: [term, text] each, text "" where there is nothing to say. @param {GenerationData} data */
function settingsRows(data) {
  const { document: source, generation, settings, layers } = data;
  const heads = { mean: "mean over heads", max: "maximum over heads", min: "minimum over heads" };
  const asides = { none: "", first: "the first token", special: "special tokens" };
  const ends = {
    length: "the number of tokens asked for was reached",
    end: "the model ended the text",
    context: "the model's context was full",
    interrupted: "it was interrupted",
  };
  const { temperature, top_p: topP, seed } = generation;
  const sampling = temperature > 0 ? `temperature ${temperature}, top-p ${topP}, seed ${seed}` : "most probable token";
  const half = Object.values(source.arrays).some((/** @type {any} */ array) => array.dtype === "f16");
  return [
    ["Sampling", sampling],
    ["Ended", ends[generation.stopped] ?? generation.stopped],
    ["Prompt", generation.chat ? "put into the model's chat template" : ""],
    ["Methods", settings.method.join(", ")],
    ["Heads", heads[settings.heads] ?? `head ${settings.heads}`],
    ["Residual", `${settings.residual} of each token stays in place in every layer`],
    ["Layers", `${layers.length > 1 ? `${layers.length} from ${layers[0]} to ` : ""}${layers.at(-1)}`],
    ["Down to", settings.to_layer ? `layer ${settings.to_layer}` : "the input"],
    ["Columns set aside", asides[settings.set_aside] ?? `tokens ${settings.set_aside}`],
    ["Tokens", settings.words ? "pieces of a word merged" : ""],
    ["Flow", data.methods.includes("flow") ? "lower ends of certified enclosures" : ""],
    ["Precision here", half ? "3 digits; a json or npz file has all of them" : ""],
    ["attnflow report", `version ${source.version}`],
  ];
}
