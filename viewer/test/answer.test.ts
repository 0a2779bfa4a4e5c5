// A page's first sentences: the prediction and its contrast, and the map that it opens on.
import { expect, test } from "vitest";
import { Explanation } from "../src/explanation";
import { bestChecked, choiceWords, contrastOfToken, contrastWords, headlinePercent } from "../src/report/answer";
import type { Check, MapCheck, ReportDocument, Target } from "../src/report/document";
import { recipeOf } from "../src/report/recipe";
import { Report } from "../src/report/report";
import { initialChoices } from "../src/state";
import text from "./fixtures/text.json?raw";

const base = (JSON.parse(text) as { report: ReportDocument }).report;

const others = (...labels: string[]) => ({
  ...{ label: "", logit: 1 },
  others: labels.map((label, index) => ({ label, index, logit: 1 })),
});
const target = (kind: Target["kind"], label: string, against?: Target["against"]): Target => ({
  ...{ kind, label, index: 9, logit: 2 },
  ...(against && { against }),
});

test("a choice is named with up to four others, or three and how many more", () => {
  expect(choiceWords(target("next", "Paris"))).toBe("“Paris”");
  expect(choiceWords(target("next", "Paris", { label: "the", logit: 1, index: 2 }))).toBe("“Paris” rather than “the”");
  expect(choiceWords(target("class", "positive", { label: "negative", logit: 1, index: 0 }))).toBe(
    "positive rather than negative",
  );
  expect(choiceWords(target("class", "boot", { label: "", logit: 1 }))).toBe("boot rather than all others");
  const four = ["a", "b", "c", "d"];
  expect(choiceWords(target("next", "x", others(...four)))).toBe("“x” rather than “a”, “b”, “c” and “d”");
  expect(choiceWords(target("next", "x", others(...four, "e")))).toBe("“x” rather than “a”, “b”, “c” and 2 others");
});

test("a generated token without a target was chosen over what stands beside it", () => {
  const token = { ...{ id: 3, text: " b", begin: 0, end: 2, probability: 0.3 } };
  const choices = [" a", " b", " c"].map((label, k) => ({ label, probability: 0.4 - 0.1 * k, id: k + 2 }));
  const contrast = contrastOfToken({ ...token, choices });
  expect(contrast && contrastWords(contrast)).toBe("“a”, “c” and others");
  expect(contrastOfToken({ ...token, choices: [choices[1]] })).toBeNull();
});

test("a headline's probability has whole percents but near the ends", () => {
  expect([0.626, 0.987, 0.995, 0.0042].map(headlinePercent)).toEqual(["63%", "99%", "99.5%", "0.42%"]);
});

test("a page opens on the map that the check agrees with best, else on the one that leads", async () => {
  const map = (method: MapCheck["method"], level: MapCheck["level"], rho: number, compared = 9): MapCheck => ({
    ...{ method, level, rank_correlation: rho, compared, first_token: 1 },
  });
  const check = (...maps: MapCheck[]): Check => ({ quantity: "logit", value: 1, tokens: [], maps });
  const best = (...maps: MapCheck[]) => bestChecked(check(...maps), ["raw", "rollout", "flow"], "flow");
  expect(bestChecked(undefined, ["raw"], "raw")).toBeNull();
  expect(best(map("raw", "weak", 0.9), map("rollout", "strong", 0.1))).toBe("rollout");
  expect(best(map("raw", "strong", 0.2), map("rollout", "strong", 0.3))).toBe("rollout");
  expect(best(map("raw", "strong", 0.9, 5), map("flow", "strong", 0.1, 5))).toBe("flow");
  expect(best(map("attnlrp", "strong", 0.9), map("raw", "none", 0.1))).toBe("raw");

  const opens = async (more: Partial<ReportDocument>) =>
    initialChoices(await Report.read({ ...base, check: undefined, ...more })).method;
  expect(await opens({})).toBe("rollout");
  expect(await opens({ check: check(map("flow", "strong", 0.5), map("rollout", "none", 0.5)) })).toBe("flow");
  const answer = { headline: "plural, 98%", method: "raw" as const, map: "raw attention, layer 6", verdicts: [] };
  expect(await opens({ answer, check: check(map("flow", "strong", 0.5)) })).toBe("raw");
  expect(await opens({ answer: { ...answer, method: "attnlrp" } })).toBe("rollout");
});

test("a report of other matrices that has every head's attention has rollout over it", async () => {
  const { attention, rollout } = base.arrays;
  expect((await Report.read(base)).overAttention).toBeNull();
  const settings = { ...base.settings, mixing: "relevance", residual: 0.1 };
  const other = await Report.read({ ...base, settings, arrays: { attention, raw: rollout } });
  const paper = other.overAttention;
  if (!paper) throw new Error("expected the attention of all heads");
  const [top] = base.settings.layers.slice(-1);
  const token = base.output_token ?? 0;
  const row = new Explanation(paper, recipeOf(paper)).row("rollout", top, token);
  const expected = (await Report.read(base)).row("rollout", top, token);
  expect([...(row ?? [])].map((value, j) => Math.abs(value - (expected?.[j] ?? NaN)) < 1e-6)).toEqual(
    base.input.tokens.map(() => true),
  );
});
