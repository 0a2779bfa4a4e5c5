// What is left out of rankings and of the scale of colours: by kind, by the report's rules, by an expression, by hand.
import { isStopWord, matches } from "../filters";
import type { GenerationReport, Selection } from "./generation_report";

export interface Filters {
  /** special tokens, wherever they stand; also those that the report's rule of that name holds */
  special: boolean;
  /** English stop words, and what is punctuation */
  stopWords: boolean;
  /** tokens generated before, where the document tells of them */
  generated: boolean;
  /** which of the report's rules hold */
  rules: readonly boolean[];
  pattern: RegExp | null;
  /** columns whose place was changed by hand: true is left out */
  byHand: ReadonlyMap<number, boolean>;
}

/** The report's own name of the rule for special tokens (attnflow/text/token_filter.h). */
export const SPECIAL = "special tokens";

/** Columns of special tokens: those that are marked, and those of the report's rule. */
export function specialColumns(report: GenerationReport): Set<number> {
  const columns = new Set(report.columns.flatMap(({ special }, j) => (special ? [j] : [])));
  for (const { rule, tokens } of report.fields.dropped) {
    if (rule === SPECIAL) for (const j of tokens) columns.add(j);
  }
  return columns;
}

/** Why each column is left out; "" where it is not. */
export function reasonsAside(report: GenerationReport, filters: Filters): string[] {
  const reasons = report.columns.map(() => "");
  if (filters.generated) for (let j = report.m; j < report.columns.length; ++j) reasons[j] = "generated tokens";
  const special = specialColumns(report);
  if (filters.special) for (const j of special) reasons[j] ||= SPECIAL;
  for (const [k, { rule, tokens }] of report.fields.dropped.entries()) {
    for (const j of tokens) if (filters.rules[k] && rule !== SPECIAL) reasons[j] ||= rule;
  }
  for (const [j, { name }] of report.columns.entries()) {
    if (filters.stopWords && !special.has(j) && isStopWord(name.text)) reasons[j] ||= "stop words and punctuation";
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

/** Of all that was drawn on, the share that columns hold; what the values do not cover, was drawn on as well. */
export function shareOf(values: Float64Array, whole: number, holds: (column: number) => boolean): number {
  if (!(whole > 0)) return 0;
  return values.reduce((held, value, j) => held + (holds(j) ? value : 0), 0) / whole;
}

/** How many columns a token can draw on, of those that its values tell of: what comes after it is no part of this. */
export const columnsBefore = ({ m }: GenerationReport, { token }: Selection, values: Float64Array | null) =>
  m + (values && values.length > m ? token : 0);

/** Tokens left out, with their share of all that was drawn on; null where values are no shares. */
export interface Aside {
  count: number;
  share: number | null;
}

/** What is left out of those that a token can draw on: all of it, and each reason's part. */
export function asideOf(
  report: GenerationReport,
  selection: Selection,
  values: Float64Array | null,
  reasons: readonly string[],
): { among: number; all: Aside; parts: (Aside & { reason: string })[] } {
  const among = columnsBefore(report, selection, values);
  const before = reasons.slice(0, among);
  const shared = values && report.isShare(selection) ? { values, whole: report.whole(selection) } : null;
  const part = (isOut: (reason: string) => boolean): Aside => ({
    count: before.filter(isOut).length,
    share: shared && shareOf(shared.values, shared.whole, (j) => j < among && isOut(before[j])),
  });
  const names = [...new Set(before.filter(Boolean))];
  return {
    among,
    all: part((reason) => reason !== ""),
    parts: names.map((name) => ({ reason: name, ...part((reason) => reason === name) })),
  };
}
