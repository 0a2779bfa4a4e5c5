// Outlines of the patches that hold most of a map: the fewest that together have a share of the sum of all values.
import type { Numbers } from "./values";

/** Shares that are outlined, innermost first. */
export const SHARES: readonly number[] = [0.5, 0.8, 0.95];

export interface Held {
  share: number;
  /** which patches are in it */
  inside: Uint8Array;
  /** how many */
  patches: number;
}

/**
 * For each share the fewest patches, largest first, that hold it; patches as large as the last of them are in it, too, so
 * that equal values are never told apart. A map that sums to 0 has none.
 */
export function heldBy(map: Numbers, shares: readonly number[] = SHARES): Held[] {
  const order = [...map.keys()].filter((p) => map[p] > 0 && map[p] < Infinity).sort((a, b) => map[b] - map[a]);
  let sum = 0;
  for (const p of order) sum += map[p];
  return shares.map((share) => {
    const inside = new Uint8Array(map.length);
    let patches = 0;
    let held = 0;
    // A sum in another order differs by its rounding.
    const enough = share * sum * (1 - 1e-9);
    for (const p of order) {
      if (held >= enough && map[p] < map[order[patches - 1]]) break;
      inside[p] = 1;
      held += map[p];
      ++patches;
    }
    return { share, inside, patches };
  });
}

/** From (x, y) to (x, y), in patches. */
export type Segment = readonly [number, number, number, number];

/**
 * The border of a set of patches, drawn inside it at a distance, so that the borders of sets within each other do not
 * cover each other. @param inset in patches, below a half
 */
export function borderOf(inside: Uint8Array, rows: number, columns: number, inset: number): Segment[] {
  const has = (row: number, column: number) =>
    row >= 0 && row < rows && column >= 0 && column < columns && inside[row * columns + column] === 1;
  /** By how much an end goes beyond the patch's corner: back before an outer corner, on around an inner one. */
  const end = (beside: boolean, diagonal: boolean) => (!beside ? -inset : diagonal ? inset : 0);
  const segments: Segment[] = [];
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < columns; ++c) {
      if (!has(r, c)) continue;
      for (const side of [-1, 1]) {
        if (!has(r + side, c)) {
          const y = side < 0 ? r + inset : r + 1 - inset;
          const left = c - end(has(r, c - 1), has(r + side, c - 1));
          const right = c + 1 + end(has(r, c + 1), has(r + side, c + 1));
          segments.push([left, y, right, y]);
        }
        if (!has(r, c + side)) {
          const x = side < 0 ? c + inset : c + 1 - inset;
          const top = r - end(has(r - 1, c), has(r - 1, c + side));
          const bottom = r + 1 + end(has(r + 1, c), has(r + 1, c + side));
          segments.push([x, top, x, bottom]);
        }
      }
    }
  }
  return segments;
}

/** Patches of a set that stand beside each other in a row, as boxes: [row, first column, columns]. */
export function runsOf(inside: Uint8Array, rows: number, columns: number): [number, number, number][] {
  const runs: [number, number, number][] = [];
  for (let r = 0; r < rows; ++r) {
    for (let c = 0, begin = -1; c <= columns; ++c) {
      const here = c < columns && inside[r * columns + c] === 1;
      if (here && begin < 0) begin = c;
      if (here || begin < 0) continue;
      runs.push([r, begin, c - begin]);
      begin = -1;
    }
  }
  return runs;
}

export interface LineLook {
  colour: string;
  /** in pixels */
  width: number;
  dashes: string;
  /** of the dark line below it, which is seen on light ground */
  casing: number;
  /** distance from the border, in patches */
  inset: number;
  /** how opaque the same colour lies inside, so that inside is told from outside */
  tint: number;
}

export const CASING = "#14161c";

/** How the outline of SHARES[k] looks where a patch takes `pixels`: the more is left out, the thicker. */
export function lineLook(k: number, pixels: number): LineLook {
  const size = Math.max(0.5, Math.min(1.2, pixels / 34));
  const width = [3, 2, 1.5][k] * size;
  return {
    colour: ["#ff9d2e", "#ffffff", "#ffffff"][k],
    width,
    dashes: k === 2 ? `${3.5 * size} ${3 * size}` : "",
    casing: width + 2 * size,
    tint: k === 0 ? 0.22 : 0,
    inset: Math.min([0.27, 0.15, 0.05][k], [11, 6, 2][k] / pixels),
  };
}
