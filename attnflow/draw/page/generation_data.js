// A report document of kind "generation" as its page uses it.
// @ts-check

/**
 * @typedef {{special: boolean, rules: boolean[], pattern: RegExp | null, byHand: Map<number, boolean>}} Filters
 *   rules: which of the report's rules hold; byHand: tokens whose place was changed by a click
 * @typedef {{method: string, normalized: boolean, token: number, layers: number[]}} Choice
 *   layers: positions in layersOf(method)
 */

/** A token's characters with breaks that can be seen. @param {string} text */
const marked = (text) => visible(/\S/u.test(text) ? text.trim().replace(/\n/gu, "⏎").replace(/\t/gu, "⇥") : text);

class GenerationData extends ReportData {
  /** @param {any} document the parsed report document */
  constructor(document) {
    super(document);
    const { generation } = document;
    if (document.input.kind !== "generation") throw new Error(`expected a generation, found ${document.input.kind}`);
    this.generation = generation;
    this.dropped = generation.dropped;
    /** What was generated, as a text of its own. */
    this.said = new ReportData({
      ...document,
      input: { text: generation.text, tokens: generation.tokens },
      arrays: {},
    });
    for (const data of [this, this.said]) {
      for (const [i, token] of data.tokens.entries()) {
        token.label = marked(data.slice(0, token.begin, token.end) || token.piece) || `#${i}`;
      }
    }
    this.count = this.said.tokens.length;
  }

  /** Generated tokens that a method was computed for. @param {string} method @returns {number[]} */
  rowsOf(method) {
    return method === "flow" ? this.generation.flow_tokens : [...Array(this.count).keys()];
  }

  /** Layers of a method. @param {string} method @returns {number[]} */
  layersOf(method) {
    return method === "flow" ? this.generation.flow_layers : this.layers;
  }

  /** @param {string} method */
  hasNormalized(method) {
    return this.arrays.has(`${method}_normalized`);
  }

  /**
   * The mean over layers of one row of an array [row, column, layer], or null when there is none.
   * @param {string} array @param {Choice} choice @param {number} columns
   */
  mean(array, { method, token, layers }, columns) {
    const values = this.arrays.get(array);
    const row = this.rowsOf(method).indexOf(token);
    if (!values || row < 0 || layers.length === 0) return null;
    const stride = this.layersOf(method).length;
    const result = new Float64Array(columns);
    for (let j = 0; j < columns; ++j) {
      const begin = (row * columns + j) * stride;
      for (const l of layers) result[j] += values[begin + l];
      result[j] /= layers.length;
    }
    return result;
  }

  /** What the chosen token drew on in the prompt: one value a token. @param {Choice} choice */
  values(choice) {
    return this.mean(choice.normalized ? `${choice.method}_normalized` : choice.method, choice, this.n);
  }

  /**
   * Of all that the chosen token drew on, the share on generated tokens; null where the report does not tell.
   * @param {Choice} choice @param {number} promptMass the sum of its values
   */
  generatedShare(choice, promptMass) {
    if (choice.token === 0) return 0;
    // Rows of raw and rollout, and of every normalised method, sum to 1 over prompt and generated tokens.
    if (choice.normalized || choice.method !== "flow") return Math.min(1, Math.max(0, 1 - promptMass));
    const generated = this.mean("flow_generated", choice, this.count);
    const mass = generated?.reduce((a, b) => a + b, 0) ?? 0;
    return generated && promptMass + mass > 0 ? mass / (promptMass + mass) : null;
  }

  /** Attention on the first token, or null. @param {number} token @param {number} layer from 1 */
  sinkShare(token, layer) {
    const at = this.layers.indexOf(layer);
    return this.arrays.get("sink_share")?.[token * this.layers.length + at] ?? null;
  }

  /** Why each prompt token is set aside, "" where it is not. @param {Filters} filters @returns {string[]} */
  aside({ special, rules, pattern, byHand }) {
    const reasons = this.tokens.map((token) => (special && token.special ? "special tokens" : ""));
    for (const [k, { rule, tokens }] of this.dropped.entries()) {
      for (const j of tokens) if (rules[k]) reasons[j] ||= rule;
    }
    for (const [j, { label }] of this.tokens.entries()) {
      if (pattern?.test(label)) reasons[j] ||= "the expression";
      const byClick = byHand.get(j);
      if (byClick !== undefined) reasons[j] = byClick ? "by hand" : "";
    }
    return reasons;
  }

  /**
   * The top of a colour scale over rows of values. What is set aside does not count. The first token and special ones,
   * where decoders park what they do not need, and the position that chose the token itself (of the prompt only for the
   * first) do not set it when they lie far above the rest.
   * @param {(Float64Array | null)[]} rows @param {number[]} tokens generated token of each row
   * @param {string[]} reasons @returns {{top: number, above: number}}
   */
  scale(rows, tokens, reasons) {
    let parked = 0;
    let rest = 0;
    for (const [r, row] of rows.entries()) {
      const itself = tokens[r] === 0 ? this.n - 1 : -1;
      for (let j = 0; row && j < row.length; ++j) {
        if (reasons[j] || !(row[j] < Infinity)) continue;
        if (j === 0 || j === itself || this.tokens[j].special) parked = Math.max(parked, row[j]);
        else rest = Math.max(rest, row[j]);
      }
    }
    const top = rest > 0 && parked > 2 * rest ? rest : Math.max(parked, rest);
    return { top, above: Math.max(parked, rest) };
  }

  /**
   * Prompt tokens that are not set aside, strongest first. Flow values that their enclosures cannot tell apart share a
   * rank.
   * @param {Choice} choice @param {string[]} reasons
   */
  strongest(choice, reasons) {
    const values = this.values(choice);
    if (!values) return [];
    const order = [...values.keys()].filter((j) => !reasons[j] && values[j] > 0);
    order.sort((a, b) => values[b] - values[a] || a - b);
    const flow = choice.method === "flow" && !choice.normalized;
    const gaps = flow ? this.mean("flow_gap", choice, this.n) : null;
    const flags = choice.method === "flow" ? this.mean("flow_degenerate", choice, this.n) : null;
    let rank = 0;
    let first = NaN;
    return order.map((j, at) => {
      if (!(values[j] + (gaps?.[j] ?? 0) >= first)) [rank, first] = [at + 1, values[j]];
      return { token: j, rank: flow ? rank : at + 1, value: values[j], degenerate: Boolean(flags?.[j]) };
    });
  }
}
