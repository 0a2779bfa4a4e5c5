// Rollout of one output token (attnflow/rollout/rollout.h): a vector passed down through the layers, fast enough to
// follow a slider. O((layer - toLayer) n^2); for sparse rows, linear in the number of stored values. Over relevance, a
// position passes on no more than it carries (attnflow/rollout/capacity_rollout.h).
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
  if (rule === "contained" || rule === "contained-normalized") return { own: 1, stays: 0 };
  const share = 1 / (1 + sum());
  return { own: share, stays: share };
}

/** How a row of W passes on mass: `passed` of what reaches it, own W[q, j] enters[j] of that to j, and `stays` to itself. */
export interface Passing {
  passed: number;
  own: number;
  stays: number;
}

/** What each position of a layer carries and can take, over relevance. */
interface Capacity {
  carried: Float64Array;
  enters: Float64Array;
  divisors: Float64Array;
}

const capacities = new WeakMap<Mixing, Map<string, Capacity>>();

function capacityOf({ mixing, toLayer }: RolloutQuestion, k: number): Capacity {
  let known = capacities.get(mixing);
  if (!known) capacities.set(mixing, (known = new Map()));
  const key = `${k} ${k === toLayer + 1}`;
  const found = known.get(key);
  if (found) return found;
  const { n, below } = mixing;
  const carried = Float64Array.from({ length: n }, (_, q) => below.sum(k, q));
  const enters = new Float64Array(n).fill(1);
  if (k > toLayer + 1) {
    const level = new Float64Array(n + 1);
    const arriving = new Float64Array(n);
    for (let q = 0; q < n; ++q) below.add(k, q, 1, arriving, level);
    settle(arriving, level);
    for (let j = 0; j < n; ++j) {
      if (arriving[j] > 0) enters[j] = Math.min(1, below.sum(k - 1, j) / arriving[j]);
    }
  }
  const divisors = new Float64Array(n);
  for (let q = 0; q < n; ++q) {
    const row = below.row(k, q);
    for (let j = 0; j < row.length; ++j) divisors[q] += row[j] * enters[j];
  }
  const made = { carried, enters, divisors };
  known.set(key, made);
  return made;
}

/** The steps down through the layers, for mass that starts after the top layer. */
export class Steps {
  /** the mass after the top layer; over relevance, what the output tokens carry is 1 */
  readonly start: Float64Array;
  private readonly scale: number = 1;
  private readonly limited: boolean;

  constructor(readonly question: RolloutQuestion) {
    const { mixing, outputToken, rule, layer } = question;
    this.limited = rule === "contained-normalized";
    if (typeof outputToken === "number") {
      this.start = new Float64Array(mixing.n);
      this.start[outputToken] = 1;
    } else {
      this.start = outputToken;
    }
    if (!this.limited) return;
    const { carried } = capacityOf(question, layer);
    const amounts = this.start.map((mass, q) => mass * carried[q]);
    this.scale = amounts.reduce((a, b) => a + b, 0);
    if (this.scale > 0) this.start = amounts.map((amount) => amount / this.scale);
  }

  weights(k: number) {
    const { mixing, layer } = this.question;
    return k === layer ? mixing.top : mixing.below;
  }

  /** How much of the mass that goes to a position enters it; null: all. */
  enters(k: number): Float64Array | null {
    return this.limited ? capacityOf(this.question, k).enters : null;
  }

  passing(k: number, q: number, mass: number): Passing {
    const { rule, residual } = this.question;
    if (!this.limited) {
      return { passed: mass, ...residualOf(rule, residual, () => this.weights(k).sum(k, q)) };
    }
    const { carried, divisors } = capacityOf(this.question, k);
    if (!(divisors[q] > 0)) return { passed: 0, own: 0, stays: 0 };
    return { passed: Math.min(mass, carried[q] / this.scale), own: 1 / divisors[q], stays: 0 };
  }
}

/** Mass at the positions after each layer from `layer` down to `toLayer`. */
export function rolloutMasses(steps: Steps): Float64Array[] {
  const { mixing, layer, toLayer } = steps.question;
  const { n } = mixing;
  let mass = steps.start;
  const masses = [mass];
  const level = new Float64Array(n + 1);
  for (let k = layer; k > toLayer; --k) {
    const next = new Float64Array(n);
    for (let q = 0; q < n; ++q) {
      if (mass[q] === 0) continue;
      const { passed, own, stays } = steps.passing(k, q, mass[q]);
      if (passed === 0) continue;
      steps.weights(k).add(k, q, own * passed, next, level);
      next[q] += stays * passed;
    }
    settle(next, level);
    const enters = steps.enters(k);
    if (enters) for (let j = 0; j < n; ++j) next[j] *= enters[j];
    masses.push((mass = next));
  }
  return masses;
}

export function rolloutRow(question: RolloutQuestion): Float64Array {
  const steps = new Steps(question);
  const row = rolloutMasses(steps).at(-1) as Float64Array;
  if (!steps.enters(question.layer)) return row;
  const sum = row.reduce((a, b) => a + b, 0);
  return sum > 0 ? row.map((value) => value / sum) : steps.start;
}
