// Generations of version 3, and those of versions 1 and 2 as the same.
import { expect, test } from "vitest";
import type { ReportDocument } from "../src/report/document";
import { GenerationReport } from "../src/report/generation_report";
import { upgraded } from "../src/report/upgrade";
import { readAsk } from "../src/server/ask";
import { part } from "./arrays";

// Two prompt tokens, three generated, two layers; flow of the last token after the last layer.
const [M, N, L] = [2, 3, 2];
const value = (layer: number, token: number, column: number) => 0.1 + layer + 2 * token + 8 * column;
const range = (count: number) => [...Array(count).keys()];
/** In version 3, [layer, token, column]; in those before, [token, column, layer]. */
const newRows = (columns: number) =>
  range(L).flatMap((l) => range(N).flatMap((t) => range(columns).map((j) => value(l, t, j))));
const oldRows = (columns: number) =>
  range(N).flatMap((t) => range(columns).flatMap((j) => range(L).map((l) => value(l, t, j))));

const tokens = (count: number) => range(count).map((at) => ({ text: `t${at}`, begin: at, end: at + 1 }));
const common = {
  format: "attnflow-report",
  model: { name: "m", architecture: "llama", layers: L, heads: 1, causal: true },
  input: { kind: "generation", text: "ab", tokens: tokens(M) },
  notes: [],
};
const settings = { method: ["rollout", "flow"], mixing: "attention", heads: "mean", residual: 0.5, layers: [1, 2] };
const generation = { text: "cde", tokens: tokens(N).map((token) => ({ ...token, probability: 1, choices: [] })) };
const excluded = [{ rule: "stop words (en)", tokens: [1] }];

const before = (version: number, arrays: Record<string, unknown>) => ({
  ...common,
  version,
  settings: { ...settings, to_layer: 0, set_aside: "first" },
  generation: { ...generation, flow_tokens: [2], flow_layers: [2], dropped: excluded },
  arrays,
});
const now = (arrays: Record<string, unknown>) => ({
  ...common,
  version: 3,
  settings: { ...settings, start_layer: 0, mask_columns: "first" },
  output_token: 1,
  output_tokens: [1, 2, 3],
  flow_output_tokens: [3],
  flow_layers: [2],
  generation: { ...generation, excluded },
  arrays,
});

const expectSame = async (a: unknown, b: unknown) => {
  const [first, second] = [await GenerationReport.read(a), await GenerationReport.read(b)];
  for (const report of [first, second]) {
    expect(report.settings).toMatchObject({ start_layer: 0, mask_columns: "first" });
    expect(report.excluded).toEqual(excluded);
    expect([report.outputTokens("rollout"), report.outputTokens("flow")]).toEqual([[1, 2, 3], [3]]);
    expect([report.layersOf("rollout"), report.layersOf("flow")]).toEqual([[1, 2], [2]]);
  }
  for (const output of [1, 2, 3]) {
    for (const layers of [1, 2, [1, 2]]) {
      for (const array of ["rollout", "flow"]) {
        expect([...(first.row(array, layers, output) ?? [])]).toEqual([...(second.row(array, layers, output) ?? [])]);
      }
    }
    expect(first.sinkShare(output, 2)).toBe(second.sinkShare(output, 2));
  }
  return second;
};

test("exact arrays are turned", async () => {
  const array = (shape: number[], numbers: number[]) => ({ shape, ...part("f64", numbers) });
  const report = await expectSame(
    before(1, {
      rollout: array([N, M, L], oldRows(M)),
      rollout_generated: array([N, N, L], oldRows(N)),
      flow: array([1, M, 1], [3, 4]),
      sink_share: array([N, L], oldRows(1)),
    }),
    now({
      rollout: array([L, N, M], newRows(M)),
      rollout_generated: array([L, N, N], newRows(N)),
      flow: array([1, 1, M], [3, 4]),
      sink_share: array([L, N], newRows(1)),
    }),
  );
  expect([...(report.row("rollout", 2, 3) ?? [])]).toEqual(
    [0, 1, 0, 1, 2].map((j, at) => value(1, 2, at < M ? j : at - M)),
  );
  expect([...(report.row("flow", 2, 3) ?? [])]).toEqual([3, 4]);
  expect(report.row("flow", 2, 2)).toBeNull();
  expect(report.sinkShare(3, 2)).toBe(value(1, 2, 0));
});

test("rows of compact arrays change their places; a generated token's row sees those before it", async () => {
  // One value of each row is kept, in column 0; the rest is that of the other columns which the row sees.
  const rows = (places: number[][]) => ({
    decades: 5,
    error: 0,
    ...{
      counts: part(
        "u16",
        places.map(() => 1),
      ),
      columns: part(
        "u8",
        places.map(() => 0),
      ),
    },
    ...{
      codes: part(
        "u8",
        places.map(() => 255),
      ),
      scales: part(
        "f32",
        places.map(([l, t]) => 1 + l + 2 * t),
      ),
    },
    rest: part(
      "f32",
      places.map(([l, t]) => (t === 2 ? 8 + l : 0)),
    ),
  });
  const [old, fresh] = [
    range(N).flatMap((t) => range(L).map((l) => [l, t])),
    range(L).flatMap((l) => range(N).map((t) => [l, t])),
  ];
  const report = await expectSame(
    before(2, {
      rollout: { shape: [N, M, L], axis: 1, dtype: "top", ...rows(old) },
      rollout_generated: { shape: [N, N, L], axis: 1, dtype: "top", ...rows(old) },
    }),
    now({
      rollout: { shape: [L, N, M], dtype: "top", ...rows(fresh) },
      rollout_generated: { shape: [L, N, N], dtype: "top", ...rows(fresh) },
    }),
  );
  expect([...(report.row("rollout", 2, 3) ?? [])]).toEqual([6, 9, 6, 9, 0]);
});

test("a document is upgraded once, and says which version its file has", () => {
  const document = upgraded(before(2, {}));
  expect(document).toMatchObject({ version: 3, upgraded_from: 2 });
  expect(upgraded(document)).toBe(document);
  const { upgraded_from, ...same } = document as ReportDocument;
  expect(upgraded_from).toBe(2);
  expect(same).toEqual(now({}));
});

test("addresses of before are understood", () => {
  const prompt = { prompt: "a", tokens: 3 };
  expect(readAsk(JSON.stringify({ ...prompt, drop_sink: true }))).toEqual({ ...prompt, mask_columns: "first" });
  expect(readAsk(JSON.stringify({ ...prompt, drop_sink: false }))).toEqual(prompt);
});
