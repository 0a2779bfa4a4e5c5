// The two sides of a comparison: whose rows they are, and why there are none.
import { Explanation } from "../explanation";
import { recipeOf } from "../report/recipe";
import type { Method } from "../report/document";
import type { Report } from "../report/report";
import type { Gone } from "../context";
import { shorten } from "../report/text";
import { WordReport } from "../report/words";

/** One side: a row of values for each layer, and which of its tokens count. */
export interface Side {
  report: Report;
  method: Method;
  layer: number;
  token: number;
  /** NaN where a token has no value */
  row(layer: number): Float64Array | null;
  counts: readonly boolean[];
  /** Largest relative error of the values of its layer; 0: exact. */
  error: number;
  /** Why there is no row of its layer; "" where there is one. */
  missing: string;
  /** The output token that was asked for where another one's values stand in for it; null: this is it. */
  instead: number | null;
  /** Whether there are values of a method. */
  has(method: Method): boolean;
}

export interface SideChoice {
  method: Method;
  layer: number;
  token: number;
  /** divided by the sum over the tokens that count */
  shares: boolean;
  counts: readonly boolean[];
  instead?: number | null;
}

export function sideOf(explanation: Explanation, choice: SideChoice): Side {
  const { method, layer, token, shares, counts, instead = null } = choice;
  const row = (at: number) => {
    const values = explanation.row(method, at, token);
    if (!values) return null;
    const copy = Float64Array.from(values);
    if (!shares) return copy;
    let sum = 0;
    for (const [i, value] of copy.entries()) if (counts[i] && value < Infinity) sum += Math.abs(value);
    return sum > 0 ? copy.map((value) => value / sum) : copy;
  };
  const { report } = explanation;
  const result = explanation.result(method, layer, token);
  const why = explanation.whyNot(method, layer) ?? `${method} was computed for other output tokens only.`;
  const missing = result ? "" : why;
  const has = (name: Method) => explanation.row(name, layer, token) !== null || report.methods.includes(name);
  return { report, method, layer, token, row, counts, error: result?.error ?? 0, missing, instead, has };
}

/** The other report in the units of this one: whole words beside whole words, where its pieces say which they belong to. */
export function inUnitsOf(report: Report, other: Report): Report {
  return report.ofWords && !other.ofWords ? (WordReport.of(other) ?? other) : other;
}

/** Whether one of two reports is of whole words and the other of their pieces. */
export function unitsDiffer(report: Report, other: Report): boolean {
  // A text without a word of several pieces is the same either way.
  const whole = (one: Report) => one.ofWords || WordReport.of(one) === null;
  return report.ofWords === other.ofWords ? false : !(whole(report) && whole(other));
}

/** Which tokens of a side stand for nothing but blanked ones. */
export function goneIn(side: Report, { report, tokens }: Gone): Set<number> {
  const all = new Set(tokens);
  if (!(side instanceof WordReport) || report instanceof WordReport) return all;
  const words = side.groups.flatMap((pieces, word) => (pieces.every((piece) => all.has(piece)) ? [word] : []));
  return new Set(words);
}

/** “without “key”, “to””: labels of the report in which they are there still. */
export function withoutThem(pieces: Report, tokens: readonly number[]): string {
  const most = 3;
  const names = tokens.slice(0, most).map((token) => `“${shorten(pieces.tokens[token].label, 24)}”`);
  const more = tokens.length > most ? ` and ${tokens.length - most} more` : "";
  return `without ${names.join(", ")}${more}`;
}

/** Another report as it was made. */
export const explanationOf = (other: Report): Explanation => new Explanation(other, recipeOf(other));

/**
 * The side of another report: the counterpart of the output token, or the token that it is about where it knows nothing
 * of the counterpart.
 */
export function otherSide(
  theirs: Explanation,
  match: Int32Array,
  token: number,
  choice: Pick<SideChoice, "method" | "layer" | "shares">,
  skipSpecial: boolean,
): Side {
  const { report } = theirs;
  const { layers } = report;
  const { method } = choice;
  const layer = layers.includes(choice.layer)
    ? choice.layer
    : (layers.findLast((l) => l <= choice.layer) ?? layers[0] ?? 1);
  const own = report.document.output_token ?? 0;
  const matched = match[token];
  const knows = (one: number) => theirs.row(method, layer, one) !== null;
  const asked = matched >= 0 && (knows(matched) || !knows(own)) ? matched : own;
  const counts = report.tokens.map(({ special }) => !(skipSpecial && special));
  return sideOf(theirs, { ...choice, layer, token: asked, counts, instead: asked === matched ? null : token });
}
