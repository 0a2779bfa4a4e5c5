// Arrays as documents hold them.
import type { PlainArray } from "../src/report/document";

export const f64 = (numbers: number[]): PlainArray => ({
  shape: [1, numbers.length],
  dtype: "f64",
  encoding: "base64",
  data: btoa(Array.from(new Uint8Array(Float64Array.from(numbers).buffer), (b) => String.fromCharCode(b)).join("")),
});
