// Values computed in the page equal those that C++ computed with the same settings (test/fixtures/make.py).
import { describe, expect, test } from "vitest";
import { maximumFlow } from "../src/compute/max_flow";
import { mixingOf, type Mixing } from "../src/compute/mixing";
import { flowsOf, mixedRow, recomputedRow, residualRule, rowWork, whyNoFlow, whyNot } from "../src/compute/recompute";
import { finish } from "../src/compute/slices";
import { recipeOf, USUAL_RECIPE, type Recipe } from "../src/report/recipe";
import type { EncodedArray, Method, ReportDocument, Settings } from "../src/report/document";
import { Report } from "../src/report/report";
import { upgraded } from "../src/report/upgrade";
import { decodeArray, denseValues } from "../src/report/values";
import { WordReport } from "../src/report/words";
import { f64, part } from "./arrays";
import causal from "./fixtures/causal.json?raw";
import alti from "./fixtures/alti.json?raw";
import gradient from "./fixtures/gradient.json?raw";
import joint from "./fixtures/joint.json?raw";
import relevance from "./fixtures/relevance.json?raw";
import renormalized from "./fixtures/renormalized.json?raw";
import text from "./fixtures/text.json?raw";

interface Certificate {
  output_token: number;
  input_token: number;
  layer: number;
  start_layer?: number;
  flow: number;
  flow_gap: number;
  minimum_cut: [number, number, number, number][];
}
interface Fixture {
  report: ReportDocument & { certificates: Certificate[] };
  cases: { arguments: string[]; settings: Settings; arrays: Record<Method | "flow_degenerate", EncodedArray> }[];
}

const FIXTURES = { text, causal, gradient, renormalized, alti, relevance, joint };
const read = (name: keyof typeof FIXTURES) => JSON.parse(FIXTURES[name]) as Fixture;

for (const name of Object.keys(FIXTURES) as (keyof typeof FIXTURES)[]) {
  const fixture = read(name);
  describe(`rows of ${name}`, () => {
    for (const { arguments: given, settings, arrays } of fixture.cases) {
      test(given.join(" ") || "as the report was made", async () => {
        const document = structuredClone(fixture.report);
        document.settings.discard_keep_special = settings.discard_keep_special;
        const pieces = await Report.read(document);
        const report = settings.words ? WordReport.of(pieces) : pieces;
        if (!report) throw new Error("no word has several pieces");
        const recipe = recipeOf(upgraded({ ...fixture.report, settings }));
        let compared = 0;
        for (const method of ["raw", "rollout", "flow"] as const) {
          const expected = await decodeArray(arrays[method]);
          const flags = method === "flow" ? await decodeArray(arrays.flow_degenerate) : null;
          const close = method === "flow" ? 1e-9 : 1e-6;
          expect(expected.n).toBe(report.n);
          for (const [at, layer] of settings.layers.entries()) {
            const deep = method === "flow" && layer > recipe.start_layer + 2;
            if (deep) {
              expect(recomputedRow(report, recipe, method, layer, 0)).toBeNull();
              expect(whyNot(report, recipe, method, layer)).toMatch(/maximum flow/);
              expect(whyNoFlow(report, recipe, layer)).toBeNull();
            }
            for (let token = 0; token < report.n; ++token) {
              let steps = 0;
              const row = deep
                ? finish(rowWork(report, recipe, method, layer, token, () => ++steps))
                : recomputedRow(report, recipe, method, layer, token);
              if (!row) throw new Error(`${method}: ${whyNot(report, recipe, method, layer)}`);
              expect(steps).toBe(deep ? flowsOf(report, recipe, token) : 0);
              const truth = expected.row(at * report.n + token);
              const ends = flags?.row(at * report.n + token);
              for (let j = 0; j < report.n; ++j) {
                const error = Math.abs(row.values[j] - truth[j]);
                const where = `${method}, layer ${layer}, from ${token} to ${j}`;
                expect(
                  error <= close * Math.max(1, Math.abs(truth[j])),
                  `${where}: ${row.values[j]}, not ${truth[j]}`,
                ).toBe(true);
                if (ends) expect(row.degenerate?.[j] === 1, where).toBe(ends[j] > 0);
                ++compared;
              }
            }
          }
        }
        expect(compared).toBeGreaterThan(0);
      });
    }
  });

  test(`certified flows of ${name}`, async () => {
    const report = await Report.read(fixture.report);
    const recipe = recipeOf(report);
    const mixing = mixingOf(report, recipe) as Mixing;
    expect(fixture.report.certificates.length).toBe(3);
    let cuts = 0;
    for (const certificate of fixture.report.certificates) {
      const { layer, start_layer: toLayer = 0, output_token: outputToken, input_token: inputToken } = certificate;
      const rule = residualRule(report, "flow");
      const row = (k: number, query: number) => mixedRow({ mixing, rule, residual: recipe.residual, layer }, k, query);
      const pair = finish(maximumFlow({ n: report.n, layer, toLayer, outputToken, inputToken, row }));
      expect(Math.abs(pair.value - certificate.flow)).toBeLessThan(1e-9);
      const cut = pair.cut.map(({ layer: k, from, to }) => `${k} ${from} ${to}`);
      expect(cut).toEqual(certificate.minimum_cut.map(([k, from, to]) => `${k} ${from} ${to}`));
      cuts += cut.length;
    }
    expect(cuts).toBeGreaterThan(0);
  });
}

test("a row that masking leaves with nothing keeps its position, as the library has it", async () => {
  const report = await Report.read(read("causal").report);
  const mixing = mixingOf(report, { heads: "mean", mask_columns: "first", discard: 0 }) as Mixing;
  for (let layer = 1; layer <= report.model.layers; ++layer) {
    expect([...mixing.top.row(layer, 0)]).toEqual([1, ...Array(report.n - 1).fill(0)]);
    expect(mixing.top.row(layer, 2)[0]).toBe(0);
    for (let q = 0; q < report.n; ++q) expect(mixing.top.sum(layer, q)).toBeCloseTo(1, 5);
  }
});

describe("a report of one head, columns masked or weights discarded", () => {
  const common = { ...recipeOf(upgraded(read("text").report)), heads: "1" };
  const change = { mask_columns: "none", discard: 0 };
  for (const steps of [
    { ...change, mask_columns: "first" },
    { ...change, discard: 0.4 },
    { mask_columns: "1,3", discard: 0.5 },
  ]) {
    for (const held of [true, false]) {
      test(`${JSON.stringify(steps)}, ${held ? "raw rows held" : "rows normalised"}`, async () => {
        // The report of all heads gives for these settings what a report made with them holds.
        const { report: document } = read("text");
        const { layers } = document.settings;
        const every = await Report.read(document);
        const { n } = every;
        const recipe = { ...common, ...steps };
        const mixing = mixingOf(every, recipe) as Mixing;
        const last = layers.at(-1) ?? 1;
        const array = (rows: (layer: number, query: number) => ArrayLike<number>): EncodedArray => {
          const all = layers.flatMap((l) => Array.from({ length: n }, (_, q) => Array.from(rows(l, q))).flat());
          return f64(all, [layers.length, n, n]);
        };
        const made = structuredClone(document);
        Object.assign(made.settings, { heads: "1", set_aside: steps.mask_columns, discard: steps.discard });
        if (!held) made.settings.normalize = "row";
        made.arrays = {
          attention: document.arrays.attention,
          graph: array((l, q) => (l === last ? mixing.top : mixing.below).row(l, q)),
          ...(held ? { raw: array((l, q) => mixing.top.row(l, q)) } : {}),
        };
        const report = await Report.read(made);
        let changed = 0;
        for (const layer of layers) {
          for (let token = 0; token < n; ++token) {
            for (const method of ["raw", "rollout"] as const) {
              const row = recomputedRow(report, recipe, method, layer, token);
              const truth = recomputedRow(every, recipe, method, layer, token);
              for (let j = 0; j < n; ++j) expect(row?.values[j]).toBeCloseTo(truth?.values[j] ?? NaN, 12);
            }
            const head = every.headRow(layer, 1, token) as Float32Array;
            if (layer < last && head.some((value, j) => Math.abs(value - mixing.top.row(layer, token)[j]) > 1e-3)) {
              ++changed;
            }
          }
        }
        expect(changed).toBeGreaterThan(0);
      });
    }
  }
});

describe("what a report does not hold", () => {
  const without = async (...names: string[]) => {
    const { report } = read("text");
    report.arrays = Object.fromEntries(Object.entries(report.arrays).filter(([name]) => !names.includes(name)));
    return Report.read(report);
  };
  const recipe = recipeOf(upgraded(read("text").report));

  test("single heads", async () => {
    const report = await without("attention");
    expect(whyNot(report, { ...recipe, residual: 0.1 }, "rollout", 6)).toBeNull();
    expect(whyNot(report, { ...recipe, mask_columns: "first" }, "rollout", 6)).toBeNull();
    expect(whyNot(report, { ...recipe, heads: "max" }, "rollout", 6)).toMatch(/single heads/);
    expect(recomputedRow(report, { ...recipe, heads: "2" }, "raw", 6, 0)).toBeNull();
  });

  test("attention of the layers", async () => {
    const report = await without("attention", "raw");
    expect(whyNot(report, { ...recipe, residual: 0.1 }, "rollout", 6)).toMatch(/does not hold/);
  });

  test("layers below the last one looked down to", async () => {
    const report = await without();
    expect(whyNot(report, { ...recipe, start_layer: 3 }, "rollout", 3)).toMatch(/not above layer 3/);
    expect(whyNot(report, { ...recipe, start_layer: 3 }, "rollout", 4)).toBeNull();
  });
});

test("sparse rows give the rollout of the rows they stand for", async () => {
  // Two layers of a causal model with four tokens; of each row the largest value is kept.
  const [f32, u8] = (["f32", "u8"] as const).map((dtype) => (numbers: number[]) => part(dtype, numbers));
  const rows = [0, 1, 2, 3, 0, 1, 2, 3];
  const document: ReportDocument = {
    format: "attnflow-report",
    version: 3,
    settings: { ...read("causal").report.settings, layers: [1, 2] },
    model: { name: "", architecture: "", layers: 2, heads: 1, causal: true },
    input: { kind: "attention", text: "", tokens: ["a", "b", "c", "d"].map((text) => ({ text })) },
    output_tokens: [0, 1, 2, 3],
    notes: [],
    arrays: {
      graph: {
        shape: [2, 4, 4],
        dtype: "top",
        decades: 5,
        counts: part(
          "u16",
          rows.map(() => 1),
        ),
        columns: u8([0, 0, 2, 1, 0, 1, 1, 3]),
        codes: u8(rows.map(() => 255)),
        scales: f32(rows.map((i) => (i === 0 ? 1 : 0.75))),
        rest: f32(rows.map((i) => (i === 0 ? 0 : 0.25))),
      },
    },
  };
  const report = await Report.read(document);
  const recipe: Recipe = { ...USUAL_RECIPE, residual: 0.3 };
  const dense = denseValues(
    [2, 4, 4],
    Float64Array.from(rows.flatMap((_, r) => [...(report.array("graph")?.row(r) ?? [])])),
  );
  for (let token = 0; token < 4; ++token) {
    let mass = Float64Array.from({ length: 4 }, (_, i) => (i === token ? 1 : 0));
    for (const layer of [2, 1]) {
      mass = mass.map((_, j) =>
        mass.reduce((sum, m, q) => sum + m * (0.7 * dense.row((layer - 1) * 4 + q)[j] + (q === j ? 0.3 : 0)), 0),
      );
    }
    const row = recomputedRow(report, recipe, "rollout", 2, token);
    expect([...(row?.values ?? [])].slice(token + 1)).toEqual(Array(3 - token).fill(0));
    for (let j = 0; j < 4; ++j) expect(row?.values[j]).toBeCloseTo(mass[j], 7);
  }
});

describe("one head", () => {
  for (const heads of ["max", "min"]) {
    test(`has its rows divided by their sums: ${heads}`, async () => {
      const { report: document } = read("causal");
      const stored = document.arrays.attention as EncodedArray;
      const [layers, , n] = stored.shape;
      // The first head of each layer, at half its weight.
      const { row: headRow } = await decodeArray(stored);
      const half = new Float32Array(layers * n * n);
      for (let r = 0; r < layers * n; ++r) {
        const row = headRow(Math.floor(r / n) * stored.shape[1] * n + (r % n));
        for (let j = 0; j < n; ++j) half[r * n + j] = row[j] / 2;
      }
      document.arrays.attention = { shape: [layers, 1, n, n], ...part("f32", half) };
      document.model.heads = 1;
      const report = await Report.read(document);
      const mixing = mixingOf(report, { ...recipeOf(report), heads }) as Mixing;
      for (let q = 0; q < n; ++q) expect(mixing.top.sum(2, q)).toBeCloseTo(1, 6);
      const asItIs = mixingOf(report, { ...recipeOf(report), heads: "0" }) as Mixing;
      expect(asItIs.top.sum(2, n - 1)).toBeCloseTo(0.5, 6);
    });
  }
});

describe("the matrices of whole words", () => {
  // Positions are of pieces: "key ##ed" is word 1, pieces 1 and 2; "cat ##s" is word 2, pieces 3 and 4.
  const cases: [string, Partial<Recipe>][] = [
    ["a masked piece", { mask_columns: "2" }],
    ["a masked word", { mask_columns: "3,4" }],
    ["the last piece masked", { mask_columns: "5" }],
    ["weights discarded", { discard: 0.4 }],
    ["heads fused by their maximum", { heads: "max" }],
    ["one head", { heads: "1", mask_columns: "1" }],
  ];
  for (const [name, change] of cases) {
    test(`are the pieces' matrices merged: ${name}`, async () => {
      const pieces = await Report.read(read("text").report);
      const words = WordReport.of(pieces);
      if (!words) throw new Error("no word has several pieces");
      const recipe = { ...recipeOf(pieces), ...change };
      const [merged, truth] = [words, pieces].map((report) => mixingOf(report, recipe) as Mixing);
      for (const kind of ["top", "below"] as const) {
        for (let layer = 1; layer <= pieces.model.layers; ++layer) {
          for (const [q, queries] of words.groups.entries()) {
            const row = merged[kind].row(layer, q);
            let sum = 0;
            for (const [k, keys] of words.groups.entries()) {
              let expected = 0;
              for (const i of queries) for (const j of keys) expected += truth[kind].row(layer, i)[j] / queries.length;
              expect(row[k]).toBeCloseTo(expected, 12);
              sum += expected;
            }
            expect(merged[kind].sum(layer, q)).toBeCloseTo(sum, 12);
          }
        }
      }
    });
  }

  test("have no column of a word whose pieces are all masked, and keep that of one whose pieces are not", async () => {
    const words = WordReport.of(await Report.read(read("text").report));
    if (!words) throw new Error("no word has several pieces");
    const columns = (mask: string) => {
      const mixing = mixingOf(words, { heads: "mean", discard: 0, mask_columns: mask }) as Mixing;
      return words.tokens.map(({ index }) => words.tokens.some((query) => mixing.top.row(1, query.index)[index] > 0));
    };
    expect(columns("3,4")).toEqual([true, true, false, true]);
    expect(columns("2")).toEqual([true, true, true, true]);
  });
});
