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

  /** Distances over arcs with room, as far as the sink; whether it is reached. */
  function* search(): Work<boolean> {
    distance.fill(-1);
    current.fill(0);
    distance[source] = 0;
    queue[0] = source;
    let [head, tail] = [0, 1];
    let work = 0;
    while (head < tail) {
      const node = queue[head++];
      const [d, p] = [Math.floor(node / n), node % n];
      const next = distance[node] + 1;
      if (distance[sink] >= 0 && next > distance[sink]) break;
      if (d > 0) {
        const [block, used] = [capacity[d], flow[d]];
        for (let j = 0, e = p * n, to = (d - 1) * n; j < n; ++j, ++e, ++to) {
          if (distance[to] < 0 && block[e] > used[e]) {
            distance[to] = next;
            queue[tail++] = to;
          }
        }
      }
      if (d < depth) {
        const used = flow[d + 1];
        for (let r = 0, e = p, to = (d + 1) * n; r < n; ++r, e += n, ++to) {
          if (distance[to] < 0 && used[e] > 0) {
            distance[to] = next;
            queue[tail++] = to;
          }
        }
      }
      if ((work += 2 * n) > 2e5) {
        work = 0;
        yield;
      }
    }
    return distance[sink] >= 0;
  }

  // The path of the depth-first search: nodes, and for each step its arc, forwards (flow grows) or back.
  const path = new Int32Array(2 * (depth + 1) * n + 2);
  const arcBlock = new Int32Array(path.length);
  const arcAt = new Int32Array(path.length);
  const forwards = new Uint8Array(path.length);

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
          const [d, e] = [arcBlock[s], arcAt[s]];
          push = Math.min(push, forwards[s] ? capacity[d][e] - flow[d][e] : flow[d][e]);
        }
        let full = length;
        for (let s = length - 1; s >= 0; --s) {
          const [d, e] = [arcBlock[s], arcAt[s]];
          flow[d][e] += forwards[s] ? push : -push;
          if ((forwards[s] ? capacity[d][e] - flow[d][e] : flow[d][e]) === 0) full = s;
        }
        total += push;
        // On from where the first arc became full.
        length = full;
        continue;
      }
      const [d, p] = [Math.floor(node / n), node % n];
      const wanted = distance[node] + 1;
      let found = false;
      // Arcs 0..n-1 lead down, n..2n-1 back up.
      let at = current[node];
      const begin = at;
      if (d > 0) {
        const [block, used] = [capacity[d], flow[d]];
        for (; at < n; ++at) {
          const e = p * n + at;
          const to = (d - 1) * n + at;
          if (distance[to] === wanted && block[e] > used[e]) {
            [arcBlock[length], arcAt[length], forwards[length]] = [d, e, 1];
            path[length + 1] = to;
            found = true;
            break;
          }
        }
      } else {
        at = Math.max(at, n);
      }
      if (!found && d < depth) {
        const used = flow[d + 1];
        for (; at < 2 * n; ++at) {
          const e = (at - n) * n + p;
          const to = (d + 1) * n + at - n;
          if (distance[to] === wanted && used[e] > 0) {
            [arcBlock[length], arcAt[length], forwards[length]] = [d + 1, e, 0];
            path[length + 1] = to;
            found = true;
            break;
          }
        }
      }
      work += at - begin + depth;
      current[node] = at;
      if (found) {
        ++length;
      } else {
        // A dead end: nothing passes here in this phase.
        distance[node] = -1;
        if (length === 0) break;
        --length;
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
