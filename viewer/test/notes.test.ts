// What the page says of what it shows: the report's notes and the settings, as they are chosen.
import { describe, expect, test } from "vitest";
import { Viewer } from "../src/context";
import type { ReportDocument } from "../src/report/document";
import { degenerateShown, notesHere, type NotePlace } from "../src/report/notes";
import { Report } from "../src/report/report";
import { notesShown } from "../src/views/notes";
import { settingsShown } from "../src/views/settings";
import text from "./fixtures/text.json?raw";

const DEGENERATE =
  "From layer 3 on, flow mostly repeats the first layer's attention: look at rollout instead, or at flow from fewer layers (--layers 1-2). Flow from layers 3-6 is mostly degenerate: 60% to 98% of the values equal a cut at an end of the network (sums over layer 1's attention to the input token, the same for every output token), so the layers between do not matter there. Another --to-layer, --residual or mixing (--heads, --discard) changes that.";
const place: NotePlace = {
  methods: ["rollout"],
  asWritten: true,
  ownToken: true,
  words: false,
  served: true,
  recipe: true,
};
const everywhere: NotePlace = { ...place, methods: ["raw", "rollout", "flow"] };

/** Sentences as attnflow writes them. */
const NOTES = [
  DEGENERATE,
  DEGENERATE.replace(/Another .*/, "Another --to-layer or --mixing (or --discard) changes that."),
  "The widest enclosure of a flow is 3.0e-04, more than --flow-tolerance 1e-06; fewer tokens or layers, or rows that sum to 1, make it narrower.",
  "Rollout multiplies I + G as published, so its values are no shares: those of output token 6 sum to 1.3 at layer 6. --mixing gradient-renormalized or --normalize row makes them shares.",
  "--referents WORD,WORD compares the weights of the mask on words of the text, beside the candidates.",
  "Rows of the attention were taken as they are (--any-weights): values need not be shares.",
  "No token is marked as a mask or class token, so the output token is position 0; --output-token chooses another.",
  '"cabinets" is 2 tokens; the output token is the last of them, at position 6. --words merges the pieces of words.',
  "There is no room here for flow; a json or npz file has all numbers.",
  "43% of the attention falls on the first token, 'It', on average over layers: decoders park there what they do not need. --drop-sink sets that token aside.",
  "With the first token set aside, the second, 'name', can draw on itself alone, so rollout gathers there: 63% of what generated tokens draw on, on average. --normalize receptive-field takes that advantage away.",
  "--chat: the model's template begins with a system's turn by itself; --system TEXT writes into it.",
  '--chat: the model\'s template begins with a system\'s turn of its own, "You are kind."; --system TEXT replaces it, --system "" empties it.',
];

describe("notes", () => {
  test("are worded as attnflow words them, else the page does not know them", () => {
    const files = import.meta.glob<string>("../../attnflow/{analysis,attribution,report,model}/*.cc", {
      query: "?raw",
      import: "default",
      eager: true,
    });
    // Sentences are cut into lines there.
    const sources = Object.values(files)
      .join("\n")
      .replaceAll(/"\s*\n\s*"/g, "");
    expect(sources.length).toBeGreaterThan(100_000);
    for (const part of [
      "is mostly degenerate",
      "The widest enclosure of a flow",
      "more than --flow-tolerance ",
      "Flow was asked for",
      "Rollout multiplies I + G",
      " --mixing gradient-renormalized or --normalize row makes them shares.",
      "Receptive-field normalisation: ",
      "--referents WORD,WORD compares",
      "Rows of the attention were taken as they are (--any-weights)",
      "No token is marked as a mask or class token",
      " --words merges",
      "a json or npz file has all numbers",
      "--drop-sink sets that token aside.",
      "--set-aside first sets that token aside.",
      "--normalize receptive-field takes that advantage away.",
      "--chat: the model's template begins",
      "; --system TEXT ",
    ]) {
      expect(sources, part).toContain(part);
    }
  });

  test("name no option of a command in the server's page", () => {
    for (const recipe of [true, false]) {
      for (const note of NOTES) {
        const [said] = notesHere([note], { ...everywhere, recipe });
        expect(said).not.toMatch(/--[a-z]|npz/);
        expect(said).toMatch(/\.$/);
      }
    }
  });

  test("name the page's controls, and the command where only that helps", () => {
    const [degenerate] = notesHere([DEGENERATE], everywhere);
    expect(degenerate).toContain("fewer layers (“Layer” 1-2).");
    expect(degenerate).toMatch(/Another “Down to” or “Residual” above changes that\.$/);
    const file = { ...everywhere, served: false };
    expect(notesHere([DEGENERATE], { ...file, recipe: false })[0]).toMatch(/Another --to-layer, .* changes that\.$/);
    expect(notesHere([NOTES[7]], file)).toEqual([
      '"cabinets" is 2 tokens; the output token is the last of them, at position 6. “Whole words” above merges the pieces of words.',
    ]);
    expect(notesHere([NOTES[8]], file)).toEqual([NOTES[8]]);
    expect(notesHere([NOTES[10]], file)[0]).toContain("“Normalise: by receptive field” above takes that advantage");
    expect(notesHere([NOTES[11]], file)[0]).toContain("attnflow generate --system TEXT writes into it.");
  });

  test("stand only where they apply", () => {
    const applies = (note: string, change: Partial<NotePlace>) =>
      notesHere([note], { ...place, ...change }).length === 1;
    for (const note of [DEGENERATE, NOTES[2], "Flow was computed for one output token only."]) {
      expect(applies(note, {})).toBe(false);
      expect(applies(note, { methods: ["flow"] })).toBe(true);
      expect(applies(note, { methods: ["flow"], asWritten: false })).toBe(false);
    }
    expect(applies(NOTES[3], {})).toBe(true);
    expect(applies(NOTES[3], { methods: ["raw"] })).toBe(false);
    expect(applies(NOTES[6], { ownToken: false })).toBe(false);
    expect(applies(NOTES[7], { words: true })).toBe(false);
    for (const note of ["The text was cut at 512 tokens, the model's positions.", "A sentence that nobody knows."]) {
      expect(applies(note, { methods: [], asWritten: false, ownToken: false, words: true })).toBe(true);
      expect(notesHere([note, note], place)).toEqual([note]);
    }
  });
});

describe("what is shown", async () => {
  const made = (JSON.parse(text) as { report: ReportDocument }).report;
  const report = await Report.read({
    ...made,
    notes: [DEGENERATE, "The text was cut at 6 tokens, the model's positions."],
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
    expect(changed(viewer)).toEqual(["Heads", "Residual", "Layers", "Discarded", "Masked", "Normalisation"]);
    expect(setting(viewer, "Heads")).toMatchObject({ text: "maximum over heads", report: "mean over heads" });
    expect(setting(viewer, "Layers")).toMatchObject({ text: "6 down to layer 2", report: "down to the input" });
    expect(setting(viewer, "Residual")?.report).toBe("0.5");
    expect(setting(viewer, "Masked")).toMatchObject({ text: "tokens ed (2), are (5)", report: "nothing" });
    expect(setting(viewer, "Discarded")?.text).toBe("the smallest 25% of each layer's weights");
    expect(setting(viewer, "Numbers")?.text).toMatch(/computed in this page/);
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
    expect(setting(viewer, "Numbers")?.text).toMatch(/^none: Flow through more than two layers/);
    choices.layer.value = 2;
    expect(setting(viewer, "Flow")?.text).toMatch(/closed form/);
  });
});

test("the flow that is shown is counted: what holds nothing is no value", () => {
  const said = degenerateShown([1, 0, 1, 1], [0.5, 0.2, 0, 0.3], "layer 5");
  expect(said).toMatch(/^° 2 of 3 flow values shown \(layer 5\) repeat /);
  expect(degenerateShown(null, [0.5], "layer 5")).toBe("");
});
