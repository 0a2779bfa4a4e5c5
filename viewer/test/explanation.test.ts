// Ranks, where the document holds values rounded.
import { expect, test, vi } from "vitest";
import { Explanation } from "../src/explanation";
import { recipeOf } from "../src/report/recipe";
import type { EncodedArray, ReportDocument } from "../src/report/document";
import { Report } from "../src/report/report";
import { format, formatWithin } from "../src/report/text";
import { WordReport } from "../src/report/words";
import { base64, part } from "./arrays";
import text from "./fixtures/text.json?raw";

const N = 4;
const LOG_ERROR = 0.023;
const DECADES = 5;

/** One layer of rounded rows, and the exact one of token 1. */
async function compact(): Promise<Report> {
  const document = (JSON.parse(text) as { report: ReportDocument }).report;
  const rows = [0, 1, 2, 3];
  const log8: EncodedArray = {
    shape: [1, N, N],
    dtype: "log8",
    encoding: "base64",
    data: base64(Uint8Array.from(rows.flatMap(() => [255, 254, 250, 100]))),
    decades: DECADES,
    error: LOG_ERROR,
    scales: part(
      "f32",
      rows.map(() => 0.3),
    ),
  };
  return Report.read({
    ...document,
    settings: { ...document.settings, layers: [1], to_layer: 0 },
    model: { ...document.model, layers: 1 },
    input: { kind: "attention", text: "", tokens: rows.map((i) => ({ text: `t${i}` })) },
    output_token: 1,
    output_tokens: rows,
    flow_output_tokens: [],
    predictions: undefined,
    referents: undefined,
    arrays: { raw: log8, raw_exact: { shape: [1, N], ...part("f32", [0.3, 0.2999, 0.27, 0.001]) } },
  });
}

const all = Array<boolean>(N).fill(true);

test("values within the error share a rank; those of the exact row do not", async () => {
  const report = await compact();
  const explanation = new Explanation(report, recipeOf(report));
  expect(explanation.result("raw", 1, 2)).toMatchObject({ source: "document", error: LOG_ERROR });
  // Code 254 stands for 4.4% less than 255, code 250 for 20% less.
  expect(explanation.ranking("raw", 1, 2, all).map(({ rank }) => rank)).toEqual([1, 1, 3, 4]);
  expect(explanation.result("raw", 1, 1)).toMatchObject({ source: "document", error: 0 });
  expect(explanation.ranking("raw", 1, 1, all).map(({ rank }) => rank)).toEqual([1, 2, 3, 4]);
});

test("flow is asked for beside other methods where it stands beside them, not in pictures", async () => {
  const text = await compact();
  const { document } = text;
  const picture = await Report.read({ ...document, input: { ...document.input, kind: "image" } });
  for (const [report, asked] of [
    [text, true],
    [picture, false],
  ] as const) {
    const explanation = new Explanation(report, recipeOf(report));
    const results = vi.spyOn(explanation, "result");
    expect(explanation.ranking("raw", 1, 2, all)).toHaveLength(N);
    expect(results.mock.calls.some(([method]) => method === "flow")).toBe(asked);
  }
});

test("rows made in the page of rounded attention are rounded, too", async () => {
  const report = await compact();
  const explanation = new Explanation(report, { ...recipeOf(report), residual: 0.1 });
  expect(explanation.result("rollout", 1, 1)).toMatchObject({ source: "page", error: LOG_ERROR });
});

test("rounded values have two digits", () => {
  expect(formatWithin(0.123456, 0)).toBe(format(0.123456));
  expect(formatWithin(0.123456, LOG_ERROR)).toBe("about 0.12");
  expect(formatWithin(0.000123456, LOG_ERROR)).toBe("about 1.2e−4");
  expect(format(-0.25)).toBe("−0.2500");
  expect(format(-0.000123456)).toBe("−1.2e−4");
  expect(formatWithin(0, LOG_ERROR)).toBe("0");
});

test("flow that a server computed of whole words keeps its flags and its enclosures", async () => {
  const document = (JSON.parse(text) as { report: ReportDocument }).report;
  const report = await Report.read(document);
  const words = WordReport.of(report);
  if (!words) throw new Error("no word has several pieces");
  const n = words.n;
  const row = (numbers: number[]): EncodedArray => ({ shape: [1, 1, n], ...part("f32", numbers) });
  const answer = await Report.read({
    ...words.document,
    settings: { ...words.settings, words: true, layers: [6], method: ["flow"] },
    output_tokens: [],
    flow_output_tokens: [1],
    flow_gap_max: 0.2,
    arrays: {
      flow: row([0.1, 0.6, 0.5, 0.3]),
      flow_gap: row([0, 0, 0.15, 0]),
      flow_degenerate: row([0, 1, 0, 1]),
    },
  });
  const explanation = new Explanation(words, recipeOf(words), [answer]);
  // The page's own document answers the recipe, too, and has no flow of words.
  expect(explanation.asComputed).toBe(true);
  expect(explanation.result("flow", 6, 1)?.source).toBe("server");
  expect([...(explanation.degenerate(6, 1) ?? [])]).toEqual([0, 1, 0, 1]);
  expect(explanation.ranking("flow", 6, 1, all).map(({ rank }) => rank)).toEqual([1, 1, 3, 4]);
  expect(new Explanation(words, recipeOf(words)).degenerate(6, 1)).toBeNull();
});
