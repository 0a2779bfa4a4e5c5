// The report's notes and settings as the page words them for the current choices.
import { describe, expect, test } from "vitest";
import { Viewer } from "../src/context";
import { readNotes, type Note, type ReportDocument } from "../src/report/document";
import { degenerateIn, degenerateWords, isOfValues, KINDS, notesHere, type NotePlace } from "../src/report/notes";
import { Report } from "../src/report/report";
import { notesShown } from "../src/views/notes";
import { settingsShown } from "../src/views/settings";
import text from "./fixtures/text.json?raw";
import format from "../../docs/report-format.md?raw";

const place: NotePlace = {
  methods: ["rollout"],
  asWritten: true,
  ownToken: true,
  words: false,
  served: true,
  recipe: true,
};
const everywhere: NotePlace = { ...place, methods: ["raw", "rollout", "flow"] };

/** Codes and their values, as documented; a test of C++ holds the page to attnflow's own table. */
const DOCUMENTED = new Map(
  [...format.matchAll(/^\| `([a-z-]+)` \|([^|]*)\| /gm)]
    .filter(({ index }) => index > format.indexOf("| code | values | meaning |") && index < format.indexOf("## Arrays"))
    .map(([, code, values]) => [code, [...values.matchAll(/`(\w+)\??`/g)].map(([, name]) => name)]),
);

const noteOf = (code: string): Note => ({
  code,
  values: Object.fromEntries((DOCUMENTED.get(code) ?? []).map((name) => [name, `<${name}>`])),
  text: `A note of ${code}.`,
  advice: "--option does something about it.",
});
const said = (code: string, where: NotePlace) => notesHere([noteOf(code)], where).map(({ text }) => text);

describe("notes", () => {
  test("have codes and values that attnflow documents", () => {
    expect(DOCUMENTED.size).toBeGreaterThan(30);
    for (const code of Object.keys(KINDS)) {
      expect(DOCUMENTED.has(code), code).toBe(true);
      expect(said(code, everywhere).join()).not.toContain("undefined");
    }
  });

  test("name no option of a command, on the server's page or in a file", () => {
    for (const [recipe, served] of [true, false].flatMap((one) => [true, false].map((other) => [one, other]))) {
      for (const code of DOCUMENTED.keys()) {
        // Said below the headline.
        if (code === "not-the-answer") continue;
        const [sentences] = said(code, { ...everywhere, recipe, served });
        expect(sentences).not.toMatch(/--[a-z]/);
        expect(sentences).toMatch(/\.$/);
      }
    }
  });

  test("advise what the page's controls do, and what the note does where that is no option", () => {
    const file = { ...everywhere, served: false };
    expect(said("flow-degenerate", everywhere)).toEqual([
      "A note of flow-degenerate. Look at rollout instead, or at flow from fewer layers (“Layer” <fewer_layers>), or choose another “Start layer” above.",
    ]);
    const attention = { ...noteOf("flow-degenerate"), values: { mixing: "attention" } };
    expect(notesHere([attention], everywhere)[0].text).toMatch(
      /choose another “Start layer” or “Residual weight” above\.$/,
    );
    for (const code of ["second-token-sink", "text-cut", "a-newer-one"]) {
      expect(said(code, { ...file, recipe: false })).toEqual([`A note of ${code}.`]);
      const advised = { ...noteOf(code), advice: "Its folder keeps the window." };
      expect(notesHere([advised], { ...file, recipe: false })[0].text).toMatch(/keeps the window\.$/);
    }
    const generation = { ...file, recipe: false, normalized: true };
    expect(said("second-token-sink-generated", generation)[0]).toContain("“Normalized by receptive field” above");
    const target = {
      ...noteOf("target-first-token"),
      values: { option: "target", word: "cats", tokens: 2, token: "ca" },
    };
    expect(notesHere([target], file)[0].text).toMatch(
      /^The target, “cats”, is 2 tokens; .* only the first, “ca”, is explained\.$/,
    );
    expect(said("output-token-of-word", file)).toEqual([
      "A note of output-token-of-word. “Whole words” above merges the tokens of each word.",
    ]);
    expect(said("second-token-sink", file)[0]).toContain("“Normalize: by receptive field” above");
  });

  test("stand only where they apply", () => {
    const applies = (code: string, change: Partial<NotePlace>) => said(code, { ...place, ...change }).length === 1;
    for (const code of ["flow-degenerate", "wide-gap", "flow-tokens-not-generated"]) {
      expect(isOfValues(noteOf(code))).toBe(true);
      expect(applies(code, {})).toBe(false);
      expect(applies(code, { methods: ["flow"] })).toBe(true);
      expect(applies(code, { methods: ["flow"], asWritten: false })).toBe(false);
    }
    expect(applies("rollout-not-shares", {})).toBe(true);
    expect(applies("rollout-not-shares", { methods: ["raw"] })).toBe(false);
    expect(applies("output-token-guessed", { ownToken: false })).toBe(false);
    expect(applies("output-token-of-word", { words: true })).toBe(false);
    for (const code of ["text-cut", "a-newer-one"]) {
      expect(isOfValues(noteOf(code))).toBe(false);
      expect(applies(code, { methods: [], asWritten: false, ownToken: false, words: true })).toBe(true);
      expect(notesHere([noteOf(code), noteOf(code)], place)).toHaveLength(1);
    }
  });

  test("of older documents are sentences", () => {
    expect(readNotes(["A sentence."])).toEqual([{ code: "text", values: {}, text: "A sentence." }]);
    expect(readNotes([noteOf("text-cut")])).toEqual([noteOf("text-cut")]);
    expect(readNotes(undefined)).toEqual([]);
  });
});

describe("what is shown", async () => {
  const made = (JSON.parse(text) as { report: ReportDocument }).report;
  const report = await Report.read({
    ...made,
    notes: ["flow-degenerate", "text-cut"].map(noteOf),
  });
  const open = () => {
    const viewer = new Viewer(report);
    return { viewer, choices: viewer.state.choices };
  };
  const setting = (viewer: Viewer, term: string) => settingsShown(viewer).find((one) => one.term === term);
  const changed = (viewer: Viewer) =>
    settingsShown(viewer)
      .filter(({ back }) => back)
      .map(({ term }) => term);

  test("has the note on flow while flow is shown as the report has it", () => {
    const { viewer, choices } = open();
    expect(notesShown(viewer)).toHaveLength(1);
    choices.method.value = "flow";
    expect(notesShown(viewer)).toHaveLength(2);
    const merged = viewer.merged.value;
    if (!merged) throw new Error("no word has several pieces");
    expect(notesShown(merged)).toHaveLength(1);
    choices.residual.value = 0.1;
    expect(notesShown(viewer)).toHaveLength(1);
    choices.residual.value = 0.5;
    choices.method.value = "raw";
    choices.comparison.value = { method: "flow", layer: 6, shares: true };
    expect(notesShown(viewer)).toHaveLength(2);
  });

  test("is what the settings say, and each that is not the report's leads back to it", () => {
    const { viewer, choices } = open();
    expect(changed(viewer)).toEqual([]);
    expect(setting(viewer, "Numbers")?.text).toMatch(/from the report/);
    choices.residual.value = 0.2;
    choices.heads.value = "max";
    choices.start_layer.value = 2;
    choices.mask_columns.value = "2,5";
    choices.discard.value = 0.25;
    choices.normalize.value = "row";
    expect(changed(viewer)).toEqual(["Heads", "Residual", "Layers", "Discarded", "Masked", "Normalization"]);
    expect(setting(viewer, "Heads")).toMatchObject({ text: "maximum over heads", report: "mean over heads" });
    expect(setting(viewer, "Layers")).toMatchObject({ text: "6 down to layer 2", report: "down to the input" });
    expect(setting(viewer, "Residual")?.report).toBe("0.5");
    expect(setting(viewer, "Masked")).toMatchObject({ text: "tokens ed (2), are (5)", report: "nothing" });
    expect(setting(viewer, "Discarded")?.text).toBe("the smallest 25% of each layer's weights");
    expect(setting(viewer, "Numbers")?.text).toMatch(/recomputed in the browser/);
    for (const one of settingsShown(viewer)) one.back?.();
    expect(changed(viewer)).toEqual([]);
    expect(choices).toMatchObject({
      residual: { value: 0.5 },
      heads: { value: "mean" },
      mask_columns: { value: "none" },
    });
    expect(viewer.explanation.value.asComputed).toBe(true);
  });

  test("of raw attention has no residual and one layer", () => {
    const { viewer, choices } = open();
    choices.method.value = "raw";
    choices.layer.value = 3;
    choices.residual.value = 0.2;
    expect(setting(viewer, "Residual")?.text).toMatch(/^none/);
    expect(setting(viewer, "Layers")?.text).toBe("3 alone");
    expect(changed(viewer)).toEqual([]);
  });

  test("of whole words says so, and names the pieces that are masked", () => {
    const { viewer, choices } = open();
    const merged = viewer.merged.value;
    if (!merged) throw new Error("no word has several pieces");
    choices.words.value = true;
    choices.mask_columns.value = "2";
    expect(setting(merged, "Tokens")).toMatchObject({ text: "pieces of a word merged", report: "pieces" });
    expect(setting(merged, "Masked")?.text).toBe("token ed (2)");
    setting(merged, "Tokens")?.back?.();
    expect(choices.words.value).toBe(false);
  });

  test("of flow says how certain it is, only while flow is shown", () => {
    const { viewer, choices } = open();
    expect(setting(viewer, "Flow")).toBeUndefined();
    choices.method.value = "flow";
    expect(setting(viewer, "Flow")?.text).toMatch(/certified/);
    choices.residual.value = 0.1;
    expect(setting(viewer, "Flow")).toBeUndefined();
    expect(setting(viewer, "Numbers")?.text).toBe("none: the page is computing them");
    viewer.askServer.value = () => undefined;
    expect(setting(viewer, "Numbers")?.text).toMatch(/^none: Flow through more than two layers/);
    choices.layer.value = 2;
    expect(setting(viewer, "Flow")?.text).toMatch(/closed form/);
  });
});

test("the flow of ranked tokens is counted: what holds nothing is no value", () => {
  const found = degenerateIn([1, 1, 0, 1, 1], [0.9, 0.5, 0.2, 0, 0.3], [false, true, true, true, true]);
  expect(found).toEqual({ count: 2, all: 3 });
  expect(degenerateWords({ count: 2, all: 3 })).toBe(
    "Flow says little here: 2 of 3 ranked values are set by the first or last layer alone (°). Rollout, or flow from fewer layers, may say more.",
  );
  expect(degenerateIn(null, [0.5], [true])).toBeNull();
});
