// Colors of a comparison: of its two sides, on one scale if their values mean the same, and of their difference.
import { collectEnds, EndsOf, isSink, type Ends } from "../color/ends";
import { barOf } from "../color/scale";
import { Shades } from "../color/shades";
import { ScaleBar } from "../components/legend";
import type { Viewer } from "../context";
import { isScore } from "../report/document";
import { format } from "../report/text";
import type { Numbers } from "../report/values";
import type { Side } from "./compare_sides";

type Rows = readonly (Numbers | null)[];

export interface Colours {
  shades: Shades;
  /** range of what is drawn, which may lie beyond the scale */
  least: number;
  most: number;
}

/** `ends` as drawn: for a method with signed values, on both sides of 0. */
const signedAs = (ends: Ends, { method }: Side): Ends =>
  isScore(method) ? { ...ends, least: -ends.top, signed: true } : ends;

/** Ends for the rows of each side's output token. @param common whether the values of the two mean the same */
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
  // One scale, so that colors can be compared.
  if (common) a.include(b);
  const ends = common ? [a.ends, a.ends] : [a.ends, b.ends];
  return [signedAs(ends[0], sides[0]), signedAs(ends[1], sides[1])];
}

export const sideColours = (shades: Shades, { above, signed }: Ends): Colours => ({
  shades,
  least: signed ? -above : 0,
  most: above,
});

/**
 * Colors of the second side minus the first, over the first side's tokens. Sinks of either side do not set an end.
 * @param match positions of the first side's tokens in the second; -1 if it does not have them
 */
export function differenceColours(
  { scale: { value: plain }, differenceScale: { value: scale } }: Pick<Viewer, "scale" | "differenceScale">,
  [first, second]: readonly [Side, Side],
  match: Int32Array,
  rows: Rows,
): Colours {
  const parks = ({ report, token }: Side, i: number) => isSink(report, i) || (rows.length > 1 && i === token);
  const aside = (i: number) => parks(first, i) || (match[i] >= 0 && parks(second, match[i]));
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
  const shades = new Shades({ scale: plain, low: -top, top, threshold: 0, diverging: scale });
  return { shades, least, most };
}

/** @param marked whether values beyond the scale have a corner mark as well as their color */
export function CompareLegend({ colours, marked = true }: { colours: Colours; marked?: boolean }) {
  const { shades, least, most } = colours;
  const { low, top, log, signed } = shades;
  const far = [
    { value: least, words: `down to ${format(least)}` },
    { value: most, words: `up to ${signed ? "+" : ""}${format(most)}` },
  ].filter(({ value }) => shades.beyond(value));
  return (
    <ScaleBar
      from={format(low)}
      to={signed ? `+${format(top)}` : `${format(top)}${log ? " (log)" : ""}`}
      bar={barOf((t) => shades.css(shades.valueAt(t)))}
      beyond={far.map(({ value, words }) => ({ colour: shades.css(value), words }))}
      marked={marked}
    />
  );
}
