// Good inputs to begin with, of a kind that the chosen model was made for.
import { maskOf } from "./abilities";
import type { ModelTable, ServedModel } from "./client";

/** For models that were not made for a task of their own: sentences with something to find. */
const PLAIN: readonly string[] = [
  "The storm closed the airport, so the flight was cancelled.",
  "A man is playing a guitar on the street.",
  "The film was long, but it was never boring.",
];

/** @param task what is asked: "text", "image" or "generation" */
export function examplesOf(table: ModelTable | null, task: ServedModel["kind"], model: ServedModel | null): string[] {
  const { text = [], masked = [], generation = [] } = table?.examples ?? {};
  if (task === "image") return [];
  if (model?.examples) return model.examples;
  if (task === "generation" || model?.head === "causal") return generation;
  if (model?.head === "masked") return masked.map((example) => example.replaceAll("[MASK]", maskOf(model)));
  // The server's own texts are what its built-in classifier was trained on.
  return model && !model.built_in ? [...PLAIN] : text;
}
