// The ends of a color scale, from the values that it covers.
import { LEAST_BESIDE_SINK } from "../figures";
import type { Report } from "../report/report";
import { percent } from "../report/text";
import type { Numbers } from "../report/values";

export interface Ends {
  /** the smallest value, or 0 if none is below the top */
  least: number;
  top: number;
  above: number;
  /** values are signed: the scale runs from -top to top, and `above` is the largest absolute value */
  signed?: true;
}

/** Whether a token may be an attention sink, whose large values mean little; as in figures (report/color_scale.h). */
export const isSink = ({ model, tokens }: Report, token: number) =>
  tokens[token].special || (model.causal && token === 0);

/** A sink's value more than this many times the largest other value does not set the scale's top. */
const FAR_ABOVE = 2;

/** Whether the first token can be an attention sink at all: in a decoder, with values that reach down to the input. */
export const mayHaveSink = ({ model, mixing }: Report, startLayer: number): boolean =>
  model.causal && startLayer === 0 && mixing.rule !== "contained-normalized";

/**
 * Whether a decoder's first token takes most of a row: far above every other prompt token that the output token sees.
 * Tables and figures use the same rule (attnflow/report/report_ranking.cc).
 */
export function takesMost(report: Report, row: Numbers | null, startLayer: number, output: number): boolean {
  return row !== null && mayHaveSink(report, startLayer) && firstIsFarAbove(row, Math.min(report.m, output + 1));
}

/** Whether the first of the `seen` tokens is far above every other one. */
export function firstIsFarAbove(row: Numbers, seen: number): boolean {
  let rest = 0;
  for (let j = 1; j < Math.min(seen, row.length); ++j) if (row[j] > rest) rest = row[j];
  return seen > 1 && row.length > 1 && row[0] > FAR_ABOVE * rest;
}

/** Whether an attention sink, the first token, leaves so small a share of a row to all others that their order means nothing. */
export function sinkHoldsAll(row: Numbers): boolean {
  let others = 0;
  for (let j = 1; j < row.length; ++j) others += Math.abs(row[j]);
  return others < LEAST_BESIDE_SINK * (others + Math.abs(row[0]));
}

/** Values below this share of the largest get no strong color: they are negligible. */
const FLOOR = 0.01;

/** If the smallest flow is at least this share of the largest, the scale begins at the smallest. */
const CLOSE = 0.5;

/** A logarithmic scale begins no lower than this share of its top. */
const LOWEST = 1e-4;

/** Whether the flow scale begins at the smallest value unless the user chose otherwise. */
export const isClose = ({ least, top, signed }: Ends): boolean => !signed && least >= CLOSE * top && least > 0;

/** If the relative gap between the largest and smallest flow is below this, flow no longer separates tokens. */
const ALIKE = 0.1;

/** A sentence that says how much nearly equal flows differ; otherwise "". */
export function spreadWords({ least, above }: Ends): string {
  const spread = least > 0 ? 1 - least / above : 1;
  return spread <= ALIKE
    ? `All values are within ${percent(spread)} of each other: flow does not distinguish these tokens.`
    : "";
}

/** The ends of a logarithmic scale; no value lies beyond its top. */
export const logEnds = ({ least, above }: Ends): { low: number; top: number } => ({
  low: Math.max(least, LOWEST * above),
  top: above,
});

/** Whether the values span enough orders of magnitude that a logarithmic scale shows more. */
export function spansDecades(ends: Ends): boolean {
  const { low, top } = logEnds(ends);
  return !ends.signed && top >= 100 * low && top > 0;
}

/**
 * Collects values. Sinks far above the rest do not set the top, nor does a token's own position when rows of several
 * tokens or layers share the scale; otherwise every other value would look like zero.
 */
export class EndsOf {
  private aside = 0;
  private rest = 0;
  private least = Infinity;

  /** @param seen false for the 0 of a token that could not be attended to */
  add(value: number, aside: boolean, seen = true) {
    if (!(value < Infinity)) return;
    if (seen && value < this.least) this.least = value;
    if (aside) {
      if (value > this.aside) this.aside = value;
    } else if (value > this.rest) this.rest = value;
  }

  /** Adds what another collector holds, for one scale over both. */
  include(other: EndsOf): this {
    this.aside = Math.max(this.aside, other.aside);
    this.rest = Math.max(this.rest, other.rest);
    this.least = Math.min(this.least, other.least);
    return this;
  }

  /**
   * Adds a row of an explanation; in a causal model, its output token sees no token after it.
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

/** The ends of rows of one output token, after one layer or several. */
export const endsOf = (
  report: Report,
  rows: readonly (Numbers | null)[],
  output: number,
  counts: readonly boolean[],
): Ends => collectEnds(report, rows, output, counts).ends;

/** The ends of signed values, which belong to a prediction, not an output token; sinks are treated as elsewhere. */
export function signedEnds(report: Report, row: Numbers | null, counts: readonly boolean[]): Ends {
  return signed(collectEnds(report, [row && row.map(Math.abs)], report.n, counts).ends);
}

export const signed = ({ top, above }: Ends): Ends => ({ least: -top, top, above, signed: true });

/** Collects rows, to be combined with others; `alone` is false if those are of other output tokens. */
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

/** For the legend of pictures with a scale each: `above` exceeds the top if any value lies above its own scale. */
export const endsOfEach = (all: Ends, each: readonly Ends[]): Ends => ({
  ...all,
  above: each.some(({ top, above }) => above > top) ? Infinity : all.top,
});

export const isAbove = (value: number, { top }: Pick<Ends, "top">) => Math.abs(value) > top * (1 + 1e-6);
