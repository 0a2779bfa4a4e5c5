// The arcs that the graph's picture shows.
import { expect, test } from "vitest";
import { graphArcs, pathsThrough, strongestPaths } from "../src/compute/graph_arcs";
import { mixingOf, type Mixing } from "../src/compute/mixing";
import { recomputedRow } from "../src/compute/recompute";
import { finish } from "../src/compute/slices";
import type { Recipe } from "../src/report/recipe";
import type { ReportDocument } from "../src/report/document";
import { Report } from "../src/report/report";
import causal from "./fixtures/causal.json?raw";

const recipe: Recipe = {
  start_layer: 0,
  heads: "mean",
  residual: 0.4,
  mask_columns: "none",
  discard: 0,
  normalize: "none",
};
const question = async () => {
  const report = await Report.read((JSON.parse(causal) as { report: ReportDocument }).report);
  const mixing = mixingOf(report, recipe) as Mixing;
  const shape = { mixing, rule: "convex" as const, residual: 0.4, layer: 5, toLayer: 0, kind: "share" as const };
  return { report, shape: { ...shape, own: true, perNode: Infinity } };
};

test("shares of an output token: each layer passes all of it, and what arrives is its rollout", async () => {
  const { report, shape } = await question();
  const { arcs, masses, more } = finish(graphArcs({ ...shape, outputToken: 4, floor: 0, most: 10_000 }));
  expect(more).toBe(false);
  for (let layer = 1; layer <= 5; ++layer) {
    const passed = arcs.filter((arc) => arc.layer === layer).reduce((sum, arc) => sum + arc.weight, 0);
    expect(passed).toBeCloseTo(1, 6);
  }
  const rollout = recomputedRow(report, recipe, "rollout", 5, 4);
  for (let j = 0; j < report.n; ++j) {
    const arrived = arcs.filter((arc) => arc.layer === 1 && arc.to === j).reduce((sum, arc) => sum + arc.weight, 0);
    expect(arrived).toBeCloseTo(rollout?.values[j] ?? NaN, 12);
    expect(masses?.at(-1)?.[j]).toBeCloseTo(rollout?.values[j] ?? NaN, 12);
  }
});

test("the strongest arcs are kept, weak ones never, and that some are left out is said", async () => {
  const { shape } = await question();
  const all = finish(graphArcs({ ...shape, outputToken: 5, floor: 0, most: 10_000 }));
  const strong = all.arcs.filter((arc) => arc.weight >= 0.05 * all.strongest);
  expect(strong.length).toBeGreaterThan(10);
  expect(strong.length).toBeLessThan(all.arcs.length);
  const floored = finish(graphArcs({ ...shape, outputToken: 5, floor: 0.05, most: 10_000 }));
  expect(floored.arcs).toEqual(strong);
  expect(floored.more).toBe(false);
  const few = finish(graphArcs({ ...shape, outputToken: 5, floor: 0.05, most: 7 }));
  expect(few.arcs).toEqual(strong.slice(0, 7));
  expect(few.more).toBe(true);
  // Arcs fall out on the way, but none that is strong enough in the end.
  const exact = finish(graphArcs({ ...shape, outputToken: 5, floor: 0.05, most: strong.length }));
  expect(exact.arcs).toEqual(strong);
  expect(exact.more).toBe(false);
});

test("weights are those of the layers with the residual, on the paths of the output token", async () => {
  const { report, shape } = await question();
  const all = { ...shape, kind: "weight" as const, floor: 0, most: 10_000 };
  const { arcs, masses } = finish(graphArcs({ ...all, outputToken: 3 }));
  expect(masses).toBeNull();
  // The top layer has one row; those below have every row that a causal model lets token 3 see.
  expect(arcs.length).toBe(4 + 4 * (1 + 2 + 3 + 4));
  for (const { layer, from, to, weight } of arcs)
    expect(weight).toBeCloseTo(
      0.6 * (report.graphValues()?.row((layer - 1) * report.n + from)[to] ?? NaN) + (from === to ? 0.4 : 0),
      12,
    );
});

test("a picture may have each node's strongest alone, none to itself, and none of what is excluded", async () => {
  const { shape } = await question();
  const all = { ...shape, outputToken: 5, floor: 0, most: 10_000 };
  const { arcs } = finish(graphArcs(all));
  const own = finish(graphArcs({ ...all, own: false }));
  expect(own.arcs).toEqual(arcs.filter(({ from, to }) => from !== to));
  // The scale of widths is that of what is shown.
  expect(own.strongest).toBe(own.arcs[0].weight);
  const allows = (token: number) => token !== 0;
  expect(finish(graphArcs({ ...all, allows })).arcs).toEqual(arcs.filter(({ from, to }) => from !== 0 && to !== 0));
  const few = finish(graphArcs({ ...all, own: false, perNode: 2 })).arcs;
  const strongest = own.arcs.filter(
    (arc) => own.arcs.filter(({ layer, from }) => layer === arc.layer && from === arc.from).indexOf(arc) < 2,
  );
  expect(new Set(few)).toEqual(new Set(strongest));
});

test("paths through a node run through all layers, and shares of it split up", () => {
  const arc = (layer: number, from: number, to: number, weight: number) => ({ layer, from, to, weight });
  const arcs = [arc(3, 2, 1, 1), arc(2, 1, 0, 3), arc(2, 1, 1, 1), arc(1, 0, 0, 1), arc(1, 2, 2, 9)];
  const through = pathsThrough(arcs, { layer: 2, token: 1 }, true);
  expect(through.map(({ arc: { layer, from, to }, share }) => [layer, from, to, share])).toEqual([
    [2, 1, 0, 0.75],
    [2, 1, 1, 0.25],
    [1, 0, 0, 0.75],
    [3, 2, 1, 1],
  ]);
  // Where arcs of a token to itself are not shown, half stays there.
  const hidden = arcs.filter(({ from, to }) => from !== to);
  expect(pathsThrough(hidden, { layer: 3, token: 2 }, false).map(({ share }) => share)).toEqual([0.5, 0.25]);
  expect(pathsThrough([], { layer: 1, token: 0 }, true)).toEqual([]);
});

test("the strongest path to each token is the best of all paths, and the tokens most arrives at come first", async () => {
  const { report, shape } = await question();
  const [output, layer] = [4, shape.layer];
  const { arcs, masses } = finish(graphArcs({ ...shape, outputToken: output, floor: 0, most: 10_000 }));
  if (!masses) throw new Error("expected the nodes' masses");
  // The amount that passes an arc, divided by the amount that its upper node holds, is the arc's factor.
  const factor = new Map(
    arcs.map((arc) => [`${arc.layer} ${arc.from} ${arc.to}`, arc.weight / masses[layer - arc.layer][arc.from]]),
  );
  const best = new Map<number, { share: number; keys: string[] }>();
  const walk = (k: number, from: number, share: number, keys: string[]) => {
    if (k === 0) {
      if (share > (best.get(from)?.share ?? 0)) best.set(from, { share, keys });
      return;
    }
    for (let to = 0; to < report.n; ++to) {
      const key = `${k} ${from} ${to}`;
      const part = factor.get(key) ?? 0;
      if (part > 0) walk(k - 1, to, share * part, [...keys, key]);
    }
  };
  walk(layer, output, 1, []);
  const arrived = masses[layer];
  const order = [...best.keys()].sort((a, b) => arrived[b] - arrived[a]);
  for (const paths of [1, 2, order.length]) {
    const found = finish(strongestPaths({ ...shape, outputToken: output, paths }));
    const expected = new Set(order.slice(0, paths).flatMap((end) => best.get(end)?.keys ?? []));
    expect(new Set(found.arcs.map((arc) => `${arc.layer} ${arc.from} ${arc.to}`))).toEqual(expected);
    for (const arc of found.arcs) {
      const same = arcs.find(({ layer: k, from, to }) => k === arc.layer && from === arc.from && to === arc.to);
      expect(arc.weight).toBeCloseTo(same?.weight ?? NaN, 12);
    }
  }
});
