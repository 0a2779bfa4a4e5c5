// The report document (docs/report-format.md) as the page uses it. The page's scripts are put together in the
// order report.js, views.js, referents.js, page.js and form one module.
// @ts-check

/**
 * @typedef {{label: string, piece: string, special: boolean, unknown: boolean, segment: number, begin: number,
 *   end: number}} Token
 *   begin = end: a token that stands for no text of the user
 * @typedef {Float32Array | Float64Array | Uint8Array} Values
 */

const METHODS = ["raw", "rollout", "flow"];

/** Float16 codes to numbers. @param {Uint16Array} codes */
function halvesToFloats(codes) {
  const floats = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; ++i) {
    const exponent = (codes[i] >> 10) & 31;
    const fraction = codes[i] & 1023;
    let magnitude = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
    if (exponent === 31) magnitude = fraction === 0 ? Infinity : NaN;
    floats[i] = codes[i] & 0x8000 ? -magnitude : magnitude;
  }
  return floats;
}

/** One entry of `arrays`, decoded. @param {{dtype: string, data: string}} array @returns {Values} */
function decodeArray(array) {
  const binary = atob(array.data);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  switch (array.dtype) {
    case "f64":
      return new Float64Array(bytes.buffer);
    case "f32":
      return new Float32Array(bytes.buffer);
    case "f16":
      return halvesToFloats(new Uint16Array(bytes.buffer));
    case "u8":
      return bytes;
    default:
      throw new Error(`unknown array type ${array.dtype}`);
  }
}

/** White space that would be invisible on its own. @param {string} text */
function visible(text) {
  return /^\s+$/u.test(text)
    ? text.replace(/\n/gu, "⏎").replace(/\t/gu, "⇥").replace(/\s/gu, "␣")
    : text.replace(/\s+/gu, " ");
}

/** Everything the views ask about a report document. */
class ReportData {
  /** @param {any} document the parsed report document */
  constructor(document) {
    if (document.format !== "attnflow-report" || document.version !== 1) {
      throw new Error(`expected an attnflow-report of version 1, found ${document.format} ${document.version}`);
    }
    this.document = document;
    this.settings = document.settings;
    this.model = document.model;
    const encoder = new TextEncoder();
    /** The two texts as UTF-8, which the byte ranges of tokens refer to. */
    this.bytes = [document.input.text, document.input.text_pair].map((text) => encoder.encode(text ?? ""));
    /** @type {Token[]} */
    this.tokens = document.input.tokens.map((/** @type {any} */ token, /** @type {number} */ i) => {
      const { segment = 0, begin = 0, end = 0 } = token;
      const own = this.slice(segment, begin, end);
      const unknown = token.unknown ?? false;
      const label = (visible(own || token.text) || `#${i}`) + (unknown ? " [?]" : "");
      return { ...token, segment, begin, end, piece: token.text, unknown, label };
    });
    this.n = this.tokens.length;
    this.layers = /** @type {number[]} */ (this.settings.layers);
    /** @type {Map<string, Values>} */
    this.arrays = new Map();
    for (const [name, array] of Object.entries(document.arrays)) this.arrays.set(name, decodeArray(array));
    /** Methods that there are numbers of. */
    this.methods = METHODS.filter((method) => this.arrays.has(method));
    this.hasUnknown = this.tokens.some((token) => token.unknown);
    this.hasSpecial = this.tokens.some((token) => token.special) && this.tokens.some((token) => !token.special);
  }

  /** @param {number} segment @param {number} begin @param {number} [end] byte range of a text */
  slice(segment, begin, end) {
    return new TextDecoder().decode(this.bytes[segment].subarray(begin, end));
  }

  /** Positions of the rows of a method. @param {string} method @returns {number[]} */
  outputTokens(method) {
    return method === "flow" ? this.document.flow_output_tokens : this.document.output_tokens;
  }

  /**
   * The n values of one output token, or null when they were not computed.
   * @param {string} array a method, "flow_gap" or "flow_degenerate"
   * @param {number} layerIndex position in `layers`
   * @param {number} token
   */
  row(array, layerIndex, token) {
    const values = this.arrays.get(array);
    const rows = this.outputTokens(array.split("_")[0]);
    const row = rows.indexOf(token);
    if (!values || row < 0) return null;
    const begin = (layerIndex * rows.length + row) * this.n;
    return values.subarray(begin, begin + this.n);
  }

  /** Whether attention was weighted with gradients. */
  get gradient() {
    return ["gradient", "gradient-renormalized"].includes(this.settings.mixing);
  }

  /**
   * How a row w of `attention` becomes one of the mixing matrix: own * w, and `stays` more for the token itself. With
   * gradients the identity is added whole and the row divided by its sum.
   * @param {ArrayLike<number>} row
   */
  residual(row) {
    const rho = this.settings.residual;
    if (!this.gradient) return { own: 1 - rho, stays: rho };
    let sum = 1;
    for (let j = 0; j < row.length; ++j) sum += row[j];
    return { own: 1 / sum, stays: 1 / sum };
  }

  /** Attention of layer l (from 1) without the residual, [n, n], or null. @param {number} layer */
  attention(layer) {
    const { n } = this;
    const graph = this.arrays.get("graph");
    if (graph) return graph.subarray((layer - 1) * n * n, layer * n * n);
    // Left out of the document when raw holds the same numbers: all layers, all output tokens, no single head.
    const raw = this.arrays.get("raw");
    const derivable =
      ["mean", "max", "min"].includes(this.settings.heads) &&
      this.layers.length === this.model.layers &&
      this.document.output_tokens.length === n;
    return raw && derivable ? raw.subarray((layer - 1) * n * n, layer * n * n) : null;
  }

  /**
   * What the text strip shows, in order: the tokens, the characters between them, and line breaks between two texts.
   * A token without text of its own (or whose text an earlier token has shown) is a chip.
   * @returns {({token: number, chip: boolean} | {gap: string} | {line: number})[]}
   */
  stripParts() {
    const parts = [];
    const last = [0, 1].map((s) => this.tokens.findLastIndex((t) => t.segment === s && t.begin < t.end));
    const shown = [0, 0];
    let line = 0;
    for (const [i, token] of this.tokens.entries()) {
      const s = token.segment;
      if (s !== line) parts.push({ line: (line = s) });
      const own = token.begin < token.end && token.begin >= shown[s];
      if (own) {
        if (token.begin > shown[s]) parts.push({ gap: this.slice(s, shown[s], token.begin) });
        shown[s] = token.end;
      }
      parts.push({ token: i, chip: !own });
      if (i === last[s] && shown[s] < this.bytes[s].length) parts.push({ gap: this.slice(s, shown[s]) });
    }
    return parts;
  }

  /**
   * Ranking of the input tokens of one output token, strongest first, with ranks from 1. Flow values whose enclosures
   * [value, value + gap] meet that of the first of their group share its rank.
   * @param {string} method @param {number} layerIndex @param {number} token @param {boolean} skipSpecial
   */
  ranking(method, layerIndex, token, skipSpecial) {
    const values = this.row(method, layerIndex, token);
    if (!values) return [];
    const gaps = method === "flow" ? this.row("flow_gap", layerIndex, token) : null;
    const widest = method === "flow" ? (this.document.flow_gap_max ?? 0) : 0;
    const order = [...values.keys()].filter((i) => !(skipSpecial && this.tokens[i].special));
    order.sort((a, b) => (values[b] || 0) - (values[a] || 0) || a - b);
    let rank = 0;
    let first = NaN;
    return order.map((i, at) => {
      const high = values[i] + (gaps ? gaps[i] : widest);
      if (!(high >= first)) [rank, first] = [at + 1, values[i]];
      return { token: i, rank, value: values[i] };
    });
  }
}
