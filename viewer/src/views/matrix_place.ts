// Where the cells of a matrix are, before and after zooming.
import type { ZoomTransform } from "d3-zoom";
import { unit } from "../components/measure";

/** Cells at least this wide get labels. */
export const LABELLED = 13;

export interface Frame {
  rows: number;
  n: number;
  margin: number;
  head: number;
  cell: number;
  height: number;
  /** size of all cells together */
  plot: { width: number; height: number };
  size: { width: number; height: number };
}

/** @param most largest height */
export function frameOf(rows: number, n: number, labelWidth: number, width: number, most: number): Frame {
  const u = unit();
  // Wide enough for labels, which appear if there is room after zooming.
  const margin = Math.min(labelWidth + 14, Math.max(40, width * 0.22));
  const cell = Math.max(0.01, Math.min(64 * u, (width - margin - 4) / n, rows < 6 ? Infinity : (most - margin) / rows));
  const height = rows < 6 ? Math.max(18 * u, Math.min(48 * u, cell)) : cell;
  // On a narrow screen whose cells are too small for names, the strip for them would be empty until one zooms in.
  const head = width < 480 * u && cell < LABELLED * u ? Math.min(margin, 42 * u) : margin;
  const plot = { width: n * cell, height: rows * height };
  const size = { width: margin + plot.width + 4, height: head + plot.height + 4 };
  return { rows, n, margin, head, cell, height, plot, size };
}

export class Place {
  readonly pitchX: number;
  readonly pitchY: number;
  /** [begin, end) of the visible ones */
  readonly columns: readonly [number, number];
  readonly rows: readonly [number, number];

  constructor(
    readonly frame: Frame,
    readonly transform: ZoomTransform,
  ) {
    const { margin, head, cell, height, plot, n, rows } = frame;
    this.pitchX = cell * transform.k;
    this.pitchY = height * transform.k;
    const column = (x: number) => (transform.invertX(x) - margin) / cell;
    const row = (y: number) => (transform.invertY(y) - head) / height;
    this.columns = [Math.max(0, Math.floor(column(margin))), Math.min(n, Math.ceil(column(margin + plot.width)))];
    this.rows = [Math.max(0, Math.floor(row(head))), Math.min(rows, Math.ceil(row(head + plot.height)))];
  }

  left(column: number): number {
    return this.transform.applyX(this.frame.margin + column * this.frame.cell);
  }

  top(row: number): number {
    return this.transform.applyY(this.frame.head + row * this.frame.height);
  }

  /** Whether a row is in view; if it is cut off, its name would be outside the picture. */
  hasRow(row: number): boolean {
    const y = this.top(row + 0.5) - this.frame.head;
    return y >= 0 && y <= this.frame.plot.height;
  }

  hasColumn(column: number): boolean {
    const x = this.left(column + 0.5) - this.frame.margin;
    return x >= 0 && x <= this.frame.plot.width;
  }

  /** Column and row at a point of the picture; -1 outside the cells. */
  at(event: MouseEvent): { column: number; row: number } {
    const { margin, head, cell, height, plot } = this.frame;
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return {
      column: x >= margin ? Math.floor((this.transform.invertX(x) - margin) / cell) : -1,
      row: y >= head && y < head + plot.height ? Math.floor((this.transform.invertY(y) - head) / height) : -1,
    };
  }
}
