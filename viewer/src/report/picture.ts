// The picture of a report of kind "image", and the positions of its patches.
import { isClose } from "../color/ends";
import type { ImageFields } from "./document";
import type { Report } from "./report";
import type { Numbers } from "./values";

/** Pictures up to this size are shown with visible pixels. */
export const SMALL_PICTURE = 100;

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface MapScale {
  low: number;
  top: number;
  above: number;
  /** values are signed: from -top to top */
  signed?: true;
}

/** Where values begin to be drawn, from 0 to 1 between the ends of a scale. */
export const cutOf = ({ low, top, signed }: MapScale, threshold: number): number =>
  !signed && threshold > 0 && top > low ? (threshold * top - low) / (top - low) : 0;

export class Picture {
  readonly fields: ImageFields;
  readonly rows: number;
  readonly columns: number;
  readonly first: number;
  readonly patches: number;
  /** positions of [CLS] and the like */
  readonly specials: number[];
  readonly seen: Box;
  /** The area shown: the picture and the grid, which may extend beyond it. */
  readonly shown: Box;

  constructor(readonly report: Report) {
    const { image, kind } = report.document.input;
    if (kind !== "image" || !image) throw new Error(`expected the report of a picture, found one of kind ${kind}`);
    const { rows, columns, first_patch: first, seen, width, height } = image;
    if (!(rows > 0 && columns > 0 && first + rows * columns <= report.n)) {
      throw new Error(`expected a token for each of ${rows} x ${columns} patches, found ${report.n} tokens`);
    }
    this.fields = image;
    this.rows = rows;
    this.columns = columns;
    this.first = first;
    this.patches = rows * columns;
    this.specials = report.tokens.map((token) => token.index).filter((i) => !this.isPatch(i));
    const [left, top, right, bottom] = seen;
    this.seen = { left, top, right, bottom };
    this.shown = {
      left: Math.min(0, left),
      top: Math.min(0, top),
      right: Math.max(width, right),
      bottom: Math.max(height, bottom),
    };
  }

  isPatch(token: number): boolean {
    return token >= this.first && token < this.first + this.patches;
  }

  patchOf(token: number): { row: number; column: number } {
    return { row: Math.floor((token - this.first) / this.columns), column: (token - this.first) % this.columns };
  }

  tokenOf(row: number, column: number): number {
    return this.first + row * this.columns + column;
  }

  /** A patch's box, in picture pixels. */
  placeOf(token: number): Box {
    const { row, column } = this.patchOf(token);
    const { left, top, right, bottom } = this.seen;
    const width = (right - left) / this.columns;
    const height = (bottom - top) / this.rows;
    return {
      left: left + column * width,
      top: top + row * height,
      right: left + (column + 1) * width,
      bottom: top + (row + 1) * height,
    };
  }

  /** The patch at a point of the area shown, both coordinates from 0 to 1; null outside the grid. */
  patchAt(x: number, y: number): number | null {
    const { shown, seen } = this;
    const h = shown.left + x * (shown.right - shown.left);
    const v = shown.top + y * (shown.bottom - shown.top);
    const column = Math.floor(((h - seen.left) / (seen.right - seen.left)) * this.columns);
    const row = Math.floor(((v - seen.top) / (seen.bottom - seen.top)) * this.rows);
    const inside = row >= 0 && row < this.rows && column >= 0 && column < this.columns;
    return inside ? this.tokenOf(row, column) : null;
  }

  mapOf(row: Numbers): Numbers {
    return row.subarray(this.first, this.first + this.patches);
  }

  /**
   * The color scale of maps of one output token. A patch draws much on itself through the residual connection: it does
   * not set the top if it lies far above the rest.
   * @param fromLeast the scale begins at the smallest value; "close": if values lie close together
   */
  scale(maps: readonly (Numbers | null)[], token: number, fromLeast: boolean | "close"): MapScale {
    let itself = 0;
    let rest = 0;
    let least = Infinity;
    for (const map of maps) {
      for (let p = 0; map && p < map.length; ++p) {
        if (!(map[p] < Infinity)) continue;
        if (this.first + p === token) itself = Math.max(itself, map[p]);
        else rest = Math.max(rest, map[p]);
        least = Math.min(least, map[p]);
      }
    }
    const above = Math.max(itself, rest);
    const top = rest > 0 && itself > 2 * rest ? rest : above;
    const begins = fromLeast === "close" ? isClose({ least, top, above }) : fromLeast;
    return { low: begins && least < top ? least : 0, top, above };
  }

  /** The color scale of a map with signed values. */
  signedScale(map: Numbers | null): MapScale {
    const { top } = this.scale([map && map.map(Math.abs)], -1, false);
    return { low: -top, top, above: top, signed: true };
  }

  sums(row: Numbers): { all: number; patches: number } {
    let all = 0;
    let patches = 0;
    for (let i = 0; i < row.length; ++i) {
      if (Number.isNaN(row[i])) continue;
      all += row[i];
      if (this.isPatch(i)) patches += row[i];
    }
    return { all, patches };
  }
}

const known = new WeakMap<Report, Picture>();

/** The picture of a report of kind "image", made once. */
export function pictureIn(report: Report): Picture {
  let picture = known.get(report);
  if (!picture) known.set(report, (picture = new Picture(report)));
  return picture;
}

/** A map with `fine` x `fine` values for each patch: linear between patch centers, constant beyond. NaN stays NaN. */
export function smoothMap(map: Numbers, rows: number, columns: number, fine: number): Float32Array {
  /** The patches around a pixel, and the second one's weight. */
  const around = (at: number, count: number) => {
    const position = Math.max(0, Math.min(count - 1, (at + 0.5) / fine - 0.5));
    const from = Math.floor(position);
    return { from, to: Math.min(count - 1, from + 1), part: position - from };
  };
  const across = Array.from({ length: columns * fine }, (_, x) => around(x, columns));
  const result = new Float32Array(rows * fine * columns * fine);
  for (let y = 0, at = 0; y < rows * fine; ++y) {
    const v = around(y, rows);
    for (const h of across) {
      const upper = map[v.from * columns + h.from] * (1 - h.part) + map[v.from * columns + h.to] * h.part;
      const lower = map[v.to * columns + h.from] * (1 - h.part) + map[v.to * columns + h.to] * h.part;
      result[at++] = upper * (1 - v.part) + lower * v.part;
    }
  }
  return result;
}
