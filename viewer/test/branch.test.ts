// Where continuations part, and what each is from there.
import { expect, test } from "vitest";
import { partAt, tailOf } from "../src/generation/branch";
import type { GeneratedToken } from "../src/report/document";
import { GenerationReport } from "../src/report/generation_report";
import { readAsk, writePromptAsk } from "../src/server/ask";

const tokens = (ids: number[], probability = 0.5) =>
  ids.map((id, t): GeneratedToken => ({ id, text: "ab", begin: 2 * t, end: 2 * t + 2, probability, choices: [] }));

test("continuations part at the first token that differs", () => {
  expect(partAt(tokens([1, 2, 3]), tokens([1, 2, 4]))).toBe(2);
  expect(partAt(tokens([1, 2]), tokens([3]))).toBe(0);
  expect(partAt(tokens([1, 2]), tokens([1, 2, 3]))).toBe(null);
  expect(partAt(tokens([1, 2, 3]), tokens([1, 2]))).toBe(null);
});

test("a tail has the text from a token on, and the geometric mean of its probabilities", () => {
  const [first, second, third] = tokens([1, 2, 3]);
  second.probability = 0.9;
  third.probability = 0.4;
  const fields = { text: "éa bc", tokens: [{ ...first, end: 3 }, { ...second, begin: 3, end: 4 }, third] };
  const tail = tailOf({ fields } as unknown as GenerationReport, 1);
  expect(tail.text).toBe(" bc");
  expect(tail.first).toBe(0.9);
  expect(tail.mean).toBeCloseTo(0.6, 12);
});

test("an address holds the tokens that a branch begins with, and takes nothing else for them", () => {
  const asked = { prompt: "a", begin_with: [5, 0, 77] };
  expect(readAsk(writePromptAsk(asked))).toEqual(asked);
  for (const wrong of [[], "5", [1.5], ["5"], [null], {}]) {
    expect(readAsk(JSON.stringify({ prompt: "a", begin_with: wrong }))).toEqual({ prompt: "a" });
  }
});
