// Attention flow from one output token to each input token (attnflow/flow/flow.h): most maximum flows follow from
// bounds that cost O(n) each, and the solver computes the others.
//
// The bounds on the flow F to each node are propagated level by level from the source. Upper bound: sum_k min(F[k],
// A[k, j]), since the flow through k is at most both. Lower bound: the minimum over t in {0} and {F[k]} of t + the sum
// of A[k, j] over the k with F[k] > t (docs/flow.md). Both hold with bounds of F in place of F.
import { arcsInto, capacitiesOf, FlowSolver, type RowNetwork } from "./max_flow";
import type { Work } from "./slices";

export interface FlowRow {
  /** for each group of input tokens: at most the maximum flow, and less than a billionth below it */
  values: Float64Array;
  /** 1: the value equals what the first layer delivers there or what the last layer sends there */
  degenerate: Uint8Array;
}

/** Sums of integers below this are exact, and no flow is larger. */
const PLENTY = 2 ** 52;
/** Weights below this many units do not connect nodes, as in attnflow's own network. */
const LEAST_ARC = 2 ** -12;

class Reach {
  readonly words: number;
  constructor(private readonly n: number) {
    this.words = Math.ceil(n / 32);
  }
  none = () => new Uint32Array(this.n * this.words);

  add(to: Uint32Array, p: number, from: Uint32Array, q: number) {
    const [a, b] = [p * this.words, q * this.words];
    for (let w = 0; w < this.words; ++w) to[a + w] |= from[b + w];
  }

  sum(of: Uint32Array, p: number, weights: ArrayLike<number>): number {
    let sum = 0;
    for (let j = 0; j < this.n; ++j) if ((of[p * this.words + (j >> 5)] >>> (j & 31)) & 1) sum += weights[j];
    return sum;
  }

  any(of: Uint32Array, p: number): boolean {
    for (let w = 0; w < this.words; ++w) if (of[p * this.words + w] !== 0) return true;
    return false;
  }
}

const fromLargest = (flow: Float64Array) => Int32Array.from(flow.keys()).sort((a, b) => flow[b] - flow[a]);

interface Bounds {
  low: Float64Array;
  high: Float64Array;
}

/** Bounds on the flows to nodes (or sinks) from those of the level above; `arcs(k)` are the arcs from its node k. */
function* bounded({ low, high }: Bounds, size: number, arcs: (k: number) => Float64Array): Work<Bounds> {
  const [sum, least, most] = [new Float64Array(size), new Float64Array(size).fill(Infinity), new Float64Array(size)];
  let done = 0;
  for (const k of fromLargest(low)) {
    const row = arcs(k);
    const [t, through] = [low[k], high[k]];
    if (through <= 0) continue;
    for (let p = 0; p < size; ++p) {
      const arc = row[p];
      most[p] = Math.min(PLENTY, most[p] + (arc < through ? arc : through));
      if (t <= 0) continue;
      // For equal t the first gives the minimum: t + the arcs from nodes with larger flow.
      if (t + sum[p] < least[p]) least[p] = t + sum[p];
      sum[p] = Math.min(PLENTY, sum[p] + arc);
    }
    if (++done % 32 === 0) yield;
  }
  return { low: least.map((value, p) => Math.min(value, sum[p])), high: most };
}

/**
 * @param groups input tokens; a group of several has one common sink
 * @param tolerance difference below which a value counts as equal to a cut at an end of the network
 * @param step called when a group is done
 */
export function* flowRow(
  network: RowNetwork,
  groups: readonly (readonly number[])[],
  tolerance: number,
  step: () => void = () => undefined,
): Work<FlowRow> {
  const capacities = yield* capacitiesOf(network);
  const { n, depth, unit, blocks } = capacities;
  const values = new Float64Array(groups.length);
  const degenerate = new Uint8Array(groups.length);
  if (depth === 1) {
    for (const [g, group] of groups.entries()) for (const j of group) values[g] += blocks[1][j] * unit;
    return { values, degenerate };
  }
  const { layer, toLayer, outputToken, causal = false } = network;
  // Cuts at the ends are computed from the exact weights: the tiniest are less than one unit.
  const sent = Float64Array.from(network.row(layer, outputToken), (weight) => weight / unit);
  const reach = new Reach(n);
  let reached = reach.none();
  for (let k = 0; k < n; ++k) {
    if (sent[k] >= LEAST_ARC) reached[k * reach.words + (k >> 5)] |= 1 << (k & 31);
  }
  let bounds: Bounds = { low: blocks[depth], high: blocks[depth] };
  const all = bounds.low.reduce((sum, weight) => sum + weight, 0);
  for (let d = depth - 1; d >= 2; --d) {
    const next = reach.none();
    for (let k = 0; k < n; ++k) {
      if (!reach.any(reached, k)) continue;
      const row = network.row(toLayer + d, k);
      for (let p = 0; p < n; ++p) if (row[p] / unit >= LEAST_ARC) reach.add(next, p, reached, k);
      if (k % 16 === 15) yield;
    }
    const { low, high } = yield* bounded(bounds, n, (k) => blocks[d].subarray(k * n, k * n + n));
    for (let p = 0; p < n; ++p) high[p] = Math.min(all, high[p], reach.sum(next, p, blocks[depth]));
    // One layer below the source's arcs, the bound is the exact value.
    bounds = { low: d === depth - 1 ? high : low, high };
    reached = next;
    yield;
  }
  // For each group: which source arcs reach it, and what the first layer delivers there.
  const into = new Float64Array(groups.length);
  const groupOf = new Int32Array(n);
  for (const [g, group] of groups.entries()) for (const j of group) groupOf[j] = g;
  const reachedGroups = new Reach(Math.max(n, groups.length)).none();
  for (let p = 0; p < n; ++p) {
    if (!reach.any(reached, p)) continue;
    const row = network.row(toLayer + 1, p);
    for (let j = 0; j < n; ++j) {
      into[groupOf[j]] += row[j] / unit;
      if (row[j] / unit >= LEAST_ARC) reach.add(reachedGroups, groupOf[j], reached, p);
    }
    if (p % 32 === 31) yield;
  }
  const merged = groups.length < n;
  const { low, high } = yield* bounded(bounds, groups.length, (k) => {
    const row = blocks[1].subarray(k * n, k * n + n);
    return merged ? Float64Array.from(groups, (group) => group.reduce((sum, j) => sum + row[j], 0)) : row;
  });
  const near = tolerance / unit;
  // In a causal model, paths to a group use only positions from its first token to the output token.
  const between = (group: readonly number[]) =>
    (causal ? [Math.min(...group), outputToken + 1] : [0, n]) as [number, number];
  let solver: FlowSolver | null = null;
  for (const [g, group] of groups.entries()) {
    const most = Math.min(all, high[g], reach.sum(reachedGroups, g, blocks[depth]));
    const settled = depth === 2 || low[g] >= most;
    const value = settled
      ? most
      : yield* (solver ??= new FlowSolver(capacities)).run(arcsInto(capacities, group), most, ...between(group));
    values[g] = value * unit;
    const [column, row] = [into[g], reach.sum(reachedGroups, g, sent)];
    if (Math.min(column, row) > 0 && Math.min(column, row) - value <= near) degenerate[g] = 1;
    step();
    yield;
  }
  return { values, degenerate };
}
