// A report document of kind "generation" with its arrays decoded: which tokens of the prompt (and, where the document
// holds them, of the text generated so far) each generated token drew on.
import { EndsOf, type Ends } from "../color/ends";
import {
  checkDocument,
  type EncodedArray,
  type GenerationFields,
  type Method,
  METHODS,
  type ReportDocument,
} from "../report/document";
import { Report } from "../report/report";
import { decodeArray, type Numbers, type Values } from "../report/values";
import { pieceName, type PieceName } from "./piece";

/** Values of one generated token: which, of which method, and the mean over which layers. */
export interface Selection {
  method: Method;
  /** normalised by receptive field */
  normalized: boolean;
  /** generated token, from 0 */
  token: number;
  /** positions in layersOf(method) */
  layers: readonly number[];
}

/** What was drawn on: a token of the prompt, or one generated before. */
export interface Column {
  name: PieceName;
  special: boolean;
  generated: boolean;
  /** position among the prompt's tokens or among the generated ones */
  position: number;
}

export interface RankedColumn {
  column: number;
  /** from 1. Flow values that their enclosures cannot tell apart share one, as do equal values of other methods. */
  rank: number;
  value: number;
  /** the value equals a cut at an end of the network */
  degenerate: boolean;
}

/** An array [tokens, columns, layers]. */
export interface Cube {
  /** of row `row` of the array: the mean over layers, a number for each column */
  mean(row: number, layers: readonly number[]): Float64Array;
}

/** @param rowToken the generated token of a row of the array: it sees the tokens generated before it */
async function readCube(name: string, array: EncodedArray, rowToken: (row: number) => number): Promise<Cube> {
  const { shape } = array;
  // sink_share has no columns.
  const [columns, depth] = [shape.length === 3 ? shape[1] : 1, shape.at(-1) ?? 0];
  if (array.axis === 1 && shape.length === 3) {
    // Rows run along the columns, one for each token and layer, and are decoded when they are asked for.
    const seen = (row: number) => (name.endsWith("_generated") ? rowToken(Math.floor(row / depth)) : columns);
    const values = await decodeArray({ ...array, shape: [shape[0], depth, columns] }, seen);
    return {
      mean(row, layers) {
        const result = new Float64Array(columns);
        const level = new Float64Array(columns + 1);
        const factor = 1 / layers.length;
        for (const layer of layers) {
          if (values.add) values.add(row * depth + layer, factor, result, level);
          else addTo(result, values.row(row * depth + layer), factor);
        }
        let even = 0;
        for (let j = 0; j < columns; ++j) {
          even += level[j];
          // Nothing is below 0 but for rounding.
          result[j] = Math.max(0, result[j] + even);
        }
        return result;
      },
    };
  }
  const values = await decodeArray(array);
  const flat = values.all ?? flatten(values);
  return {
    mean(row, layers) {
      const result = new Float64Array(columns);
      for (let j = 0; j < columns; ++j) {
        const begin = (row * columns + j) * depth;
        let total = 0;
        for (const layer of layers) total += flat[begin + layer];
        result[j] = total / layers.length;
      }
      return result;
    },
  };
}

function addTo(target: Float64Array, row: Numbers, factor: number) {
  for (let j = 0; j < row.length; ++j) target[j] += factor * row[j];
}

function flatten(values: Values): Numbers {
  const flat = new Float32Array(values.rows * values.n);
  for (let row = 0; row < values.rows; ++row) flat.set(values.row(row), row * values.n);
  return flat;
}

export class GenerationReport {
  readonly fields: GenerationFields;
  /** m: tokens (or words) of the prompt */
  readonly m: number;
  /** n: generated tokens */
  readonly n: number;
  readonly methods: Method[];
  /** The prompt's tokens, then the generated ones. */
  readonly columns: Column[];

  private constructor(
    readonly document: ReportDocument,
    fields: GenerationFields,
    readonly prompt: Report,
    readonly said: Report,
    private readonly cubes: Map<string, Cube>,
  ) {
    this.fields = fields;
    this.m = prompt.n;
    this.n = said.n;
    this.methods = METHODS.filter((method) => cubes.has(method));
    const column = (report: Report, generated: boolean) =>
      report.tokens.map((token, position): Column => {
        const name = pieceName(report.slice(0, token.begin, token.end), token.piece, position);
        return { name, special: token.special, generated, position };
      });
    this.columns = [...column(prompt, false), ...column(said, true)];
  }

  /** From its parts. `prompt` and `said` hold no numbers; `cubes` do, by the names of the document's arrays. */
  static of(
    document: ReportDocument,
    fields: GenerationFields,
    prompt: Report,
    said: Report,
    cubes: Map<string, Cube>,
  ) {
    return new GenerationReport(document, fields, prompt, said, cubes);
  }

  /** Reads a parsed document. Throws with a sentence for the user. */
  static async read(value: unknown): Promise<GenerationReport> {
    const document = checkDocument(value);
    const fields = document.generation;
    if (document.input.kind !== "generation" || !fields) {
      throw new Error(`expected the report of a generation, found one of kind ${document.input.kind}`);
    }
    const prompt = await Report.read({ ...document, arrays: {} });
    const { text, tokens } = fields;
    const said = await Report.read({ ...document, input: { kind: "text", text, tokens }, arrays: {} });
    if (prompt.n === 0 || said.n === 0) throw new Error("expected prompt tokens and generated ones, found none");
    const cubes = new Map<string, Cube>();
    for (const [name, array] of Object.entries(document.arrays)) {
      const rowToken = (row: number) => (name.startsWith("flow") ? fields.flow_tokens[row] : row);
      cubes.set(name, await readCube(name, array, rowToken));
    }
    const report = new GenerationReport(document, fields, prompt, said, cubes);
    if (report.methods.length === 0) throw new Error("expected values of raw, rollout or flow, found none");
    return report;
  }

  /** What a reader wants to see of a text that has just come: its last token that is no special one, else the first. */
  get newest(): number {
    return Math.max(
      0,
      this.said.tokens.findLastIndex(({ special }) => !special),
    );
  }

  get settings() {
    return this.document.settings;
  }

  /** Generated tokens that a method was computed for. */
  rowsOf(method: Method): readonly number[] {
    return method === "flow" ? this.fields.flow_tokens : this.said.tokens.map((token) => token.index);
  }

  layersOf(method: Method): readonly number[] {
    return method === "flow" ? this.fields.flow_layers : this.settings.layers;
  }

  hasNormalized(method: Method): boolean {
    return this.cubes.has(`${method}_normalized`);
  }

  /** Whether the document says what was drawn on generated tokens. Normalised values cover the prompt only. */
  hasGenerated(method: Method): boolean {
    return this.cubes.has(`${method}_generated`);
  }

  /**
   * Whether values are parts of a whole. Flow values are not: each is the most that can reach one token, and several may
   * use the same paths.
   */
  isShare({ method, normalized }: Pick<Selection, "method" | "normalized">): boolean {
    return normalized || (method !== "flow" && this.settings.mixing === "attention");
  }

  /** The mean over layers of one row of an array, or null where there is none. */
  private mean(array: string, { method, token, layers }: Selection): Float64Array | null {
    const cube = this.cubes.get(array);
    const row = this.rowsOf(method).indexOf(token);
    if (!cube || row < 0 || layers.length === 0) return null;
    return cube.mean(row, layers);
  }

  /** What the token drew on in the prompt: m values, or null where they were not computed. */
  promptValues(selection: Selection): Float64Array | null {
    return this.mean(selection.normalized ? `${selection.method}_normalized` : selection.method, selection);
  }

  /** What it drew on in the text generated before it: n values (0 from the token on), or null. */
  generatedValues(selection: Selection): Float64Array | null {
    return selection.normalized ? null : this.mean(`${selection.method}_generated`, selection);
  }

  /** Of all columns: m, or m + n where the document tells of generated tokens, too. */
  values(selection: Selection): Float64Array | null {
    const prompt = this.promptValues(selection);
    const generated = prompt && this.generatedValues(selection);
    if (!prompt || !generated) return prompt;
    const all = new Float64Array(this.m + this.n);
    all.set(prompt);
    all.set(generated, this.m);
    return all;
  }

  /** Which flow values of the prompt equal a cut at an end of the network, in one of the layers; null where there are none. */
  degenerate(selection: Selection): Float64Array | null {
    return selection.method === "flow" ? this.mean("flow_degenerate", selection) : null;
  }

  /**
   * Of all that the token drew on, the share on generated tokens; null where the report does not tell, and for flow, of
   * which there are no shares.
   */
  generatedShare(selection: Selection): number | null {
    const prompt = this.promptValues(selection);
    if (!prompt || !this.isShare(selection)) return null;
    if (selection.token === 0) return 0;
    // Rows of raw and rollout, and of every normalised method, sum to 1 over prompt and generated tokens.
    return Math.min(1, Math.max(0, 1 - sum(prompt)));
  }

  /** Of a share's row, all that the token drew on: the prompt's part and that of generated tokens. */
  whole(selection: Selection): number {
    return sum(this.promptValues(selection) ?? []) + (this.generatedShare(selection) ?? 0);
  }

  /** Attention on the first token, mean over heads, or null. */
  sinkShare(token: number, layer: number): number | null {
    const at = this.settings.layers.indexOf(layer);
    const cube = this.cubes.get("sink_share");
    if (!cube || at < 0 || token >= this.n) return null;
    return cube.mean(token, [at])[0];
  }

  /** Columns that are not set aside and hold something, strongest first. */
  ranking(selection: Selection, reasons: readonly string[]): RankedColumn[] {
    const values = this.values(selection);
    if (!values) return [];
    const order = [...values.keys()].filter((j) => !reasons[j] && values[j] > 0);
    order.sort((a, b) => values[b] - values[a] || a - b);
    const flow = selection.method === "flow";
    const gaps = flow && !selection.normalized ? this.mean("flow_gap", selection) : null;
    const flags = this.degenerate(selection);
    let rank = 0;
    let first = NaN;
    return order.map((j, at) => {
      if (!(values[j] + (gaps?.[j] ?? 0) >= first)) [rank, first] = [at + 1, values[j]];
      return { column: j, rank, value: values[j], degenerate: Boolean(flags?.[j]) };
    });
  }

  /**
   * The ends of a colour scale over rows of values. What is left out does not count. The first token and special ones,
   * where decoders park what they do not need, and the position that chose the token itself do not set it when they lie
   * far above the rest.
   * @param tokens the generated token of each row
   */
  scale(rows: readonly (Float64Array | null)[], tokens: readonly number[], reasons: readonly string[]): Ends {
    const all = new EndsOf();
    for (const [r, row] of rows.entries()) {
      if (!row) continue;
      // Token t was chosen at the position before it: the prompt's last, or generated token t - 1.
      const itself = this.m - 1 + tokens[r];
      for (let j = 0; j < row.length; ++j) {
        if (reasons[j]) continue;
        all.add(row[j], j === 0 || j === itself || this.columns[j].special, j < this.m + tokens[r]);
      }
    }
    return all.ends;
  }
}

export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let j = 0; j < values.length; ++j) total += values[j];
  return total;
}
