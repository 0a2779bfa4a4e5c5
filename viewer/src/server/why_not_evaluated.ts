import type { Report } from "../report/report";
import type { ServedModel } from "./client";

/** Why this one text cannot be evaluated although its model can; "" when it can. */
export function whyNotEvaluated({ mask }: ServedModel, report: Report): string {
  if (mask === null || (report.document.predictions ?? []).length > 0) return "";
  return `The text has no ${mask}, so the model predicts nothing whose change could be measured. Write ${mask} for one of its words and explain it again.`;
}
