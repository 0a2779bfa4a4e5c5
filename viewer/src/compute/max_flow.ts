// Attention flow of one pair (attnflow/flow/pair_flow.h): its value, the flow on each arc, and the minimum cut nearest
// the output token.
//
// Capacities are rounded down to multiples of a power of two small enough that sums of them are exact in a double's 53
// bits: the solver adds and compares integers and needs no tolerance. `error` bounds what rounding loses.
//
// Method: E. A. Dinic, 1970. A breadth-first search gives each node its distance from the source; a depth-first search
// over arcs that go one step further fills all shortest paths; repeat until the sink is out of reach. The nodes reached
// by the last search are the source side of the minimum cut nearest the source. O(layers n^2) per search; few are
// needed.
import type { Work } from "./slices";

export interface RowNetwork {
  n: number;
  /** l and m: the source follows layer l, the sink layer m < l */
  layer: number;
  toLayer: number;
  outputToken: number;
  /** no position sees a later one */
  causal?: boolean;
  /** Row `query` of A_k: capacities of the arcs (k, query) -> (k - 1, key). Neither kept nor modified. */
  row(layer: number, query: number): ArrayLike<number>;
}

export interface FlowNetwork extends RowNetwork {
  inputToken: number;
}

export interface Arc {
  layer: number;
  from: number;
  to: number;
}

export interface PairFlow {
  /** at most the maximum flow */
  value: number;
  /** the maximum flow is at most value + error */
  error: number;
  /** arcs with nonzero flow, from the top layer down */
  arcs: (Arc & { flow: number })[];
  cut: (Arc & { capacity: number })[];
  cutValue: number;
}

/** The most arcs, over all layers; more would keep the page busy for too long. */
const MOST_FLOW_ARCS = 4e6;

/** Whether the flow of a pair is small enough for the page. */
export const flowFits = (n: number, layers: number): boolean => layers * n * n <= MOST_FLOW_ARCS;

export const mostTokens = (layers: number): number => Math.floor(Math.sqrt(MOST_FLOW_ARCS / layers));

/** Capacities as integer multiples of `unit`. Level 0 is the sink's, level `depth` the source's. */
export interface Capacities {
  n: number;
  depth: number;
  outputToken: number;
  unit: number;
  /** by level: [n, n] arcs to the level below; for the highest level only the source's row */
  blocks: readonly Float64Array[];
}

export function* capacitiesOf({ n, layer, toLayer, outputToken, row }: RowNetwork): Work<Capacities> {
  const depth = layer - toLayer;
  const blocks: Float64Array[] = [new Float64Array(0)];
  let largest = 0;
  for (let d = 1; d <= depth; ++d) {
    const top = d === depth;
    const block = new Float64Array(top ? n : n * n);
    for (let q = top ? outputToken : 0; q < (top ? outputToken + 1 : n); ++q) {
      const values = row(toLayer + d, q);
      const begin = top ? 0 : q * n;
      let sum = 0;
      for (let j = 0; j < n; ++j) sum += block[begin + j] = values[j];
      largest = Math.max(largest, sum);
      if (q % 64 === 63) yield;
    }
    blocks.push(block);
    yield;
  }
  // The flow is at most the largest row sum: at 2^48 units for that, every sum of two flows is exact.
  const unit = 2 ** (Math.ceil(Math.log2(largest || 1)) - 48);
  for (const block of blocks) {
    for (let e = 0; e < block.length; ++e) block[e] = Math.floor(block[e] / unit);
    yield;
  }
  return { n, depth, outputToken, unit, blocks };
}

export function arcsInto({ n, depth, outputToken, blocks }: Capacities, sink: readonly number[]): Float64Array {
  const arcs = new Float64Array(n);
  for (let p = 0; p < n; ++p) {
    if (depth === 1 && p !== outputToken) continue;
    const begin = depth === 1 ? 0 : p * n;
    for (const j of sink) arcs[p] += blocks[1][begin + j];
  }
  return arcs;
}

interface Arcs {
  capacity: readonly Float64Array[];
  first: number;
  end: number;
}

/** Finds maximum flows from a network's source to one sink after another. */
export class FlowSolver {
  /** The flow on each arc, by level as in the network; arcs of level 1 lead to the sink. */
  readonly flow: readonly Float64Array[];
  /** Each node's (level * n + position; sink 0) distance from the source over arcs with room; -1: unreachable. */
  readonly distance: Int32Array;
  private readonly source: number;
  private readonly through: Float64Array;
  private readonly current: Int32Array;
  private readonly queue: Int32Array;
  /** The search's nodes and each step's arc: slots 0 to n - 1 lead down, n to 2n - 1 back up, to return flow. */
  private readonly path: Int32Array;
  private readonly slots: Int32Array;
  /** arcs that carry flow, or did */
  private readonly touched: [block: number, index: number][] = [];

  constructor(private readonly network: Capacities) {
    const { n, depth, outputToken, blocks } = network;
    this.flow = blocks.map((block, d) => new Float64Array(d === 1 ? n : block.length));
    const nodes = (depth + 1) * n;
    this.source = depth * n + outputToken;
    this.distance = new Int32Array(nodes);
    this.through = new Float64Array(nodes);
    this.current = new Int32Array(nodes);
    this.queue = new Int32Array(nodes);
    this.path = new Int32Array(2 * nodes + 2);
    this.slots = new Int32Array(2 * nodes + 2);
  }

  /**
   * Units that flow to the sink with these arcs from level 1, through positions `first` up to but not including `end`.
   * Stops at `most`, an upper bound, which saves the last search (it only proves that no more can flow).
   */
  *run(sink: Float64Array, most = Infinity, first = 0, end = this.network.n): Work<number> {
    const arcs = { capacity: this.network.blocks.map((block, d) => (d === 1 ? sink : block)), first, end };
    // Resets the arcs used for the last sink, a small part of a large network.
    for (const [block, index] of this.touched) this.flow[block][index] = 0;
    this.touched.length = 0;
    this.through.fill(0);
    let total = 0;
    for (let begun = false; total < most && (begun ? yield* this.search(arcs) : this.begin(arcs)); begun = true) {
      total += yield* this.fillPaths(arcs);
    }
    return total;
  }

  /** Index of a node's first arc in its block. The sink is the only node below level 1. */
  private beginOf(d: number, p: number): number {
    return d === 1 ? p : d === this.network.depth ? 0 : p * this.network.n;
  }

  /** Flow that comes directly from the source never needs to be taken back. */
  private canReturn(d: number, node: number): boolean {
    return d < this.network.depth - 1 && this.through[node] > 0;
  }

  /** The distances before any flow. Nodes that no arc leads to get one as well, but are never visited. */
  private begin({ first, end }: Arcs): boolean {
    const { distance } = this;
    const { n, depth } = this.network;
    this.current.fill(0);
    distance.fill(-1);
    distance[0] = depth;
    for (let d = 1; d < depth; ++d) distance.fill(depth - d, d * n + first, d * n + end);
    distance[this.source] = 0;
    return true;
  }

  /** Distances over arcs with room, up to the sink; returns whether the sink is reached. */
  private *search({ capacity, first, end }: Arcs): Work<boolean> {
    const { flow, distance, queue, source } = this;
    const { n } = this.network;
    distance.fill(-1);
    this.current.fill(0);
    distance[source] = 0;
    queue[0] = source;
    let [head, tail, work] = [0, 1, 0];
    while (head < tail) {
      const node = queue[head++];
      const [d, p] = [Math.floor(node / n), node % n];
      const next = distance[node] + 1;
      if (distance[0] >= 0 && next > distance[0]) break;
      const [below, begin, last] = [(d - 1) * n, this.beginOf(d, p), d === 1 ? 1 : end];
      const [rooms, used] = [capacity[d], flow[d]];
      for (let j = d === 1 ? 0 : first; j < last; ++j) {
        if (distance[below + j] >= 0 || !(rooms[begin + j] > used[begin + j])) continue;
        distance[below + j] = next;
        // The sink has no outgoing arcs.
        if (d > 1) queue[tail++] = below + j;
      }
      work += last;
      if (this.canReturn(d, node)) {
        const above = (d + 1) * n;
        const carried = flow[d + 1];
        for (let q = first; q < end; ++q) {
          if (distance[above + q] >= 0 || !(carried[q * n + p] > 0)) continue;
          distance[above + q] = next;
          queue[tail++] = above + q;
        }
        work += n;
      }
      if (work > 2e5) {
        work = 0;
        yield;
      }
    }
    return distance[0] >= 0;
  }

  /** Fills all paths that go one step further from the source with each arc; returns what flows along them. */
  private *fillPaths(arcs: Arcs): Work<number> {
    const { distance, current, path, slots } = this;
    const { n, depth } = this.network;
    let [total, length, work] = [0, 0, 0];
    path[0] = this.source;
    for (;;) {
      const node = path[length];
      if (node === 0) {
        const [pushed, full] = this.push(arcs, length);
        total += pushed;
        // Continue from the first arc that became full.
        length = full;
        continue;
      }
      const begin = current[node];
      const slot = this.advance(arcs, node);
      current[node] = slot;
      work += slot - begin + depth;
      if (slot < 2 * n) {
        slots[length++] = slot;
        path[length] = this.nodeAt(node, slot);
      } else {
        // A dead end: nothing passes here in this phase.
        distance[node] = -1;
        if (length-- === 0) return total;
      }
      if (work > 2e5) {
        work = 0;
        yield;
      }
    }
  }

  /** The slot of a node's next arc to one step further from the source; 2n: there is none. */
  private advance({ capacity, first, end }: Arcs, node: number): number {
    const { flow, distance } = this;
    const { n } = this.network;
    const [d, p] = [Math.floor(node / n), node % n];
    const want = distance[node] + 1;
    let slot = this.current[node];
    if (slot < n) {
      const [below, begin, last] = [(d - 1) * n, this.beginOf(d, p), d === 1 ? 1 : end];
      const [rooms, used] = [capacity[d], flow[d]];
      for (slot = Math.max(slot, d === 1 ? 0 : first); slot < last; ++slot) {
        if (distance[below + slot] === want && rooms[begin + slot] > used[begin + slot]) return slot;
      }
      slot = n + first;
    }
    if (this.canReturn(d, node)) {
      const above = d * n + n;
      const carried = flow[d + 1];
      for (; slot < n + end; ++slot) {
        if (distance[above + slot - n] === want && carried[(slot - n) * n + p] > 0) return slot;
      }
    }
    return 2 * n;
  }

  private nodeAt(node: number, slot: number): number {
    const { n } = this.network;
    const level = node - (node % n);
    return slot < n ? level - n + slot : level + slot;
  }

  private arcOf(step: number): [block: number, index: number] {
    const { n } = this.network;
    const node = this.path[step];
    const slot = this.slots[step];
    const [d, p] = [Math.floor(node / n), node % n];
    return slot >= n ? [d + 1, (slot - n) * n + p] : [d, this.beginOf(d, p) + (d === 1 ? 0 : slot)];
  }

  /** Fills the path of `length` steps; returns how much flows along it, and the first step whose arc became full. */
  private push({ capacity }: Arcs, length: number): [pushed: number, full: number] {
    const { flow, through, path, slots } = this;
    const { n } = this.network;
    let pushed = Infinity;
    for (let s = 0; s < length; ++s) {
      const [block, index] = this.arcOf(s);
      pushed = Math.min(pushed, slots[s] < n ? capacity[block][index] - flow[block][index] : flow[block][index]);
    }
    let full = length;
    for (let s = length - 1; s >= 0; --s) {
      const [block, index] = this.arcOf(s);
      const back = slots[s] >= n;
      const room = back ? flow[block][index] : capacity[block][index] - flow[block][index];
      if (flow[block][index] === 0) this.touched.push([block, index]);
      flow[block][index] += back ? -pushed : pushed;
      through[back ? path[s] : path[s + 1]] += back ? -pushed : pushed;
      if (room === pushed) full = s;
    }
    return [pushed, full];
  }
}

export function* maximumFlow(network: FlowNetwork): Work<PairFlow> {
  const { toLayer, inputToken } = network;
  const capacities = yield* capacitiesOf(network);
  const { n, depth, outputToken, unit, blocks } = capacities;
  const sink = arcsInto(capacities, [inputToken]);
  const solver = new FlowSolver(capacities);
  const value = yield* solver.run(sink);
  const { flow, distance } = solver;
  const arcs: PairFlow["arcs"] = [];
  const cut: PairFlow["cut"] = [];
  let cutUnits = 0;
  let lost = 0;
  for (let d = depth; d >= 1; --d) {
    const layer = toLayer + d;
    for (let q = d === depth ? outputToken : 0; q < (d === depth ? outputToken + 1 : n); ++q) {
      const inside = distance[d * n + q] >= 0;
      for (let j = 0; j < (d === 1 ? 1 : n); ++j) {
        const e = d === 1 ? q : d === depth ? j : q * n + j;
        const [from, to] = [q, d === 1 ? inputToken : j];
        if (flow[d][e] > 0) arcs.push({ layer, from, to, flow: flow[d][e] * unit });
        if (!inside || distance[(d - 1) * n + j] >= 0) continue;
        ++lost;
        const capacity = d === 1 ? sink[e] : blocks[d][e];
        if (capacity > 0) {
          cutUnits += capacity;
          cut.push({ layer, from, to, capacity: capacity * unit });
        }
      }
    }
    yield;
  }
  return { value: value * unit, error: lost * unit, arcs, cut, cutValue: cutUnits * unit };
}
