import { describe, expect, test, vi } from "vitest";
import { computed } from "@preact/signals";
import { announceChoices } from "../src/app";
import { endsOf } from "../src/color/ends";
import { BEYOND_STEP } from "../src/color/scale";
import { captionOf } from "../src/export/name";
import { GenerationViewer } from "../src/generation/generation_viewer";
import { GenerationLive } from "../src/generation/live";
import { alternatives } from "../src/report/answer";
import { layerRows, matrixRows } from "../src/generation/maps";
import { LONGEST_ASK } from "../src/address";
import { Explanation } from "../src/explanation";
import {
  excludedOf as excludedOfDrawn,
  reasonsExcluded,
  shareOf,
  SPECIAL,
  specialTokens,
  toggled,
  type Filters,
} from "../src/filters";
import { linkOf, restoreLink, untouched } from "../src/link";
import type { GenerationFields, Method } from "../src/report/document";
import { GenerationReport } from "../src/report/generation_report";
import type { Numbers } from "../src/report/values";
import { pieceName } from "../src/report/piece";
import { recipeOf } from "../src/report/recipe";
import { upgraded } from "../src/report/upgrade";
import { checkShown } from "../src/components/belief";
import { scoresShown } from "../src/components/score_parts";
import { writePromptAsk } from "../src/server/ask";
import { checkRequest } from "../src/server/generations";
import type { PromptRequest } from "../src/server/question";
import type { State } from "../src/state";
import { readoutOf } from "../src/components/readout";
import { methodsShown } from "../src/views/methods";
import { helpOf, mostLines } from "../src/views/ranking";
import { generationSettings } from "../src/views/settings";
import { part } from "./arrays";

function array(values: unknown[], dtype: "f64" | "u8" = "f64") {
  const shape: number[] = [];
  for (let level: unknown = values; Array.isArray(level); level = level[0]) shape.push(level.length);
  return { shape, ...part(dtype, values.flat(2) as number[]) };
}

/** [token, column, layer], from rows of columns, of which each has its layers one after the other. */
const cube = (rows: number[][]) => ({ ...array(rows), shape: [rows.length, rows[0].length / 2, 2] });

const piece = (text: string, begin: number, end: number, special = false) => ({ text, begin, end, special });

/** A prompt of four tokens, three generated, two layers. */
function sample(changes: Record<string, unknown> = {}, arrays: Record<string, unknown> = {}) {
  const generated = (text: string, begin: number, end: number) => ({
    id: 7,
    ...piece(text, begin, end),
    probability: 0.5,
    choices: [{ label: text.trim(), probability: 0.5 }],
  });
  return {
    format: "attnflow-report",
    version: 1,
    settings: {
      ...{ method: ["raw", "rollout", "flow"], mixing: "attention", heads: "mean", residual: 0.5, layers: [2, 5] },
      ...{ to_layer: 0, set_aside: "none", normalize: "none", top_k: 10, words: false },
    },
    model: { name: "m", architecture: "llama", layers: 6, heads: 2, causal: true },
    input: {
      kind: "generation",
      text: "<s>It is bad",
      tokens: [piece("<s>", 0, 3, true), piece("It", 3, 5), piece(" is", 6, 8), piece(" bad", 9, 12)],
    },
    generation: {
      text: "So it is",
      stopped: "length",
      chat: false,
      temperature: 0,
      top_p: 1,
      seed: 0,
      tokens: [generated("So", 0, 2), generated(" it", 3, 5), generated(" is", 6, 8)],
      flow_tokens: [1],
      flow_layers: [5],
      dropped: [{ rule: "stop words (en)", tokens: [1, 2] }],
      ...changes,
    },
    notes: [],
    arrays: {
      rollout: cube([
        [0.4, 0.2, 0.1, 0.3, 0.3, 0.1, 0.2, 0.4],
        [0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.3],
        [0.9, 0.05, 0.01, 0.05, 0.01, 0.05, 0.01, 0.05],
      ]),
      rollout_generated: cube([
        [0, 0, 0, 0, 0, 0],
        [0.2, 0.4, 0, 0, 0, 0],
        [0.03, 0.3, 0.04, 0.5, 0, 0],
      ]),
      flow: array([[[1], [0.5], [0.5], [0.25]]]),
      flow_gap: array([[[0], [0], [1e-9], [0]]]),
      flow_degenerate: array([[[2], [0], [0], [1]]], "u8"),
      sink_share: array([
        [0.1, 0.2],
        [0.3, 0.4],
        [0.5, 0.6],
      ]),
      ...arrays,
    },
  };
}

const read = (changes = {}, arrays = {}) => GenerationReport.read(sample(changes, arrays));

test("layers of an encoder-decoder are named by what attends to what", async () => {
  const values = { source_tokens: 3, encoder_layers: 2, decoder_layers: 2 };
  const notes = [{ code: "joint-layers", values, text: "" }];
  const document = sample();
  const [begin] = document.input.tokens.slice(-1);
  document.input.tokens[3] = { ...begin, segment: 1 } as typeof begin;
  const joint = await GenerationReport.read({ ...document, notes });
  expect([1, 2, 3, 4, 5, 6].map((layer) => joint.layerName(layer))).toEqual(
    "Encoder 1,Encoder 2,Self 1,Cross 1,Self 2,Cross 2".split(","),
  );
  expect(joint.joint?.sourceTokens).toBe(3);
  expect(joint.beginOfSecond).toBe(3); // what the target begins with stands with it
  // The sample's layers are 2 and 5.
  const viewer = new GenerationViewer(joint);
  viewer.state.choices.span.value = { kind: "target", from: 0, to: Infinity };
  expect(viewer.layersOf("rollout")).toEqual([5]);
  viewer.state.choices.span.value = { kind: "source", from: 0, to: Infinity };
  expect(viewer.layersOf("rollout")).toEqual([2, 5]); // none: all
  const decoder = await read();
  expect(decoder.joint).toBeNull();
  expect(decoder.beginOfSecond).toBe(4);
  expect(decoder.layerName(5)).toBe("Layer 5");
});

interface Selection {
  method: Method;
  normalized: boolean;
  token: number;
  layers: number[];
}
const placeOf = (report: GenerationReport, { method, normalized, token, layers }: Selection) =>
  [
    normalized ? `${method}_normalized` : method,
    layers.map((at) => report.layersOf(method)[at]),
    report.outputOf(token),
  ] as const;
const valuesOf = (report: GenerationReport, selection: Selection) => report.row(...placeOf(report, selection));
const promptValues = (report: GenerationReport, selection: Selection) =>
  valuesOf(report, selection)?.subarray(0, report.m) ?? null;
const ranked = (report: GenerationReport, { method, layers, token }: Selection, reasons: string[]) =>
  new Explanation(report, recipeOf(report)).ranking(
    method,
    layers.map((at) => report.layersOf(method)[at]),
    report.outputOf(token),
    reasons.map((reason) => reason === ""),
  );
const scaleOf = (report: GenerationReport, rows: (Numbers | null)[], [token]: number[], reasons: string[]) =>
  endsOf(
    report,
    rows,
    report.outputOf(token),
    reasons.map((reason) => reason === ""),
  );
const excludedOf = (report: GenerationReport, of: Selection, values: Numbers | null, reasons: string[]) =>
  excludedOfDrawn(
    {
      values,
      whole: report.isShare(placeOf(report, of)[0]) ? report.whole(...placeOf(report, of)) : null,
      among: values && values.length > report.m ? report.m + of.token : report.m,
    },
    reasons,
  );
const writeLink = (state: State) => {
  vi.stubGlobal("location", { href: "" });
  return linkOf(state).replace("#", "");
};
const layersAt = (viewer: GenerationViewer) => {
  const method = viewer.state.choices.method.value;
  return viewer.layersOf(method).map((layer) => viewer.report.layersOf(method).indexOf(layer));
};
const span = ({ state, span: { value } }: GenerationViewer, kind: typeof value.kind, from = value.from) =>
  (state.choices.span.value = { ...value, kind, from });

const rollout = (token: number, layers: number[]): Selection => ({
  method: "rollout",
  normalized: false,
  token,
  layers,
});
const flow: Selection = { method: "flow", normalized: false, token: 1, layers: [0] };
const close = (values: ArrayLike<number> | null, expected: number[]) => {
  expect(values?.length).toBe(expected.length);
  expected.forEach((value, j) => expect(values?.[j]).toBeCloseTo(value, 12));
};
const nothing: Filters = {
  special: false,
  stopWords: false,
  generated: false,
  rules: [false],
  pattern: null,
  byHand: new Map(),
};

describe("values of a generated token", () => {
  test("are means over the layers asked for, of prompt and generated tokens", async () => {
    const report = await read();
    close(promptValues(report, rollout(0, [0, 1])), [0.3, 0.2, 0.2, 0.3]);
    close(promptValues(report, rollout(0, [1])), [0.2, 0.3, 0.1, 0.4]);
    close(valuesOf(report, rollout(2, [0, 1])), [0.475, 0.03, 0.03, 0.03, 0.165, 0.27, 0]);
    close(valuesOf(report, flow), [1, 0.5, 0.5, 0.25]);
    expect(valuesOf(report, { ...flow, token: 0 })).toBeNull();
    expect(valuesOf(report, rollout(0, []))).toBeNull();
    expect(valuesOf(report, { ...rollout(0, [0]), normalized: true })).toBeNull();
    expect(report.sinkShare(report.outputOf(1), 5)).toBe(0.4);
    expect(report.sinkShare(report.outputOf(1), 3)).toBeNull();
  });

  test("of compressed and logarithmic arrays are decoded", async () => {
    const raw = {
      ...part("u8", [255, 128, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255]),
      ...{ shape: [3, 4, 1], dtype: "log8", decades: 5, error: 0.023 },
      scales: part("f32", Array<number>(12).fill(0.5)),
    };
    const report = await read({}, { raw });
    const values = promptValues(report, { method: "raw", normalized: false, token: 0, layers: [0] });
    expect(values?.[0]).toBeCloseTo(0.5, 6);
    expect(values?.[1]).toBeCloseTo(0.5 * 10 ** ((-5 * 127) / 254), 6);
    expect(values?.[2]).toBe(0);
  });

  test("of arrays whose rows run along the prompt stand where they belong", async () => {
    // values[t][j][l]; a row of codes for each token and layer.
    const code = (value: number) => Math.round(255 + (254 / 5) * Math.log10(value));
    const exponents = [0, 1, 2, 3];
    const codes = Array.from({ length: 6 }, (_, row) => exponents.map((e) => code(10 ** -((e + row) % 4)))).flat();
    const raw = {
      ...part("u8", codes),
      ...{ shape: [3, 4, 2], axis: 1, dtype: "log8", decades: 5, error: 0.023 },
      scales: part("f32", [1, 2, 3, 4, 5, 6]),
    };
    const report = await read({}, { raw });
    for (const token of [0, 1, 2]) {
      for (const layer of [0, 1]) {
        const row = 2 * token + layer;
        const values = promptValues(report, { method: "raw", normalized: false, token, layers: [layer] });
        exponents.forEach((e, j) => {
          const expected = (row + 1) * 10 ** -((e + row) % 4);
          expect(Math.abs((values?.[j] ?? 0) - expected)).toBeLessThan(0.023 * expected);
        });
      }
    }
  });

  test("on generated tokens are the rest; of flow nobody can say", async () => {
    const report = await read();
    expect(report.generatedShare(...placeOf(report, rollout(0, [0])))).toBe(0);
    expect(report.generatedShare(...placeOf(report, rollout(1, [0])))).toBeCloseTo(0.2, 12);
    expect(report.generatedShare(...placeOf(report, flow))).toBeNull();
    expect(report.isShare("flow")).toBe(false);
    expect(report.isShare("flow_normalized")).toBe(true);
  });

  test("documents of another kind and without values are refused", async () => {
    await expect(GenerationReport.read({ ...sample(), input: { kind: "text", text: "", tokens: [] } })).rejects.toThrow(
      /expected the report of a generation/,
    );
    await expect(GenerationReport.read({ ...sample(), arrays: {} })).rejects.toThrow(
      /^expected values of at least one method, found none$/,
    );
    await expect(read({ tokens: [] })).rejects.toThrow(/^expected prompt tokens and generated ones, found none$/);
    await expect(GenerationReport.read({ ...sample(), version: 9 })).rejects.toThrow(/version 9/);
  });
});

describe("rankings", () => {
  test("hold what is not excluded, strongest first, with equal values on one rank", async () => {
    const report = await read();
    const ranks = ranked(report, rollout(1, [0]), reasonsExcluded(report, nothing));
    expect(ranks.map(({ token, rank }) => [token, rank])).toEqual([
      [0, 1],
      [4, 2],
      [1, 3],
      [2, 3],
      [3, 3],
    ]);
    const aside = reasonsExcluded(report, { ...nothing, rules: [true], generated: true });
    expect(ranked(report, rollout(1, [0]), aside).map(({ token, rank }) => [token, rank])).toEqual([
      [0, 1],
      [3, 2],
    ]);
  });

  test("flow values whose enclosures meet share a rank; degenerate ones are named", async () => {
    const flows = { flow: array([[[1], [0.5 + 5e-10], [0.5], [0.5 - 2e-9]]]) };
    const report = await read({}, flows);
    const ranking = ranked(report, flow, reasonsExcluded(report, nothing));
    expect(ranking.map(({ token, rank, degenerate }) => [token, rank, degenerate])).toEqual([
      [0, 1, true],
      [1, 2, false],
      [2, 2, false],
      [3, 4, true],
    ]);
  });

  test("the scale leaves out the first token when it towers, and says how far", async () => {
    const report = await read();
    const none = reasonsExcluded(report, nothing);
    const row = valuesOf(report, rollout(2, [0]));
    expect(scaleOf(report, [row], [2], none)).toEqual({ least: 0.01, top: 0.04, above: 0.9 });
    const second = valuesOf(report, rollout(2, [1]));
    const scale = scaleOf(report, [second], [2], none);
    expect(scale.top).toBe(0.5);
    expect(scaleOf(report, [Float64Array.of(0.1, 0.08, 0, 0)], [2], none)).toEqual({ least: 0, top: 0.1, above: 0.1 });
    expect(scaleOf(report, [null], [0], none)).toEqual({ least: 0, top: 0, above: 0 });
    expect(scaleOf(report, [Float64Array.of(NaN, 0.2, Infinity, 0)], [2], none)).toEqual({
      least: 0,
      top: 0.2,
      above: 0.2,
    });
  });
});

describe("what is excluded", () => {
  test("by kind, rule, expression and hand, each reason with its share", async () => {
    const report = await read();
    const filters = { ...nothing, special: true, rules: [true], pattern: /^bad$/iu };
    const reasons = reasonsExcluded(report, filters);
    expect(reasons).toEqual(["special tokens", "stop words (en)", "stop words (en)", "the expression", "", "", ""]);
    const values = valuesOf(report, rollout(1, [0])) as Float64Array;
    const { among, all, parts } = excludedOf(report, rollout(1, [0]), values, reasons);
    expect(among).toBe(5);
    expect(all.count).toBe(4);
    expect(all.share).toBeCloseTo(0.8, 12);
    expect(parts.map(({ reason, count }) => [reason, count])).toEqual([
      ["special tokens", 1],
      ["stop words (en)", 2],
      ["the expression", 1],
    ]);
    expect(parts[0].share).toBeCloseTo(0.5, 12);
    expect(parts[1].share).toBeCloseTo(0.2, 12);
    // What comes after the token is no part of it.
    const later = excludedOf(report, rollout(1, [0]), values, ["", "", "", "", "", "by hand", "by hand"]);
    expect(later).toEqual({ among: 5, all: { count: 0, share: 0 }, parts: [] });
    expect(excludedOf(report, flow, valuesOf(report, flow), reasons)).toMatchObject({
      among: 4,
      all: { count: 4, share: null },
    });
    expect(shareOf(values, 1, (j) => j === 3)).toBeCloseTo(0.1, 12);
    expect(shareOf(new Float64Array(4), 0, () => true)).toBe(0);
    // Without the columns of generated tokens they are part of the whole all the same.
    const document = sample();
    Reflect.deleteProperty(document.arrays, "rollout_generated");
    const alone = await GenerationReport.read(document);
    expect(alone.whole(...placeOf(alone, rollout(1, [0])))).toBeCloseTo(1, 12);
  });

  test("a click changes sides, and a second one undoes it", async () => {
    const report = await read();
    const filters = { ...nothing, rules: [true] };
    const back = toggled(report, filters, 1);
    expect(back).toEqual(new Map([[1, false]]));
    expect(reasonsExcluded(report, { ...filters, byHand: back })[1]).toBe("");
    expect(toggled(report, { ...filters, byHand: back }, 1)).toEqual(new Map());
    expect(toggled(report, filters, 3)).toEqual(new Map([[3, true]]));
  });

  test("special tokens are those that are marked and those of the report's rule, with one switch", async () => {
    expect([...specialTokens(await read())]).toEqual([0]);
    const report = await read({ dropped: [{ rule: "special tokens", tokens: [0, 3] }] });
    expect([...specialTokens(report)]).toEqual([0, 3]);
    const filters = { ...nothing, rules: [true] };
    expect(reasonsExcluded(report, filters).filter(Boolean)).toEqual([]);
    expect(reasonsExcluded(report, { ...filters, special: true }).slice(0, 4)).toEqual([SPECIAL, "", "", SPECIAL]);
    // Generated ones are no others.
    const sampled = sample().generation.tokens;
    const ended = await read({ tokens: [sampled[0], { ...sampled[1], special: true }, sampled[2]] });
    expect(reasonsExcluded(ended, { ...nothing, special: true })).toEqual([SPECIAL, "", "", "", "", SPECIAL, ""]);
  });

  test("the page opens without special tokens, and a button counts every token", async () => {
    const viewer = new GenerationViewer(await read());
    expect(viewer.state.reasons.value).toEqual([SPECIAL, "stop words (en)", "stop words (en)", "", "", "", ""]);
    expect(viewer.ranking.value.map(({ token }) => token)).toEqual([3]);
    viewer.state.choices.skipStopWords.value = true;
    viewer.state.includeAll();
    expect(viewer.state.reasons.value.every((reason) => reason === "")).toBe(true);
    viewer.state.choices.skipStopWords.value = true;
    expect(viewer.state.reasons.value.slice(0, 4)).toEqual(["", ...Array(2).fill("stop words and punctuation"), ""]);
    expect(viewer.state.reasons.value.slice(4)).toEqual(Array(3).fill("stop words and punctuation"));
  });
});

describe("the ranking", () => {
  const shown = async (flow: number[], normalized: number[]) => {
    const cube = (values: number[]) => array([values.map((value) => [value])]);
    const arrays = { flow: cube(flow), flow_normalized: cube(normalized), flow_gap: cube([0, 0, 0, 0]) };
    const viewer = new GenerationViewer(await GenerationReport.read({ ...sample({}, arrays), flow_gap_max: 1 }));
    viewer.state.includeAll();
    viewer.state.choices.method.value = "flow";
    viewer.state.step(1);
    return viewer;
  };

  test("speaks of enclosures where there are some: of flow that is not normalised", async () => {
    const viewer = await shown([1, 0.5, 0.5, 0.25], [0.4, 0.2, 0.2, 0.1]);
    expect(helpOf(viewer)).toMatch(/certified intervals overlap share a rank\. Flow values are not shares of a whole/);
    viewer.state.choices.normalized.value = true;
    expect(viewer.ranking.value.map(({ rank }) => rank)).toEqual([1, 2, 2, 4]);
    expect(helpOf(viewer)).not.toMatch(/certified intervals|shares of a whole/);
    viewer.state.choices.method.value = "rollout";
    expect(helpOf(viewer)).not.toMatch(/certified intervals|shares of a whole/);
    // Values that are all different, too.
    const other = await shown([1, 0.5, 0.4, 0.25], [0.4, 0.2, 0.2, 0.1]);
    expect(helpOf(other)).toMatch(/^Flow values are not shares of a whole/);
  });

  test("of a generation or of patches shows every line when asked for all", async () => {
    const report = await read();
    expect(mostLines(report)).toBe(Infinity);
    const of = (kind: "text" | "image") =>
      mostLines({ document: { ...report.document, input: { ...report.document.input, kind } } } as GenerationReport);
    expect([of("image"), of("text")]).toEqual([Infinity, 500]);
  });

  test("that is empty does not follow the pointer", async () => {
    const viewer = new GenerationViewer(await read());
    viewer.state.choices.method.value = "flow";
    let drawn = 0;
    const said = computed(() => [++drawn, readoutOf(viewer, "rank", null)]);
    void said.value;
    viewer.state.pointed.value = { input: 2, view: "text" };
    void said.value;
    expect(drawn).toBe(1);
  });
});

describe("scores of generated tokens", () => {
  const scored = () => {
    const target = (label: string) => ({ kind: "next", label, index: 1, logit: 3, position: 3, title: `for ${label}` });
    const document = sample();
    document.generation.tokens.forEach((token, t) => Object.assign(token, { target: target(`t${t}`) }));
    const parts = (value: number) => ({ parts: [{ name: "biases", value }], total: 1, error: 0 });
    return {
      ...upgraded(document),
      upgraded_from: undefined,
      scores: [{ method: "attnlrp", sums: [parts(1), parts(2), parts(3)] }],
      arrays: {
        attnlrp: array([
          [1, 0, 0, 0],
          [-3, 0.5, 2, 0],
          [4, 0, 0, -5],
        ]),
        attnlrp_generated: array([
          [0, 0, 0],
          [-2.5, 0, 0],
          [1, 2, 0],
        ]),
      },
    };
  };

  test("are those of the chosen one, on the prompt and on what came before it", async () => {
    const viewer = new GenerationViewer(await GenerationReport.read(scored()));
    const { choices } = viewer.state;
    choices.method.value = "attnlrp";
    choices.token.value = 1;
    choices.skipSpecial.value = false;
    expect([...(viewer.row() ?? [])]).toEqual([-3, 0.5, 2, 0, -2.5, 0, 0]);
    expect(viewer.ranking.value.map(({ token, value }) => [token, value])).toEqual([
      [0, -3],
      [4, -2.5],
    ]);
    expect(viewer.endsOf(viewer.row())).toMatchObject({ signed: true, top: 3 });
    expect(viewer.targetText()).toBe("for t1");
    expect(scoresShown(viewer)?.parts[0].value).toBe(2);
    choices.token.value = 2;
    expect(viewer.targetText()).toBe("for t2");
    expect(scoresShown(viewer)?.parts[0].value).toBe(3);
    expect(viewer.report.outputTokens("attnlrp")).toEqual([3, 4, 5]);
    expect(viewer.layersText()).toBe("");
  });
});

describe("captions of saved pictures", () => {
  const facts = (viewer: GenerationViewer, shown = {}) =>
    Object.fromEntries(captionOf(viewer, "T", shown).facts) as Record<string, string | undefined>;

  test("count what is excluded of what the token could draw on, as the panel does", async () => {
    const viewer = new GenerationViewer(await read({ dropped: [{ rule: "stop words (en)", tokens: [1, 2, 5, 6] }] }));
    const term = "Excluded from ranking and scale";
    span(viewer, "one", 2);
    viewer.state.step(1);
    expect(facts(viewer)[term]).toBe("3 of 5 tokens, 70%: special tokens (1, 50%), stop words (en) (2, 20%)");
    viewer.state.step(2);
    expect(facts(viewer)[term]).toBe("4 of 6 tokens, 96%: special tokens (1, 90%), stop words (en) (3, 6%)");
    viewer.state.choices.method.value = "flow";
    viewer.state.step(1);
    expect(facts(viewer)[term]).toBe("3 of 4 tokens: special tokens (1), stop words (en) (2)");
    viewer.state.includeAll();
    expect(facts(viewer)[term]).toBeUndefined();
  });

  test("say that values are normalised where they are", async () => {
    const document = sample({}, { rollout_normalized: sample().arrays.rollout });
    const settings = { ...document.settings, normalize: "receptive-field" };
    const viewer = new GenerationViewer(await GenerationReport.read({ ...document, settings }));
    expect(facts(viewer)).toMatchObject({ Method: "rollout" });
    expect(facts(viewer).Normalization).toBeUndefined();
    viewer.state.choices.normalized.value = true;
    expect(facts(viewer)).toMatchObject({ Method: "rollout, normalized" });
  });

  test("say from which value on is drawn", async () => {
    const viewer = new GenerationViewer(await read());
    expect(facts(viewer).Drawn).toBeUndefined();
    viewer.state.choices.threshold.value = 0.1;
    expect(facts(viewer).Drawn).toBe("values from 10% of the largest");
  });

  test("name every method where all are drawn, and the layers of each", async () => {
    const viewer = new GenerationViewer(await read());
    viewer.state.step(1);
    const shown = methodsShown(viewer, ["rollout", "flow"]);
    expect(facts(viewer, shown)).toMatchObject({
      Method: "rollout, flow",
      Layers: "rollout: mean over 2 of the layers 2–5, flow: 5",
    });
    // Each has shares of its own.
    expect(facts(viewer, shown)["Excluded from ranking and scale"]).toBe(
      "3 of 5 tokens: special tokens (1), stop words (en) (2)",
    );
    span(viewer, "last");
    expect(facts(viewer, methodsShown(viewer, ["rollout", "flow"])).Layers).toBe("5");
    expect(captionOf(viewer, "T", shown).notes).toHaveLength(1);
  });
});

describe("what is chosen", () => {
  test("layers by span", async () => {
    const viewer = new GenerationViewer(await read());
    expect(layersAt(viewer)).toEqual([0, 1]);
    expect(viewer.layersText()).toBe("mean over 2 of the layers 2–5");
    span(viewer, "last");
    expect(viewer.layersText()).toBe("layer 5");
    span(viewer, "range");
    expect([viewer.span.value.from, viewer.span.value.to]).toEqual([2, 5]);
    span(viewer, "one");
    expect(layersAt(viewer)).toEqual([0]);
    viewer.state.choices.method.value = "flow";
    expect(viewer.span.value.from).toBe(5);
    expect(layersAt(viewer)).toEqual([0]);
  });

  test("says which layers each method has, and counts generated tokens from 1", async () => {
    const viewer = new GenerationViewer(await read());
    span(viewer, "all");
    expect(viewer.layersText("rollout")).toBe("mean over 2 of the layers 2–5");
    expect(viewer.layersText("flow")).toBe("layer 5");
    viewer.state.step(2);
    const facts = new Map(captionOf(viewer, "", {}).facts);
    expect(facts.get("Generated token")).toMatch(/^3 of 3 “/u);
    expect(generationSettings(viewer.report).find(({ term }) => term === "Layers")?.text).toBe("2, 5");
  });

  test("colours run from 0 or the least value to the top, and leave small ones blank", async () => {
    const viewer = new GenerationViewer(await read());
    const ends = { least: 0.2, top: 0.6, above: 0.6 };
    const step = (value: number) => viewer.shades(ends).step(value);
    expect([0, 0.3, 0.6].map(step)).toEqual([0, 128, 255]);
    viewer.state.choices.threshold.value = 0.5;
    expect([0.29, 0.3].map(step)).toEqual([0, 128]);
    viewer.state.choices.fromLeast.value = true;
    expect([0.2, 0.29, 0.4, 0.6, 0.9].map(step)).toEqual([0, 0, 128, 255, BEYOND_STEP]);
  });

  test("stands in the link, and comes back from it", async () => {
    const report = await read();
    const viewer = new GenerationViewer(report);
    expect(writeLink(viewer.state)).toBe("");
    viewer.state.step(2);
    viewer.state.choices.skipSpecial.value = false;
    viewer.state.choices.skipStopWords.value = true;
    viewer.state.choices.palette.value = "cividis";
    viewer.state.choices.threshold.value = 0.12;
    viewer.state.choices.fromLeast.value = true;
    viewer.state.choices.comparing.value = true;
    viewer.state.toggle(4);
    viewer.state.choices.rules.value = [false];
    span(viewer, "one");
    viewer.state.toggle(3);
    viewer.state.choices.pattern.value = "it|so";
    const other = new GenerationViewer(report);
    restoreLink(`#${writeLink(viewer.state)}`, other.state);
    expect(other.state.choices.token.value).toBe(2);
    expect(other.row()).toEqual(viewer.row());
    expect(other.state.reasons.value).toEqual(viewer.state.reasons.value);
    expect(other.state.reasons.value[4]).toBe("");
    const look = ({ state: { choices } }: GenerationViewer) =>
      [choices.palette, choices.threshold, choices.fromLeast, choices.comparing].map(({ value }) => value);
    expect(look(other)).toEqual(["cividis", 0.12, true, true]);
    expect(writeLink(other.state)).toBe(writeLink(viewer.state));
    // After the longest prompt as well.
    viewer.state.address = {
      ask: writePromptAsk({ prompt: "漢".repeat(LONGEST_ASK - writePromptAsk({ prompt: "" }).length) }),
    };
    expect(viewer.state.address.ask).not.toBe("");
    const third = new GenerationViewer(report);
    third.state.address = viewer.state.address;
    restoreLink(`#${writeLink(viewer.state)}`, third.state);
    expect(writeLink(third.state)).toBe(writeLink(viewer.state));
    // What does not fit is left alone.
    restoreLink("#v=1&m=raw&t=-1&l=3&f=000&x=9.-9.1e3&n=1&p=red&c=9&im=x", other.state);
    expect([other.state.choices.method.value, other.state.choices.token.value, other.span.value.kind]).toEqual([
      "rollout",
      0,
      "all",
    ]);
    expect(other.state.choices.rules.value).toEqual([true]);
    expect(other.state.choices.byHand.value.size).toBe(0);
    expect(look(other)).toEqual(["blue", 0, null, false]);
    expect([other.state.choices.skipSpecial.value, other.state.choices.skipStopWords.value]).toEqual([true, false]);
    expect(other.normalized).toBe(false);
    // Changes by hand that do not fit are ignored one by one.
    restoreLink("#v=1&x=3.9.-4.-9.1e3", other.state);
    expect([...other.state.choices.byHand.value]).toEqual([
      [3, true],
      [4, false],
    ]);
  });

  test("is the first method where there is no rollout, and links without a method mean it", async () => {
    const document = sample({}, { raw: sample().arrays.rollout });
    for (const name of ["rollout", "rollout_generated"]) Reflect.deleteProperty(document.arrays, name);
    const viewer = new GenerationViewer(await GenerationReport.read(document));
    expect(viewer.report.methods).toEqual(["raw", "flow"]);
    expect(viewer.state.choices.method.value).toBe("raw");
    viewer.state.choices.method.value = "flow";
    expect(writeLink(viewer.state)).toBe("v=1&m=flow");
    restoreLink("#v=1&t=1", viewer.state);
    expect(viewer.state.choices.method.value).toBe("raw");
  });

  test("stays in the link when the method lacks the layer that was chosen", async () => {
    const report = await read({ flow_layers: [2] });
    const viewer = new GenerationViewer(report);
    viewer.state.step(1);
    span(viewer, "one", 5);
    viewer.state.choices.method.value = "flow";
    expect([viewer.span.value.kind, viewer.layersText()]).toEqual(["one", "layer 2"]);
    const other = new GenerationViewer(report);
    restoreLink(`#${writeLink(viewer.state)}`, other.state);
    expect(other.span.value).toEqual(viewer.span.value);
    expect(writeLink(other.state)).toBe(writeLink(viewer.state));
    // Layers of a range, too; those of no method are none.
    viewer.state.choices.span.value = { kind: "range", from: 2, to: 5 };
    restoreLink(`#${writeLink(viewer.state)}`, other.state);
    expect(other.span.value).toEqual(viewer.span.value);
    restoreLink("#v=1&m=flow&l=3", other.state);
    expect(other.span.value.kind).toBe("all");
  });
});

test("pieces begin with a sign only where a space belongs to them", () => {
  expect(pieceName("is", " is", 1)).toEqual({ text: "is", space: true });
  expect(pieceName("is", "\u0120is", 1)).toEqual({ text: "is", space: true });
  expect(pieceName("", "\u2581is", 1)).toEqual({ text: "is", space: true });
  expect(pieceName("is", "is", 1)).toEqual({ text: "is", space: false });
  expect(pieceName(" ", " ", 1)).toEqual({ text: "␣", space: false });
  expect(pieceName("\n", "\n", 1)).toEqual({ text: "⏎", space: false });
  expect(pieceName(".\n", ".\n", 1).text).toBe(".");
  expect(pieceName("a\nb", "a\nb", 1).text).toBe("a⏎b");
  expect(pieceName("", "", 3)).toEqual({ text: "#3", space: false });
});

test("the chosen token stands among its alternatives once", () => {
  const choices = [
    { label: "Paris", probability: 0.6 },
    { label: "Rome", probability: 0.2 },
  ];
  const token = { id: 1, text: "\u0120Paris", begin: 0, end: 5, probability: 0.6, choices };
  expect(alternatives(token)).toEqual({ choices, chosen: 0 });
  const other = alternatives({ ...token, text: " Bonn", probability: 0.01 });
  expect(other.chosen).toBe(2);
  expect(other.choices[2]).toEqual({ label: " Bonn", probability: 0.01 });
});

describe("a generation while it happens", () => {
  const begun = (document = sample()) => {
    const live = new GenerationLive("typed");
    live.begin({ ...document.input, model: document.model, layers: [2, 5] });
    return live;
  };
  const first = { index: 0, text: "So", rollout: [0.4, 0.3, 0.2, 0.1] };
  const second = { index: 1, text: " it", rollout: [0.1, 0.2, 0.3, 0.1], rollout_generated: [0.3] };

  test("takes tokens in any order and then the report", async () => {
    const live = new GenerationLive("<s>It is bad");
    live.token({ index: 1, text: " it" });
    live.token({ index: 0, text: "So" });
    expect(live.tokens.value).toEqual(["So", " it"]);
    expect(() => live.token({ index: -1, text: "" })).toThrow(/number of a token/);
    expect(live.phase.value).toBe("running");
    await live.report(sample());
    expect(live.phase.value).toBe("done");
    // The text is read from its beginning; what is chosen then stays when a further report comes.
    expect(live.viewer.value?.state.choices.token.value).toBe(0);
    live.viewer.value?.state.step(1);
    if (live.viewer.value) live.viewer.value.state.choices.method.value = "flow";
    await live.report(sample());
    expect(live.viewer.value?.state.choices.token.value).toBe(1);
    expect(live.viewer.value?.state.choices.method.value).toBe("flow");
  });

  test("shows what each token drew on as it comes, and goes on with the report", async () => {
    const document = sample();
    const live = begun(document);
    expect(live.prompt.value).toBe("<s>It is bad");
    const token = (index: number, text: string, rollout: number[], generated?: number[]) =>
      live.token({ index, text, piece: text, probability: 0.5, choices: [], rollout, rollout_generated: generated });
    token(0, "So", [0.4, 0.3, 0.2, 0.1]);
    const viewer = live.viewer.value;
    expect(viewer?.state.growing.value).toBe(true);
    expect([...(viewer?.row() ?? [])]).toEqual([0.4, 0.3, 0.2, 0.1, 0]);
    expect(viewer?.layersText()).toBe("mean over 2 of the layers 2–5");
    token(1, " it", [0.1, 0.2, 0.3, 0.1], [0.3]);
    expect(live.viewer.value).toBe(viewer);
    expect(viewer?.state.choices.token.value).toBe(1);
    expect([...(viewer?.row() ?? [])]).toEqual([0.1, 0.2, 0.3, 0.1, 0.3, 0]);
    expect(viewer?.report.fields.text).toBe("So it");
    // The page stays at an earlier token that was chosen.
    viewer?.state.step(0);
    // A token without its row, or out of order, has its text only.
    live.token({ index: 2, text: " is" });
    token(4, "!", [1, 0, 0, 0]);
    expect([viewer?.state.choices.token.value, viewer?.report.choosable, live.tokens.value.length]).toEqual([0, 2, 5]);
    await live.report(document);
    expect(live.viewer.value).toBe(viewer);
    expect([viewer?.state.choices.token.value, viewer?.report.choosable, viewer?.state.growing.value]).toEqual([
      0,
      3,
      false,
    ]);
    expect(viewer?.state.choices.rules.value).toEqual([true]);
    expect(viewer?.report.methods).toContain("flow");
    expect(viewer?.state.choices.span.value.kind).toBe("all");
  });

  test("shows the last layer of contributions when the report says that it is made of them", async () => {
    const document = sample();
    document.settings.mixing = "alti";
    const live = new GenerationLive("typed");
    live.begin({ ...document.input, model: document.model, layers: [5] });
    live.token({ index: 0, text: "So", piece: "So", probability: 0.5, choices: [], rollout: [0.4, 0.3, 0.2, 0.1] });
    expect(live.viewer.value?.layersText()).toBe("layer 5");
    await live.report(document);
    expect(live.viewer.value?.layersText()).toBe("layer 5");
  });

  test("says the choice when the text is complete, not while tokens come; its prompt stays the same", async () => {
    const document = sample();
    const live = begun(document);
    live.token(first);
    const viewer = live.viewer.value as GenerationViewer;
    const stop = announceChoices(viewer);
    const [prompt, generated] = [0, 1].map((segment) => viewer.report.textOf(segment));
    live.token(second);
    expect(viewer.announcement.value).toBe("");
    expect(viewer.report.textOf(0)).toBe(prompt);
    expect(viewer.report.textOf(1)).not.toBe(generated);
    await live.report(document);
    expect(viewer.announcement.value).toMatch(/^Generated token 1 of 3/);
    stop();
  });

  test("follows the newest token while the text comes, and opens on the first that is no special one", async () => {
    const document = sample();
    const fields = document.generation as unknown as GenerationFields;
    const generation = { ...fields, tokens: fields.tokens.map((one, t) => ({ ...one, special: t === 0 })) };
    const live = begun(document);
    live.token(first);
    live.token(second);
    const { state } = live.viewer.value as GenerationViewer;
    expect([state.choices.token.value, untouched(state)]).toEqual([1, true]);
    await live.report({ ...document, generation });
    expect([state.choices.token.value, untouched(state)]).toEqual([1, true]);
    state.step(0);
    expect(untouched(state)).toBe(false);
    expect(new GenerationViewer(await GenerationReport.read(document)).state.choices.token.value).toBe(0);
    // The newest token, if chosen, stays chosen.
    const chosen = begun(document);
    chosen.token(first);
    chosen.viewer.value?.state.step(0);
    chosen.token(second);
    chosen.viewer.value?.state.step(1);
    await chosen.report({ ...document, generation: fields });
    expect(chosen.viewer.value?.state.choices.token.value).toBe(2);
  });

  test("takes the check of one token from the server, with its flow, and shows it beside that token alone", async () => {
    const document = sample();
    const arrays = Object.fromEntries(Object.entries(document.arrays).filter(([name]) => !name.startsWith("flow")));
    const generation = { ...document.generation, flow_tokens: [], flow_layers: [2, 5] };
    const viewer = new GenerationViewer(await GenerationReport.read({ ...document, generation, arrays }), false, true);
    const { choices } = viewer.state;
    choices.method.value = "rollout";
    choices.span.value = { kind: "all", from: 0, to: Infinity };
    viewer.state.step(1);
    const last = viewer.heldLayers("rollout").at(-1);
    expect([viewer.checkOf(1), checkShown(viewer), viewer.has("flow")]).toEqual([undefined, null, false]);
    const check = {
      ...{ quantity: "logit difference", value: 2, tokens: [{ token: 1, drop: 1 }] },
      maps: [{ method: "rollout" as const, layer: last, first_token: 1, rank_correlation: 0.8 }],
    };
    const fields = document.generation as unknown as GenerationFields;
    const tokens = fields.tokens.map((one, t) => (t === 1 ? { ...one, check } : one));
    viewer.takeCheck(1, await GenerationReport.read({ ...document, generation: { ...fields, tokens } }));
    expect(checkShown(viewer)?.map.rank_correlation).toBe(0.8);
    expect([viewer.has("flow"), viewer.heldLayers("flow")]).toEqual([true, [5]]);
    choices.method.value = "flow";
    expect(viewer.row()?.some((value) => value > 0)).toBe(true);
    // The pictures have rows for what came with the check: one layer and one token.
    expect([layerRows(viewer).layers, layerRows(viewer).values]).toEqual([[5], [viewer.row()]]);
    expect([matrixRows(viewer).outputs, matrixRows(viewer).values]).toEqual([[viewer.output], [viewer.row()]]);
    choices.method.value = "rollout";
    expect([layerRows(viewer).layers, matrixRows(viewer).outputs]).toEqual([
      [5, 2],
      [3, 4, 5],
    ]);
    viewer.state.step(0);
    expect(checkShown(viewer)).toBeNull();
    // A prompt of which nothing can be replaced.
    const unchecked = await GenerationReport.read(document);
    expect(() => viewer.takeCheck(0, unchecked)).toThrow(/expected the check of the token, found none/);
  });

  test("a check gives the model the tokens that are there, over the same edges", async () => {
    const report = await GenerationReport.read(sample());
    const asked = {
      model: "m",
      prompt: "It is bad",
      tokens: 40,
      chat: false,
      temperature: 0,
      method: ["raw", "rollout"],
    };
    const body = checkRequest(asked as unknown as PromptRequest, report, 1);
    expect(body).toMatchObject({
      ...{ model: "m", prompt: "It is bad", chat: false, mixing: report.settings.mixing, tokens: 2 },
      ...{ begin_with: report.fields.tokens.slice(0, 2).map(({ id }) => id), check_tokens: [1], flow_tokens: [1] },
    });
    expect(body.method).toEqual(["rollout", "flow"]);
  });

  test("says why it failed", async () => {
    const live = new GenerationLive("a");
    await live.report({ format: "attnflow-report", version: 99 });
    expect(live.phase.value).toBe("failed");
    expect(live.failure.value).toMatch(/version 99/);
  });
});
