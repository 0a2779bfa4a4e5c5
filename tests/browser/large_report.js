// A synthetic report of a causal model, as compact as attnflow embeds long ones: of each row the largest values, the rest
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

/** [layers, n, n] with `most` values a row. */
function topArray(layers, n, most, next) {
  const rows = layers * n;
  const counts = new Uint16Array(rows);
  const scales = new Float32Array(rows);
  const rest = new Float32Array(rows);
  const columns = Buffer.alloc(rows * most * 2);
  const codes = Buffer.alloc(rows * most);
  let [byte, code] = [0, 0];
  for (let r = 0; r < rows; ++r) {
    const q = r % n;
    const chosen = new Set([0, q]);
    for (let k = 1; k < most / 2 && q - k >= 0; ++k) chosen.add(q - k);
    while (chosen.size < Math.min(most, q + 1)) chosen.add(Math.floor(next() * (q + 1)));
    const kept = [...chosen].sort((a, b) => a - b);
    counts[r] = kept.length;
    scales[r] = 0.05 + 0.4 * next();
    rest[r] = kept.length <= q ? 0.2 : 0;
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
    shape: [layers, n, n],
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

export function largeReport({ n = 2048, layers = 30, most = 48 } = {}) {
  const next = random(5);
  const words = [
    "the",
    "keys",
    "to",
    "cabinets",
    "near",
    "windows",
    "were",
    "found",
    "by",
    "Ana",
    "and",
    "unbelievably",
  ];
  let text = "";
  const tokens = Array.from({ length: n }, (_, i) => {
    const word = i === 0 ? "<s>" : words[Math.floor(next() * words.length)];
    if (i === 0) return { text: word, special: true };
    if (text) text += " ";
    const begin = text.length;
    text += word;
    return { text: word, begin, end: text.length, word: i };
  });
  return {
    format: "attnflow-report",
    version: 2,
    settings: {
      method: ["raw", "rollout"],
      mixing: "attention",
      target: "auto",
      heads: "mean",
      residual: 0.5,
      discard: 0,
      discard_keep_special: false,
      set_aside: "none",
      layers: Array.from({ length: layers }, (_, l) => l + 1),
      to_layer: 0,
      output_token: "auto",
      normalize: "none",
      words: false,
      flow_tolerance: 1e-6,
      top_k: 10,
    },
    model: { name: "synthetic", architecture: "llama", layers, heads: 9, causal: true },
    input: { kind: "text", text, text_pair: "", tokens },
    predictions: [],
    output_token: n - 1,
    all_output_tokens: false,
    output_tokens: Array.from({ length: n }, (_, i) => i),
    flow_output_tokens: [],
    notes: [],
    arrays: { raw: topArray(layers, n, most, next), rollout: topArray(layers, n, most, next) },
  };
}
