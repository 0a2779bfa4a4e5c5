// Which tokens are excluded from rankings and color scales, and why. They still take part in every computation.
import { en } from "../../attnflow/text/stop_words.json";
import type { Report } from "./report/report";

// The program's list (attnflow/text/stop_words.h).
const STOP_WORDS = new Set(en.join(" ").split(" "));

/** Whether a label consists only of punctuation, symbols and white space; emoji count as content. */
export const isPunctuation = (label: string): boolean =>
  /^(?:(?!\p{Extended_Pictographic})[\p{P}\p{S}\p{Z}⏎⇥␣])+$/u.test(label);

export const isStopWord = (label: string): boolean => STOP_WORDS.has(label.trim().toLowerCase());

export const LONGEST_PATTERN = 100;
// Long enough for any word; even a slow expression is fast on this many characters.
const LONGEST_TEXT = 60;

const MOST_CHOICES = 4;

/** How many places of an expression may match in several ways: quantifiers and groups of alternatives. */
function countChoices(bare: string): number {
  // "(?:", "(?=" and "(?<" begin groups; a "?" after a quantifier makes it lazy.
  let count = bare.replaceAll("(?", "(").match(/(?:[*+?]|\{[^}]*\}?)\??/g)?.length ?? 0;
  const alternatives: boolean[] = [];
  for (const letter of bare) {
    if (letter === "(") alternatives.push(false);
    else if (letter === ")" && alternatives.pop()) ++count;
    else if (letter === "|" && alternatives.length > 0) alternatives[alternatives.length - 1] = true;
  }
  return count;
}

/**
 * A regular expression from user input or a link, which is untrusted.
 *
 * A repeated group ("(a+)+$") may take exponential time, and so may many places that match in two ways ("a?a?a?…",
 * "(a|)(a|)(a|)…"): such groups are refused, and more than a few such places.
 */
export function readPattern(text: string): { expression: RegExp | null; problem: string } {
  if (text === "") return { expression: null, problem: "" };
  if (text.length > LONGEST_PATTERN) return { expression: null, problem: `at most ${LONGEST_PATTERN} characters` };
  // Escapes (also "\p{L}") and character sets repeat nothing.
  const bare = text.replace(/\\(?:[pPu]\{[^}]*\}|[^])/g, "_").replace(/\[[^\]]*\]/g, "_");
  if (/\)[*+{]/.test(bare)) return { expression: null, problem: "a group may not be repeated here" };
  if (countChoices(bare) > MOST_CHOICES) {
    return { expression: null, problem: "at most four repetitions or groups of alternatives" };
  }
  try {
    return { expression: new RegExp(text, "iu"), problem: "" };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /, "") : String(error);
    return { expression: null, problem: reason.toLowerCase() };
  }
}

const matches = (pattern: RegExp, label: string) => pattern.test(label.slice(0, LONGEST_TEXT));

export interface Filters {
  /** special tokens anywhere, including those of the report's rule of that name */
  special: boolean;
  /** the first token, if it takes most of what is shown */
  sink?: boolean;
  punctuation?: boolean;
  stopWords: boolean;
  generated: boolean;
  rules: readonly boolean[];
  pattern: RegExp | null;
  /** tokens changed by hand: true is excluded */
  byHand: ReadonlyMap<number, boolean>;
}

/** The report's name for its rule about special tokens (attnflow/text/token_filter.h). */
export const SPECIAL = "special tokens";

/** Why a decoder's first token does not count. */
export const SINK = "the first token";

/** Special tokens: those marked as such, and those of the report's rule. */
export function specialTokens({ tokens, excluded }: Report): Set<number> {
  const special = tokens.filter((token) => token.special).map(({ index }) => index);
  return new Set([...special, ...excluded.filter(({ rule }) => rule === SPECIAL).flatMap((rule) => rule.tokens)]);
}

/** Why each token is excluded; "" if it is not. */
export function reasonsExcluded(report: Report, filters: Filters): string[] {
  const { m, tokens, excluded } = report;
  const special = specialTokens(report);
  const reasons = tokens.map((_, j): string => {
    if (filters.generated && j >= m) return "generated tokens";
    if (filters.special && special.has(j)) return SPECIAL;
    return filters.sink && j === 0 ? SINK : "";
  });
  for (const [k, { rule, tokens: held }] of excluded.entries()) {
    for (const j of held) if (filters.rules[k] && rule !== SPECIAL) reasons[j] ||= rule;
  }
  for (const [j, { own }] of tokens.entries()) {
    if (filters.stopWords && !special.has(j) && (isStopWord(own) || isPunctuation(own))) {
      reasons[j] ||= "stop words and punctuation";
    }
    if (filters.punctuation && !special.has(j) && isPunctuation(own)) reasons[j] ||= "punctuation";
    if (filters.pattern && matches(filters.pattern, own)) reasons[j] ||= "the expression";
    const byClick = filters.byHand.get(j);
    if (byClick !== undefined) reasons[j] = byClick ? "by hand" : "";
  }
  return reasons;
}

/** The hand-made changes after one more click on a token, which switches sides. */
export function toggled(report: Report, filters: Filters, token: number): Map<number, boolean> {
  const byHand = new Map(filters.byHand);
  const isExcluded = reasonsExcluded(report, filters)[token] !== "";
  // Without its own entry, filters may already put it where this click wants it.
  byHand.delete(token);
  if ((reasonsExcluded(report, { ...filters, byHand })[token] !== "") === isExcluded) byHand.set(token, !isExcluded);
  return byHand;
}

/** A row of values, in terms of how it can be divided into shares. */
export interface Drawn {
  values: ArrayLike<number> | null;
  whole: number | null;
  /** number of tokens that could be drawn on, among those with values */
  among: number;
}

/** The sum of the finite values; null if there is nothing to share. */
export function wholeOf(values: ArrayLike<number> | null): number | null {
  const all = values ? shareOf(values, 1, () => true) : 0;
  return all > 0 ? all : null;
}

/** The share of the total drawn on that some tokens hold. */
export function shareOf(values: ArrayLike<number>, whole: number, holds: (token: number) => boolean): number {
  let held = 0;
  for (let j = 0; j < values.length; ++j) if (values[j] > 0 && values[j] < Infinity && holds(j)) held += values[j];
  return whole > 0 ? held / whole : 0;
}

/** Some tokens' count and share of the total drawn on; null if values are not shares. */
export interface Part {
  count: number;
  share: number | null;
}

/** The part of the tokens that could be drawn on for which `holds` is true. */
export function partOf({ values, whole, among }: Drawn, holds: (token: number) => boolean): Part {
  let count = 0;
  for (let j = 0; j < among; ++j) if (holds(j)) ++count;
  const shared = values && whole !== null;
  return { count, share: shared ? shareOf(values, whole, (j) => j < among && holds(j)) : null };
}

/** Excluded tokens among those that could be drawn on: all of them, and by reason. */
export function excludedOf(
  drawn: Drawn,
  reasons: readonly string[],
): { among: number; all: Part; parts: (Part & { reason: string })[] } {
  const { among } = drawn;
  const names = [...new Set(reasons.slice(0, among).filter(Boolean))];
  return {
    among,
    all: partOf(drawn, (j) => reasons[j] !== ""),
    parts: names.map((reason) => ({ reason, ...partOf(drawn, (j) => reasons[j] === reason) })),
  };
}
