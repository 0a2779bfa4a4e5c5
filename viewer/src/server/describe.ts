// What readers should know about a model before they use it.
import type { ServedModel } from "./client";

/** The built-in models' own, each trained for one task. */
const BUILT_IN: Readonly<Record<string, string>> = {
  agreement: "Reads the start of a sentence and predicts whether its verb is singular or plural",
  fashion: "Classifies small grayscale pictures of clothing",
};

/** "singular, plural"; of many labels only the first. */
function named(labels: readonly string[]): string {
  const few = labels.slice(0, 4).join(", ");
  return labels.length > 4 ? `${few}, … (${labels.length})` : few;
}

function purposeOf({ name, kind, head, labels, built_in, chat, takes_target, mask }: ServedModel): string {
  if (built_in && BUILT_IN[name]) return BUILT_IN[name];
  if (takes_target) return "Writes a target for a source; explains the next token of a given target (under Options)";
  const classes = labels.length > 0 ? `: ${named(labels)}` : "";
  switch (head) {
    case "masked":
      return `Predicts the token at ${mask ?? "a mask"}`;
    case "classification":
      return `Classifies ${kind === "image" ? "pictures" : "texts"}${classes}`;
    case "token-classification":
      return `Classifies each token${classes}`;
    case "question-answering":
      return "Finds the answer to a question in a second text (under Options)";
    case "causal":
      return chat ? "Answers prompts and continues texts" : "Continues texts";
    case "embedding":
      return "Turns texts into vectors";
    case "none":
      return `Encodes ${kind === "image" ? "pictures" : "texts"} and predicts nothing: attention can be shown, but not checked against a prediction`;
  }
}

/** "Classifies texts: negative, positive. bert, 12 layers × 12 heads, at most 512 tokens" */
export function describe(model: ServedModel): string {
  const { architecture, layers, heads, kind, max_tokens: most } = model;
  const facts = [
    architecture,
    layers ? `${layers} layers × ${heads} heads` : "",
    most && kind !== "image" ? `at most ${most} tokens` : "",
  ].filter(Boolean);
  return `${purposeOf(model)}. ${facts.join(", ")}`;
}

/** A lower bound on the number of tokens: no tokenizer makes one token of two words. */
export const leastTokens = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + (text.match(/\S+/g)?.length ?? 0), 0);
