// The ends of a scale of colours, from the values that it is for.
import type { Report } from "../report/report";
import { percent } from "../report/text";
import type { Numbers } from "../report/values";

export interface Ends {
  /** the least value, or 0 where there is none below the top */
  least: number;
  top: number;
  /** the largest value, which may lie above the scale */
  above: number;
  /** values have signs: the scale runs from -top to top, and `above` is the largest size */
  signed?: true;
}

/**
 * Whether a token may have a large value that says little: special tokens and a decoder's first one are attention sinks.
 * The rule of figures, too (attnflow/draw/color_scale.h).
 */
export const isSink = ({ model, tokens }: Report, token: number) =>
  tokens[token].special || (model.causal && token === 0);

/** What lies more than so many times above the rest is far above it: it sets no top, and a sink does not count. */
const FAR_ABOVE = 2;

/** Whether a first token can be an attention sink at all: a decoder's, of values that reach down to the input. */
export const mayHaveSink = ({ model }: Report, startLayer: number): boolean => model.causal && startLayer === 0;

/**
 * Whether a decoder's first token takes most of a row: an attention sink, far above every other token of the prompt that
 * the output token sees. The rule of tables and figures, too (attnflow/report/report_ranking.cc).
 */
export function takesMost(report: Report, row: Numbers | null, startLayer: number, output: number): boolean {
  const seen = Math.min(report.m, row?.length ?? 0, output + 1);
  if (!row || !mayHaveSink(report, startLayer) || seen < 2) return false;
  let rest = 0;
  for (let j = 1; j < seen; ++j) if (row[j] > rest) rest = row[j];
  return row[0] > FAR_ABOVE * rest;
}

/** What is less than this share of the largest value has no strong colour: it is next to nothing. */
const FLOOR = 0.01;

/** Values from so large a share of the largest on lie close together: of flow, the scale then begins at the least. */
const CLOSE = 0.5;

/** A logarithmic scale begins no lower than at this share of its end. */
const LOWEST = 1e-4;

/** Whether flow's scale begins at the least value, unless something else was chosen. */
export const isClose = ({ least, top, signed }: Ends): boolean => !signed && least >= CLOSE * top && least > 0;

/** Of flow, values of which the least is so little below the largest tell tokens apart no more. */
const ALIKE = 0.1;

/** Says of flows that are nearly the same that they are, with how far they are apart; "" of others. */
export function spreadWords({ least, above }: Ends): string {
  const spread = least > 0 ? 1 - least / above : 1;
  return spread <= ALIKE
    ? `All values are within ${percent(spread)} of each other: flow does not distinguish these tokens.`
    : "";
}

/** The ends of a logarithmic scale, on which nothing lies beyond. */
export const logEnds = ({ least, above }: Ends): { low: number; top: number } => ({
  low: Math.max(least, LOWEST * above),
  top: above,
});

/** Whether values are so many orders of magnitude apart that a logarithmic scale shows more. */
export function spansDecades(ends: Ends): boolean {
  const { low, top } = logEnds(ends);
  return !ends.signed && top >= 100 * low && top > 0;
}

/**
 * Collects values. Sinks do not set the top when they lie far above the rest, nor does a token's own position where rows
 * of several tokens or layers share the scale: every other value would be as good as none.
 */
export class EndsOf {
  private aside = 0;
  private rest = 0;
  private least = Infinity;

  /** @param seen a value, not the 0 of what could not be drawn on */
  add(value: number, aside: boolean, seen = true) {
    if (!(value < Infinity)) return;
    if (seen && value < this.least) this.least = value;
    if (aside) {
      if (value > this.aside) this.aside = value;
    } else if (value > this.rest) this.rest = value;
  }

  /** What others have collected, for one scale over all. */
  include(other: EndsOf): this {
    this.aside = Math.max(this.aside, other.aside);
    this.rest = Math.max(this.rest, other.rest);
    this.least = Math.min(this.least, other.least);
    return this;
  }

  /**
   * A row of an explanation; its output token sees none of those after it where the model is causal.
   * @param alone no other row is on the scale
   */
  addRow(report: Report, row: Numbers, output: number, counts: readonly boolean[], alone = false) {
    const { causal } = report.model;
    for (let j = 0; j < row.length; ++j) {
      if (counts[j]) this.add(row[j], isSink(report, j) || (!alone && j === output), !causal || j <= output);
    }
  }

  get ends(): Ends {
    const { aside, rest, least } = this;
    const above = Math.max(aside, rest);
    const top = rest > 0 && aside > FAR_ABOVE * rest ? Math.max(rest, FLOOR * above) : above;
    return { least: least < top ? least : 0, top, above };
  }
}

/** Of rows of the same output token, after one layer or several. */
export const endsOf = (
  report: Report,
  rows: readonly (Numbers | null)[],
  output: number,
  counts: readonly boolean[],
): Ends => collectEnds(report, rows, output, counts).ends;

/** Of values with signs, which are of a prediction and of no output token; special tokens and sinks as everywhere. */
export function signedEnds(report: Report, row: Numbers | null, counts: readonly boolean[]): Ends {
  return signed(collectEnds(report, [row && row.map(Math.abs)], report.n, counts).ends);
}

/** The scale of values whose sizes have these ends. */
export const signed = ({ top, above }: Ends): Ends => ({ least: -top, top, above, signed: true });

/** The same, to be put together with others: `alone` false where they are of other output tokens. */
export function collectEnds(
  report: Report,
  rows: readonly (Numbers | null)[],
  output: number,
  counts: readonly boolean[],
  alone = rows.length === 1,
): EndsOf {
  const all = new EndsOf();
  for (const row of rows) if (row) all.addRow(report, row, output, counts, alone);
  return all;
}

/** For the legend of pictures that have a scale each: whether something lies above one of them. */
export const endsOfEach = (all: Ends, each: readonly Ends[]): Ends => ({
  ...all,
  above: each.some(({ top, above }) => above > top) ? Infinity : all.top,
});

/** Whether a value lies beyond its scale, not by rounding alone. */
export const isAbove = (value: number, { top }: Pick<Ends, "top">) => Math.abs(value) > top * (1 + 1e-6);
