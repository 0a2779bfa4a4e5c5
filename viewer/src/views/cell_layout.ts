// Where the parts of a picture of cells are (cell_picture.tsx).
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Ends } from "../color/ends";
import type { Cell } from "../components/arrow_keys";
import { chosenFont, textWidth, unit } from "../components/measure";
import { SPACE_SIGN } from "../components/own_text";
import { shorten } from "../report/text";
import type { Numbers } from "../report/values";
import { printing } from "../theme";

export interface CellLabel {
  label: string;
  /** a gray sign in front: the token begins with a space */
  space?: boolean;
}

export interface CellPictureProps {
  id: string;
  name: string;
  /** `side`: on the right */
  rows: readonly { label: CellLabel; side?: string }[];
  chosen: readonly number[];
  columns: readonly { label: CellLabel; excluded: boolean }[];
  /** a row of numbers each, or null if there are none */
  values: readonly (Numbers | null)[];
  /** columns that row r can see; later ones stay blank */
  seen?: (row: number) => number;
  ends: readonly Ends[];
  /** whether values above the scale have a corner mark, for the legend */
  marking?: Signal<boolean>;
  sideName?: string;
  /** a line before this column */
  divider?: number;
  /** the pointer's or keyboard's position, here or elsewhere, which is marked */
  pointed: ReadonlySignal<{ row: number | null; column: number } | null>;
  onRow: (row: number) => void;
  onPoint: (cell: Cell | null) => void;
  /** a click on a column's label, or the space bar; then all columns are labeled, or, if too many, one can zoom in */
  onColumn?: (column: number) => void;
  chosenColumn?: number;
  /** announced for the cell that the keyboard reaches */
  says?: (cell: Cell) => string;
  describedby?: string;
  busy?: boolean;
}

/** Above this many cells, they are painted on canvas. */
const MOST_RECTS = 2400;
/** Most characters of a row's and a column's label. */
export const MOST_ROW = 14;
export const MOST_COLUMN = 16;
/** Every column is labeled if cells are at least this wide. */
const LABELLED = 13;
const MOST_NAMED_ON_PAPER = 90;
/** Above this many columns to be labeled, the picture is fitted to the box's width and can be stretched. */
export const MANY = 128;

const labelText = ({ label, space }: CellLabel, most: number) => (space ? SPACE_SIGN : "") + shorten(label, most);
const widestOf = (all: readonly { label: CellLabel }[], most: number, font?: string) =>
  Math.max(0, ...all.map(({ label }) => textWidth(labelText(label, most), font)));

export interface Layout {
  left: number;
  head: number;
  cell: number;
  height: number;
  /** height of the labels below */
  bottom: number;
  size: { width: number; height: number };
  /** column labels are horizontal */
  level: boolean;
  labelled: boolean;
  inRects: boolean;
}

export function useLayout(props: CellPictureProps, width: number, stretch: number): Layout {
  const { rows, columns, sideName = "", onColumn } = props;
  const u = unit();
  const widest = useMemo(() => widestOf(columns, MOST_COLUMN), [columns, u]);
  const widestRow = useMemo(() => widestOf(rows, MOST_ROW, chosenFont()), [rows, u]);
  const [m, n] = [rows.length, columns.length];
  const inputs = [m, n, widestRow, widest, sideName, width, stretch, printing.value];
  return useMemo(() => {
    const left = Math.min(130 * u, widestRow) + 14;
    const side = sideName ? Math.max(textWidth(sideName), 62 * u) + 10 : 0;
    const room = width - left - side - 4;
    const named = onColumn !== undefined;
    const many = named && n > MANY;
    const fit = Math.min((named ? 300 : 110) * u, room / n);
    const onPaper = named && n <= MOST_NAMED_ON_PAPER ? LABELLED * u : 0.01;
    const narrowest = printing.value ? onPaper : named ? 19 * u : 3;
    const most = many ? (room / n) * (printing.value ? 1 : stretch) : Math.max(narrowest, fit);
    const level = widest + 8 <= most;
    // Slanted labels extend beyond the last column.
    const lean = level || many ? 0 : Math.max(0, Math.min(24, widest * 0.1));
    const cell = many || level ? most : Math.max(narrowest, fit - lean / n);
    const labelled = cell >= LABELLED * u;
    const height = u * (m <= 16 || named ? 26 : m <= 40 ? 18 : 14);
    const bottom = level || (named && !labelled) ? 26 * u : Math.min(widest, 140 * u) + 14 * u;
    const head = sideName ? 20 * u : 2;
    const size = { width: left + n * cell + lean + side + 4, height: head + m * height + bottom };
    return { left, head, cell, height, bottom, size, level, labelled, inRects: m * n <= MOST_RECTS };
  }, inputs);
}
