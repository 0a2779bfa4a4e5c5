// Rollout of one output token (attnflow/rollout/rollout.h): a vector passed down through the layers, fast enough to
// follow a slider. O((layer - toLayer) n^2); for sparse rows, linear in the number of stored values.
import { settle } from "../report/values";
import type { ResidualRule } from "../report/mixings";
import type { Mixing } from "./mixing";

export interface RolloutQuestion {
  mixing: Mixing;
  rule: ResidualRule;
  /** for the convex rule */
  residual: number;
  layer: number;
  toLayer: number;
  /** mass at each position after `layer`; a number: all of it at that position */
  outputToken: number | Float64Array;
}

/** How row sum `sum` of W enters A: A = own W + stays I. */
export function residualOf(rule: ResidualRule, residual: number, sum: () => number): { own: number; stays: number } {
  if (rule === "convex") return { own: 1 - residual, stays: residual };
  if (rule === "added") return { own: 1, stays: 1 };
  if (rule === "contained") return { own: 1, stays: 0 };
  if (rule === "contained-normalized") {
    const all = sum();
    return all > 0 ? { own: 1 / all, stays: 0 } : { own: 0, stays: 1 };
  }
  const share = 1 / (1 + sum());
  return { own: share, stays: share };
}

/** Mass at the positions after each layer from `layer` down to `toLayer`; the last is the rollout. */
export function rolloutMasses(question: RolloutQuestion): Float64Array[] {
  const { mixing, rule, residual, layer, toLayer, outputToken } = question;
  const { n } = mixing;
  let mass: Float64Array;
  if (typeof outputToken === "number") {
    mass = new Float64Array(n);
    mass[outputToken] = 1;
  } else {
    mass = outputToken;
  }
  const masses = [mass];
  const level = new Float64Array(n + 1);
  for (let k = layer; k > toLayer; --k) {
    const weights = k === layer ? mixing.top : mixing.below;
    const next = new Float64Array(n);
    for (let q = 0; q < n; ++q) {
      if (mass[q] === 0) continue;
      const { own, stays } = residualOf(rule, residual, () => weights.sum(k, q));
      weights.add(k, q, own * mass[q], next, level);
      next[q] += stays * mass[q];
    }
    settle(next, level);
    masses.push((mass = next));
  }
  return masses;
}

export function rolloutRow(question: RolloutQuestion): Float64Array {
  return rolloutMasses(question).at(-1) as Float64Array;
}
