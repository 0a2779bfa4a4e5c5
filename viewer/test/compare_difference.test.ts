// A comparison's two sides: normalized over what is visible, and how alike they rank.
import { expect, test } from "vitest";
import { spearman } from "../src/compute/spearman";
import { Explanation } from "../src/explanation";
import type { ReportDocument } from "../src/report/document";
import { recipeOf } from "../src/report/recipe";
import { Report } from "../src/report/report";
import { rankAgreement, rankWords } from "../src/views/compare_difference";
import { sideOf } from "../src/views/compare_sides";
import text from "./fixtures/text.json?raw";

const report = await Report.read((JSON.parse(text) as { report: ReportDocument }).report);

test("a side is normalized over the tokens that count", () => {
  const counts = report.tokens.map(({ special }) => !special);
  const choice = { method: "rollout" as const, layer: report.layers.at(-1) as number, token: 0, counts };
  const explanation = new Explanation(report, recipeOf(report));
  const row = sideOf(explanation, { ...choice, shares: true }).row(choice.layer) as Float64Array;
  const plain = sideOf(explanation, { ...choice, shares: false }).row(choice.layer) as Float64Array;
  const sum = (values: Float64Array) => values.reduce((all, value, i) => all + (counts[i] ? value : 0), 0);
  expect(counts).toContain(false);
  expect(sum(row)).toBeCloseTo(1, 12);
  expect(row[1] / row[2]).toBeCloseTo(plain[1] / plain[2], 12);
});

test("Spearman's correlation is of ranks, with ties in the middle", () => {
  expect(spearman([1, 2, 3, 4], [10, 20, 30, 1000])).toBe(1);
  expect(spearman([1, 2, 3], [3, 2, 1])).toBe(-1);
  // Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4.
  expect(spearman([1, 2, 2, 3], [1, 2, 3, 4])).toBeCloseTo(0.9486832980505138, 12);
  expect(spearman([1, 1, 1], [1, 2, 3])).toBeNull();
  expect(spearman([1, 2], [1, 2])).toBeNull();
});

test("only tokens that both sides have and count are ranked", () => {
  const a = { counts: [true, true, true, false, true, true] };
  const b = { counts: [true, true, true, true, false, true] };
  const [first, second] = [Float64Array.of(1, 2, 3, 9, 9, NaN), Float64Array.of(5, 1, 2, 3, 0, 4)];
  const match = Int32Array.of(1, 2, 3, 0, 4, 5);
  const ranks = rankAgreement([a, b], first, second, match);
  expect(ranks).toEqual({ rho: 1, tokens: 3 });
  expect(rankWords({ rho: -0.5, tokens: 3 })).toBe("Spearman’s rank correlation of A and B: −0.50 (3 tokens).");
  expect(rankAgreement([a, b], first, second, Int32Array.of(1, 2, -1, -1, -1, -1))).toBeNull();
});
