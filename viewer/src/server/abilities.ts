// What a model can be asked beside an explanation, as far as the table of models and the report say.
import type { Report } from "../report/report";
import type { ServedModel } from "./client";

/** Whether tokens can be blanked: decoders have no token that says nothing. */
export const canBlank = (report: Report) => !report.model.causal;

/** Whether a model predicts something that a score can be of, and has the means to score it. */
export function canEvaluate(model: ServedModel | null): boolean {
  if (!model || model.head === "none") return false;
  // Of decoders only gradients are scores.
  return model.head !== "causal" || model.gradients;
}

/** Why this one text cannot be evaluated although its model can; "" when it can. */
export function whyNotEvaluated(model: ServedModel, report: Report): string {
  if (model.head !== "masked" || (report.document.predictions ?? []).length > 0) return "";
  return `The text has no ${maskOf(model)}, so the model predicts nothing whose change could be measured. Write ${maskOf(model)} for one of its words and explain it again.`;
}

/** How the mask is written in a text. */
export const maskOf = ({ architecture }: ServedModel) => (architecture.includes("roberta") ? "<mask>" : "[MASK]");
