// The two sides of a comparison: their rows, and why a row may be missing.
import { hasTarget } from "../report/mixings";
import { heldLayerBeside, overSpans, type Span } from "../compute/align";
import { Explanation } from "../explanation";
import { recipeOf } from "../report/recipe";
import { isScore, type Method } from "../report/document";
import type { Report } from "../report/report";
import type { Gone } from "../context";
import { choiceWords, labelOf } from "../report/answer";
import { shorten } from "../report/text";
import { WordReport } from "../report/words";

/** One side: a row of values for each layer, and which of its tokens count. */
export interface Side {
  report: Report;
  method: Method;
  layer: number;
  token: number;
  /** NaN if a token has no value */
  row(layer: number): Float64Array | null;
  counts: readonly boolean[];
  /** Largest relative error of its layer's values; 0: exact. */
  error: number;
  /** Why its layer has no row; "" if there is one. */
  missing: string;
  /** The requested output token if another one's values stand in for it; null: this is it. */
  instead: number | null;
  has(method: Method): boolean;
}

export interface SideChoice {
  method: Method;
  layer: number;
  token: number;
  /** divide by the sum over the tokens that count */
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

/** The other report in this one's units: merged into words if this one has words and the other knows its words. */
export function inUnitsOf(report: Report, other: Report): Report {
  return report.ofWords && !other.ofWords ? (WordReport.of(other) ?? other) : other;
}

/** Whether one of two reports has whole words and the other their subword tokens. */
export function unitsDiffer(report: Report, other: Report): boolean {
  // A text in which every word is one token is the same either way.
  const whole = (one: Report) => one.ofWords || WordReport.of(one) === null;
  return report.ofWords === other.ofWords ? false : !(whole(report) && whole(other));
}

/** Tokens of a side that stand only for blanked ones. */
export function goneIn(side: Report, { report, tokens }: Gone): Set<number> {
  const all = new Set(tokens);
  if (!(side instanceof WordReport) || report instanceof WordReport) return all;
  const words = side.groups.flatMap((pieces, word) => (pieces.every((piece) => all.has(piece)) ? [word] : []));
  return new Set(words);
}

/** “without “key”, “to””: labels from the report that still has them. */
export function withoutThem(pieces: Report, tokens: readonly number[]): string {
  const most = 3;
  const names = tokens.slice(0, most).map((token) => `“${shorten(pieces.tokens[token].label, 24)}”`);
  const more = tokens.length > most ? ` and ${tokens.length - most} more` : "";
  return `without ${names.join(", ")}${more}`;
}

/** Both sides with one value for all tokens that cover the same characters. */
export function withSpans(sides: readonly [Side, Side], spans: readonly Span[]): [Side, Side] {
  const merged = (side: Side, groups: (readonly number[])[]): Side => ({
    ...side,
    row(layer) {
      const row = side.row(layer);
      return row && groups.length > 0 ? overSpans(row, groups, side.method === "flow") : row;
    },
  });
  const [a, b] = sides;
  return [
    merged(
      a,
      spans.map(({ ours }) => ours),
    ),
    merged(
      b,
      spans.map(({ theirs }) => theirs),
    ),
  ];
}

/** The sentence that explains a comparison over spans. */
export const SPAN_WORDS =
  "Where the two are split into different tokens, the sums over the same characters are compared (of flow, the largest value).";

/** "“Paris”: ", or "" if no prediction is explained: the beginning of a side's title where the two explain others. */
export function targetTitle({ report, method }: Side): string {
  const target = explainedBy(report, method);
  return target ? `${labelOf(target)}: ` : "";
}

const explainedBy = (report: Report, method: Method) =>
  hasTarget(report.mixing) || isScore(method) ? report.document.target : undefined;

/** "A is “Paris” rather than “the”, B is “Berlin” rather than “Hamburg”.", if the two explain different choices; or "". */
export function targetsApart(sides: readonly [Side, Side]): string {
  const words = sides.map(({ report, method }) => {
    const target = explainedBy(report, method);
    return target ? `is ${choiceWords(target)}` : "explains no prediction";
  });
  return words[0] === words[1] ? "" : `A ${words[0]}, B ${words[1]}.`;
}

/** How layers correspond if the models' numbers of layers differ; otherwise "". */
export function depthWords([{ report: a, layer: ours }, { report: b, layer: theirs }]: readonly [Side, Side]): string {
  if (a.model.layers === b.model.layers || !a.model.layers || !b.model.layers) return "";
  const beside = heldLayerBeside(a, b, ours) === theirs;
  return `A has ${a.model.layers} layers, B ${b.model.layers}: ${
    beside
      ? "layers are counted from the last one"
      : `counted from the last one, layer ${heldLayerBeside(a, b, ours)} of B stands beside layer ${ours} of A`
  }.`;
}

/** Another report with its own recipe. */
export const explanationOf = (other: Report): Explanation => new Explanation(other, recipeOf(other));

/** The side of another report: the output token's counterpart, or the report's own one if that has no values. */
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
