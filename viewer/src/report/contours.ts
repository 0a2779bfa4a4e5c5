// Outlines of a map's largest patches: the fewest that together hold a share of the sum of all values.
import { contours } from "d3-contour";
import type { Numbers } from "./values";

/** Shares to outline, innermost first. */
export const SHARES: readonly number[] = [0.5, 0.8, 0.95];

export interface Held {
  share: number;
  /** which patches are inside */
  inside: Uint8Array;
  patches: number;
}

/**
 * For each share, the fewest patches, largest first, that hold it. Patches equal to the last are included, so that
 * equal values are never separated. A map that sums to 0 has none.
 */
export function heldBy(map: Numbers, shares: readonly number[] = SHARES): Held[] {
  const order = [...map.keys()].filter((p) => map[p] > 0 && map[p] < Infinity).sort((a, b) => map[b] - map[a]);
  let sum = 0;
  for (const p of order) sum += map[p];
  return shares.map((share) => {
    const inside = new Uint8Array(map.length);
    let patches = 0;
    let held = 0;
    // The sum in another order differs by rounding.
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

/**
 * The borders of a set of patches as corners of closed lines, in patches: around the set, and in the opposite direction
 * around its holes.
 * @param inset how far inside they are drawn, so that the borders of nested sets do not cover each other
 */
export function bordersOf(inside: Uint8Array, rows: number, columns: number, inset: number): [number, number][][] {
  const { coordinates } = contours()
    .size([columns, rows])
    .smooth(false)
    .contour([...inside], 0.5);
  // d3's lines run through the midpoints of sides, with the set on their left. Two sides that are not collinear meet in
  // a corner, at the x of the vertical one (whose midpoint has a half-integer y) and the y of the horizontal one.
  return coordinates.flat().map((line) =>
    line.slice(1).flatMap((to, k): [number, number][] => {
      const from = line[k];
      const [right, down] = [to[0] - from[0], to[1] - from[1]];
      if (right === 0 || down === 0) return [];
      const [x, y] = from[1] % 1 === 0 ? [to[0], from[1]] : [from[0], to[1]];
      return [[x + 2 * inset * down, y - 2 * inset * right]];
    }),
  );
}

/** The borders as a path. @param place maps a corner to drawing coordinates */
export const pathOf = (
  borders: readonly (readonly [number, number])[][],
  place = (x: number, y: number) => `${x} ${y}`,
): string => borders.map((corners) => `M${corners.map((corner) => place(...corner)).join("L")}Z`).join("");

export interface LineLook {
  colour: string;
  /** in pixels */
  width: number;
  dashes: string;
  /** width of the dark line under it, which makes it visible on a light background */
  casing: number;
  /** distance from the border, in patches */
  inset: number;
  /** opacity of the same color inside, which sets the inside off from the outside */
  tint: number;
}

export const CASING = "#14161c";

/** The style of the outline of SHARES[k] at `pixels` per patch: smaller shares have thicker lines. */
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
