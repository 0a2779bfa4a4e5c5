// Bounds on the size of the page's work, and beyond them.
import { expect, test } from "vitest";
import { heldLayerBeside, layerBeside } from "../src/compute/align";
import { flowFits, mostTokens } from "../src/compute/max_flow";
import { mixingOf } from "../src/compute/mixing";
import { takesMost } from "../src/color/ends";
import { readPattern } from "../src/filters";
import { Report } from "../src/report/report";
import { percent } from "../src/report/text";
import { problemOf } from "../src/server/pictures";
import text from "./fixtures/text.json?raw";

test("weights are discarded in up to 256 tokens", async () => {
  const report = await Report.read((JSON.parse(text) as { report: unknown }).report);
  const of = (n: number) =>
    mixingOf(Object.create(report, { n: { value: n } }) as Report, {
      heads: "mean",
      mask_columns: "none",
      discard: 0.4,
    });
  expect(of(257)).toBe("Discarding weights is computed here for up to 256 tokens.");
  expect(of(256)).toBeTypeOf("object");
});

test("flow has up to four million arcs, and expressions up to 100 characters", () => {
  expect([flowFits(1000, 4), flowFits(1000, 5), flowFits(2000, 1), flowFits(2001, 1)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect([mostTokens(4), mostTokens(1)]).toEqual([1000, 2000]);
  expect(readPattern("x".repeat(100)).problem).toBe("");
  expect(readPattern("x".repeat(101)).problem).toBe("at most 100 characters");
  expect(readPattern("a?b?c?d?").problem).toBe("");
  expect(readPattern("a?b?c?d?e?").problem).toBe("at most four repetitions or groups of alternatives");
});

test("pictures are sent up to their largest size", () => {
  const of = (size: number) => problemOf({ size, name: "a.png", type: "image/png" } as File);
  expect(of(64 * 2 ** 20)).toBe("");
  expect(of(64 * 2 ** 20 + 1)).toBe("expected a picture of at most 64 MB, found a.png");
});

test("a layer stands beside the one as far from the last, where both models are known", () => {
  const of = (layers: number, held: number[] = []) => ({ model: { layers }, layers: held }) as unknown as Report;
  const rows = [
    ...[[12, 6, 7, 1], [6, 12, 2, 8], [6, 6, 2, 2], [0, 6, 2, 2], [6, 0, 2, 2]], // prettier-ignore
  ];
  for (const [ours, theirs, layer, beside] of rows) expect(layerBeside(of(ours), of(theirs), layer)).toBe(beside);
  expect(heldLayerBeside(of(6), of(6, [1, 3, 6]), 3)).toBe(3);
  expect(heldLayerBeside(of(6), of(6, [1, 3, 6]), 5)).toBe(3);
  expect(heldLayerBeside(of(6), of(6, [4, 6]), 2)).toBe(4);
});

test("shares are written as none or all only where they are", () => {
  const shares = [0, 0.001, 0.0049, 0.005, 0.0149, 0.994, 0.995, 0.9999, 1];
  expect(shares.map(percent)).toEqual(
    ["0%", "under 1%", "under 1%", "1%", "1%", "99%", "over 99%", "over 99%", "100%"], // prettier-ignore
  );
});

test("a decoder's first token takes most of a row that has two tokens and more than twice of the other", () => {
  const report = { m: 3, model: { causal: true }, mixing: { rule: "convex" } } as Report;
  const of = (row: number[], output = 2) => takesMost(report, Float64Array.from(row), 0, output);
  expect([of([0.9]), of([0.9, 0.1], 0), of([0.9, 0.1], 1), of([0.9, 0.1])]).toEqual([false, false, true, true]);
  expect([of([0.5, 0.25, 0.25]), of([0.51, 0.25, 0.24])]).toEqual([false, true]);
  expect(takesMost(report, Float64Array.of(0.9, 0.1), 1, 2)).toBe(false);
});
