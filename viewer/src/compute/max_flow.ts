// Attention flow of one pair (attnflow/flow/pair_flow.h): its value, what each arc carries, and the minimum cut nearest
// the output token.
//
// Capacities are rounded down to multiples of a power of two small enough that sums of them are exact in the 53 bits of
// a number: the solver adds and compares integers and needs no tolerance. What rounding loses is `error`.
//
// Method: E. A. Dinic, 1970. A breadth-first search gives each node its distance from the source; a depth-first search
// over arcs that go one step further fills all shortest paths; repeat until the sink is out of reach. What the last
// search reached is the source side of the minimum cut nearest the source. O(layers n^2) a search, and few searches.
import type { Work } from "./slices";

export interface FlowNetwork {
  n: number;
  /** l and m: the source stands after layer l, the sink after layer m < l */
  layer: number;
  toLayer: number;
  outputToken: number;
  inputToken: number;
  /** Row `query` of A_k: capacities of the arcs (k, query) -> (k - 1, key). Not kept, not written to. */
  row(layer: number, query: number): ArrayLike<number>;
}

/** The arc (layer, from) -> (layer - 1, to). */
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
  /** arcs that carry something, from the top layer down */
  arcs: (Arc & { flow: number })[];
  cut: (Arc & { capacity: number })[];
  cutValue: number;
}

/** Arcs between all layers; more would keep the page busy for long. */
export const MOST_FLOW_ARCS = 4e6;

/** Whether the flow of a pair is small enough for the page. */
export const flowFits = (n: number, layers: number): boolean => layers * n * n <= MOST_FLOW_ARCS;

export function* maximumFlow(network: FlowNetwork): Work<PairFlow> {
  const { n, layer, toLayer, outputToken, inputToken } = network;
  const depth = layer - toLayer;
  // Level 0 is the sink's, level `depth` the source's. blocks[d]: arcs from level d to level d - 1.
  const capacity: Float64Array[] = [new Float64Array(0)];
  let largest = 0;
  for (let d = 1; d <= depth; ++d) {
    const block = new Float64Array(n * n);
    for (let q = 0; q < n; ++q) {
      if (d === depth && q !== outputToken) continue;
      const row = network.row(toLayer + d, q);
      let sum = 0;
      for (let j = 0; j < n; ++j) {
        if (d === 1 && j !== inputToken) continue;
        block[q * n + j] = row[j];
        sum += row[j];
      }
      largest = Math.max(largest, sum);
    }
    capacity.push(block);
    yield;
  }
  // The flow is at most the largest row sum: with 2^48 units for that, every sum of two flows is exact.
  const unit = 2 ** (Math.ceil(Math.log2(largest || 1)) - 48);
  const flow = capacity.map((block) => new Float64Array(block.length));
  for (const block of capacity) for (let e = 0; e < block.length; ++e) block[e] = Math.floor(block[e] / unit);
  yield;

  const distance = new Int32Array((depth + 1) * n);
  const current = new Int32Array((depth + 1) * n);
  const source = depth * n + outputToken;
  const sink = inputToken;
  const queue = new Int32Array((depth + 1) * n);

  // The arc in hand: slots 0 to n - 1 of a node lead down, n to 2n - 1 back up, where flow can be taken back.
  let [block, index, to, room] = [0, 0, 0, 0];
  const take = (d: number, p: number, slot: number) => {
    if (slot < n) {
      [block, index, to] = [d, p * n + slot, (d - 1) * n + slot];
      room = capacity[d][index] - flow[d][index];
    } else {
      [block, index, to] = [d + 1, (slot - n) * n + p, (d + 1) * n + slot - n];
      room = flow[block][index];
    }
  };
  const firstSlot = (d: number) => (d > 0 ? 0 : n);
  const endOfSlots = (d: number) => (d < depth ? 2 * n : n);

  /** Distances over arcs with room, as far as the sink; whether it is reached. */
  function* search(): Work<boolean> {
    distance.fill(-1);
    current.fill(0);
    distance[source] = 0;
    queue[0] = source;
    let [head, tail, work] = [0, 1, 0];
    while (head < tail) {
      const node = queue[head++];
      const [d, p] = [Math.floor(node / n), node % n];
      const next = distance[node] + 1;
      if (distance[sink] >= 0 && next > distance[sink]) break;
      for (let slot = firstSlot(d); slot < endOfSlots(d); ++slot) {
        take(d, p, slot);
        if (distance[to] >= 0 || !(room > 0)) continue;
        distance[to] = next;
        queue[tail++] = to;
      }
      if ((work += 2 * n) > 2e5) {
        work = 0;
        yield;
      }
    }
    return distance[sink] >= 0;
  }

  // The path of the depth-first search: nodes, and for each step the slot of its arc.
  const path = new Int32Array(2 * (depth + 1) * n + 2);
  const slots = new Int32Array(path.length);
  const takeStep = (step: number) => take(Math.floor(path[step] / n), path[step] % n, slots[step]);

  let total = 0;
  while (yield* search()) {
    let length = 0;
    path[0] = source;
    let work = 0;
    for (;;) {
      const node = path[length];
      if (node === sink) {
        let push = Infinity;
        for (let s = 0; s < length; ++s) {
          takeStep(s);
          push = Math.min(push, room);
        }
        let full = length;
        for (let s = length - 1; s >= 0; --s) {
          takeStep(s);
          flow[block][index] += slots[s] < n ? push : -push;
          if (room === push) full = s;
        }
        total += push;
        // On from where the first arc became full.
        length = full;
        continue;
      }
      const [d, p] = [Math.floor(node / n), node % n];
      const end = endOfSlots(d);
      const begin = Math.max(current[node], firstSlot(d));
      let slot = begin;
      for (; slot < end; ++slot) {
        take(d, p, slot);
        if (distance[to] === distance[node] + 1 && room > 0) break;
      }
      current[node] = slot;
      work += slot - begin + depth;
      if (slot < end) {
        slots[length++] = slot;
        path[length] = to;
      } else {
        // A dead end: nothing passes here in this phase.
        distance[node] = -1;
        if (length-- === 0) break;
      }
      if (work > 2e5) {
        work = 0;
        yield;
      }
    }
  }

  const arcs: PairFlow["arcs"] = [];
  const cut: PairFlow["cut"] = [];
  let cutUnits = 0;
  let lost = 0;
  for (let d = depth; d >= 1; --d) {
    const exact = toLayer + d;
    for (let q = 0; q < n; ++q) {
      const inside = distance[d * n + q] >= 0;
      for (let j = 0; j < n; ++j) {
        const e = q * n + j;
        if (flow[d][e] > 0) arcs.push({ layer: exact, from: q, to: j, flow: flow[d][e] * unit });
        if (!inside || distance[(d - 1) * n + j] >= 0) continue;
        if (d === depth && q !== outputToken) continue;
        if (d === 1 && j !== inputToken) continue;
        ++lost;
        if (capacity[d][e] > 0) {
          cutUnits += capacity[d][e];
          cut.push({ layer: exact, from: q, to: j, capacity: capacity[d][e] * unit });
        }
      }
    }
    yield;
  }
  return { value: total * unit, error: lost * unit, arcs, cut, cutValue: cutUnits * unit };
}
