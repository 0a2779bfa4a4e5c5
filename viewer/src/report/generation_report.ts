// A report of kind "generation": the prompt's tokens and the generated ones are one sequence, and what a generated
// token drew on is in the row of the position before it, which chose it.
import {
  arrayName,
  isScore,
  METHODS,
  type Check,
  type GenerationFields,
  type Method,
  type ReportDocument,
  type Target,
  type TokenFields,
} from "./document";
import { Report, type Layers } from "./report";
import { upgraded } from "./upgrade";
import { sum, type Numbers, type Values } from "./values";

export class GenerationReport extends Report {
  readonly fields: GenerationFields;
  private readonly prompt: readonly TokenFields[];

  /** @param document version 3 */
  constructor(document: ReportDocument, arrays: Map<string, Values>) {
    const { input, generation: fields } = document;
    if (input.kind !== "generation" || !fields) {
      throw new Error(`expected the report of a generation, found one of kind ${input.kind}`);
    }
    if (input.tokens.length === 0 || fields.tokens.length === 0) {
      throw new Error("expected prompt tokens and generated ones, found none");
    }
    const tokens = [...input.tokens, ...fields.tokens.map((token) => ({ ...token, segment: 1 }))];
    super({ ...document, input: { ...input, text_pair: fields.text, tokens } }, arrays);
    this.fields = fields;
    this.prompt = input.tokens;
    if (this.methods.length === 0) throw new Error("expected values of at least one method, found none");
  }

  static override async read(value: unknown): Promise<GenerationReport> {
    const document = upgraded(value);
    return new GenerationReport(document, await Report.decoded(document));
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

  override predictionOf(output: number): number {
    return output - (this.m - 1);
  }

  override targetOf(output: number): Target | undefined {
    return this.fields.tokens[this.predictionOf(output)]?.target;
  }

  override outputTokens(method: Method): number[] {
    return isScore(method) ? this.fields.tokens.map((_, token) => this.outputOf(token)) : super.outputTokens(method);
  }

  /** The token that the page opens on: the first ordinary one; in a branch, the branch's first. */
  get opening(): number {
    const begin = Math.max(0, (this.fields.given ?? 0) - 1);
    return Math.max(
      0,
      this.fields.tokens.findIndex(({ special }, token) => token >= begin && !special),
    );
  }

  protected override get openingCheck(): Check | undefined {
    return this.fields.tokens[this.opening]?.check;
  }

  /** The token shown while the text grows: the last ordinary one, else the first. */
  get newest(): number {
    return Math.max(
      0,
      this.fields.tokens.findLastIndex(({ special }) => !special),
    );
  }

  hasNormalized(method: Method): boolean {
    return this.arrays.has(`${method}_normalized`);
  }

  /** Whether the document has values over generated tokens. Normalized values cover only the prompt. */
  hasGenerated(method: Method): boolean {
    return this.arrays.has(`${method}_generated`);
  }

  /** Over all columns: m values, or m + n (0 from the token on) if the document covers generated tokens as well. */
  override row(array: string, layers: Layers, output: number): Numbers | null {
    const prompt = super.row(array, layers, output);
    const generated =
      prompt &&
      METHODS.some((method) => arrayName(method) === array) &&
      super.row(`${array}_generated`, layers, output);
    if (!prompt || !generated) return prompt;
    const all = new Float64Array(this.n);
    all.set(prompt);
    all.set(generated, this.m);
    return all;
  }

  /** Values are ranked as rounded. */
  override rowError(): number {
    return 0;
  }

  /** The share of the output token's total that lies on the prompt; null if values are not shares. */
  promptShare(array: string, layers: Layers, output: number): number | null {
    const prompt = this.isShare(array) ? super.row(array, layers, output) : null;
    return prompt && sum(prompt);
  }

  /** The share of the output token's total that lies on generated tokens; null if unknown, and for flow (no shares). */
  generatedShare(array: string, layers: Layers, output: number): number | null {
    const prompt = this.promptShare(array, layers, output);
    if (prompt === null) return null;
    if (output === this.m - 1) return 0;
    if (this.document.notes.some(({ code }) => code === "learned-sinks")) return null;
    // Rows of raw and rollout, and of every normalized method, sum to 1 over prompt and generated tokens.
    return Math.min(1, Math.max(0, 1 - prompt));
  }

  /** For shares, the output token's total: the prompt's part and that of generated tokens. */
  whole(array: string, layers: Layers, output: number): number {
    return (this.promptShare(array, layers, output) ?? 0) + (this.generatedShare(array, layers, output) ?? 0);
  }

  /** Attention on the first token, mean over heads, or null. */
  sinkShare(output: number, layer: number): number | null {
    const at = this.layers.indexOf(layer);
    return at < 0 ? null : (this.arrays.get("sink_share")?.row(at)[output - (this.m - 1)] ?? null);
  }
}

/** Reads a parsed document of any kind. Throws with a sentence for the user. */
export const readReport = async (value: unknown): Promise<Report> =>
  upgraded(value).input.kind === "generation" ? GenerationReport.read(value) : Report.read(value);
