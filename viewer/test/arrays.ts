// Documents, and arrays as they hold them.
import type { EncodedBytes, PlainArray } from "../src/report/document";

export const base64 = (numbers: ArrayBufferView) =>
  btoa(Array.from(new Uint8Array(numbers.buffer), (byte) => String.fromCharCode(byte)).join(""));

const TYPES = { f64: Float64Array, f32: Float32Array, u16: Uint16Array, u8: Uint8Array };

export const part = (dtype: keyof typeof TYPES, numbers: ArrayLike<number>): EncodedBytes => ({
  ...{ dtype, encoding: "base64" },
  data: base64(TYPES[dtype].from(numbers)),
});

export const f64 = (numbers: number[], shape = [1, numbers.length]): PlainArray => ({
  shape,
  ...part("f64", numbers),
});

interface Made {
  settings?: object;
  model?: object;
  input?: object;
}

/** A document of version 1 without numbers: a text of one layer. */
export const documentOf = ({ settings, model, input, ...more }: Made & Record<string, unknown>) => ({
  ...{ format: "attnflow-report", version: 1, notes: [], arrays: {} },
  settings: {
    ...{ method: ["rollout"], mixing: "attention", target: "auto", heads: "mean", residual: 0.5, discard: 0 },
    ...{ set_aside: "none", layers: [1], to_layer: 0, output_token: "auto", normalize: "none", top_k: 10 },
    ...settings,
  },
  model: { name: "m", architecture: "bert", layers: 1, heads: 1, causal: false, ...model },
  input: { kind: "text", text: "", tokens: [], ...input },
  ...more,
});
