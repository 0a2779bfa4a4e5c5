// The sample pages in the folder $ATTNFLOW_HTML, as attnflow_sample_html writes them: each with its report in full
// precision. tests/browser reads them here, too.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HOW =
  "build/release/attnflow/draw/attnflow_sample_html FOLDER writes them, and ATTNFLOW_HTML=FOLDER names it (./dev test viewer does both)";

function folderOf(kind) {
  const root = process.env.ATTNFLOW_HTML;
  if (!root) throw new Error(`expected ATTNFLOW_HTML to name a folder of sample pages, found none; ${HOW}`);
  return join(root, kind);
}

/** Pages of texts (""), "generation" or "image". */
export function samplePages(kind) {
  const folder = folderOf(kind);
  const pages = readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .map((file) => file.replace(/\.json$/u, ""))
    .map((name) => ({ name, json: join(folder, `${name}.json`), html: join(folder, `${name}.html`) }));
  if (pages.length === 0) throw new Error(`expected pages in ${folder}, found none; ${HOW}`);
  return pages;
}

export function samplePage(kind, wanted) {
  const page = samplePages(kind).find(({ name }) => name === wanted);
  if (!page) throw new Error(`expected a page ${wanted} in ${folderOf(kind)}, found none; ${HOW}`);
  return page;
}

export const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));
export const fixture = (name) => readJson(join(import.meta.dirname, `../fixtures/${name}.json`));

/** A sample's report in full precision, a new one each time. */
export const reportOf = (kind, name) => readJson(samplePage(kind, name).json);

/** The report that stands in a page: its numbers are less precise. */
export function embeddedOf(kind, name) {
  const html = readFileSync(samplePage(kind, name).html, "utf8");
  return JSON.parse(/<script type="application\/json" id="report">([^]*?)<\/script>/u.exec(html)[1]);
}

/** A report whose pieces say which words they belong to. */
export function withWords(report) {
  let word = -1;
  for (const token of report.input.tokens) {
    if (!token.special) token.word = token.text.startsWith("##") ? word : ++word;
  }
  return report;
}

export function numbersOf({ dtype, data }) {
  const { buffer } = new Uint8Array(Buffer.from(data, "base64"));
  return { f64: () => new Float64Array(buffer), f32: () => new Float32Array(buffer), u8: () => new Uint8Array(buffer) }[
    dtype
  ]();
}

export const arrayOf = (shape, values) => ({
  shape,
  dtype: "f64",
  encoding: "base64",
  data: Buffer.from(Float64Array.from(values).buffer).toString("base64"),
});

/** Reads a report's arrays without the viewer: of [layers, rows, columns]. */
export class Numbers {
  constructor(report) {
    this.report = report;
    this.arrays = Object.fromEntries(Object.entries(report.arrays).map(([name, array]) => [name, numbersOf(array)]));
    this.methods = ["raw", "rollout", "flow"].filter((method) => method in report.arrays);
  }

  has(array) {
    return array in this.arrays;
  }

  layers(array) {
    const { flow_layers: flow, settings } = this.report;
    return (array.startsWith("flow") && flow) || settings.layers;
  }

  /** Output tokens that have rows; of generations, generated tokens counted from 0. */
  rows(array) {
    const { generation, input, output_tokens: all, flow_output_tokens: flow } = this.report;
    if (!generation) return array.startsWith("flow") ? flow : all;
    const before = input.tokens.length - 1;
    return array.startsWith("flow") ? flow.map((token) => token - before) : [...generation.tokens.keys()];
  }

  /** An output token's row: the mean over layers; null where there is none. */
  row(array, token, layers = this.layers(array)) {
    const [of, rows, columns] = this.report.arrays[array].shape;
    const row = this.rows(array).indexOf(token);
    if (row < 0) return null;
    const places = layers.map((layer) => this.layers(array).indexOf(layer)).filter((place) => place < of);
    const at = (place, column) => this.arrays[array][(place * rows + row) * columns + column];
    return Array.from({ length: columns }, (_, j) => places.reduce((sum, l) => sum + at(l, j), 0) / places.length);
  }
}

/** The largest relative error of an embedded report's numbers: those of its arrays' types. */
export function precisionOf({ arrays }) {
  const exactness = { f16: 2 ** -11, f32: 2 ** -23, f64: 2 ** -52, u8: 0 };
  return Math.max(2 ** -52, ...Object.values(arrays).map(({ dtype, error }) => error ?? exactness[dtype]));
}
