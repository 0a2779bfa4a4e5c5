// The numbers of a picture's rows and columns of patches, along its edges, as texts name patches: from 1.
import type { ComponentChildren } from "preact";
import type { Picture } from "../report/picture";

/** The most rows or columns that are all numbered; of more, every fifth or tenth is. */
const MOST_NUMBERED = 16;
const MOST_BY_FIVES = 48;

/** The numbers that are shown of `count` rows or columns: 1, 2, 3, ... or 1, 5, 10, ... */
export function edgeNumbers(count: number): number[] {
  const step = count <= MOST_NUMBERED ? 1 : count <= MOST_BY_FIVES ? 5 : 10;
  return Array.from({ length: count }, (_, k) => k + 1).filter((number) => number === 1 || number % step === 0);
}

/** @param children the stage */
export function PatchEdges({ picture, children }: { picture: Picture; children: ComponentChildren }) {
  const { seen, shown, rows, columns } = picture;
  /** The middle of a row or column, as a share of what is shown. */
  const middle = (number: number, count: number, [from, to]: number[], [low, high]: number[]) =>
    `${(100 * (from + ((number - 0.5) / count) * (to - from) - low)) / (high - low)}%`;
  return (
    <div class="edged">
      <div class="edge columns" aria-hidden="true">
        {edgeNumbers(columns).map((number) => (
          <span
            key={number}
            style={{ left: middle(number, columns, [seen.left, seen.right], [shown.left, shown.right]) }}
          >
            {number}
          </span>
        ))}
      </div>
      <div class="edge rows" aria-hidden="true">
        {edgeNumbers(rows).map((number) => (
          <span key={number} style={{ top: middle(number, rows, [seen.top, seen.bottom], [shown.top, shown.bottom]) }}>
            {number}
          </span>
        ))}
      </div>
      {children}
    </div>
  );
}
