// Colours, numbers and the pictures.
// @ts-check

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children
 * @returns {any}
 */
function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** An SVG element. @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children */
function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Text that keeps its own writing direction. @param {string} text @param {string} [name] */
function own(text, name = "") {
  return html("bdi", { lang: "", class: name }, text);
}

const segmenter = new Intl.Segmenter();

/** Characters as people see them. @param {string} text */
const graphemes = (text) => [...segmenter.segment(text)].map((part) => part.segment);

/** At most `most` characters. @param {string} text @param {number} most */
function shorten(text, most) {
  if (text.length <= most) return text;
  const characters = graphemes(text);
  return characters.length <= most ? text : characters.slice(0, most - 1).join("") + "…";
}

/** A value for people: four decimals, or two digits when it is small. @param {number | undefined} value */
function format(value) {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  return Math.abs(value) < 0.001 ? value.toExponential(1) : value.toFixed(4);
}

/**
 * The colour scale: lightness runs evenly (OKLCH) from the page's background to a strong blue, so it reads the same in
 * grey and with any colour blindness. 256 steps of [r, g, b].
 * @param {boolean} dark
 */
function makeRamp(dark) {
  const steps = [];
  for (let i = 0; i < 256; ++i) {
    const t = i / 255;
    const lightness = dark ? 0.27 + 0.63 * t : 0.975 - 0.56 * t;
    const chroma = 0.012 + 0.115 * Math.sin(Math.PI * Math.min(t * 0.72, 1)) * (dark ? 0.9 : 1.15);
    const hue = ((dark ? 262 - 45 * t : 235 + 27 * t) * Math.PI) / 180;
    const a = chroma * Math.cos(hue);
    const b = chroma * Math.sin(hue);
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    steps.push(
      linear.map((x) => {
        const c = Math.min(1, Math.max(0, x));
        return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
      }),
    );
  }
  return steps;
}

/** Maps values in [0, max] to colours of the ramp. */
class Colours {
  /** @param {boolean} dark */
  constructor(dark) {
    this.dark = dark;
    this.ramp = makeRamp(dark);
  }
  /** @param {number} value @param {number} max @returns {number} step 0..255 */
  step(value, max) {
    return max > 0 && value > 0 ? Math.min(255, Math.round((255 * value) / max)) : 0;
  }
  /** @param {number} value @param {number} max */
  css(value, max) {
    return `rgb(${this.ramp[this.step(value, max)].join(" ")})`;
  }
  /** Black or white, whichever reads on the colour. @param {number} value @param {number} max */
  ink(value, max) {
    const [r, g, b] = this.ramp[this.step(value, max)].map((c) => (c / 255) ** 2.2);
    const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return luminance > 0.19 ? "#10131a" : "#ffffff";
  }
  /** Fills a legend. @param {Element} target @param {number} max @param {string} [name] of the maximum */
  legend(target, max, name = format(max)) {
    const bar = html("span", { class: "ramp", "aria-hidden": "true" });
    bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((t) => this.css(t, 1)).join()})`;
    target.replaceChildren(html("span", {}, "0"), bar, html("span", {}, name));
  }
}

/** The largest finite value, over the tokens that count. @param {Iterable<[number, number]>} entries @param {(i: number) => boolean} counts */
function maximum(entries, counts) {
  let max = 0;
  for (const [i, value] of entries) if (value > max && value < Infinity && counts(i)) max = value;
  return max;
}

/** Width of text in a label's font. */
const measure = (() => {
  /** @type {CanvasRenderingContext2D | null} */
  let context = null;
  return (/** @type {string} */ text) => {
    context ??= document.createElement("canvas").getContext("2d");
    if (!context) return text.length * 8;
    context.font = "13px sans-serif";
    return context.measureText(text).width;
  };
})();

/**
 * A token's label below (or, with `above`, over) the point: upright when it fits or is one character (emoji and Han
 * characters read badly on their side), else turned.
 * @param {number} x @param {number} y @param {string} label @param {boolean} level all labels of the picture fit
 * @param {boolean} [above]
 */
function tokenLabel(x, y, label, level, above = false) {
  const upright = level || graphemes(label).length === 1;
  const place = upright
    ? { x, y: above ? y : y + 12, "text-anchor": "middle" }
    : { transform: `translate(${x + 4} ${y}) rotate(-90)`, "text-anchor": above ? "start" : "end" };
  return svg("text", place, label);
}

/**
 * The layer × token picture of one output token: last layer on top. Calls back with what was clicked or pointed at.
 * @param {{report: ReportData, method: string, token: number, layerIndex: number, colours: Colours, width: number,
 *   counts: (i: number) => boolean, ownScale: boolean, onLayer: (index: number) => void, onToken: (token: number) => void,
 *   onPoint: (index: number, token: number) => void}} options
 */
function heatMap({ report, method, token, layerIndex, colours, width, counts, ownScale, onLayer, onToken, onPoint }) {
  const { n, layers } = report;
  const rows = layers.map((_, index) => report.row(method, index, token));
  const maxima = rows.map((row) => (row ? maximum(row.entries(), counts) : 0));
  const max = Math.max(0, ...maxima);
  const labels = report.tokens.map((t) => shorten(t.label, 16));
  const widest = Math.max(...labels.map(measure));
  const left = 70;
  const cell = Math.max(19, Math.min(96, (width - left - 2) / n));
  const level = widest + 8 <= cell;
  const right = level ? 2 : 2 + Math.max(0, Math.min(24, widest * 0.1));
  const height = 26;
  const bottom = level ? 26 : Math.min(widest, 140) + 14;
  const total = { width: left + n * cell + right, height: 2 + layers.length * height + bottom };
  const root = svg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, role: "img" });
  const picture = svg("g", { class: "cells" });
  const top = (/** @type {number} */ index) => 2 + (layers.length - 1 - index) * height;
  for (const [index, row] of rows.entries()) {
    const chosen = index === layerIndex;
    const scale = ownScale ? maxima[index] : max;
    const name = svg("text", { x: left - 8, y: top(index) + 17, "text-anchor": "end", class: chosen ? "chosen" : "" });
    name.append(`Layer ${layers[index]}`);
    root.append(name);
    for (let i = 0; row && i < n; ++i) {
      const place = { x: left + i * cell, y: top(index), width: Math.max(1, cell - 1), height: height - 1 };
      const used = counts(i);
      picture.append(svg("rect", { ...place, fill: used ? colours.css(row[i], scale) : "url(#left-out)" }));
      if (cell >= 44) {
        const at = { x: place.x + cell / 2, y: place.y + 17, "text-anchor": "middle", class: "value" };
        picture.append(
          svg("text", { ...at, fill: used ? colours.ink(row[i], scale) : "currentColor" }, format(row[i])),
        );
      }
    }
    if (chosen) {
      const box = { x: left - 1, y: top(index) - 1, width: n * cell + 1, height: height + 1, class: "frame" };
      root.append(svg("rect", box));
    }
  }
  root.prepend(hatching(), picture);
  for (const [i, label] of labels.entries()) {
    const x = left + (i + 0.5) * cell;
    const y = top(-1) + 8;
    const text = tokenLabel(x, y, label, level);
    text.setAttribute("class", i === token ? "label chosen" : "label");
    text.append(svg("title", {}, report.tokens[i].label));
    root.append(text);
  }
  root.setAttribute("aria-label", `Picture of ${layers.length} layers by ${n} tokens; the ranking has its numbers.`);
  const locate = (/** @type {MouseEvent} */ event) => {
    const box = root.getBoundingClientRect();
    const i = Math.floor((event.clientX - box.left - left) / cell);
    const index = layers.length - 1 - Math.floor((event.clientY - box.top - 2) / height);
    return { i, index };
  };
  root.addEventListener("pointermove", (event) => {
    const { i, index } = locate(event);
    if (i >= 0 && i < n && index in layers) onPoint(index, i);
  });
  root.addEventListener("click", (event) => {
    const { i, index } = locate(event);
    if (index in layers) onLayer(index);
    else if (i >= 0 && i < n) onToken(i);
  });
  return { root, max };
}

/** Pattern for what is left out of the colour scale. */
function hatching() {
  const line = svg("path", { d: "M0 6 6 0", class: "hatch" });
  const size = { width: 6, height: 6, patternUnits: "userSpaceOnUse" };
  return svg("defs", {}, svg("pattern", { id: "left-out", ...size }, line));
}

/**
 * The matrix of all pairs of one layer: cells on a canvas, labels (while they fit) as text around it.
 * @param {{report: ReportData, method: string, token: number, layerIndex: number, colours: Colours, width: number,
 *   counts: (i: number) => boolean, onToken: (token: number) => void,
 *   onPoint: (output: number, input: number) => void}} options
 */
function matrix({ report, method, token, layerIndex, colours, width, counts, onToken, onPoint }) {
  const { n } = report;
  const outputs = report.outputTokens(method);
  const labels = report.tokens.map((t) => shorten(t.label, 12));
  const widest = Math.min(110, Math.max(...labels.map(measure)));
  const labelled = (width - widest - 16) / n >= 13 || n <= 40;
  const margin = labelled ? widest + 14 : 14;
  const cell = Math.max(labelled ? 15 : 2, Math.min(36, Math.floor((width - margin - 4) / n)));
  const height = outputs.length < 6 ? Math.max(16, cell) : cell;
  const size = { width: margin + n * cell + 4, height: margin + outputs.length * height + 4 };
  const rows = outputs.map((output) => report.row(method, layerIndex, output));
  let max = 0;
  for (const row of rows) if (row) max = Math.max(max, maximum(row.entries(), counts));

  const image = new ImageData(n, outputs.length);
  const blank = colours.dark ? [52, 56, 66] : [226, 228, 233];
  for (const [r, row] of rows.entries()) {
    for (let i = 0; row && i < n; ++i) {
      const colour = counts(i) ? colours.ramp[colours.step(row[i], max)] : blank;
      image.data.set([...colour, 255], 4 * (r * n + i));
    }
  }
  const canvas = html("canvas", { width: n, height: outputs.length, "aria-hidden": "true" });
  canvas.getContext("2d").putImageData(image, 0, 0);
  Object.assign(canvas.style, {
    left: `${margin}px`,
    top: `${margin}px`,
    width: `${n * cell}px`,
    height: `${outputs.length * height}px`,
  });
  const root = svg("svg", { ...size, role: "img" });
  root.setAttribute("aria-label", `Picture of ${outputs.length} output tokens by ${n} input tokens`);
  for (let i = 0; labelled && i < n; ++i) {
    root.append(tokenLabel(margin + (i + 0.5) * cell, margin - 6, labels[i], false, true));
  }
  for (const [r, output] of outputs.entries()) {
    const y = margin + r * height;
    if (labelled) {
      const place = { x: margin - 8, y: y + height / 2 + 4, "text-anchor": "end" };
      root.append(svg("text", { ...place, class: output === token ? "label chosen" : "label" }, labels[output]));
    }
    if (output === token) {
      root.append(svg("rect", { x: margin - 1, y: y - 1, width: n * cell + 2, height: height + 2, class: "frame" }));
      if (!labelled) root.append(svg("path", { d: `M2 ${y + height / 2 - 5}l9 5l-9 5z`, class: "pointer" }));
    }
  }
  const locate = (/** @type {MouseEvent} */ event) => {
    const box = root.getBoundingClientRect();
    return {
      input: Math.floor((event.clientX - box.left - margin) / cell),
      output: outputs[Math.floor((event.clientY - box.top - margin) / height)],
    };
  };
  root.addEventListener("pointermove", (event) => {
    const { input, output } = locate(event);
    if (output !== undefined && input >= 0 && input < n) onPoint(output, input);
  });
  root.addEventListener("click", (event) => {
    const { output } = locate(event);
    if (output !== undefined) onToken(output);
  });
  const box = html("div", { class: "matrix" }, canvas, root);
  return { root: box, max };
}

const MOST_LINES = 1200;

/**
 * The graph of information flow from layer l down to layer m: input tokens at the bottom. With an output token, a line
 * is the share of it that passes there (rollout, residual included); without, it is the layer's attention.
 * @param {{report: ReportData, token: number, layer: number, all: boolean, width: number,
 *   onToken: (token: number) => void}} options
 */
function flowGraph({ report, token, layer, all, width, onToken }) {
  const { n } = report;
  const bottomLayer = report.settings.to_layer;
  const steps = layer - bottomLayer;
  const labels = report.tokens.map((t) => shorten(t.label, 14));
  const widest = Math.max(...labels.map(measure));
  const left = 70;
  const pitch = Math.max(20, Math.min(110, (width - left - 8) / n));
  const level = widest + 8 <= pitch;
  const rise = Math.max(30, Math.min(58, 520 / steps));
  const top = 14;
  const x = (/** @type {number} */ i) => left + (i + 0.5) * pitch;
  const y = (/** @type {number} */ l) => top + (layer - l) * rise;
  const height = top + steps * rise + (level ? 32 : widest + 22);
  const total = { width: left + n * pitch + 8, height };
  const root = svg("svg", { ...total, viewBox: `0 0 ${total.width} ${height}`, role: "img" });
  root.setAttribute("aria-label", `Graph of ${steps} layers; the ranking has the numbers at its foot.`);

  let mass = new Float64Array(n).fill(all ? 1 : 0);
  if (!all) mass[token] = 1;
  const masses = [mass];
  /** @type {{l: number, from: number, to: number, weight: number}[]} */
  const lines = [];
  let floor = 0.004;
  if (all && report.gradient) {
    // Weights are in units of the model's output, so only those of the other lines can say which are faint.
    let largest = 0;
    for (let l = layer; l > bottomLayer; --l) for (const w of report.attention(l) ?? []) largest = Math.max(largest, w);
    floor *= largest;
  }
  for (let l = layer; l > bottomLayer; --l) {
    const weights = report.attention(l);
    if (!weights) return null;
    const below = new Float64Array(n);
    for (let i = 0; i < n; ++i) {
      const { own, stays } = report.residual(weights.subarray(i * n, (i + 1) * n));
      for (let j = 0; j < n; ++j) {
        const mixed = all ? weights[i * n + j] : own * weights[i * n + j] + (i === j ? stays : 0);
        const weight = mass[i] * mixed;
        below[j] += weight;
        if (weight > floor) lines.push({ l, from: i, to: j, weight });
      }
    }
    mass = all ? mass : below;
    masses.push(mass);
  }
  lines.sort((a, b) => b.weight - a.weight);
  lines.length = Math.min(lines.length, MOST_LINES);
  const strongest = lines.length > 0 ? lines[0].weight : 1;
  const drawn = svg("g", { class: "lines" });
  for (const { l, from, to, weight } of lines.reverse()) {
    const share = weight / strongest;
    const place = { x1: x(from), y1: y(l), x2: x(to), y2: y(l - 1) };
    const look = {
      "stroke-width": (0.4 + 4.6 * share ** 0.75).toFixed(2),
      "stroke-opacity": (0.12 + 0.83 * share ** 0.45).toFixed(3),
    };
    drawn.append(svg("line", { ...place, ...look }));
  }
  root.append(drawn);
  for (let l = layer; l >= bottomLayer; --l) {
    const name = l === 0 ? "Input" : `Layer ${l}`;
    root.append(svg("text", { x: left - 12, y: y(l) + 4, "text-anchor": "end" }, name));
    for (let i = 0; i < n; ++i) {
      const amount = all ? 0.1 : masses[layer - l][i];
      const chosen = i === token && l === layer;
      const radius = 2 + 7 * Math.sqrt(Math.min(1, amount));
      const node = { cx: x(i), cy: y(l), r: radius.toFixed(2), class: chosen ? "node chosen" : "node" };
      root.append(svg("circle", { ...node, "fill-opacity": amount > 0.002 ? 1 : 0.25 }));
    }
  }
  for (const [i, label] of labels.entries()) {
    const text = tokenLabel(x(i), y(bottomLayer) + 14, label, level);
    text.setAttribute("class", i === token ? "label chosen" : "label");
    root.append(text);
  }
  root.addEventListener("click", (event) => {
    const i = Math.floor((event.clientX - root.getBoundingClientRect().left - left) / pitch);
    if (i >= 0 && i < n) onToken(i);
  });
  return { root, lines: lines.length };
}
