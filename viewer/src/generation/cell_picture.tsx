// A picture of cells: rows with a label on the left (and a text on the right), columns with a label below. Cells are
// pixels of one canvas, stretched; labels and marks are SVG over it. Made anew only when its numbers or labels change.
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isAbove } from "../color/ends";
import type { Shades } from "../color/shades";
import { canvasUrl, standalone } from "../export/picture";
import { format, shorten } from "../report/text";
import { printing } from "../theme";
import { NO_STEP, stepImage } from "../views/picture";
import { walkWithKeys } from "../components/arrow_keys";
import { cornerAt, MARKED, useMarking } from "../components/legend";
import { SPACE_SIGN } from "../components/own_text";
import { chosenFont, fitted, PAPER, pictureStyle, placeStyle, textWidth, unit } from "../components/measure";
import "../styles/cells.css";

export interface CellLabel {
  label: string;
  /** a grey sign in front: the piece begins with a space */
  space?: boolean;
}

export interface CellRow {
  label: CellLabel;
  /** on the right */
  side?: string;
}

export interface CellColumn {
  label: CellLabel;
  excluded: boolean;
}

export interface CellPictureProps {
  id: string;
  /** for screen readers */
  name: string;
  rows: readonly CellRow[];
  /** framed */
  chosen: readonly number[];
  columns: readonly CellColumn[];
  /** a row of numbers each, or null where there are none */
  values: readonly (ArrayLike<number> | null)[];
  /** columns that row r can see; later ones stay blank */
  seen?: (row: number) => number;
  top: number;
  /** whether what lies above the scale has a corner, for the legend */
  marking?: Signal<boolean>;
  scale: Shades;
  sideName?: string;
  /** a line before this column */
  divider?: number;
  /** what the pointer or the keyboard is over, here or elsewhere: marked */
  pointed: ReadonlySignal<{ row: number | null; column: number } | null>;
  onRow: (row: number) => void;
  onPoint: (cell: { row: number; column: number } | null) => void;
  describedby?: string;
}

/** Numbers stand in the cells where these are wide enough, and few. */
const WIDE_CELL = 52;
const MOST_NUMBERS = 1500;
/** Cells of an exported picture are rectangles up to so many, one image beyond. */
const MOST_RECTANGLES = 4000;
/** Characters of a label. */
const MOST_ROW = 14;
const MOST_COLUMN = 16;
/** Above labels of columns: the frame of the last row. */
const FRAME = 2;
/** Labels that run from right to left: what is written last stands on the right, where they begin. */
const RTL = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

const labelText = ({ label, space }: CellLabel, most: number) => (space ? SPACE_SIGN : "") + shorten(label, most);

/** Where everything stands. */
interface Layout {
  left: number;
  head: number;
  cell: number;
  height: number;
  width: number;
  total: number;
  bottom: number;
  /** column labels lie flat */
  level: boolean;
}

function layoutOf(m: number, n: number, widestRow: number, widest: number, sideName: string, width: number): Layout {
  const u = unit();
  const left = Math.min(130 * u, widestRow) + 14;
  const side = sideName ? Math.max(textWidth(sideName), 62 * u) + 10 : 0;
  const cell = Math.max(printing.value ? 0.01 : 3, Math.min(110 * u, (width - left - side - 4) / n));
  const height = u * (m <= 16 ? 26 : m <= 40 ? 18 : 14);
  const level = widest + 8 <= cell;
  const bottom = level ? 24 * u : Math.min(widest, 140 * u) + 16;
  const head = sideName ? 20 * u : 2;
  return {
    left,
    head,
    cell,
    height,
    level,
    bottom,
    width: left + n * cell + side + 4,
    total: head + m * height + bottom,
  };
}

const isKnown = (props: CellPictureProps, r: number, c: number) => {
  const number = props.values[r]?.[c];
  return number !== undefined && !Number.isNaN(number) && c < (props.seen?.(r) ?? Infinity);
};

/** Width and height of the box that the picture scrolls in. */
function useRoom(picture: RefObject<HTMLElement>): { width: number; room: number } {
  const [size, setSize] = useState({ width: 0, room: 0 });
  useLayoutEffect(() => {
    const element = picture.current?.parentElement;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, room: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

function useLayout({ rows, columns, sideName = "" }: CellPictureProps, width: number): Layout {
  const widest = useMemo(
    () => Math.max(0, ...columns.map(({ label }) => textWidth(labelText(label, MOST_COLUMN)))),
    [columns, unit()],
  );
  const widestRow = useMemo(
    () => Math.max(0, ...rows.map(({ label }) => textWidth(labelText(label, MOST_ROW), chosenFont()))),
    [rows, unit()],
  );
  return useMemo(
    () => layoutOf(rows.length, columns.length, widestRow, widest, sideName, width),
    [rows.length, columns.length, widestRow, widest, sideName, width],
  );
}

export function CellPicture(props: CellPictureProps) {
  const { id, name, rows, chosen, columns, values, top, scale, divider } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, room } = useRoom(box);
  const layout = useLayout(props, printing.value ? PAPER : width || 600);
  // Labels that stay take a third of the box at most.
  const stays = room >= 3 * layout.bottom;
  // What a player changes is painted; what stands still is not made again.
  useLayoutEffect(() => paint(canvas.current, props), [values, columns, top, scale, rows.length]);
  useMarking(props.marking, Math.min(layout.cell, layout.height));
  const marks = useMemo(() => <Marks {...props} layout={layout} />, [layout, columns, values, top, scale]);
  const rowLabels = useMemo(() => <RowLabels {...props} layout={layout} />, [layout, rows, chosen]);
  const columnLabels = useMemo(
    () => <ColumnLabels columns={columns} below={layout.head + rows.length * layout.height} layout={layout} />,
    [layout, rows.length, columns],
  );
  const { left, head, cell, height } = layout;
  const [n, m] = [columns.length, rows.length];
  const foot = layout.total - layout.bottom + FRAME;
  const size = { width: layout.width, height: layout.total };
  const place = placeStyle({ left, top: head, width: n * cell, height: m * height }, size);

  const locate = (event: MouseEvent) => {
    const area = box.current?.getBoundingClientRect();
    if (!area) return null;
    const beyond = event.target instanceof Element && event.target.closest(".stuck") !== null;
    const row = beyond ? m : Math.floor((event.clientY - area.top - head) / height);
    const column = Math.floor((event.clientX - area.left - left) / cell);
    return { row: row >= 0 && row < m ? row : null, column: column >= 0 && column < n ? column : null };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = props.pointed.value;
    walkWithKeys(event, {
      columns: n,
      rows: [m - 1, 0],
      pages: true,
      at: () => ({ row: at?.row ?? chosen[0] ?? 0, column: at?.column ?? 0 }),
      move(to) {
        props.onPoint(to);
        const [x, y] = [left + to.column * cell, head + to.row * height];
        reveal(box.current?.parentElement, { x, y, width: left + cell, height, below: stays ? layout.bottom : 0 });
      },
      choose: ({ row }) => props.onRow(row),
    });
    if (event.key === "Escape") props.onPoint(null);
  };
  return (
    <div
      class="cells-picture"
      id={`${id}-cells`}
      ref={box}
      role="application"
      aria-roledescription="picture of cells"
      aria-label={name}
      aria-describedby={props.describedby}
      tabIndex={0}
      style={pictureStyle(size)}
      onKeyDown={onKeyDown}
      onBlur={() => props.onPoint(null)}
      onPointerMove={(event) => {
        const at = locate(event);
        props.onPoint(at && at.row !== null && at.column !== null ? { row: at.row, column: at.column } : null);
      }}
      onPointerLeave={() => props.onPoint(null)}
      onClick={(event) => {
        const row = locate(event)?.row;
        if (row !== null && row !== undefined) props.onRow(row);
      }}
    >
      <canvas ref={canvas} class={cell < 1 ? "many" : undefined} width={n} height={m} style={place} aria-hidden />
      <svg width={size.width} height={size.height} viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true">
        {marks}
        <g id={`${id}-columns`}>
          {divider !== undefined && divider < n && (
            <path class="divider" d={`M${left + divider * cell} ${head}v${m * height + 6}`} />
          )}
          {columnLabels}
        </g>
        {rowLabels}
        {chosen.map((r) => (
          <rect class="frame" key={r} x={left - 1} y={head + r * height - 1} width={n * cell + 2} height={height + 2} />
        ))}
        <Cursor pointed={props.pointed} layout={layout} rows={m} />
      </svg>
      <svg
        class={stays ? "stuck" : "stuck free"}
        width={layout.width}
        height={layout.bottom - FRAME}
        viewBox={`0 ${foot} ${layout.width} ${layout.bottom - FRAME}`}
        style={{ marginTop: `${FRAME - layout.bottom}px` }}
        aria-hidden="true"
      >
        <use href={`#${id}-columns`} />
      </svg>
    </div>
  );
}

/** What is pointed at: its column, and the cell where the row is known. */
function Cursor({ pointed, layout, rows }: { pointed: CellPictureProps["pointed"]; layout: Layout; rows: number }) {
  const at = pointed.value;
  if (!at) return null;
  const { left, head, cell, height } = layout;
  const x = left + at.column * cell;
  return (
    <g class="cursor">
      <rect class="column" x={x} y={head} width={cell} height={rows * height} />
      {at.row !== null && <rect class="cell" x={x} y={head + at.row * height} width={cell} height={height} />}
    </g>
  );
}

function paint(canvas: HTMLCanvasElement | null, props: CellPictureProps) {
  const { rows, columns, values, top, scale } = props;
  const n = columns.length;
  const steps = new Int16Array(rows.length * n).fill(-1);
  for (const [r, row] of values.entries()) {
    const seen = Math.min(n, row?.length ?? 0, props.seen?.(r) ?? n);
    for (let c = 0; c < n; ++c) {
      if (columns[c].excluded) steps[r * n + c] = NO_STEP;
      else if (row && c < seen && !Number.isNaN(row[c])) steps[r * n + c] = scale.step(row[c], top);
    }
  }
  const context = canvas?.getContext("2d");
  if (!context || steps.length === 0) return;
  context.clearRect(0, 0, n, rows.length);
  context.drawImage(stepImage(steps, rows.length, n, scale), 0, 0);
}

/** Corners of cells above the scale, hatches of excluded columns, numbers. */
function Marks(props: CellPictureProps & { layout: Layout }) {
  const { id, rows, columns, values, top, scale, layout } = props;
  const { left, head, cell, height } = layout;
  const n = columns.length;
  const withCorners = cell >= MARKED && height >= MARKED;
  const withNumbers = cell >= WIDE_CELL * unit() && rows.length * n <= MOST_NUMBERS;
  let corners = "";
  let hatched = "";
  const numbers: ComponentChildren[] = [];
  for (let c = 0; c < n; ++c) {
    const x = left + c * cell;
    if (columns[c].excluded) {
      hatched += `M${x} ${head}h${cell}v${rows.length * height}h${-cell}z`;
      continue;
    }
    for (let r = 0; (withCorners || withNumbers) && r < rows.length; ++r) {
      if (!isKnown(props, r, c)) continue;
      const value = values[r]?.[c] ?? 0;
      const y = head + r * height;
      if (withCorners && isAbove(value, { top })) corners += cornerAt(x + cell - 1, y);
      if (withNumbers) {
        numbers.push(
          <text
            key={r * n + c}
            class="value"
            x={x + cell / 2}
            y={y + height / 2 + 4 * unit()}
            text-anchor="middle"
            fill={scale.ink(value, top)}
            data-value={value}
          >
            {format(value)}
          </text>,
        );
      }
    }
  }
  return (
    <>
      <defs>
        <pattern id={`${id}-hatch`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path class="hatch" d="M0 0V6" />
        </pattern>
      </defs>
      {hatched && <path d={hatched} fill={`url(#${id}-hatch)`} />}
      {corners && <path class="corners" d={corners} />}
      {numbers}
    </>
  );
}

interface LabelTextProps {
  label: CellLabel;
  most: number;
  room: number;
  font?: string;
}

function LabelText({ label, most, room, font }: LabelTextProps) {
  const sign = label.space && <tspan class="space">{SPACE_SIGN}</tspan>;
  const rtl = RTL.test(label.label);
  return (
    <>
      <title>{label.label}</title>
      {!rtl && sign}
      {fitted(label.label, label.space ? room - textWidth(SPACE_SIGN, font) : room, most, font)}
      {rtl && sign}
    </>
  );
}

function ColumnLabels({ columns, below, layout }: { columns: readonly CellColumn[]; below: number; layout: Layout }) {
  const { left, cell, level, bottom } = layout;
  const step = level ? 1 : Math.max(1, Math.ceil((14 * unit()) / cell));
  return (
    <>
      {columns.map(({ label }, c) => {
        if (c % step !== 0) return null;
        const x = left + (c + 0.5) * cell;
        return level ? (
          <text key={c} x={x} y={below + 17 * unit()} text-anchor="middle">
            <LabelText label={label} most={MOST_COLUMN} room={cell} />
          </text>
        ) : (
          <text key={c} transform={`translate(${x + 4 * unit()} ${below + 8}) rotate(-90)`} text-anchor="end">
            <LabelText label={label} most={MOST_COLUMN} room={bottom - 10} />
          </text>
        );
      })}
    </>
  );
}

function RowLabels({ rows, chosen, sideName, layout }: CellPictureProps & { layout: Layout }) {
  const { left, head, height, width } = layout;
  const rowStep = Math.max(1, Math.ceil((12 * unit()) / height));
  return (
    <>
      {sideName && (
        <text class="side" x={width - 4} y={14 * unit()} text-anchor="end">
          {sideName}
        </text>
      )}
      {rows.map(({ label, side }, r) => {
        const isChosen = chosen.includes(r);
        const y = head + (r + 0.5) * height + 4 * unit();
        return (
          <g key={r}>
            {(r % rowStep === 0 || isChosen) && (
              <text class={isChosen ? "label chosen" : "label"} x={left - 8} y={y} text-anchor="end" data-row={r}>
                <LabelText label={label} most={MOST_ROW} room={left - 9} font={isChosen ? chosenFont() : undefined} />
              </text>
            )}
            {side && (
              <text class="side" x={width - 4} y={y} text-anchor="end">
                {side}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

interface Revealed {
  x: number;
  y: number;
  width: number;
  height: number;
  /** at the bottom of the box: over what scrolls */
  below: number;
}

/** Scrolls the picture's box so that a cell is in it. */
function reveal(box: HTMLElement | null | undefined, { x, y, width, height, below }: Revealed) {
  if (!box) return;
  if (x - width < box.scrollLeft) box.scrollLeft = x - width;
  else if (x + width > box.scrollLeft + box.clientWidth) box.scrollLeft = x + width - box.clientWidth;
  if (y < box.scrollTop) box.scrollTop = y - height;
  else if (y + 2 * height > box.scrollTop + box.clientHeight - below)
    box.scrollTop = Math.min(y, y + 2 * height - box.clientHeight + below);
}

/** The picture that stands in the page, as an SVG document with its cells in it. */
export function exportedCells(id: string, props: Omit<CellPictureProps, "id" | "name">): string {
  const root = document.getElementById(`${id}-cells`);
  const picture = root?.querySelector("svg");
  const canvas = root?.querySelector("canvas");
  if (!root || !picture || !canvas) throw new Error("the picture is not there");
  const { rows, columns, values } = props;
  const known = { ...props, id, name: "" };
  const [x, y, width, height] = ["left", "top", "width", "height"].map((side) =>
    parseFloat(canvas.style.getPropertyValue(side)),
  );
  const [cell, line] = [width / columns.length, height / rows.length];
  let cells = "";
  if (rows.length * columns.length <= MOST_RECTANGLES) {
    for (let r = 0; r < rows.length; ++r) {
      for (let c = 0; c < columns.length; ++c) {
        const value = values[r]?.[c] ?? NaN;
        if (columns[c].excluded || !isKnown(known, r, c)) continue;
        const fill = props.scale.css(value, props.top);
        cells += `<rect x="${x + c * cell}" y="${y + r * line}" width="${cell}" height="${line}" fill="${fill}" data-value="${value}"/>`;
      }
    }
  } else {
    cells = `<image x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${canvasUrl(canvas)}"/>`;
  }
  // After the ground, below everything else.
  return standalone(picture).replace(/<rect[^>]*\/>/, (ground) => ground + cells);
}
