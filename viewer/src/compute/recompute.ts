// Rows computed in the page from the layers' attention, as attnflow/attribution/attribute.cc computes them: the method,
// then words merged, then normalised.
import type { Method } from "../report/document";
import type { Recipe } from "../report/recipe";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import { mergedRow, WordReport } from "../report/words";
import { flowRule, type ResidualRule } from "../report/mixings";
import { evenMixing, mixingOf, type Mixing } from "./mixing";
import { residualOf, rolloutRow } from "./rollout";

/** Baselines below this are not divided by (attnflow/graph/normalize.h). */
const SMALLEST_BASELINE = 1e-6;

/** How the residual enters. */
export function residualRule(report: Report, method: Method): ResidualRule {
  const { rule } = report.mixing;
  return method === "flow" ? flowRule(rule) : rule;
}

/** The rule of pictures of the graph: the shares that pass, as figures have them (attnflow/attribution/graph_arcs.cc). */
export function arcsRule(report: Report): ResidualRule {
  const { rule } = report.mixing;
  return rule === "added" ? flowRule(rule) : rule;
}

/** Row `query` of A_layer. */
export function mixedRow(
  mixing: Mixing,
  rule: ResidualRule,
  residual: number,
  layer: number,
  query: number,
  top: boolean,
): Float64Array {
  const weights = top ? mixing.top : mixing.below;
  const row = Float64Array.from(weights.row(layer, query));
  const { own, stays } = residualOf(rule, residual, () => weights.sum(layer, query));
  for (let j = 0; j < row.length; ++j) row[j] *= own;
  row[query] += stays;
  return row;
}

/** Flow down one or two layers, where it has a closed form, to groups of input tokens. */
function shallowFlow(
  mixing: Mixing,
  rule: ResidualRule,
  { residual, start_layer: toLayer }: Recipe,
  layer: number,
  outputToken: number,
  groups: readonly (readonly number[])[],
): Float64Array {
  const first = mixedRow(mixing, rule, residual, layer, outputToken, true);
  if (layer === toLayer + 1) return mergedRow([first], groups);
  const flow = new Float64Array(groups.length);
  for (let k = 0; k < first.length; ++k) {
    if (first[k] === 0) continue;
    const second = mergedRow([mixedRow(mixing, rule, residual, layer - 1, k, false)], groups);
    for (let g = 0; g < flow.length; ++g) flow[g] += Math.min(first[k], second[g]);
  }
  return flow;
}

/** Values before they are normalised; null where the page has no way to them. */
function plainRow(
  report: Report,
  mixing: Mixing,
  recipe: Recipe,
  method: Method,
  layer: number,
  outputToken: number,
): Numbers | null {
  const words = report instanceof WordReport ? report : null;
  const pieces = words ? words.groups[outputToken] : [outputToken];
  const { residual, start_layer: toLayer } = recipe;
  if (method === "flow") {
    if (layer > toLayer + 2) return null;
    const rule = residualRule(report, "flow");
    const groups = words?.groups ?? report.tokens.map((token) => [token.index]);
    const rows = pieces.map((piece) => shallowFlow(mixing, rule, recipe, layer, piece, groups));
    return mergedRow(
      rows,
      groups.map((_, g) => [g]),
    );
  }
  const rule = residualRule(report, method);
  const rows = pieces.map((piece) =>
    method === "raw"
      ? mixing.top.row(layer, piece)
      : rolloutRow({ mixing, rule, residual, layer, toLayer, outputToken: piece }),
  );
  return words ? mergedRow(rows, words.groups) : rows[0];
}

/** Divides by the sum; rows that sum to 0 stay 0. */
export function normalizedRow(values: Numbers): Float64Array {
  const row = Float64Array.from(values);
  const sum = row.reduce((a, b) => a + b, 0);
  if (sum !== 0) for (let j = 0; j < row.length; ++j) row[j] /= sum;
  return row;
}

/** Why rows cannot be computed here, as a sentence; null when they can. */
export function whyNot(report: Report, recipe: Recipe, method: Method, layer: number): string | null {
  if (layer <= recipe.start_layer)
    return `Layer ${layer} is not above layer ${recipe.start_layer}, where the explanation ends.`;
  if (report.settings.words) {
    return "The report was made of whole words: it does not hold the pieces that other numbers need.";
  }
  const mixing = mixingOf(report instanceof WordReport ? report.pieces : report, recipe);
  if (typeof mixing === "string") return mixing;
  const normalized = recipe.normalize === "receptive-field" && recipe.normalize !== report.settings.normalize;
  if (normalized && report.mixing.rule.startsWith("contained"))
    return "Normalizing by receptive field is computed here for attention only.";
  if (method === "flow" && layer > recipe.start_layer + 2) {
    if (report instanceof WordReport) {
      return "Flow between whole words is not that of their pieces together: it takes a maximum flow for each pair, which the page does not compute.";
    }
    return "Flow through more than two layers takes a maximum flow for each pair, which the page does not compute.";
  }
  return null;
}

/** Largest relative error of the attention that such rows are made of; 0: exact. */
export function recomputedError(report: Report, recipe: Recipe): number {
  const mixing = mixingOf(report instanceof WordReport ? report.pieces : report, recipe);
  return typeof mixing === "string" ? 0 : mixing.error;
}

/** The row of one output token after `layer`, or null where the page cannot compute it. */
export function recomputedRow(
  report: Report,
  recipe: Recipe,
  method: Method,
  layer: number,
  outputToken: number,
): Numbers | null {
  if (whyNot(report, recipe, method, layer) !== null) return null;
  const pieces = report instanceof WordReport ? report.pieces : report;
  const mixing = mixingOf(pieces, recipe) as Mixing;
  const values = plainRow(report, mixing, recipe, method, layer, outputToken);
  if (!values || recipe.normalize === "none") return values;
  if (recipe.normalize === "row") return normalizedRow(values);
  const baseline = plainRow(report, evenMixing(pieces, mixing), recipe, method, layer, outputToken);
  if (!baseline) return null;
  const scaled = Float64Array.from(values, (value, j) => (baseline[j] >= SMALLEST_BASELINE ? value / baseline[j] : 0));
  return normalizedRow(scaled);
}
