// The difference of two sides, and its description.
import { Fragment, type ComponentChildren } from "preact";
import { spanText, type Span } from "../compute/align";
import { Own, TokenName } from "../components/own_text";
import { useViewer } from "../context";
import { recipesApart, type Recipe } from "../report/recipe";
import { spearman } from "../compute/spearman";
import { format, signed } from "../report/text";
import type { Side } from "./compare_sides";

/** The second side minus the first, for each token of the first; NaN if the second has no counterpart. */
export function difference(first: Float64Array, second: Float64Array, match: Int32Array): Float64Array {
  return first.map((value, i) => (match[i] < 0 ? NaN : second[match[i]] - value));
}

const TERMS: Record<keyof Recipe, string> = {
  ...{ start_layer: "down to layer", heads: "heads", residual: "residual" },
  ...{ mask_columns: "mask", discard: "discard", normalize: "normalize" },
};

/** The differences between the two sides' recipes, in words; "" if there are none. */
export const unlikeWords = (first: Recipe, second: Recipe): string =>
  recipesApart(first, second)
    .map((name) => `${TERMS[name]} ${first[name]} and ${second[name]}`)
    .join(", ");

/** Which side has no values, by its method's name. */
export function missingSides([first, second]: readonly [Side, Side]): string {
  const name = (side: Side, which: string) => `${which} has no ${side.method} values at layer ${side.layer}`;
  const parts = [];
  if (first.missing) parts.push(name(first, "A"));
  if (second.missing) parts.push(name(second, "B"));
  return parts.join(" and ");
}

export function missingValues({ method, layer, report, token, missing }: Side): ComponentChildren {
  return (
    <>
      No {method} values for <TokenName {...report.nameOf(token)} said /> at layer {layer}. {missing}
    </>
  );
}

/** Rank correlation of the sides over tokens that count in both, and their number; null if it is meaningless. */
export function rankAgreement(
  [{ counts }, other]: readonly [Pick<Side, "counts">, Pick<Side, "counts">],
  first: Float64Array,
  second: Float64Array,
  match: Int32Array,
  /** tokens that repeat the value of another one for the same characters */
  repeats: ReadonlySet<number> = new Set(),
): { rho: number; tokens: number } | null {
  const both = [...match.keys()].filter(
    (i) =>
      match[i] >= 0 &&
      !repeats.has(i) &&
      counts[i] &&
      other.counts[match[i]] &&
      Number.isFinite(first[i]) &&
      Number.isFinite(second[match[i]]),
  );
  const rho = spearman(
    both.map((i) => first[i]),
    both.map((i) => second[match[i]]),
  );
  return rho === null ? null : { rho, tokens: both.length };
}

/** "Spearman's rank correlation of A and B: 0.83 (12 tokens)." */
export const rankWords = ({ rho, tokens }: { rho: number; tokens: number }): string =>
  `Spearman’s rank correlation of A and B: ${signed(rho.toFixed(2))} (${tokens} tokens).`;

interface ReadoutProps {
  sides: [Side, Side];
  first: Float64Array | null;
  second: Float64Array | null;
  apart: Float64Array | null;
  match: Int32Array;
  spans: readonly Span[];
}

/** Why no token differs. */
function nothingApart(match: Int32Array, counts: readonly boolean[]): string {
  const matched = match.some((to, from) => to >= 0 && counts[from]);
  return matched ? "A and B are the same." : "No token that is ranked has a counterpart in B.";
}

export function CompareReadout({ sides, first, second, apart, match, spans }: ReadoutProps) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const counts = state.counts.value;
  let input = state.pointed.value?.input ?? null;
  const pointed = input !== null;
  if (input === null && apart) {
    // Two documents may store the same numbers with different precision.
    const precision = Math.max(2 ** -22, sides[0].error + sides[1].error);
    let most = 0;
    for (let i = 0; i < apart.length; ++i) {
      const by = Math.abs(apart[i]);
      if (counts[i] && by > most && by > precision * Math.abs(first?.[i] ?? 0)) [most, input] = [by, i];
    }
  }
  if (input === null || !first || !second || !apart || input >= report.n) {
    return (
      <p class="readout" id="compare-readout">
        {apart ? nothingApart(match, counts) : `Nothing to compare: ${missingSides(sides)}.`}
      </p>
    );
  }
  const value = apart[input];
  const at = input;
  const span = spans.find(({ ours }) => ours.includes(at));
  // The token at the same place in B, or the tokens that B splits it into.
  const theirs = span ? span.theirs : match[input] < 0 ? [] : [match[input]];
  const names = theirs.map((j) => sides[1].report.tokens[j].label);
  const instead = names.length > 1 || names[0] !== report.tokens[input].label ? names : [];
  const name = span && span.ours.length > 1 ? { label: spanText(report, span.ours) } : viewer.name(input);
  return (
    <p class="readout" id="compare-readout">
      {pointed ? "" : "They differ most on "}
      <TokenName {...name} said />: {format(first[input])} in A,{" "}
      {match[input] < 0 ? (
        "no counterpart in B"
      ) : (
        <>
          {format(second[match[input]])} in B{instead.length > 0 && " ("}
          {instead.map((label, k) => (
            <Fragment key={k}>
              {k > 0 && ", "}“<Own text={label} most={16} />”
            </Fragment>
          ))}
          {instead.length > 0 && ")"},{" "}
        </>
      )}
      {match[input] >= 0 && <b data-value={value}>{`${value > 0 ? "+" : ""}${format(value)}`}</b>}
    </p>
  );
}
