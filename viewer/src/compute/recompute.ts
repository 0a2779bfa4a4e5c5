// Rows computed in the page from the layers' attention, as attnflow/rollout computes them.
import type { Method } from "../report/document";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import type { Recipe } from "../explanation";

/**
 * The row of one output token after `layer`, or null where the document does not hold what it takes.
 *
 * Rollout of one output token is a vector that passes through the layers from the top down,
 *
 *     v <- rho v + (1 - rho) v W_k,   k = layer .. toLayer + 1,   v = e_outputToken at first,
 *
 * O((layer - toLayer) n^2), so it follows a slider at once.
 */
export function recomputedRow(
  report: Report,
  recipe: Recipe,
  method: Method,
  layer: number,
  outputToken: number,
): Numbers | null {
  const { n } = report;
  if (report.gradient || !report.hasGraph || recipe.heads !== report.settings.heads) return null;
  if (recipe.normalize !== "none" || layer <= recipe.toLayer) return null;
  if (method === "raw") return report.graphRow(layer, outputToken);
  if (method === "flow") return null;
  let mass = new Float64Array(n);
  mass[outputToken] = 1;
  for (let k = layer; k > recipe.toLayer; --k) {
    const next = new Float64Array(n);
    for (let q = 0; q < n; ++q) {
      if (mass[q] === 0) continue;
      next[q] += recipe.residual * mass[q];
      const moved = (1 - recipe.residual) * mass[q];
      const weights = report.graphRow(k, q);
      if (!weights) return null;
      for (let j = 0; j < n; ++j) next[j] += moved * weights[j];
    }
    mass = next;
  }
  return mass;
}
