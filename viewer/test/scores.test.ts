// Methods beside the graph: one number with a sign for each token, of one prediction.
import { beforeAll, expect, test, vi } from "vitest";
import { isAbove } from "../src/color/ends";
import { pixelOf } from "../src/color/overlay";
import { DivergingScale } from "../src/color/scale";
import { checkShown } from "../src/components/belief";
import { scoresShown, scoreTable } from "../src/components/score_parts";
import { Viewer } from "../src/context";
import { Explanation } from "../src/explanation";
import { captionOf, stemOf } from "../src/export/name";
import { readLink, writeLink } from "../src/link";
import type { Check, Method, ReportDocument, Target } from "../src/report/document";
import { recipeOf } from "../src/report/recipe";
import { Report } from "../src/report/report";
import { targetWords } from "../src/report/setting_words";
import { formatOf } from "../src/report/text";
import { WordReport } from "../src/report/words";
import { f64 } from "./arrays";
import text from "./fixtures/text.json?raw";

beforeAll(() => vi.stubGlobal("location", { protocol: "http:", pathname: "/" }));

const base = (JSON.parse(text) as { report: ReportDocument }).report;
const target: Target = {
  ...{ kind: "next", label: "Angie", index: 1, logit: 3 },
  against: { label: "Yvette", logit: 1, index: 2 },
  title: "the next token “Angie” rather than “Yvette”",
};
const SCORES = [9, -0.5, 2, 0, -2, 0.25];

function scored(others = true): ReportDocument {
  const kept = Object.fromEntries(Object.entries(base.arrays).filter(() => others));
  const method: Method[] = [...(others ? base.settings.method : []), "attnlrp", "blank-out"];
  return {
    ...base,
    target,
    settings: { ...base.settings, method },
    scores: [
      { method: "attnlrp", parts: [{ name: "biases", value: 0.5 }], total: 4, error: 0.1 },
      { method: "blank-out", parts: [] },
    ],
    arrays: { ...kept, attnlrp: f64(SCORES), blank_out: f64([...SCORES].reverse()) },
    ...(others ? {} : { output_tokens: [], flow_output_tokens: [] }),
  };
}
const viewerOf = async (others = true) => {
  const viewer = new Viewer(await Report.read(scored(others)));
  viewer.state.choices.method.value = "attnlrp";
  return viewer;
};

test("are the same for every layer, output token and recipe", async () => {
  const { report } = await viewerOf();
  expect(report.methods.slice(-2)).toEqual(["attnlrp", "blank-out"]);
  for (const residual of [0.5, 0.1]) {
    const explanation = new Explanation(report, { ...recipeOf(report), residual });
    for (const [layer, token] of [
      [1, 0],
      [4, 3],
    ]) {
      expect([...(explanation.row("attnlrp", layer, token) ?? [])]).toEqual(SCORES);
    }
    expect(explanation.whyNot("attnlrp", 1)).toBeNull();
    expect(explanation.whyNot("logit", 1)).toBe("The report holds no logit.");
    expect(explanation.outputTokens("attnlrp")).toEqual([]);
  }
  expect(report.isShare("attnlrp")).toBe(false);
});

test("are ranked by size, with their signs", async () => {
  const viewer = await viewerOf();
  expect(viewer.ranking.value.map(({ token, value, rank }) => [token, value, rank])).toEqual([
    [2, 2, 1],
    [4, -2, 1],
    [1, -0.5, 3],
    [5, 0.25, 4],
    [3, 0, 5],
  ]);
  expect(viewer.drawn.value.whole).toBeNull();
  expect([2, -0.5, 0].map(formatOf("attnlrp"))).toEqual(["+2.0000", "−0.5000", "0"]);
  expect(formatOf("rollout")(0.5)).toBe("0.5000");
});

test("have a scale as far to either side of 0, whose top special tokens do not set", async () => {
  const viewer = await viewerOf();
  const row = viewer.row();
  expect(viewer.endsOf(row)).toEqual({ least: -2, top: 2, above: 2, signed: true });
  viewer.state.choices.skipSpecial.value = false;
  const ends = viewer.endsOf(row);
  expect(ends).toEqual({ least: -2, top: 2, above: 9, signed: true });
  expect(SCORES.map((value) => isAbove(value, ends))).toEqual([true, false, false, false, false, false]);
  const shades = viewer.shades(ends);
  const colours = new DivergingScale(false);
  expect(shades.css(-2)).toBe(colours.css(-1, 1));
  // ColorBrewer's ends, which figures have, too.
  expect([shades.css(-2), shades.css(2)]).toEqual(["rgb(103 0 31)", "rgb(5 48 97)"]);
  viewer.state.choices.threshold.value = 0.3;
  const cut = viewer.shades(ends);
  expect(cut.css(-0.5)).toBe(colours.css(0, 1));
  expect(pixelOf(0, "colour", colours).rgb).toEqual([103, 0, 31]);
  expect(pixelOf(0.25, "opacity", colours)).toEqual({ rgb: [103, 0, 31], alpha: 0.5 });
});

test("say what they explain, and what belongs to no token", async () => {
  const viewer = await viewerOf();
  expect(targetWords(viewer.report)).toBe("the next token “Angie” rather than “Yvette”");
  // An older document.
  expect(targetWords(viewer.report, { ...target, title: undefined })).toBe("“Angie” rather than “Yvette”");
  expect(scoresShown(viewer)).toMatchObject({ total: 4, error: 0.1 });
  const { columns, rows } = scoreTable(viewer);
  expect(columns).toEqual(["input_token", "token", "attnlrp"]);
  expect([...rows].at(-1)).toEqual([null, "biases", 0.5]);
  expect(captionOf(viewer, "Text", {}).facts.slice(0, 2)).toEqual([
    ["Method", "attnlrp"],
    ["Explained", "the next token “Angie” rather than “Yvette”"],
  ]);
  expect(stemOf(viewer, "Text", {})).toMatch(/-text-attnlrp$/);
  expect(viewer.chosenText()).toBe("attnlrp of the next token “Angie” rather than “Yvette”");
});

test("stand in the link, where the report holds them", async () => {
  const { state, report } = await viewerOf();
  const link = writeLink(state.snapshot(), state.initial);
  expect(link).toBe("v=1&m=attnlrp");
  expect(readLink(link, report, state.initial).method).toBe("attnlrp");
  expect(readLink("v=1&m=logit", report, state.initial).method).toBe("rollout");
});

test("of a word are the sum of its pieces', but not those of blanking them", async () => {
  const viewer = await viewerOf();
  const words = WordReport.of(viewer.report);
  if (!words) throw new Error("expected words of several pieces");
  const sums = words.groups.map((group) => group.reduce((sum, piece) => sum + SCORES[piece], 0));
  expect([...(words.row("attnlrp", 1, 0) ?? [])]).toEqual(sums);
  expect(words.row("blank_out", 1, 0)).toBeNull();
});

test("the check is said of the method, layer and output token that it is of", async () => {
  const check: Check = {
    ...{ quantity: "logit difference", value: 4.1, tokens: [{ token: 1, drop: 0.2 }] },
    maps: [
      { method: "rollout", layer: 6, first_token: 1, effect: "As told." },
      { method: "attnlrp", first_token: 2 }, // an older document has no words of a map
    ],
  };
  const viewer = new Viewer(await Report.read({ ...scored(), check }));
  const { method, layer, token, residual } = viewer.state.choices;
  const said = () => checkShown(viewer)?.effect;
  expect(said()).toBe("As told.");
  residual.value = 0.2;
  expect(said()).toBeUndefined();
  residual.value = 0.5;
  layer.value = 3;
  expect(said()).toBeUndefined();
  layer.value = 6;
  token.value = 3;
  expect(said()).toBeUndefined();
  method.value = "attnlrp";
  expect(said()).toBe("Checked by replacing tokens.");
  token.value = 0;
  method.value = "blank-out";
  expect(said()).toBeUndefined();
});
