// The line below the headline.
import { expect, test } from "vitest";
import { checkShown, firstToken, littleRanked } from "../src/components/belief";
import { Viewer } from "../src/context";
import type { Check, ReportDocument } from "../src/report/document";
import { Report } from "../src/report/report";
import { f64 } from "./arrays";
import text from "./fixtures/text.json?raw";

const base = (JSON.parse(text) as { report: ReportDocument }).report;

test("a click that ranks another token first is told from the usual filters, and a ranking of little is said", async () => {
  const report = await Report.read(base);
  const [first] = new Viewer(report).ranking.value;
  const map = { method: "rollout" as const, layer: 6, first_token: first.token };
  const check: Check = { quantity: "logit", value: 4, tokens: [{ token: first.token, drop: 1 }], maps: [map] };
  const viewer = new Viewer(await Report.read({ ...base, check }));
  const { state } = viewer;
  expect(checkShown(viewer)?.otherFirst).toBe("");
  state.toggle(first.token);
  expect(checkShown(viewer)?.otherFirst).toBe(" (checked with the usual filters)");
  state.toggle(first.token);
  expect(checkShown(viewer)?.otherFirst).toBe("");
  state.includeAll();
  expect(littleRanked(viewer)).toBeNull();
  // Where each token keeps most to itself, all but the least.
  state.choices.residual.value = 0.9;
  for (const { token } of viewer.ranking.value.slice(0, -1)) state.toggle(token);
  const [least] = viewer.ranking.value;
  const { whole } = viewer.drawn.value;
  expect(littleRanked(viewer)).toBeCloseTo(least.value / (whole ?? 0), 12);
  // Flows are parts of nothing.
  state.choices.method.value = "flow";
  expect(littleRanked(viewer)).toBeNull();
  state.choices.method.value = "rollout";
  state.toggle(least.token);
  expect(littleRanked(viewer)).toBeNull();
});

test("the token that is ranked first is named where it is in no word that is", async () => {
  const { shape } = base.arrays.rollout;
  // "key" and "##ed" together have more than "are" alone.
  const rows = Array.from({ length: shape[0] * shape[1] }, () => [0, 0.2, 0.25, 0.15, 0.1, 0.3]).flat();
  const viewer = new Viewer(
    await Report.read({ ...base, arrays: { ...base.arrays, rollout: { ...f64(rows), shape } } }),
  );
  const words = viewer.merged.value;
  if (!words) throw new Error("expected words of several pieces");
  expect(viewer.ranking.value[0].token).toBe(5);
  expect(words.ranking.value[0].token).toBe(1);
  expect(firstToken(words)).toBe(5);
  expect(firstToken(viewer)).toBeNull();
  viewer.state.toggle(5);
  expect(firstToken(words)).toBeNull();
});
