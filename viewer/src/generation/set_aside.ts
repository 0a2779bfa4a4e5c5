// What takes no part in rankings and in the scale of colours: by kind, by the report's rules, by an expression, by hand.
import { matches } from "../filters";
import { sum, type GenerationReport } from "./generation_report";

export interface Filters {
  special: boolean;
  /** tokens generated before, where the document tells of them */
  generated: boolean;
  /** which of the report's rules hold */
  rules: readonly boolean[];
  pattern: RegExp | null;
  /** tokens of the prompt whose place was changed by a click: true is aside */
  byHand: ReadonlyMap<number, boolean>;
}

/** The report's own name of the rule for special tokens (attnflow/text/token_filter.h). */
export const SPECIAL = "special tokens";

/** Whether the page offers to set special tokens aside itself: not when the report's rules do. */
export function offersSpecial(report: GenerationReport): boolean {
  return (
    report.columns.some((column) => column.special && !column.generated) &&
    !report.fields.dropped.some(({ rule }) => rule === SPECIAL)
  );
}

/** Why each column is set aside; "" where it is not. */
export function reasonsAside(report: GenerationReport, filters: Filters): string[] {
  const reasons = report.columns.map(() => "");
  for (const [j, column] of report.columns.entries()) {
    if (column.generated) {
      if (filters.generated) reasons[j] = "generated tokens";
    } else if (filters.special && column.special) {
      reasons[j] = SPECIAL;
    }
  }
  for (const [k, { rule, tokens }] of report.fields.dropped.entries()) {
    for (const j of tokens) if (filters.rules[k]) reasons[j] ||= rule;
  }
  for (const [j, { name }] of report.columns.entries()) {
    if (filters.pattern && matches(filters.pattern, name.text)) reasons[j] ||= "the expression";
    const byClick = filters.byHand.get(j);
    if (byClick !== undefined) reasons[j] = byClick ? "by hand" : "";
  }
  return reasons;
}

/** The clicks after another one on a token: it changes sides. */
export function toggled(report: GenerationReport, filters: Filters, token: number): Map<number, boolean> {
  const byHand = new Map(filters.byHand);
  const isAside = reasonsAside(report, filters)[token] !== "";
  // Without the clicks it may stand where this click wants it.
  byHand.delete(token);
  if ((reasonsAside(report, { ...filters, byHand })[token] !== "") === isAside) byHand.set(token, !isAside);
  return byHand;
}

/** Of the prompt's part, the share that tokens hold. */
export function shareOf(values: Float64Array, m: number, holds: (token: number) => boolean): number {
  const prompt = values.subarray(0, m);
  const mass = sum(prompt);
  if (!(mass > 0)) return 0;
  return prompt.reduce((held, value, j) => held + (holds(j) ? value : 0), 0) / mass;
}

/** Each reason's share of the prompt's part, and all of them together. */
export function sharesAside(
  values: Float64Array,
  m: number,
  reasons: readonly string[],
): { all: number; parts: [string, number][] } {
  const names = new Set(reasons.slice(0, m).filter(Boolean));
  const parts = [...names].map((name): [string, number] => [name, shareOf(values, m, (j) => reasons[j] === name)]);
  return { all: shareOf(values, m, (j) => reasons[j] !== ""), parts };
}
