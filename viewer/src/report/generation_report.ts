// A report of kind "generation": the prompt's tokens and the generated ones are one sequence, and the row that tells
// what a generated token drew on is that of the position before it, which chose it.
import {
  checkDocument,
  type EncodedArray,
  type GenerationFields,
  type Method,
  METHODS,
  type ReportDocument,
  type TokenFields,
} from "./document";
import { Report, type Layers } from "./report";
import { decodeArray, type Numbers, type Values } from "./values";

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

export class GenerationReport extends Report {
  private readonly prompt: readonly TokenFields[];

  /** @param cubes by the names of the document's arrays */
  constructor(
    document: ReportDocument,
    readonly fields: GenerationFields,
    private readonly cubes: Map<string, Cube>,
  ) {
    const { input } = document;
    const tokens = [...input.tokens, ...fields.tokens.map((token) => ({ ...token, segment: 1 }))];
    super({ ...document, input: { ...input, text_pair: fields.text, tokens } }, new Map(), cubes);
    this.prompt = input.tokens;
  }

  /** Reads a parsed document. Throws with a sentence for the user. */
  static override async read(value: unknown): Promise<GenerationReport> {
    const document = checkDocument(value);
    const fields = document.generation;
    if (document.input.kind !== "generation" || !fields) {
      throw new Error(`expected the report of a generation, found one of kind ${document.input.kind}`);
    }
    if (document.input.tokens.length === 0 || fields.tokens.length === 0) {
      throw new Error("expected prompt tokens and generated ones, found none");
    }
    const cubes = new Map<string, Cube>();
    for (const [name, array] of Object.entries(document.arrays)) {
      const rowToken = (row: number) => (name.startsWith("flow") ? fields.flow_tokens[row] : row);
      cubes.set(name, await readCube(name, array, rowToken));
    }
    const report = new GenerationReport(document, fields, cubes);
    if (report.methods.length === 0) throw new Error("expected values of raw, rollout or flow, found none");
    return report;
  }

  /** While a generation grows, its reports share their prompt. */
  override textOf(segment?: number): unknown {
    return segment === 0 ? this.prompt : this;
  }

  override get choosable(): number {
    return this.fields.tokens.length;
  }

  override outputOf(token: number): number {
    return this.m - 1 + token;
  }

  override namedBy(output: number): number {
    return output + 1;
  }

  /** What a reader wants to see of a text that has just come: its last token that is no special one, else the first. */
  get newest(): number {
    return Math.max(
      0,
      this.fields.tokens.findLastIndex(({ special }) => !special),
    );
  }

  override layersOf(method: Method): readonly number[] {
    return method === "flow" ? this.fields.flow_layers : this.layers;
  }

  override outputTokens(method: Method): number[] {
    const tokens = method === "flow" ? this.fields.flow_tokens : [...this.fields.tokens.keys()];
    return tokens.map((token) => this.outputOf(token));
  }

  hasNormalized(method: Method): boolean {
    return this.cubes.has(`${method}_normalized`);
  }

  /** Whether the document says what was drawn on generated tokens. Normalised values cover the prompt only. */
  hasGenerated(method: Method): boolean {
    return this.cubes.has(`${method}_generated`);
  }

  /** Of all columns: m values, or m + n (0 from the token on) where the document tells of generated tokens, too. */
  override row(array: string, layers: Layers, output: number): Float64Array | null {
    const prompt = this.mean(array, layers, output);
    const generated =
      prompt && METHODS.some((method) => method === array) && this.mean(`${array}_generated`, layers, output);
    if (!prompt || !generated) return prompt;
    const all = new Float64Array(this.n);
    all.set(prompt);
    all.set(generated, this.m);
    return all;
  }

  /** The mean over layers of one row of an array, or null where there is none. */
  private mean(array: string, layers: Layers, output: number): Float64Array | null {
    const method = array.split("_")[0] as Method;
    const cube = this.cubes.get(array);
    const row = this.outputTokens(method).indexOf(output);
    const all = this.layersOf(method);
    const at = [layers].flat().map((layer) => all.indexOf(layer));
    return cube && row >= 0 && at.length > 0 && !at.includes(-1) ? cube.mean(row, at) : null;
  }

  /** Rounded values are ranked as they are. */
  override rowError(): number {
    return 0;
  }

  /** Of all that the output token drew on, the share on the prompt; null where values are no shares. */
  promptShare(array: string, layers: Layers, output: number): number | null {
    const prompt = this.isShare(array) ? this.mean(array, layers, output) : null;
    return prompt && sum(prompt);
  }

  /**
   * Of all that the output token drew on, the share on generated tokens; null where the report does not tell, and for
   * flow, of which there are no shares.
   */
  generatedShare(array: string, layers: Layers, output: number): number | null {
    const prompt = this.promptShare(array, layers, output);
    if (prompt === null) return null;
    if (output === this.m - 1) return 0;
    // Rows of raw and rollout, and of every normalised method, sum to 1 over prompt and generated tokens.
    return Math.min(1, Math.max(0, 1 - prompt));
  }

  /** Of a share's row, all that the output token drew on: the prompt's part and that of generated tokens. */
  whole(array: string, layers: Layers, output: number): number {
    return (this.promptShare(array, layers, output) ?? 0) + (this.generatedShare(array, layers, output) ?? 0);
  }

  /** Attention on the first token, mean over heads, or null. */
  sinkShare(output: number, layer: number): number | null {
    const at = this.layers.indexOf(layer);
    const cube = this.cubes.get("sink_share");
    const token = output - (this.m - 1);
    return cube && at >= 0 && token < this.choosable ? cube.mean(token, [at])[0] : null;
  }
}

export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let j = 0; j < values.length; ++j) total += values[j];
  return total;
}

/** Reads a parsed document of any kind. Throws with a sentence for the user. */
export const readReport = async (value: unknown): Promise<Report> =>
  checkDocument(value).input.kind === "generation" ? GenerationReport.read(value) : Report.read(value);
