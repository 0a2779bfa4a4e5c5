// What the page of a server says and offers by the table of its models.
import { expect, test } from "vitest";
import { canEvaluate, maskOf } from "../src/server/abilities";
import type { ModelTable, ServedModel } from "../src/server/client";
import { examplesOf } from "../src/server/examples";
import { problemHere } from "../src/server/problems";

const model = (head: ServedModel["head"], more: Partial<ServedModel> = {}): ServedModel => ({
  name: head,
  kind: head === "causal" ? "generation" : "text",
  architecture: "bert",
  layers: 6,
  heads: 12,
  head,
  labels: [],
  max_tokens: 512,
  built_in: false,
  gradients: false,
  ...more,
});
const examples = { text: ["The keys to the cabinet"], masked: ["A [MASK]."], generation: ["Once"] };
const table: ModelTable = { models: [], default: {}, examples };

test("only models that predict something are evaluated, decoders by their gradients alone", () => {
  expect(canEvaluate(null)).toBe(false);
  expect(canEvaluate(model("none", { gradients: true }))).toBe(false);
  expect(canEvaluate(model("masked"))).toBe(true);
  expect(canEvaluate(model("classification"))).toBe(true);
  expect(canEvaluate(model("causal"))).toBe(false);
  expect(canEvaluate(model("causal", { gradients: true }))).toBe(true);
});

test("examples are those of the chosen model's kind", () => {
  const offered = (one: ServedModel, task: ServedModel["kind"] = "text") => examplesOf(table, task, one);
  expect(offered(model("classification", { built_in: true }))).toEqual(examples.text);
  expect(offered(model("masked"))).toEqual(examples.masked);
  expect(offered(model("masked", { architecture: "xlm-roberta" }))).toEqual(["A <mask>."]);
  expect(offered(model("causal"))).toEqual(examples.generation);
  expect(offered(model("causal"), "generation")).toEqual(examples.generation);
  expect(offered(model("none"), "image")).toEqual([]);
  expect(offered(model("none", { examples: ["Its own"] }))).toEqual(["Its own"]);
  const plain = offered(model("none"));
  expect(plain.length).toBeGreaterThan(1);
  expect(plain.join(" ")).not.toMatch(/cabinet|MASK/);
  expect(offered(model("classification"))).toEqual(plain);
  expect(maskOf(model("masked"))).toBe("[MASK]");
});

test("the server's sentences name nothing that the page does not have", () => {
  const long = "expected at most 512 tokens (the positions of minilm), found 702; shorten the text";
  expect(problemHere(`${long}, or pass truncate to cut it there`)).toBe(long);
  const decoder = "found 9. Shorten the input";
  expect(problemHere(`${decoder}, or let it be cut with truncate`)).toBe(decoder);
  expect(
    problemHere(
      "/models/a.gguf: expected a model that gives gradients, which libllama does not; write the weights as a Hugging Face folder (attnflow convert) and use that, or choose a score without gradients",
    ),
  ).toBe(
    "The gradients that this needs are not there: the model is a GGUF file. A Hugging Face folder of it has them.",
  );
  expect(problemHere("text: expected a text to explain, found none")).toBe("There is no text to explain.");
  expect(problemHere("layers: expected layers from 1, found 0")).toMatch(/^“Layers” under Options: expected/);
  expect(
    problemHere("mixing gradient: expected a classifier, found minilm; choose such a model, or mixing attention"),
  ).toBe("Weighting with gradients: expected a classifier, found minilm.");
  expect(problemHere("A sentence of its own.")).toBe("A sentence of its own.");
});
