// Rows computed in the page, as in attnflow/attribution/attribute.cc: method, then merged words, then normalization.
import type { Method } from "../report/document";
import type { Recipe } from "../report/recipe";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import { mergedRow, WordReport } from "../report/words";
import { flowRule, type ResidualRule } from "../report/mixings";
import { flowRow, type FlowRow } from "./flow_row";
import { flowFits, mostTokens } from "./max_flow";
import { evenMixing, mixingOf, type Mixing } from "./mixing";
import { residualOf, rolloutRow, type RolloutQuestion } from "./rollout";
import { finish, type Work } from "./slices";

/** Smaller baselines are not divided by (attnflow/graph/normalize.h). */
const SMALLEST_BASELINE = 1e-6;

export interface RowValues {
  values: Numbers;
  /** for flow: 1 where a value equals a cut at an end of the network; null if unknown */
  degenerate: Numbers | null;
}

export function residualRule(report: Report, method: Method): ResidualRule {
  const { rule } = report.mixing;
  return method === "flow" ? flowRule(rule) : rule;
}

/** The rule for pictures of the graph: shares of flow, as in figures (attnflow/attribution/graph_arcs.cc). */
export function arcsRule(report: Report): ResidualRule {
  const { rule } = report.mixing;
  return rule === "added" ? flowRule(rule) : rule;
}

type Matrices = Omit<RolloutQuestion, "outputToken">;

/** Row `query` of A_k. */
export function mixedRow(of: Omit<Matrices, "toLayer">, k: number, query: number): Float64Array {
  const weights = k === of.layer ? of.mixing.top : of.mixing.below;
  const row = Float64Array.from(weights.row(k, query));
  const { own, stays } = residualOf(of.rule, of.residual, () => weights.sum(k, query));
  for (let j = 0; j < row.length; ++j) row[j] *= own;
  row[query] += stays;
  return row;
}

/** Flow down one or two layers, which has a closed form, to groups of input tokens. */
function shallowFlow(
  matrices: Matrices,
  outputToken: number,
  groups: readonly (readonly number[])[],
  tolerance: number,
): FlowRow {
  const { layer, toLayer } = matrices;
  const first = mixedRow(matrices, layer, outputToken);
  const [values, sent, brought] = [0, 1, 2].map(() => new Float64Array(groups.length));
  const degenerate = new Uint8Array(groups.length);
  if (layer === toLayer + 1) return { values: mergedRow([first], groups), degenerate };
  for (let k = 0; k < first.length; ++k) {
    if (first[k] === 0) continue;
    const second = mergedRow([mixedRow(matrices, layer - 1, k)], groups);
    for (let g = 0; g < values.length; ++g) {
      values[g] += Math.min(first[k], second[g]);
      if (second[g] > 0) sent[g] += first[k];
      brought[g] += second[g];
    }
  }
  for (let g = 0; g < values.length; ++g) {
    const cut = Math.min(sent[g], brought[g]);
    if (cut > 0 && cut - values[g] <= tolerance) degenerate[g] = 1;
  }
  return { values, degenerate };
}

/** The mean of several tokens' rows; a value is degenerate if it is in all of them. */
function averaged(rows: readonly FlowRow[]): FlowRow {
  if (rows.length === 1) return rows[0];
  const each = rows[0].values.map((_, g) => g);
  return {
    values: mergedRow(
      rows.map(({ values }) => values),
      Array.from(each, (g) => [g]),
    ),
    degenerate: Uint8Array.from(each, (g) => Number(rows.every(({ degenerate }) => degenerate[g]))),
  };
}

const groupsOf = (report: Report) => report.tokens.map(({ index }) => report.piecesOf(index));

/** Flow of some subword tokens before normalization. */
function* plainFlow(report: Report, matrices: Matrices, pieces: readonly number[], step?: () => void): Work<FlowRow> {
  const { mixing, layer, toLayer } = matrices;
  const groups = groupsOf(report);
  const { flow_tolerance: tolerance } = report.settings;
  const row = (k: number, query: number) => mixedRow(matrices, k, query);
  const rows: FlowRow[] = [];
  for (const piece of pieces) {
    const network = { n: mixing.n, layer, toLayer, outputToken: piece, causal: report.model.causal, row };
    const shallow = layer <= toLayer + 2;
    rows.push(
      shallow ? shallowFlow(matrices, piece, groups, tolerance) : yield* flowRow(network, groups, tolerance, step),
    );
  }
  return averaged(rows);
}

function normalizedRow(values: Numbers): Float64Array {
  const row = Float64Array.from(values);
  const sum = row.reduce((a, b) => a + b, 0);
  if (sum !== 0) for (let j = 0; j < row.length; ++j) row[j] /= sum;
  return row;
}

/** Why no row can be computed here regardless of size, as a sentence; null if rows can be. */
function whyNone(report: Report, recipe: Recipe, layer: number): string | null {
  if (layer <= recipe.start_layer)
    return `Layer ${layer} is not above layer ${recipe.start_layer}, where the explanation ends.`;
  if (report.settings.words) {
    return "The report was made from whole words: it lacks the word pieces that other settings need.";
  }
  const mixing = mixingOf(report.pieces, recipe);
  if (typeof mixing === "string") return mixing;
  const normalized = recipe.normalize === "receptive-field" && recipe.normalize !== report.settings.normalize;
  if (normalized && report.mixing.rule.startsWith("contained"))
    return "Normalizing by receptive field is computed here for attention only.";
  return null;
}

/** Why rows of every output token cannot be computed here, as a sentence; null if they can. */
export function whyNot(report: Report, recipe: Recipe, method: Method, layer: number): string | null {
  const why = whyNone(report, recipe, layer);
  if (why !== null || method !== "flow" || layer <= recipe.start_layer + 2) return why;
  return report instanceof WordReport
    ? "Flow between whole words is not the sum over their pieces: it takes a maximum flow for each pair."
    : "Flow through more than two layers takes a maximum flow for each pair of tokens.";
}

/** Why the flow of one output token cannot be computed here, as a sentence; null if it can. */
export function whyNoFlow(report: Report, recipe: Recipe, layer: number): string | null {
  const why = whyNone(report, recipe, layer);
  if (why !== null) return why;
  const { n } = report.pieces;
  const steps = layer - recipe.start_layer;
  if (steps <= 2 || flowFits(n, steps)) return null;
  return `Through ${steps} layers the page computes flow for up to ${mostTokens(steps)} tokens; this text has ${n}.`;
}

/** Largest relative error of the attention such rows are made from; 0: exact. */
export function recomputedError(report: Report, recipe: Recipe): number {
  const mixing = mixingOf(report.pieces, recipe);
  return typeof mixing === "string" ? 0 : mixing.error;
}

/** Number of maximum flows, or bounds that replace them, that a row takes. */
export const flowsOf = (report: Report, { normalize }: Recipe, outputToken: number): number =>
  report.n * report.piecesOf(outputToken).length * (normalize === "receptive-field" ? 2 : 1);

/** The row of one output token after `layer`; requires that `whyNot` (for flow: `whyNoFlow`) returns null. */
export function* rowWork(
  report: Report,
  recipe: Recipe,
  method: Method,
  layer: number,
  outputToken: number,
  step?: () => void,
): Work<RowValues> {
  const { residual, start_layer: toLayer, normalize } = recipe;
  const rule = residualRule(report, method);
  const tokens = report.piecesOf(outputToken);
  function* plain(mixing: Mixing): Work<RowValues> {
    const matrices = { mixing, rule, residual, layer, toLayer };
    if (method === "flow") return yield* plainFlow(report, matrices, tokens, step);
    const rows = tokens.map((token) =>
      method === "raw" ? mixing.top.row(layer, token) : rolloutRow({ ...matrices, outputToken: token }),
    );
    const values = report instanceof WordReport ? mergedRow(rows, report.groups) : rows[0];
    return { values, degenerate: null };
  }
  const mixing = mixingOf(report.pieces, recipe) as Mixing;
  const { values, degenerate } = yield* plain(mixing);
  if (normalize === "none") return { values, degenerate };
  if (normalize === "row") return { values: normalizedRow(values), degenerate };
  const { values: baseline } = yield* plain(evenMixing(report.pieces, mixing));
  const scaled = Float64Array.from(values, (value, j) => (baseline[j] >= SMALLEST_BASELINE ? value / baseline[j] : 0));
  return { values: normalizedRow(scaled), degenerate };
}

/** The same, all at once; null if it cannot be computed. */
export function recomputedRow(
  report: Report,
  recipe: Recipe,
  method: Method,
  layer: number,
  outputToken: number,
): RowValues | null {
  if (whyNot(report, recipe, method, layer) !== null) return null;
  return finish(rowWork(report, recipe, method, layer, outputToken));
}
