// A decoder's first token, where it takes most of what is shown.
import { expect, test } from "vitest";
import { takesMost } from "../src/color/ends";
import { Viewer } from "../src/context";
import { SINK } from "../src/filters";
import { readLink, writeLink } from "../src/link";
import type { ReportDocument } from "../src/report/document";
import { Report } from "../src/report/report";
import causal from "./fixtures/causal.json?raw";
import text from "./fixtures/text.json?raw";

const read = (json: string, changes: Partial<ReportDocument> = {}) =>
  Report.read({ ...(JSON.parse(json) as { report: ReportDocument }).report, ...changes });
const row = (...values: number[]) => Float64Array.from(values);

test("takes most where it lies far above every other token, from the input on, of a decoder alone", async () => {
  const report = await read(causal);
  expect(takesMost(report, row(0.5, 0.2, 0.2, 0.1, 0, 0), 0)).toBe(true);
  expect(takesMost(report, row(0.4, 0.2, 0.2, 0.1, 0.1, 0), 0)).toBe(false);
  expect(takesMost(report, row(0.5, 0.2, 0.2, 0.1, 0, 0), 1)).toBe(false);
  expect(takesMost(report, row(1, 0, 0, 0, 0, 0), 0)).toBe(false);
  expect(takesMost(report, null, 0)).toBe(false);
  expect(takesMost(await read(text), row(0.5, 0.2, 0.2, 0.1, 0, 0), 0)).toBe(false);
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
  const found = places.find(([l, t]) => takesMost(report, report.row("raw", l, t), 0));
  const other = places.find(([l, t]) => t > 1 && !takesMost(report, report.row("raw", l, t), 0));
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
