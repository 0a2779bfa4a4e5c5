// The numbers for every view: what each output token draws on, given the current choices.
//
// Values come from the document if it has them. Others (another residual, other heads, fewer layers) are computed in
// the page from the layers' attention. Flow, which is expensive, is requested from the server or reported as missing.
import { arrayName, isScore, type Method, type ScoreMethod } from "./report/document";
import { GenerationReport } from "./report/generation_report";
import { recipeOf, recipesApart, type Recipe } from "./report/recipe";
import type { Layers, Report } from "./report/report";
import type { Numbers } from "./report/values";
import { recomputedError, recomputedRow, whyNoFlow, whyNot, type RowValues } from "./compute/recompute";

export interface RowResult {
  values: Numbers;
  /** document: as computed by C++; server: likewise, for this recipe; page: computed here */
  source: "document" | "server" | "page";
  /** largest relative error of a value, or of the attention that the page computed it from; 0: exact */
  error: number;
  /** the report that has them; null: computed in the page */
  from: Report | null;
  /** for flow computed here: its degeneracy flags */
  degenerate?: Numbers | null;
}

/** Rows of flow that took the page long to compute, keyed by what they describe. */
export type FlowRows = ReadonlyMap<string, RowValues>;
export const flowKey = (recipe: Recipe, layer: number, outputToken: number): string =>
  JSON.stringify([recipe, layer, outputToken]);

export interface Ranked {
  token: number;
  /** from 1; values that cannot be separated, given their errors or (for flow) enclosures, share one */
  rank: number;
  value: number;
  degenerate: boolean;
}

const answersRecipe = (report: Report, recipe: Recipe) => recipesApart(recipeOf(report), recipe).length === 0;

// The number of values is bounded, too: a generation's rows, made for the cache, have a value for each token.
const MOST_ROWS = 4096;
const MOST_NUMBERS = 2 ** 23;

export class Explanation {
  private readonly cache = new Map<string, RowResult | null>();
  private cached = 0;
  private readonly every: number[];

  constructor(
    readonly report: Report,
    readonly recipe: Recipe,
    private readonly answered: readonly Report[] = [],
    /** for a generation: normalized values where available */
    private readonly normalized = false,
    private readonly flows: FlowRows = new Map(),
  ) {
    this.every = report.tokens.map((token) => token.index);
    this.answers = answered.filter((answer) => answersRecipe(answer, recipe));
  }

  /** A server's results for the same input and this recipe. */
  private readonly answers: readonly Report[];

  get asComputed(): boolean {
    return answersRecipe(this.report, this.recipe);
  }

  /** Name of the document's array with a method's values. */
  arrayOf(method: Method): string {
    const { report } = this;
    return this.normalized && report instanceof GenerationReport && report.hasNormalized(method)
      ? `${method}_normalized`
      : arrayName(method);
  }

  /** Scores of one prediction: independent of recipe and layer, and in an explanation of the output token. */
  private scores(method: ScoreMethod, outputToken: number): RowResult | null {
    const array = arrayName(method);
    for (const from of [this.report, ...this.answered]) {
      const values = from.row(array, 1, outputToken);
      const source = from === this.report ? "document" : "server";
      if (values) return { values, source, error: from.rowError(array, -1), from };
    }
    return null;
  }

  /** The row of `outputToken` after `layer`, or null if it is not known here. */
  result(method: Method, layer: Layers, outputToken: number): RowResult | null {
    if (isScore(method)) return this.scores(method, outputToken);
    const key = `${method} ${layer} ${outputToken}`;
    const known = this.cache.get(key);
    if (known !== undefined) return known;
    let result: RowResult | null = null;
    if (this.asComputed) {
      const values = this.report.row(this.arrayOf(method), layer, outputToken);
      if (values)
        result = { values, source: "document", error: this.report.rowError(method, outputToken), from: this.report };
    }
    for (const answer of this.answers) {
      const values = result ? null : answer.row(method, layer, outputToken);
      if (values) result = { values, source: "server", error: answer.rowError(method, outputToken), from: answer };
    }
    if (!result && typeof layer === "number") {
      const { report, recipe } = this;
      const long = method === "flow" ? this.flows.get(flowKey(recipe, layer, outputToken)) : undefined;
      const row = long ?? recomputedRow(report, recipe, method, layer, outputToken);
      if (row) result = { ...row, source: "page", error: recomputedError(report, recipe), from: null };
    }
    if (result) result = this.emptied(method, layer, outputToken, result);
    // Rows of thousands of tokens are cheap to make again.
    if (this.cache.size > MOST_ROWS || this.cached > MOST_NUMBERS) {
      this.cache.clear();
      this.cached = 0;
    }
    this.cache.set(key, result);
    this.cached += result?.values.length ?? 0;
    return result;
  }

  /** Whether an output token's relevance row is empty after a layer: nothing there argues for the prediction. */
  carriesNothing(layer: Layers, outputToken: number): boolean {
    if (this.report.mixing.rule !== "contained-normalized") return false;
    const raw = this.result("raw", layer, outputToken)?.values;
    return raw !== undefined && raw.every((value) => value === 0);
  }

  /** Rollout keeps the mass of an empty row in place, for layers above to pass through; on its own, the row is zero. */
  private emptied(method: Method, layer: Layers, outputToken: number, result: RowResult): RowResult {
    if (method !== "rollout" || !this.carriesNothing(layer, outputToken)) return result;
    return { ...result, values: new Float64Array(result.values.length), error: 0 };
  }

  row(method: Method, layer: Layers, outputToken: number): Numbers | null {
    return this.result(method, layer, outputToken)?.values ?? null;
  }

  degenerate(layer: Layers, outputToken: number): Numbers | null {
    return (
      this.result("flow", layer, outputToken)?.degenerate ?? this.besideFlow("flow_degenerate", layer, outputToken)
    );
  }

  /** From a report that has the flow: a document that matches a recipe may lack its flow, mainly for words. */
  private besideFlow(array: string, layer: Layers, outputToken: number): Numbers | null {
    return this.result("flow", layer, outputToken)?.from?.row(array, layer, outputToken) ?? null;
  }

  /** Output tokens for which a server computed this recipe, in any of its answers. */
  private answeredTokens(method: Method, layer: number): number[] {
    const holds = (answer: Report) => answer.methods.includes(method) && answer.layersOf(method).includes(layer);
    const answers = this.answers.filter(holds);
    return [...new Set(answers.flatMap((answer) => answer.outputTokens(method)))].sort((a, b) => a - b);
  }

  /** About how many numbers are read to make a row; 0 if the document has it. */
  cost(method: Method, layer: number): number {
    if (isScore(method)) return 0;
    const { report, recipe, asComputed } = this;
    const { n } = report;
    if (asComputed && report.methods.includes(method) && report.outputTokens(method).length === n) return 0;
    const depth = method === "raw" ? 1 : Math.max(0, layer - recipe.start_layer);
    // Sparse rows are used as stored.
    return depth * n * (report.graphValues()?.add ? Math.min(n, 100) : n);
  }

  /** Why there are no values, as a sentence; null if there are some for every output token. */
  whyNot(method: Method, layer: number): string | null {
    if (isScore(method)) return this.scores(method, this.report.outputOf(0)) ? null : `The report holds no ${method}.`;
    if (this.asComputed && this.report.outputTokens(method).length === this.report.n) {
      if (this.report.methods.includes(method) && this.report.layers.includes(layer)) return null;
    }
    if (this.answeredTokens(method, layer).length === this.report.n) return null;
    return whyNot(this.report, this.recipe, method, layer);
  }

  /** Why one output token has none, if so. @param alone there is no server to compute them */
  whyNoRow(method: Method, layer: number, alone: boolean): string {
    const why = method === "flow" && alone ? whyNoFlow(this.report, this.recipe, layer) : this.whyNot(method, layer);
    return why ?? `The report holds ${method} for other output tokens only.`;
  }

  /** Output tokens for which the method has values. */
  outputTokens(method: Method, layer = this.report.layers.at(-1) ?? 1): number[] {
    if (isScore(method)) return this.report.outputTokens(method);
    if (this.whyNot(method, layer) === null) return this.every;
    const answered = this.answeredTokens(method, layer);
    if (!this.asComputed || !this.report.methods.includes(method)) return answered;
    return [...new Set([...this.report.outputTokens(method), ...answered])].sort((a, b) => a - b);
  }

  /** Input tokens that count, strongest first; in a generation, only those with a positive value. */
  ranking(method: Method, layer: Layers, outputToken: number, counts: readonly boolean[]): Ranked[] {
    const result = this.result(method, layer, outputToken);
    if (!result) return [];
    const { values, error } = result;
    const all = !this.report.document.generation;
    // Texts show flow next to other methods. Elsewhere it is not shown, and the page might have to compute it.
    const beside = all && this.report.document.input.kind !== "image";
    const flags = beside || method === "flow" ? this.degenerate(layer, outputToken) : null;
    const flow = this.arrayOf(method) === "flow";
    const gaps = flow ? this.besideFlow("flow_gap", layer, outputToken) : null;
    const widest = flow && !gaps ? (result.from?.document.flow_gap_max ?? 0) : 0;
    // Strong evidence against counts as much as strong evidence for.
    const size = isScore(method) ? (i: number) => Math.abs(values[i]) : (i: number) => values[i];
    const order = [...values.keys()].filter((i) => counts[i] && (all || size(i) > 0));
    order.sort((a, b) => (size(b) || 0) - (size(a) || 0) || a - b);
    // If all values are 0, nothing is ranked.
    if (order.length > 0 && size(order[0]) === 0) return [];
    let rank = 0;
    let first = NaN;
    return order.map((i, at) => {
      const high = (size(i) + (gaps ? (gaps[i] ?? 0) : widest)) * (1 + error);
      if (!(high >= first)) [rank, first] = [at + 1, size(i) * (1 - error)];
      return { token: i, rank, value: values[i], degenerate: Boolean(flags?.[i]) };
    });
  }
}

/** The largest finite value among the tokens that count. */
export function largest(values: Numbers, counts: readonly boolean[]): number {
  let most = 0;
  for (let i = 0; i < values.length; ++i) {
    const value = values[i];
    if (value > most && value < Infinity && counts[i]) most = value;
  }
  return most;
}
