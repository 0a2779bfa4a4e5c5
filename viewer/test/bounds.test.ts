// What the page does only up to some size: at the bound and beyond it.
import { expect, test } from "vitest";
import { heldLayerBeside, layerBeside } from "../src/compute/align";
import { flowFits, mostTokens } from "../src/compute/max_flow";
import { mixingOf } from "../src/compute/mixing";
import { readPattern } from "../src/filters";
import { Report } from "../src/report/report";
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
