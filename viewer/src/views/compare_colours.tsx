// The colours of a comparison: of its two sides, on one scale where both mean the same, and of their difference.
import { collectEnds, EndsOf, isAbove, isAside, type Ends } from "../color/ends";
import { barOf, type DivergingScale, type Scale } from "../color/scale";
import { ScaleBar } from "../components/legend";
import { isScore } from "../report/document";
import { format } from "../report/text";
import type { Numbers } from "../report/values";
import type { Side } from "./compare_sides";

type Rows = readonly (Numbers | null)[];

export interface Colours {
  /** the value of the last colour, on both sides of 0 where the scale diverges */
  top: number;
  /** what is drawn, which may lie beyond the scale */
  least: number;
  most: number;
  diverging: boolean;
  css(value: number): string;
  ink(value: number): string;
  /** whether a value lies beyond the scale and has the colour of its end */
  beyond(value: number): boolean;
}

/** Rows of each side, for the side's output token. @param common whether the two mean the same */
export function endsOfSides(sides: readonly [Side, Side], rows: readonly [Rows, Rows], common: boolean): [Ends, Ends] {
  const [a, b] = sides.map(({ report, method, token, counts }, k) =>
    isScore(method)
      ? collectEnds(
          report,
          rows[k].map((row) => row && row.map(Math.abs)),
          -1,
          counts,
        )
      : collectEnds(report, rows[k], token, counts),
  );
  // One scale, so that colours can be compared across.
  return common ? [a.include(b).ends, a.ends] : [a.ends, b.ends];
}

export const sideColours = (scale: Scale, { top, above }: Ends): Colours => ({
  top,
  least: 0,
  most: above,
  diverging: false,
  css: (value) => scale.css(value, top),
  ink: (value) => scale.ink(value, top),
  beyond: (value) => isAbove(value, { top }),
});

/** Of a side whose values have signs. */
export const signedColours = (scale: DivergingScale, { top, above }: Ends): Colours => ({
  ...{ top, least: -above, most: above, diverging: true },
  css: (value) => scale.css(value, top),
  ink: (value) => scale.ink(value, top),
  beyond: (value) => isAbove(value, { top }),
});

/**
 * Of the second side minus the first, whose tokens the rows are of. What either parks sets no end here either.
 * @param match positions of the first side's tokens in the second; -1 for those that it does not have
 */
export function differenceColours(
  scale: DivergingScale,
  [first, second]: readonly [Side, Side],
  match: Int32Array,
  rows: Rows,
): Colours {
  const aside = (i: number) =>
    isAside(first.report, first.token, i) || (match[i] >= 0 && isAside(second.report, second.token, match[i]));
  const sizes = new EndsOf();
  let [least, most] = [0, 0];
  for (const row of rows) {
    for (const [i, value] of row?.entries() ?? []) {
      if (!first.counts[i] || !Number.isFinite(value)) continue;
      sizes.add(Math.abs(value), aside(i));
      if (value < least) least = value;
      if (value > most) most = value;
    }
  }
  const { top } = sizes.ends;
  return {
    top,
    least,
    most,
    diverging: true,
    css: (value) => scale.css(value, top),
    ink: (value) => scale.ink(value, top),
    beyond: (value) => isAbove(Math.abs(value), { top }),
  };
}

/** @param marked whether what lies beyond the scale has a corner; else words alone say that it has the last colour */
export function CompareLegend({ colours, marked = true }: { colours: Colours; marked?: boolean }) {
  const { top, least, most, diverging, css, beyond } = colours;
  const far = [
    { value: least, words: `down to ${format(least)}` },
    { value: most, words: `up to ${diverging ? "+" : ""}${format(most)}` },
  ].filter(({ value }) => beyond(value));
  return (
    <ScaleBar
      from={diverging ? `−${format(top)}` : "0"}
      to={diverging ? `+${format(top)}` : format(top)}
      bar={barOf((t) => css(diverging ? (2 * t - 1) * top : t * top))}
      beyond={far.map(({ value, words }) => ({ colour: css(value), words }))}
      marked={marked}
    />
  );
}
