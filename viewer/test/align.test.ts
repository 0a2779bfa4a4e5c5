// Tokens of two reports that stand for the same characters, and layers that are as far from the last one.
import { expect, test } from "vitest";
import { alignTokens, heldLayerBeside, layerBeside, overSpans, spanText } from "../src/compute/align";
import type { ReportDocument } from "../src/report/document";
import { reasonsExcluded } from "../src/filters";
import { Report } from "../src/report/report";
import { WordReport } from "../src/report/words";
import { documentOf, f64 } from "./arrays";
import { difference, rankAgreement } from "../src/views/compare_difference";
import { depthWords, explanationOf, sideOf, targetsApart, withSpans, type Side } from "../src/views/compare_sides";

const encoder = new TextEncoder();
const bytes = (text: string) => encoder.encode(text).length;

interface Made {
  /** pieces that make up the text, white space included; "[CLS]" and the like stand for nothing of it */
  pieces: string[];
  name?: string;
  layers?: number;
  pair?: string[];
  rollout?: number[];
  more?: Partial<ReportDocument>;
}

/** A report of a text that is cut into these pieces. */
function cut({ pieces, name = "a", layers = 2, pair, rollout, more = {} }: Made): Promise<Report> {
  const tokensOf = (all: string[], segment: number) => {
    let at = 0;
    return all.map((text) => {
      if (/^(\[.*\]|<.*>)$/u.test(text)) return { text, segment, special: true };
      const begin = at;
      at += bytes(text);
      return { text, segment, begin, end: at };
    });
  };
  const own = (all: string[]) => all.filter((text) => !/^(\[.*\]|<.*>)$/u.test(text)).join("");
  const tokens = [...tokensOf(pieces, 0), ...tokensOf(pair ?? [], 1)];
  const n = tokens.length;
  const row = rollout ?? Array.from({ length: n }, () => 1 / n);
  return Report.read({
    ...documentOf({
      ...{ output_token: 0, output_tokens: tokens.map((_, i) => i) },
      settings: { layers: Array.from({ length: layers }, (_, l) => l + 1) },
      model: { name, layers },
      input: { text: own(pieces), text_pair: pair && own(pair), tokens },
      arrays: { rollout: f64(Array.from({ length: layers * n }, () => row).flat(), [layers, n, n]) },
    }),
    ...more,
  });
}

test.each([
  // Word pieces beside byte pairs with their spaces.
  [
    ["[CLS]", "un", "believ", "able", " films", "[SEP]"],
    ["<s>", "unbel", "ievable", " fil", "ms", "</s>"],
    [0, 1, 1, 1, 3, 5],
    [
      ["unbelievable", "unbelievable"],
      ["films", "films"],
    ],
  ],
  // A space belongs to the word or stands alone.
  [["key", " ", "s to"], ["key", " s", " to"], [0, -1, 1], [["s to", "s to"]]],
  // Letters of several bytes; an emoji in pieces of bytes on one side.
  [
    ["東京", "へ", "行", "く"],
    ["東", "京", "へ行", "く"],
    [0, 2, 2, 3],
    [
      ["東京", "東京"],
      ["へ行", "へ行"],
    ],
  ],
  [["<bos>", "a", " b"], ["a", " b"], [-1, 0, 1], []],
  [["same", " cut"], ["same", " cut"], [0, 1], []],
])("tokens of one text are matched by their characters: %j and %j", async (ours, theirs, match, spans) => {
  const [a, b] = [await cut({ pieces: ours }), await cut({ pieces: theirs, name: "b" })];
  const found = alignTokens(a, b);
  expect([...found.match]).toEqual(match);
  expect(found.spans.map((span) => [spanText(a, span.ours), spanText(b, span.theirs)])).toEqual(spans);
  // The other way round each group is the same.
  expect(alignTokens(b, a).spans.map((span) => [span.theirs, span.ours])).toEqual(
    found.spans.map((span) => [span.ours, span.theirs]),
  );
});

test("pairs are matched text by text", async () => {
  const a = await cut({ pieces: ["[CLS]", "ab", "[SEP]"], pair: ["c", "d", "[SEP]"] });
  const b = await cut({ pieces: ["<s>", "a", "b", "</s>", "</s>"], pair: ["cd", "</s>"], name: "b" });
  const { match, spans } = alignTokens(a, b);
  expect([...match]).toEqual([0, 1, 3, 5, 5, 6]);
  expect(spans).toEqual([
    { ours: [1], theirs: [1, 2] },
    { ours: [3, 4], theirs: [5] },
  ]);
});

const [BEGIN, END] = ["<|endoftext|>", "</s>"];
test.each([
  ["the same by any name, on either side", ["[CLS]", "a", "[SEP]"], ["<s>", "a", "</s>"], [0, 1, 2]],
  ["a language stands before what ends the text", ["a", "[eng]", END], ["a", "[SEP]"], [0, -1, 1]],
  ["a language and a class", ["[eng]", "[CLS]", "a"], ["<s>", "[deu]", "a"], [-1, 0, 2]],
  ["what ends a text and what classes it behind it", ["a", "<sep>", "<cls>"], ["[CLS]", "a", "[SEP]"], [1, 2, -1]],
  ["a class before a text and one behind it", ["<cls>", "a"], ["a", "<cls>"], [-1, 0]],
  ["what begins a text and ends others", [BEGIN, "a"], ["<s>", "a", END], [0, 1]],
  ["it does not end this one", ["a", END], [BEGIN, "a"], [1, -1]],
  ["the same before one that is like it", ["a", "[SEP]", END], ["a", END], [0, -1, 1]],
  ["padding behind what ends the text", ["a", "[SEP]", "[PAD]"], ["a", "<pad>"], [0, -1, 1]],
])("special tokens are matched by what they are: %s", async (_, ours, theirs, match) => {
  const [a, b] = [await cut({ pieces: ours }), await cut({ pieces: theirs, name: "b" })];
  expect([...alignTokens(a, b).match]).toEqual(match);
  // The other way round they are the same pairs.
  const back = [...alignTokens(b, a).match].map((i, j) => [i, j]).filter(([i]) => i >= 0);
  expect(back.sort(([i], [k]) => i - k)).toEqual(match.map((j, i) => [i, j]).filter(([, j]) => j >= 0));
});

test("a target begins with padding in one model and with what ends a text in another", async () => {
  const a = await cut({ pieces: ["a", "</s>"], pair: ["<pad>", "b"] });
  const b = await cut({ pieces: ["<s>", "a", "</s>"], pair: ["</s>", "b"], name: "b" });
  expect([...alignTokens(a, b).match]).toEqual([1, 2, 3, 4]);
});

test("tokens without a text are matched by position where most are the same", async () => {
  const listed = async (pieces: string[], name: string) => {
    const more = {
      input: { kind: "attention" as const, text: "", tokens: pieces.map((text) => ({ text, special: false })) },
    };
    return cut({ pieces, name, more });
  };
  const ours = await listed(["the", "key", "is", "on", "a", "table"], "a");
  const theirs = await listed(["the", "key", "is", "on", "a", "chair"], "b");
  expect([...alignTokens(ours, theirs).match]).toEqual([0, 1, 2, 3, 4, 5]);
});

/** "écran —", whose dash and first letter are two tokens each. */
async function cutCharacters() {
  const report = await cut({ pieces: ["écran", " —"] });
  const parts: [string, number, number, number, string?][] = [
    ["Ã", 0, 2, 0, "é (1/2)"],
    ["©", 0, 2, 0, "é (2/2)"],
    ["cran", 2, 6, 0],
    ["Ġâ", 7, 10, 1, "— (1/2)"],
    ["ĢĶ", 7, 10, 1, "— (2/2)"],
  ];
  const tokens = parts.map(([text, begin, end, word, shown]) => ({ text, begin, end, word, shown, special: false }));
  return Report.read({
    ...report.document,
    output_tokens: tokens.map((_, i) => i),
    input: { ...report.document.input, tokens },
    arrays: { rollout: f64(Array<number>(50).fill(0), [2, 5, 5]) },
  });
}

test("rules look at the whole character of its parts, and words have no parts", async () => {
  const report = await cutCharacters();
  expect(report.tokens.map(({ label }) => label)).toEqual(["é (1/2)", "é (2/2)", "cran", "— (1/2)", "— (2/2)"]);
  const filters = {
    ...{
      special: false,
      stopWords: false,
      generated: false,
      sink: false,
      rules: [],
      byHand: new Map<number, boolean>(),
    },
    ...{ punctuation: true, pattern: /^é$|\d/u },
  };
  expect(reasonsExcluded(report, filters)).toEqual([
    "the expression",
    "the expression",
    "",
    "punctuation",
    "punctuation",
  ]);
  expect(WordReport.of(report)?.tokens.map(({ label }) => label)).toEqual(["écran", "—"]);
});

test("sums over the same characters are compared, each once", async () => {
  const a = await cut({ pieces: ["un", "do", " it", " now"], rollout: [0.1, 0.2, 0.3, 0.4] });
  const b = await cut({ pieces: ["undo", " i", "t", " now"], rollout: [0.5, 0.1, 0.1, 0.3], name: "b" });
  const { match, spans } = alignTokens(a, b);
  const side = (report: Report) =>
    sideOf(explanationOf(report), {
      method: "rollout",
      layer: 2,
      token: 0,
      shares: false,
      counts: Array(4).fill(true),
    });
  const sides = withSpans([side(a), side(b)], spans);
  const [first, second] = sides.map((one) => one.row(2) as Float64Array);
  const rounded = (row: Float64Array) => [...row].map((value) => Number(value.toFixed(6)));
  expect(rounded(first)).toEqual([0.3, 0.3, 0.3, 0.4]);
  expect(rounded(second)).toEqual([0.5, 0.2, 0.2, 0.3]);
  expect(rounded(difference(first, second, match))).toEqual([0.2, 0.2, -0.1, -0.1]);
  const repeats = new Set(spans.flatMap(({ ours }) => ours.slice(1)));
  expect(rankAgreement(sides, first, second, match, repeats)?.tokens).toBe(3);
  // Flows to several tokens do not add up.
  expect([...overSpans(Float64Array.of(0.4, 0.6, 0.1), [[0, 1]], true)]).toEqual([0.6, 0.6, 0.1]);
});

test("different texts of two models are matched by what their tokens stand for", async () => {
  const a = await cut({ pieces: ["The", " key", " is"] });
  const b = await cut({ pieces: ["The", " old", " key"], name: "b" });
  expect([...alignTokens(a, b).match]).toEqual([0, 2, -1]);
  const [bert, roberta] = [
    await cut({ pieces: ["[CLS]", "The", " key", " is", "[SEP]"] }),
    await cut({ pieces: ["<s>", "The", " old", " key", "</s>"], name: "b" }),
  ];
  expect([...alignTokens(bert, roberta).match]).toEqual([0, 1, 3, -1, 4]);
});

test("layers are counted from the last one where models differ in depth", async () => {
  const [a, b] = [await cut({ pieces: ["a"], layers: 6 }), await cut({ pieces: ["a"], layers: 12, name: "b" })];
  expect([6, 5, 1].map((layer) => layerBeside(a, b, layer))).toEqual([12, 11, 7]);
  expect([12, 7, 3].map((layer) => heldLayerBeside(b, a, layer))).toEqual([6, 1, 1]);
  expect(heldLayerBeside(a, a, 3)).toBe(3);
  const side = (report: Report, layer: number) => ({ report, layer }) as Side;
  expect(depthWords([side(a, 6), side(b, 12)])).toBe("A has 6 layers, B 12: layers are counted from the last one.");
  expect(depthWords([side(a, 6), side(b, 6)])).toBe(
    "A has 6 layers, B 12: counted from the last one, layer 12 of B stands beside layer 6 of A.",
  );
  expect(depthWords([side(a, 6), side(a, 5)])).toBe("");
});

test("predictions that differ are named, also where one side explains none", async () => {
  const target = (label: string, against: string) => ({
    ...{ kind: "next" as const, label, index: 1, logit: 2 },
    against: { label: against, logit: 1, index: 2 },
    title: `the next token “${label}” rather than “${against}”`,
  });
  const made = async (mixing: "relevance" | "attention", label: string, against: string) => {
    const plain = await cut({ pieces: ["a"] });
    const settings = { ...plain.settings, mixing };
    const report = await cut({ pieces: ["a"], more: { settings, target: target(label, against) } });
    return { report, method: "rollout" } as unknown as Side;
  };
  const [paris, berlin] = [await made("relevance", "Paris", "the"), await made("relevance", "Berlin", "Hamburg")];
  expect(targetsApart([paris, berlin])).toBe("A is “Paris” rather than “the”, B is “Berlin” rather than “Hamburg”.");
  expect(targetsApart([paris, paris])).toBe("");
  const attention = await made("attention", "Paris", "the");
  expect(targetsApart([paris, attention])).toBe("A is “Paris” rather than “the”, B explains no prediction.");
  expect(targetsApart([{ ...attention, method: "attnlrp" } as Side, paris])).toBe("");
});
