// Laws of rollout and flow (DESIGN, docs/flow.md), on random stacks.
import { describe, expect, test } from "vitest";
import { flowRow } from "../src/compute/flow_row";
import { maximumFlow, type PairFlow } from "../src/compute/max_flow";
import { finish } from "../src/compute/slices";

/** Numbers in [0, 1) that are the same every time. */
function random(seed: number) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Row-stochastic matrices A_1..A_L, some peaked, some with zeros. */
function stack(layers: number, n: number, causal: boolean, seed: number): Float64Array[][] {
  const next = random(seed);
  return Array.from({ length: layers }, () =>
    Array.from({ length: n }, (_, q) => {
      const row = Float64Array.from({ length: n }, (_, k) => {
        if (causal && k > q) return 0;
        return next() < 0.2 ? 0 : next() ** 6;
      });
      row[q] += 0.5;
      const sum = row.reduce((a, b) => a + b);
      return row.map((w) => w / sum);
    }),
  );
}

function flowOf(a: Float64Array[][], outputToken: number, inputToken: number, toLayer = 0): PairFlow {
  const n = a[0].length;
  const row = (layer: number, query: number) => a[layer - 1][query];
  return finish(maximumFlow({ n, layer: a.length, toLayer, outputToken, inputToken, row }));
}

function rolloutOf(a: Float64Array[][], outputToken: number): number[] {
  const n = a[0].length;
  let mass: number[] = Array.from({ length: n }, (_, i) => (i === outputToken ? 1 : 0));
  for (let l = a.length; l >= 1; --l) {
    mass = mass.map((_, j) => mass.reduce((sum, m, q) => sum + m * a[l - 1][q][j], 0));
  }
  return mass;
}

/** Every arc within its capacity; what enters an inner node leaves it. */
function checkFlow(a: Float64Array[][], pair: PairFlow, outputToken: number, inputToken: number) {
  const n = a[0].length;
  const balance = new Map<string, number>();
  const add = (node: string, by: number) => balance.set(node, (balance.get(node) ?? 0) + by);
  for (const { layer, from, to, flow } of pair.arcs) {
    expect(flow).toBeLessThanOrEqual(a[layer - 1][from][to]);
    add(`${layer} ${from}`, -flow);
    add(`${layer - 1} ${to}`, flow);
  }
  for (const [node, sum] of balance) {
    const value = node === `${a.length} ${outputToken}` ? -pair.value : node === `0 ${inputToken}` ? pair.value : 0;
    expect(sum, node).toBeCloseTo(value, 13);
  }
  // Without the arcs of the cut, the input token is out of reach.
  const cut = new Set(pair.cut.map(({ layer, from, to }) => `${layer} ${from} ${to}`));
  let reached = new Set([outputToken]);
  for (let l = a.length; l >= 1; --l) {
    const below = new Set<number>();
    for (const q of reached) {
      for (let j = 0; j < n; ++j) if (a[l - 1][q][j] > 1e-13 && !cut.has(`${l} ${q} ${j}`)) below.add(j);
    }
    reached = below;
  }
  expect(reached.has(inputToken)).toBe(false);
}

describe("maximum flow of a pair", () => {
  for (const causal of [false, true]) {
    for (const [layers, n] of [
      [1, 5],
      [2, 7],
      [3, 6],
      [5, 9],
      [8, 12],
    ]) {
      test(`${layers} layers of ${n} tokens${causal ? ", causal" : ""}`, () => {
        const a = stack(layers, n, causal, 100 * layers + n);
        for (let i = 0; i < n; ++i) {
          const rollout = rolloutOf(a, i);
          for (let j = 0; j < n; ++j) {
            const pair = flowOf(a, i, j);
            expect(pair.error).toBeLessThan(1e-11);
            expect(pair.cutValue).toBeCloseTo(pair.value, 13);
            checkFlow(a, pair, i, j);
            let column = 0;
            for (let k = 0; k < n; ++k) column += a[0][k][j];
            expect(pair.value).toBeLessThanOrEqual(Math.min(1, column) + 1e-12);
            expect(rollout[j]).toBeLessThanOrEqual(pair.value + pair.error + 1e-12);
            if (layers === 1) expect(pair.value).toBeCloseTo(a[0][i][j], 12);
            if (layers === 2) {
              let both = 0;
              for (let k = 0; k < n; ++k) both += Math.min(a[1][i][k], a[0][k][j]);
              expect(pair.value).toBeCloseTo(both, 12);
            }
          }
        }
      });
    }
  }

  for (const causal of [false, true]) {
    test(`is what a row has of it, to tokens and to words${causal ? ", causal" : ""}`, () => {
      const [layers, n] = [5, 34];
      // Some weights are gone, as after discarding.
      const a = stack(layers, n, causal, 7).map((layer) => layer.map((row) => row.map((w) => (w < 0.01 ? 0 : w))));
      const row = (layer: number, query: number) => a[layer - 1][query];
      const groups = Array.from({ length: n / 2 }, (_, g) => [2 * g, 2 * g + 1]);
      for (const outputToken of [0, 20, n - 1]) {
        const network = { n, layer: layers, toLayer: 0, outputToken, causal, row };
        const each = Array.from({ length: n }, (_, j) => [j]);
        const tokens = finish(flowRow(network, each, 1e-6));
        for (let j = 0; j < n; ++j) expect(tokens.values[j]).toBeCloseTo(flowOf(a, outputToken, j).value, 12);
        // A word as one more layer, whose only node it is.
        const words = finish(flowRow(network, groups, 1e-6));
        for (const [g, [first, second]] of groups.entries()) {
          const joined = a[0].map((from) =>
            from.map((w, j) => (j === first ? w + from[second] : j === second ? 0 : w)),
          );
          expect(words.values[g]).toBeCloseTo(flowOf([joined, ...a.slice(1)], outputToken, first).value, 12);
        }
      }
    });
  }

  test("the cut is the one nearest the output token", () => {
    // A path of two arcs of the same capacity: either is a minimum cut.
    const chain = [
      [new Float64Array([0.25, 0]), new Float64Array(2)],
      [new Float64Array([0.25, 0]), new Float64Array(2)],
    ];
    expect(flowOf(chain, 0, 0).cut).toEqual([{ layer: 2, from: 0, to: 0, capacity: 0.25 }]);
  });

  test("arcs must be taken back", () => {
    // The shortest first path 0-0-0 blocks; the maximum takes 0-0-1-... and 0-1-0.
    const a = [
      [new Float64Array([0.5, 0.5]), new Float64Array([0.5, 0])],
      [new Float64Array([0.5, 0.5]), new Float64Array([0.5, 0])],
      [new Float64Array([0.5, 0.5]), new Float64Array(2)],
    ];
    expect(flowOf(a, 0, 0).value).toBe(1);
  });

  test("no path, no flow", () => {
    const a = stack(4, 6, true, 1);
    const pair = flowOf(a, 0, 5);
    expect(pair).toMatchObject({ value: 0, arcs: [], cut: [], cutValue: 0 });
  });

  test("capacities far above one", () => {
    const a = stack(3, 6, false, 2).map((layer) => layer.map((row) => row.map((w) => 1e6 * w)));
    const plain = flowOf(stack(3, 6, false, 2), 1, 4);
    const scaled = flowOf(a, 1, 4);
    expect(scaled.value / 1e6).toBeCloseTo(plain.value, 11);
  });
});
