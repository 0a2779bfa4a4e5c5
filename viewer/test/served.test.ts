// The server page's statements and offers, from the table of its models.
import { expect, test } from "vitest";
import { readAsk, writePictureAsk, writePromptAsk, writeTextAsk } from "../src/server/ask";
import { addressOf, exampleFile, fileOf, picturesOf, textsOf } from "../src/server/examples";
import type { ServedModel } from "../src/server/client";
import { describe, leastTokens } from "../src/server/describe";
import { askOfLong, isLong, ofAllTokens, withSettings } from "../src/server/long_text";
import { problemHere } from "../src/server/problems";
import { Question } from "../src/server/question";

const model = (examples: ServedModel["examples"]): ServedModel => ({
  name: "m",
  kind: "image",
  architecture: "vit",
  layers: 6,
  heads: 12,
  head: "classification",
  labels: [],
  max_tokens: 50,
  built_in: false,
  mixings: ["attention", "relevance"],
  methods: ["raw", "rollout", "flow"],
  blanks: false,
  evaluates: false,
  mask: null,
  examples,
});

test("an address holds which mixing, prediction and methods are asked", () => {
  const edges = { mixing: "relevance", target: "is", against: "are", method: ["raw", "attnlrp"] };
  expect(readAsk(writeTextAsk({ text: "a", ...edges }))).toEqual({ text: "a", ...edges });
  expect(readAsk(writePictureAsk("bag.png", "m", false, edges))).toEqual({ picture: "bag.png", model: "m", ...edges });
  expect(readAsk(writePromptAsk({ prompt: "a", mixing: "attention" }))).toEqual({ prompt: "a", mixing: "attention" });
});

test("an encoder-decoder is asked with its target, also where that is empty", () => {
  const question = new Question();
  const one = { ...model([]), kind: "generation" as const, head: "causal" as const };
  const models = [
    { ...one, name: "t5", takes_target: true },
    { ...one, name: "gpt2" },
  ];
  question.begin({ models, default: { text: "t5" } });
  question.choose("text");
  question.text.value = "the key";
  expect(question.request()).toMatchObject({ model: "t5", text: "the key", target_text: "" });
  question.pair.value = "la";
  expect(question.request()).toMatchObject({ target_text: "la" });
  expect(question.request()).not.toHaveProperty("pair");
  expect(readAsk(writeTextAsk(question.request()))).toMatchObject({ text: "the key", target_text: "la" });
  question.model.value = { ...question.model.value, text: "gpt2" };
  expect(question.request()).toMatchObject({ model: "gpt2", pair: "la" });
  expect(question.request()).not.toHaveProperty("target_text");
});

test("examples are the chosen model's own", async () => {
  const bag = { name: "a bag", type: "image/png", data: "iVBORw==" };
  const one = model([{ text: "The key" }, bag]);
  expect(textsOf(one)).toEqual(["The key"]);
  expect(picturesOf(one)).toEqual([bag]);
  expect([textsOf(null), picturesOf(null)]).toEqual([[], []]);
  expect(addressOf(bag)).toBe("data:image/png;base64,iVBORw==");
  const file = fileOf(bag);
  expect([file.name, file.type]).toEqual(["a bag.png", "image/png"]);
  expect([...new Uint8Array(await file.arrayBuffer())]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  expect(exampleFile(one, "a bag.png")?.size).toBe(4);
  expect(exampleFile(one, "bag.png")).toBeUndefined();
});

test("a link says of a picture whether it is an example", () => {
  expect(readAsk(writePictureAsk("bag.png", "m", true))).toEqual({ picture: "bag.png", model: "m", example: true });
  expect(readAsk(writePictureAsk("bag.png", "m"))).toEqual({ picture: "bag.png", model: "m" });
  expect(readAsk('{"picture":"a","example":"yes"}')).toEqual({ picture: "a" });
});

test("a link says that a text was cut", () => {
  const ask = { text: "long", model: "m", truncate: true };
  expect(readAsk(writeTextAsk(ask))).toEqual(ask);
});

test("a model says what it is for", () => {
  const model = { name: "m", kind: "text", architecture: "bert", layers: 6, heads: 12, labels: [], max_tokens: 512 };
  const words = (more: object) => describe({ ...model, ...more } as unknown as ServedModel);
  expect(words({ head: "none" })).toBe(
    "Encodes texts and predicts nothing: attention can be shown, but not checked against a prediction. bert, 6 layers × 12 heads, at most 512 tokens",
  );
  expect(words({ head: "masked", mask: "<mask>" })).toMatch(/^Predicts the token at <mask>\. bert/);
  expect(words({ head: "classification", labels: ["a", "b", "c", "d", "e"] })).toMatch(
    /^Classifies texts: a, b, c, d, … \(5\)\. /,
  );
  expect(words({ head: "causal", chat: true })).toMatch(/^Answers prompts and continues texts\. /);
  expect(words({ head: "causal", takes_target: true })).toMatch(/^Writes a target for a source; /);
  expect(words({ name: "agreement", built_in: true, head: "classification" })).toMatch(
    /^Reads the start of a sentence/,
  );
  expect(words({ kind: "image", head: "classification" })).not.toMatch(/tokens/);
});

test("a text has at least as many tokens as words", () => {
  expect(leastTokens("")).toBe(0);
  expect(leastTokens("The key,\n to it ", "and more")).toBe(6);
});

test("the server's sentences name nothing that the page does not have", () => {
  const long = "expected at most 512 tokens (the positions of minilm), found 702; shorten the text";
  expect(problemHere(`${long}, or pass truncate to cut it there`)).toBe(
    "Too long: 702 tokens; minilm takes at most 512.",
  );
  const decoder = "found 9. Shorten the input";
  expect(problemHere(`${decoder}, or let it be cut with truncate`)).toBe(decoder);
  expect(
    problemHere(
      "/models/a.gguf: expected a model that gives gradients, which libllama does not; write the weights as a Hugging Face folder (attnflow convert) and use that, or choose a score without gradients",
    ),
  ).toBe("This needs gradients, which a GGUF file does not provide. Use the model's Hugging Face folder instead.");
  expect(problemHere("text: expected a text to explain, found none")).toBe("Enter a text to explain.");
  expect(problemHere("layers: expected layers from 1, found 0")).toMatch(/^“Layers” under Options: expected/);
  expect(
    problemHere("mixing gradient: expected a classifier, found minilm; choose such a model, or mixing attention"),
  ).toBe("Weighting with gradients: expected a classifier, found minilm.");
  expect(problemHere("A sentence of its own.")).toBe("A sentence of its own.");
});

test("whether a text is long", () => {
  const decoder = { head: "causal", max_tokens: 2048 } as unknown as ServedModel;
  expect(isLong(decoder, "word ".repeat(599))).toBe(false);
  expect(isLong(decoder, "word ".repeat(300), "word ".repeat(300))).toBe(true);
  // Without spaces.
  expect(isLong(decoder, "\u65e5".repeat(1200))).toBe(true);
  expect(isLong(decoder, "x".repeat(3600))).toBe(true);
  expect(isLong({ ...decoder, max_tokens: 512 }, "word ".repeat(600))).toBe(false);
  expect(isLong({ ...decoder, head: "masked" }, "word ".repeat(600))).toBe(false);
  expect(isLong(null, "word ".repeat(600))).toBe(false);
});

test("other settings of a long text are asked of one token where they can be", () => {
  const last = askOfLong({ text: "a" }, false);
  expect(last).toEqual({ text: "a", method: ["raw", "rollout"], only_output_token: true });
  expect(withSettings(last, { residual: 0.2 })).toEqual({ ...last, residual: 0.2 });
  expect(withSettings(last, { method: ["flow"], output_token: 3 })).toMatchObject({ only_output_token: true });
  const rest = { text: "a", method: ["raw", "rollout"] };
  expect(ofAllTokens(last)).toEqual(rest);
  expect(withSettings(last, { discard: 0.5 })).toEqual({ ...rest, discard: 0.5 });
  expect(withSettings(last, { output_token: "all" })).toEqual({ ...rest, output_token: "all" });
  expect(withSettings(last, { method: ["blank-out"] })).toEqual({ ...rest, method: ["blank-out"] });
  expect(withSettings({ text: "a" }, { discard: 0.5 })).toEqual({ text: "a", discard: 0.5 });
});
