// The order of tokens in a text's strip.
import { expect, test } from "vitest";
import type { ReportDocument } from "../src/report/document";
import { Report } from "../src/report/report";
import causal from "./fixtures/causal.json?raw";

test("pieces of a character stand after the word whose joined letters they would part, and in their place elsewhere", async () => {
  const parts = async (text: string, pieces: [string, number, number][]) => {
    const plain = (JSON.parse(causal) as { report: ReportDocument }).report;
    const tokens = pieces.map(([piece, begin, end]) => ({ text: piece, begin, end, word: null }));
    const input = { kind: "text" as const, text, tokens };
    const none = { predictions: [], notes: [], output_token: 0, output_tokens: [], flow_output_tokens: [], arrays: {} };
    const report = await Report.read({ ...plain, ...none, input });
    return report
      .stripParts()
      .map((part) => ("token" in part ? `${part.chip ? "+" : ""}${part.token}` : Object.values(part)[0]));
  };
  // Two letters of two bytes, the first in two tokens; then another word.
  expect(
    await parts("صم ف", [
      ["a", 0, 2],
      ["b", 0, 2],
      ["c", 2, 4],
      ["d", 5, 7],
      ["e", 5, 7],
    ]),
  ).toEqual(["0", "2", "+1", " ", "3", "+4"]);
  expect(
    await parts("国是", [
      ["a", 0, 3],
      ["b", 0, 3],
      ["c", 3, 6],
    ]),
  ).toEqual(["0", "+1", "2"]);
});

test("a part of a character is called what the document says", async () => {
  const plain = (JSON.parse(causal) as { report: ReportDocument }).report;
  const tokens = [
    { text: "Ã", begin: 0, end: 2, shown: "é (1/2)" },
    { text: "©", begin: 0, end: 2, shown: "é (2/2)" },
    { text: "b", begin: 2, end: 3 },
  ];
  const input = { kind: "text" as const, text: "éb", tokens };
  const none = { predictions: [], notes: [], output_token: 0, output_tokens: [], flow_output_tokens: [], arrays: {} };
  const report = await Report.read({ ...plain, ...none, input });
  expect(report.tokens.map(({ label, piece }) => [label, piece])).toEqual([
    ["é (1/2)", "Ã"],
    ["é (2/2)", "©"],
    ["b", "b"],
  ]);
});
