// A decoder's first token, where it takes most of what is shown.
import { expect, test } from "vitest";
import { takesMost } from "../src/color/ends";
import { Viewer } from "../src/context";
import { SINK } from "../src/filters";
import { readLink, writeLink } from "../src/link";
import type { ReportDocument } from "../src/report/document";
import { Report, type Token } from "../src/report/report";
import { readoutOf } from "../src/components/readout";
import { helpOf } from "../src/views/ranking";
import { f64 } from "./arrays";
import causal from "./fixtures/causal.json?raw";
import gradient from "./fixtures/gradient.json?raw";
import relevance from "./fixtures/relevance.json?raw";
import text from "./fixtures/text.json?raw";

const read = (json: string, changes: Partial<ReportDocument> = {}) =>
  Report.read({ ...(JSON.parse(json) as { report: ReportDocument }).report, ...changes });
const row = (...values: number[]) => Float64Array.from(values);

test("takes most where it lies far above every other token, from the input on, of a decoder alone", async () => {
  const report = await read(causal);
  expect(takesMost(report, row(0.5, 0.2, 0.2, 0.1, 0, 0), 0, 5)).toBe(true);
  expect(takesMost(report, row(0.4, 0.2, 0.2, 0.1, 0.1, 0), 0, 5)).toBe(false);
  expect(takesMost(report, row(0.5, 0.2, 0.2, 0.1, 0, 0), 1, 5)).toBe(false);
  // All of it, of a token that sees others, and of the first token, which sees itself alone.
  expect(takesMost(report, row(1, 0, 0, 0, 0, 0), 0, 5)).toBe(true);
  expect(takesMost(report, row(1, 0, 0, 0, 0, 0), 0, 0)).toBe(false);
  expect(takesMost(report, null, 0, 5)).toBe(false);
  expect(takesMost(await read(text), row(0.5, 0.2, 0.2, 0.1, 0, 0), 0, 5)).toBe(false);
});

/** A decoder's report of one layer and three tokens, with these rows of the last token. */
const rowsOf = (raw: number[], rollout: number[], flow: number[]) => {
  const array = (values: number[]) => f64([1, 0, 0, 0.5, 0.5, 0, ...values], [1, 3, 3]);
  const { settings, ...rest } = (JSON.parse(causal) as { report: ReportDocument }).report;
  return Report.read({
    ...rest,
    settings: { ...settings, method: ["raw", "rollout", "flow"], layers: [1] },
    model: { ...rest.model, layers: 1 },
    input: { kind: "text", text: "中文字", tokens: ["中", "文", "字"].map((text) => ({ text })) },
    ...{ predictions: [], notes: [], scores: [], check: undefined, target: undefined },
    ...{ output_token: 2, output_tokens: [0, 1, 2], flow_output_tokens: [0, 1, 2], flow_layers: undefined },
    arrays: { raw: array(raw), rollout: array(rollout), flow: array(flow) },
  });
};

test("is one for every method where it is one for raw or rollout", async () => {
  const { state, ranking } = await viewerOf([0.9, 0.06, 0.04], [0.6, 0.2, 0.2], [0.8, 0.6, 0.5]);
  for (const method of ["raw", "rollout", "flow"] as const) {
    state.choices.method.value = method;
    expect(
      ranking.value.map(({ token }) => token),
      method,
    ).toEqual([1, 2]);
  }
});

async function viewerOf(...rows: Parameters<typeof rowsOf>) {
  const viewer = new Viewer(await rowsOf(...rows));
  viewer.state.choices.layer.value = 1;
  return viewer;
}

test("is marked where it is shown, and nothing is ranked where nothing else is left", async () => {
  const viewer = await viewerOf([1, 0, 0], [1, 0, 0], [1, 0, 0]);
  const { choices } = viewer.state;
  for (const method of ["raw", "rollout", "flow"] as const) {
    choices.method.value = method;
    choices.skipSink.value = true;
    expect(viewer.ranking.value, method).toEqual([]);
    expect(viewer.isShownSink(0), method).toBe(false);
    expect(helpOf(viewer), method).toBe("Nothing is left beside the attention sink, which is excluded.");
    choices.skipSink.value = false;
    expect(viewer.ranking.value[0]?.token, method).toBe(0);
    expect([viewer.isShownSink(0), viewer.isShownSink(1)], method).toEqual([true, false]);
  }
});

test("an output token that no relevance reaches ranks nothing by any method", async () => {
  const viewer = new Viewer(await read(relevance));
  const { report, state } = viewer;
  const layer = report.layers.at(-1) as number;
  state.choices.layer.value = layer;
  const empty = report.tokens.filter(({ index }) => report.row("raw", layer, index)?.every((value) => value === 0));
  expect(empty.length).toBeGreaterThan(0);
  expect(empty.map(({ index }) => index)).not.toContain(report.document.output_token);
  const before = report.row("rollout", layer, empty[0].index) as Float64Array;
  expect(Math.max(...before)).toBeGreaterThan(0.1);
  state.choices.token.value = empty[0].index;
  for (const method of ["raw", "rollout", "flow"] as const) {
    state.choices.method.value = method;
    expect(viewer.carriesNothing, method).toBe(true);
    expect(viewer.ranking.value, method).toEqual([]);
    expect(Math.max(...(viewer.row() ?? [NaN])), method).toBe(0);
    expect(helpOf(viewer), method).toBe(
      `The output token carries no relevance in favor of the prediction at layer ${layer}: there is nothing to rank.`,
    );
    expect(viewer.isZero, method).toBe(true);
    expect(JSON.stringify(readoutOf(viewer, "rank", null)), method).toContain("nothing: every value is 0");
  }
  // Over attention an empty row means nothing.
  state.choices.token.value = report.document.output_token ?? 0;
  expect(viewer.carriesNothing).toBe(false);
  expect(viewer.ranking.value.length).toBeGreaterThan(0);
});

test("zeros over other edges are said to be zeros, and values of excluded tokens to be there", async () => {
  const viewer = new Viewer(await read(gradient));
  const { report, state } = viewer;
  const [layer, own] = [report.layers.at(-1) as number, report.document.output_token];
  // The gradient reaches the last layer at one position alone.
  const empty = report.tokens.find(({ index }) => index !== own) as Token;
  [state.choices.layer.value, state.choices.token.value, state.choices.method.value] = [layer, empty.index, "raw"];
  expect([viewer.carriesNothing, viewer.isZero]).toEqual([false, true]);
  expect(helpOf(viewer)).toContain("Every raw value of this output token is 0: there is nothing to rank.");
  state.choices.method.value = "rollout";
  expect([viewer.isZero, viewer.ranking.value.length > 0]).toEqual([false, true]);
  for (const { token } of [...viewer.ranking.value]) state.toggle(token);
  expect(helpOf(viewer)).toContain("Only excluded tokens have values other than 0.");
});

test("is left out by default, comes back on request, and the link keeps that", async () => {
  const report = await read(causal);
  // Its first token is a special one: without that rule, its own holds.
  const viewer = new Viewer(report);
  const { state } = viewer;
  const { layer, token, method, skipSpecial, skipSink } = state.choices;
  skipSpecial.value = false;
  method.value = "raw";
  const places = report.layers.flatMap((l) => report.tokens.map(({ index }) => [l, index] as const));
  const takes = (l: number, t: number) =>
    (["raw", "rollout"] as const).some((name) => takesMost(report, report.row(name, l, t), 0, t));
  const found = places.find(([l, t]) => takes(l, t));
  const other = places.find(([l, t]) => t > 1 && !takes(l, t));
  if (!found || !other) throw new Error("expected rows of both kinds");
  [layer.value, token.value] = found;
  expect(state.reasons.value[0]).toBe(SINK);
  expect(viewer.ranking.value.some((entry) => entry.token === 0)).toBe(false);
  [layer.value, token.value] = other;
  expect(state.reasons.value[0]).toBe("");
  [layer.value, token.value] = found;
  skipSink.value = false;
  expect(state.counts.value[0]).toBe(true);
  const link = writeLink(state.snapshot(), state.initial);
  expect(link).toContain("si=0");
  expect(readLink(link, report, state.initial).skipSink).toBe(false);
  skipSink.value = true;
  skipSpecial.value = true;
  expect(state.reasons.value[0]).toBe("special tokens");
});
