// Where continuations part, and what each is from there.
import { expect, test } from "vitest";
import { partAt, tailOf } from "../src/generation/branch";
import type { GeneratedToken } from "../src/report/document";
import { GenerationReport } from "../src/report/generation_report";
import { readAsk, writePromptAsk } from "../src/server/ask";

const token = (t: number, probability: number): GeneratedToken => ({
  ...{ id: t, text: "ab", begin: 2 * t, end: 2 * t + 2, probability, choices: [] },
});

test("continuations part at the first token that differs", () => {
  expect(partAt([1, 2, 3], [1, 2, 4])).toBe(2);
  expect(partAt([1, 2], [3])).toBe(0);
  expect(partAt([1, 2], [1, 2, 3])).toBe(null);
  expect(partAt([1, 2, 3], [1, 2])).toBe(null);
});

test("a tail has the text from a token on, and the geometric mean of its probabilities", () => {
  const fields = { text: "éa bc", tokens: [token(0, 0.5), { ...token(1, 0.9), begin: 3, end: 4 }, token(2, 0.4)] };
  const report = { fields } as unknown as GenerationReport;
  const tail = tailOf(report, 1);
  expect(tail?.text).toBe(" bc");
  expect(tail?.first).toBe(0.9);
  expect(tail?.mean).toBeCloseTo(0.6, 12);
  expect(tailOf(report, 3)).toBe(null);
});

test("an address holds the tokens that a branch begins with, and takes nothing else for them", () => {
  const asked = { prompt: "a", begin_with: [5, 0, 77] };
  expect(readAsk(writePromptAsk(asked))).toEqual(asked);
  for (const wrong of [[], "5", [1.5], ["5"], [null], {}]) {
    expect(readAsk(JSON.stringify({ prompt: "a", begin_with: wrong }))).toEqual({ prompt: "a" });
  }
});
