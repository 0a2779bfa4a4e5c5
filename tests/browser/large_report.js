// A synthetic report of a causal model, as compact as attnflow embeds long ones: each row's largest values, the rest
// summed. Attention looks back a little, at a few tokens far away, and at the first one.

import { deflateSync } from "node:zlib";

/** Numbers in [0, 1) that are the same every time. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const packed = (typed) => ({
  encoding: "zlib+base64",
  data: deflateSync(Buffer.from(typed.buffer, typed.byteOffset, typed.byteLength), { level: 1 }).toString("base64"),
});

/**
 * Rows with `most` values each.
 * @param {number} rows
 * @param {(row: number) => number} seen how many columns a row can see
 */
function topRows(rows, seen, most, next) {
  const counts = new Uint16Array(rows);
  const scales = new Float32Array(rows);
  const rest = new Float32Array(rows);
  const columns = Buffer.alloc(rows * most * 2);
  const codes = Buffer.alloc(rows * most);
  let [byte, code] = [0, 0];
  for (let r = 0; r < rows; ++r) {
    const visible = seen(r);
    const chosen = new Set(visible > 0 ? [0, visible - 1] : []);
    for (let k = 2; k <= most / 2 && visible - k >= 0; ++k) chosen.add(visible - k);
    while (chosen.size < Math.min(most, visible)) chosen.add(Math.floor(next() * visible));
    const kept = [...chosen].sort((a, b) => a - b);
    counts[r] = kept.length;
    scales[r] = 0.05 + 0.4 * next();
    rest[r] = kept.length < visible ? 0.2 : 0;
    let last = -1;
    for (const column of kept) {
      for (let gap = column - last - 1; ; gap >>= 7) {
        columns[byte++] = gap > 127 ? (gap & 127) | 128 : gap;
        if (gap <= 127) break;
      }
      last = column;
      codes[code++] = column === 0 ? 255 : 60 + Math.floor(190 * next() ** 3);
    }
  }
  return {
    dtype: "top",
    decades: 5,
    counts: { dtype: "u16", ...packed(counts) },
    columns: { dtype: "u8", ...packed(columns.subarray(0, byte)) },
    codes: { dtype: "u8", ...packed(codes.subarray(0, code)) },
    scales: { dtype: "f32", ...packed(scales) },
    rest: { dtype: "f32", ...packed(rest) },
    error: 0.023,
  };
}

const topArray = (layers, n, most, next) => ({
  shape: [layers, n, n],
  ...topRows(layers * n, (r) => (r % n) + 1, most, next),
});

const WORDS = ["the", "keys", "to", "cabinets", "near", "windows", "were", "found", "by", "Ana", "and", "unbelievably"];

/** Words with spaces between, and where each stands. */
function madeText(count, next) {
  let text = "";
  const tokens = Array.from({ length: count }, (_, i) => {
    if (text) text += " ";
    const begin = text.length;
    const word = WORDS[Math.floor(next() * WORDS.length)];
    text += word;
    return { text: word, begin, end: text.length, word: i };
  });
  return { text, tokens };
}

const common = (layers) => ({
  ...{ format: "attnflow-report", version: 2, notes: [] },
  settings: {
    ...{ method: ["raw", "rollout"], mixing: "attention", target: "auto", heads: "mean", residual: 0.5, discard: 0 },
    ...{ discard_keep_special: false, set_aside: "none", layers: Array.from({ length: layers }, (_, l) => l + 1) },
    ...{ to_layer: 0, output_token: "auto", normalize: "none", words: false, flow_tolerance: 1e-6, top_k: 10 },
  },
  model: { name: "synthetic", architecture: "llama", layers, heads: 9, causal: true },
});

export function largeReport({ n = 2048, layers = 30, most = 48 } = {}) {
  const next = random(5);
  const { text, tokens } = madeText(n - 1, next);
  return {
    ...common(layers),
    input: { kind: "text", text, text_pair: "", tokens: [{ text: "<s>", special: true }, ...tokens] },
    predictions: [],
    ...{ output_token: n - 1, all_output_tokens: false, flow_output_tokens: [] },
    output_tokens: Array.from({ length: n }, (_, i) => i),
    arrays: { raw: topArray(layers, n, most, next), rollout: topArray(layers, n, most, next) },
  };
}

/** A continuation: arrays [generated, prompt, layers] whose rows run along the prompt. */
export function largeGeneration({ prompt = 2048, generated = 200, layers = 30, most = 48 } = {}) {
  const next = random(7);
  const said = madeText(generated, next);
  const cube = (columns, seen) => ({
    shape: [generated, columns, layers],
    axis: 1,
    ...topRows(generated * layers, seen, most, next),
  });
  const all = () => prompt;
  const before = (r) => Math.floor(r / layers);
  return {
    ...common(layers),
    input: { kind: "generation", ...madeText(prompt, next) },
    generation: {
      ...{ text: said.text, stopped: "length", chat: false, temperature: 0, top_p: 1, seed: 1 },
      tokens: said.tokens.map((token, id) => ({
        ...token,
        id,
        probability: 0.4,
        choices: WORDS.slice(0, 5).map((label, k) => ({ label, probability: 0.4 / (k + 1) })),
      })),
      ...{ flow_tokens: [], flow_layers: [], dropped: [] },
    },
    arrays: {
      raw: cube(prompt, all),
      raw_generated: cube(generated, before),
      rollout: cube(prompt, all),
      rollout_generated: cube(generated, before),
    },
  };
}

/** The report with the attention of every head, as --keep-attention writes it. */
export function withHeads(report, heads, most = 16) {
  const next = random(11);
  const { layers } = report.model;
  const n = report.input.tokens.length;
  const attention = {
    shape: [layers, heads, n, n],
    ...topRows(layers * heads * n, (r) => (r % n) + 1, most, next),
  };
  return { ...report, model: { ...report.model, heads }, arrays: { ...report.arrays, attention } };
}
