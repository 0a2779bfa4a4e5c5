// The layers' matrices for the current settings, as defined in attnflow/graph/mixing.h and gradient_mixing.h.
//
// W_l is attention fused over heads, with columns masked, the smallest share of weights discarded, and the rows changed
// by these steps renormalized. The residual connection is added when rows are used (rollout.ts, max_flow.ts). Choosing
// one head means that head in the layer looked at and the mean over heads in the layers below it.
import { hasTarget } from "../report/mixings";
import type { Recipe } from "../report/recipe";
import type { Report } from "../report/report";
import { sum, type Numbers, type Values } from "../report/values";
import { mergedRow, WordReport } from "../report/words";
import type { Work } from "./slices";

export type MixingRecipe = Pick<Recipe, "heads" | "mask_columns" | "discard">;

/** Matrices of computed layers are cached up to this many numbers in all (8 bytes each). */
const MOST_KEPT = 8e6;
/** Discarding sorts a layer's weights. */
const MOST_DISCARD_TOKENS = 256;

/** Heads are stored as the model has them, without gradients: they give only matrices of plain attention. */
const usesHeads = (report: Report): boolean => report.hasHeads && report.mixing.needs === "attention";

const isHead = (heads: string): boolean => /^\d+$/.test(heads);

/** Positions whose columns are set to zero; subword tokens where words are merged. */
function maskedColumns(report: Report, mask: string): number[] {
  if (mask === "none") return [];
  if (mask === "first") return [0];
  if (mask === "special") return report.tokens.filter((token) => token.special).map((token) => token.index);
  return mask
    .split(",")
    .map(Number)
    .filter((position) => Number.isInteger(position) && position >= 0 && position < report.n);
}

/** Rows of W for every layer, l from 1; everything else follows from them. */
export abstract class Weights {
  constructor(
    readonly n: number,
    /** Largest relative error of the document's values that these are made from. */
    readonly error: number,
  ) {}
  /** The result must not be modified. */
  abstract row(layer: number, query: number): Numbers;

  /**
   * Adds `factor` times a row to `target`; its uniform part goes to `level` [n + 1] as differences (see Values.add).
   */
  add(layer: number, query: number, factor: number, target: Float64Array, level: Float64Array) {
    void level;
    const row = this.row(layer, query);
    for (let j = 0; j < row.length; ++j) target[j] += factor * row[j];
  }

  sum(layer: number, query: number): number {
    return sum(this.row(layer, query));
  }
}

class DocumentWeights extends Weights {
  constructor(
    n: number,
    readonly values: Values,
    /** the top layer's rows, stored separately in a document made with one head */
    readonly other: ((layer: number, query: number) => Numbers | null) | null = null,
    otherError = 0,
  ) {
    super(n, Math.max(values.error, otherError));
  }

  row(layer: number, query: number): Numbers {
    return this.other?.(layer, query) ?? this.values.row((layer - 1) * this.n + query);
  }

  override add(layer: number, query: number, factor: number, target: Float64Array, level: Float64Array) {
    if (this.values.add && !this.other) this.values.add((layer - 1) * this.n + query, factor, target, level);
    else super.add(layer, query, factor, target, level);
  }
}

/** A zero row becomes that of the identity: the position keeps only itself. */
function normalizeRow(row: Float64Array, query: number) {
  const total = sum(row);
  if (total > 0) for (let j = 0; j < row.length; ++j) row[j] /= total;
  else row[query] = 1;
}

/** Rows after fusing, masking and discarding, whole layers kept when memory allows. */
class ComputedWeights extends Weights {
  private readonly layers = new Map<number, Float64Array>();
  private readonly masked: number[];
  private readonly keptByDiscard: boolean[];
  private readonly keeps: boolean;

  constructor(
    private readonly report: Report,
    private readonly heads: string,
    private readonly recipe: MixingRecipe,
    /** the fused rows, if they need not be fused from heads */
    private readonly fused: Weights | null,
  ) {
    super(report.n, fused?.error ?? report.array("attention")?.error ?? 0);
    this.masked = maskedColumns(report, recipe.mask_columns);
    const { discard_keep_special } = report.settings;
    this.keptByDiscard = report.tokens.map((token) => discard_keep_special && token.special);
    this.keeps = recipe.discard > 0 || report.model.layers * report.n ** 2 <= MOST_KEPT;
  }

  row(layer: number, query: number): Numbers {
    if (!this.keeps) return this.finished(layer, query);
    const { n } = this;
    return this.matrix(layer).subarray(query * n, (query + 1) * n);
  }

  matrix(layer: number): Float64Array {
    let matrix = this.layers.get(layer);
    if (!matrix) {
      const { n } = this;
      matrix = new Float64Array(n * n);
      if (this.recipe.discard > 0) this.discardInto(matrix, layer);
      else for (let q = 0; q < n; ++q) matrix.set(this.finished(layer, q), q * n);
      this.layers.set(layer, matrix);
    }
    return matrix;
  }

  /** Step 1: fusing. */
  private fuse(layer: number, query: number): Float64Array {
    if (this.fused) return Float64Array.from(this.fused.row(layer, query));
    const { heads, report, n } = this;
    const rowOf = (head: number) => report.headRow(layer, head, query) as Numbers;
    if (isHead(heads)) return Float64Array.from(rowOf(Number(heads)));
    const out = Float64Array.from(rowOf(0));
    const count = report.model.heads;
    for (let h = 1; h < count; ++h) {
      const row = rowOf(h);
      if (heads === "max") for (let j = 0; j < n; ++j) out[j] = Math.max(out[j], row[j]);
      else if (heads === "min") for (let j = 0; j < n; ++j) out[j] = Math.min(out[j], row[j]);
      else for (let j = 0; j < n; ++j) out[j] += row[j];
    }
    if (heads === "mean") for (let j = 0; j < n; ++j) out[j] /= count;
    else normalizeRow(out, query);
    return out;
  }

  /** Steps 1 and 2 (masking), and whether step 2 changed the row. */
  private afterMasking(layer: number, query: number): { row: Float64Array; changed: boolean } {
    const row = this.fuse(layer, query);
    let changed = false;
    for (const column of this.masked) {
      changed ||= row[column] !== 0;
      row[column] = 0;
    }
    return { row, changed };
  }

  /** Steps 1, 2 and 4 (normalizing). */
  private finished(layer: number, query: number): Float64Array {
    const { row, changed } = this.afterMasking(layer, query);
    if (changed && this.report.mixing.needs === "attention") normalizeRow(row, query);
    return row;
  }

  /** Steps 1 to 4, with discarding as step 3. Among equal weights, the later ones are discarded first. */
  private discardInto(matrix: Float64Array, layer: number) {
    const { n, keptByDiscard } = this;
    const changed: boolean[] = [];
    for (let q = 0; q < n; ++q) {
      const step = this.afterMasking(layer, q);
      matrix.set(step.row, q * n);
      changed.push(step.changed);
    }
    const candidates = matrix.filter((_, e) => !keptByDiscard[e % n]);
    const count = Math.min(Math.floor(this.recipe.discard * n * n + 1e-9), candidates.length);
    if (count > 0) {
      const sorted = candidates.sort();
      const limit = sorted[count - 1];
      // How many of the weights equal to the limit are discarded.
      let equal = 0;
      for (let k = count - 1; k >= 0 && sorted[k] === limit; --k) ++equal;
      for (let e = n * n - 1; e >= 0; --e) {
        if (keptByDiscard[e % n] || matrix[e] > limit) continue;
        if (matrix[e] === limit && equal-- <= 0) continue;
        if (matrix[e] !== 0) changed[Math.floor(e / n)] = true;
        matrix[e] = 0;
      }
    }
    if (this.report.mixing.needs !== "attention") return;
    for (let q = 0; q < n; ++q) if (changed[q]) normalizeRow(matrix.subarray(q * n, (q + 1) * n), q);
  }
}

/** Every row spread evenly over what its query sees: the baseline of receptive-field normalization. */
class EvenWeights extends Weights {
  private readonly sums = new Map<number, Float64Array>();

  constructor(
    readonly report: Report,
    /** with gradients: the rows whose sums are spread; null: each sum is 1 */
    readonly of: Weights | null,
  ) {
    super(report.n, of?.error ?? 0);
  }

  /** The keys that a query sees, from the first to behind the last. */
  private seen(layer: number, query: number): readonly [number, number] {
    const { joint, model } = this.report;
    if (!joint) return [0, model.causal ? query + 1 : this.n];
    const source = joint.sourceTokens;
    const to = this.report.attendsTo(layer);
    const works = to === null ? query < source : query >= source;
    if (!works) return [query, query + 1];
    return to === "target" ? [source, query + 1] : [0, source];
  }

  override sum(layer: number, query: number): number {
    if (!this.of) return 1;
    let sums = this.sums.get(layer);
    if (!sums) {
      sums = Float64Array.from({ length: this.n }, (_, q) => this.of?.sum(layer, q) ?? 1);
      this.sums.set(layer, sums);
    }
    return sums[query];
  }

  row(layer: number, query: number): Numbers {
    const [begin, end] = this.seen(layer, query);
    return new Float64Array(this.n).fill(this.sum(layer, query) / (end - begin), begin, end);
  }

  override add(layer: number, query: number, factor: number, _target: Float64Array, level: Float64Array) {
    const [begin, end] = this.seen(layer, query);
    const even = (factor * this.sum(layer, query)) / (end - begin);
    level[begin] += even;
    level[end] -= even;
  }
}

/** Rows between words, merged from finished rows between subword tokens: masking and discarding apply to the latter. */
class WordWeights extends Weights {
  constructor(
    readonly report: WordReport,
    readonly pieces: Weights,
  ) {
    super(report.n, pieces.error);
  }

  row(layer: number, query: number): Numbers {
    const { groups } = this.report;
    return mergedRow(
      groups[query].map((piece) => this.pieces.row(layer, piece)),
      groups,
    );
  }
}

export interface Mixing {
  readonly n: number;
  readonly error: number;
  /** W_l if l is the layer looked at. */
  readonly top: Weights;
  /** W_l if it lies below. */
  readonly below: Weights;
}

const kept = new WeakMap<Report, Map<string, Mixing | string>>();
const MOST_RECIPES = 4;

/** The matrices, or a sentence saying why they cannot be made here. Word matrices are merged from subword matrices. */
export function mixingOf(report: Report, recipe: MixingRecipe): Mixing | string {
  let known = kept.get(report);
  if (!known) kept.set(report, (known = new Map()));
  const key = `${recipe.heads} ${recipe.mask_columns} ${recipe.discard}`;
  let mixing = known.get(key);
  if (mixing === undefined) {
    mixing = report instanceof WordReport ? mergedMixing(report, recipe) : makeMixing(report, recipe);
    if (known.size >= MOST_RECIPES) known.delete(known.keys().next().value as string);
    known.set(key, mixing);
  }
  return mixing;
}

function mergedMixing(report: WordReport, recipe: MixingRecipe): Mixing | string {
  const mixing = mixingOf(report.pieces, recipe);
  if (typeof mixing === "string") return mixing;
  const top = new WordWeights(report, mixing.top);
  const below = mixing.below === mixing.top ? top : new WordWeights(report, mixing.below);
  return { n: report.n, error: mixing.error, top, below };
}

function makeMixing(report: Report, recipe: MixingRecipe): Mixing | string {
  const { settings, n } = report;
  if (recipe.discard > 0 && recipe.discard !== settings.discard && n > MOST_DISCARD_TOKENS) {
    return `Discarding weights is computed here for up to ${MOST_DISCARD_TOKENS} tokens.`;
  }
  const complete = settings.normalize === "none" && report.outputTokens("raw").length === n;
  if (isHead(settings.heads) && !usesHeads(report) && !complete)
    return "The report holds that head for its last layer only.";
  const weights = (heads: string, top: boolean): Weights | null => {
    const graph = report.graphValues();
    const sameSteps = recipe.mask_columns === settings.mask_columns && recipe.discard === settings.discard;
    const untouched = settings.mask_columns === "none" && settings.discard === 0;
    let base: Weights | null = null;
    if (graph && heads === settings.heads) {
      const other = top ? topRowOf(report) : null;
      const errors = ["raw", "attention"].map((name) => report.array(name)?.error ?? 0);
      base = new DocumentWeights(n, graph, other, other ? Math.max(...errors) : 0);
    }
    // A document of one head has the mean in the layers below the last.
    else if (graph && heads === "mean" && isHead(settings.heads) && !top) base = new DocumentWeights(n, graph);
    if (base && sameSteps) return base;
    // Masking and discarding spare the diagonal of contributions and relevance: only attnflow does that.
    if (base && untouched && !report.mixing.rule.startsWith("contained"))
      return new ComputedWeights(report, heads, recipe, base);
    if (!usesHeads(report)) return null;
    return new ComputedWeights(report, heads, recipe, null);
  };
  const top = weights(recipe.heads, true);
  const below = isHead(recipe.heads) ? weights("mean", false) : top;
  if (top && below) return { n, error: Math.max(top.error, below.error), top, below };
  if (hasTarget(report.mixing)) return "The report keeps gradients for its own settings only.";
  if (report.mixing.needs === "terms") return "The report keeps contributions for its own settings only.";
  if (!report.hasGraph) return "The report does not hold the layers' attention.";
  return recipe.heads !== settings.heads
    ? "The report does not hold the attention of single heads."
    : "The report's attention already has columns masked or weights discarded.";
}

function topRowOf(report: Report) {
  if (!isHead(report.settings.heads)) return null;
  const { settings } = report;
  const last = report.layers.at(-1) ?? 1;
  const heads = usesHeads(report);
  const untouched = settings.mask_columns === "none" && settings.discard === 0;
  const computed = heads && !untouched ? new ComputedWeights(report, settings.heads, settings, null) : null;
  return (layer: number, query: number): Numbers | null => {
    if (layer === last) return null;
    if (heads && untouched) return report.headRow(layer, Number(settings.heads), query);
    const held = settings.normalize === "none" ? report.row("raw", layer, query) : null;
    const row = held ?? computed?.row(layer, query);
    if (!row) throw new Error(`layer ${layer} is not in the report`);
    return row;
  };
}

export function evenMixing(report: Report, mixing: Mixing): Mixing {
  const added = report.mixing.rule.startsWith("added");
  const top = new EvenWeights(report, added ? mixing.top : null);
  const below = added && mixing.below !== mixing.top ? new EvenWeights(report, mixing.below) : top;
  return { n: report.n, error: Math.max(top.error, below.error), top, below };
}

/** Whether fusing takes so long that it should first be done in slices (`prepare`). */
export function isHeavy(report: Report, recipe: MixingRecipe): boolean {
  const mixing = mixingOf(report, recipe);
  if (typeof mixing === "string") return false;
  const computed = [mixing.top, mixing.below].some((weights) => weights instanceof ComputedWeights);
  return computed && report.model.layers * report.model.heads * report.n ** 2 > 4e6;
}

/** Makes the matrices that rows will be taken from. */
export function* prepare(report: Report, recipe: MixingRecipe): Work<void> {
  const mixing = mixingOf(report, recipe);
  if (typeof mixing === "string" || report.model.layers * report.n ** 2 > MOST_KEPT) return;
  for (let layer = 1; layer <= report.model.layers; ++layer) {
    // Only that head's matrix for the chosen layer is needed, and it is cheap.
    if (mixing.below instanceof ComputedWeights) mixing.below.matrix(layer);
    yield;
  }
}
