// A picture of cells: rows with a label on the left (and a text on the right), columns with a label below. A few cells
// are rectangles with their numbers; many are painted on canvas. Rebuilt only when its numbers or labels change.
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Ends } from "../color/ends";
import type { Shades } from "../color/shades";
import { walkWithKeys, type Cell } from "../components/arrow_keys";
import { cornerAt, useMarking } from "../components/legend";
import { SPACE_SIGN } from "../components/own_text";
import { chosenFont, fitted, PAPER, pictureStyle, textWidth, unit } from "../components/measure";
import { Scroller } from "../components/scroller";
import { useViewer } from "../context";
import { standalone } from "../export/picture";
import { format, shorten, signed } from "../report/text";
import type { Numbers } from "../report/values";
import { printing } from "../theme";
import { blankColour, NO_STEP, Sheet, stepImage, ticks, TokenLabel, useRoom, withSheets, ZoomButtons } from "./picture";
import "../styles/cells.css";

export interface CellLabel {
  label: string;
  /** a gray sign in front: the token begins with a space */
  space?: boolean;
}

export interface CellPictureProps {
  id: string;
  /** for screen readers */
  name: string;
  /** `side`: on the right */
  rows: readonly { label: CellLabel; side?: string }[];
  /** framed */
  chosen: readonly number[];
  columns: readonly { label: CellLabel; excluded: boolean }[];
  /** a row of numbers each, or null if there are none */
  values: readonly (Numbers | null)[];
  /** columns that row r can see; later ones stay blank */
  seen?: (row: number) => number;
  /** ends of each row's scale */
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

/** Cells at least this wide show their numbers. */
const WIDE_CELL = 44;
/** Above this many cells, they are painted on canvas. */
const MOST_RECTS = 2400;
/** Most characters of a row's and a column's label. */
const MOST_ROW = 14;
const MOST_COLUMN = 16;
/** Every column is labeled if cells are at least this wide. */
const LABELLED = 13;
const MOST_NAMED_ON_PAPER = 90;
/** Above this many columns to be labeled, the picture is fitted to the box's width and can be stretched. */
const MANY = 128;
/** Up to this many rows, the picture does not scroll vertically. */
const ALL_ROWS = 60;
/** Space above the column labels for the last row's frame. */
const FRAME = 2;
/** Right-to-left labels: what is written last goes on the right, where they begin. */
const RTL = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

const labelText = ({ label, space }: CellLabel, most: number) => (space ? SPACE_SIGN : "") + shorten(label, most);
const widestOf = (all: readonly { label: CellLabel }[], most: number, font?: string) =>
  Math.max(0, ...all.map(({ label }) => textWidth(labelText(label, most), font)));

/** Positions and sizes of all parts. */
interface Layout {
  left: number;
  head: number;
  cell: number;
  height: number;
  /** height of the labels below */
  bottom: number;
  size: { width: number; height: number };
  /** column labels are horizontal */
  level: boolean;
  /** every column has a label */
  labelled: boolean;
  inRects: boolean;
}

function useLayout(props: CellPictureProps, width: number, stretch: number): Layout {
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

export function CellPicture(props: CellPictureProps) {
  const { id, name, rows, chosen, columns, divider, pointed, onRow, onPoint, onColumn } = props;
  const viewer = useViewer();
  const scroll = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const { width, height: room } = useRoom(scroll);
  const [stretch, setStretch] = useState(1);
  const layout = useLayout(props, printing.value ? PAPER : width || 600, stretch);
  const { left, head, cell, height, bottom, size } = layout;
  const [n, m] = [columns.length, rows.length];
  // Sticky labels take at most a third of the box.
  const stays = room >= 3 * bottom;
  const marked = useMarking(props.marking, Math.min(cell, height));
  const { fromLeast, log, threshold } = viewer.state.choices;
  const looks = [props.values, props.ends, columns, viewer.scale.value, fromLeast.value, log.value, threshold.value];
  // A player's changes are painted; static parts are not rebuilt.
  const shades = useMemo(() => props.ends.map((ends) => viewer.shades(ends)), looks);
  const cells = useMemo(
    () => layout.inRects && <Cells {...props} {...{ layout, shades, marked }} />,
    [layout, shades, marked],
  );
  const rowLabels = useMemo(() => <RowLabels {...props} layout={layout} />, [layout, rows, chosen]);
  const columnLabels = useMemo(
    () => <ColumnLabels {...props} layout={layout} />,
    [layout, m, columns, props.chosenColumn],
  );
  const foot = head + m * height + FRAME;

  // Keeps the center in place.
  const middle = useRef(0.5);
  useLayoutEffect(() => {
    if (scroll.current && stretch > 1) scroll.current.scrollLeft = left + middle.current * n * cell - width / 2;
  }, [stretch]);
  const stretchTo = (to: number) => {
    const at = pointed.peek()?.column;
    const seen = (scroll.current?.scrollLeft ?? 0) + width / 2 - left;
    middle.current = at === undefined ? seen / (n * cell) : (at + 0.5) / n;
    setStretch(Math.max(1, Math.min((20 * unit() * n) / (width - left - 4), to)));
  };
  // Scrolls to the chosen row.
  const [row] = chosen;
  useLayoutEffect(() => {
    const at = { y: head + row * height, height, below: stays ? bottom : 0 };
    if (row !== undefined && m > ALL_ROWS) revealRow(scroll.current, at);
  }, [row, m, height]);
  const locate = (event: MouseEvent) => {
    const area = box.current?.getBoundingClientRect();
    if (!area) return null;
    const below = event.target instanceof Element && event.target.closest(".stuck") !== null;
    const row = below ? m : Math.floor((event.clientY - area.top - head) / height);
    const column = Math.floor((event.clientX - area.left - left) / cell);
    return { row, column, inRow: row >= 0 && row < m, inColumn: column >= 0 && column < n };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = pointed.value;
    walkWithKeys(event, {
      columns: n,
      rows: [m - 1, 0],
      pages: true,
      at: () => ({ row: at?.row ?? chosen[0] ?? 0, column: at?.column ?? props.chosenColumn ?? 0 }),
      move(to) {
        onPoint(to);
        if (props.says) viewer.announcement.value = props.says(to);
        const [x, y] = [left + to.column * cell, head + to.row * height];
        reveal(scroll.current, { x, y, width: left + cell, height, below: stays ? bottom : 0 });
      },
      choose({ row, column }, key) {
        if (key === " " && onColumn) onColumn(column);
        else onRow(row);
      },
    });
    if (event.key === "Escape") onPoint(null);
  };
  return (
    <>
      <Scroller
        id={id}
        box={scroll}
        class={m <= ALL_ROWS ? "all-rows" : ""}
        stuck={stays && !onColumn ? bottom - FRAME : 0}
        aria-busy={props.busy}
      >
        <div
          class="sheets cells-picture"
          id={`${id}-cells`}
          ref={box}
          role="application"
          aria-roledescription="picture of cells"
          aria-label={name}
          aria-describedby={props.describedby}
          tabIndex={0}
          style={pictureStyle(size)}
          onKeyDown={onKeyDown}
          onBlur={() => onPoint(null)}
          onPointerMove={(event) => {
            const at = locate(event);
            onPoint(at && at.inRow && at.inColumn ? at : null);
          }}
          onPointerLeave={() => onPoint(null)}
          onClick={(event) => {
            const at = locate(event);
            if (at?.inRow) onRow(at.row);
            else if (at?.inColumn) onColumn?.(at.column);
          }}
        >
          {!layout.inRects && (
            <Sheet
              of={size}
              {...{ left, top: head, width: n * cell, height: m * height }}
              inputs={[shades, layout]}
              draw={(context, ratio) => paint(context, ratio, { ...props, layout, shades })}
            />
          )}
          <svg {...size} viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true">
            {cells || <Excluded {...props} layout={layout} />}
            <g id={`${id}-columns`}>
              {divider !== undefined && divider < n && (
                <path class="divider" d={`M${left + divider * cell} ${head}v${m * height + 6}`} />
              )}
              {columnLabels}
            </g>
            {rowLabels}
            {chosen.map((r) => (
              <rect
                class="frame"
                key={r}
                x={left - 1}
                y={head + r * height - 1}
                width={n * cell + 2}
                height={height + 2}
              />
            ))}
            <Cursor pointed={pointed} layout={layout} rows={m} />
          </svg>
          {/* Selectable labels are not duplicated: the selection would not show on the copy. */}
          {!onColumn && (
            <svg
              class={stays ? "stuck" : "stuck free"}
              width={size.width}
              height={bottom - FRAME}
              viewBox={`0 ${foot} ${size.width} ${bottom - FRAME}`}
              style={{ marginTop: `${FRAME - bottom}px` }}
              aria-hidden="true"
            >
              <use href={`#${id}-columns`} />
            </svg>
          )}
        </div>
      </Scroller>
      {onColumn && n > MANY && (
        <ZoomButtons
          id={id}
          zoomBy={(factor) => stretchTo(stretch * factor)}
          whole={() => stretchTo(1)}
          zoomed={stretch > 1}
        />
      )}
    </>
  );
}

/** Marks what is pointed at: its column, and the cell if the row is known. */
function Cursor({ pointed, layout, rows }: { pointed: CellPictureProps["pointed"]; layout: Layout; rows: number }) {
  const at = pointed.value;
  if (!at) return null;
  const { left, head, cell, height } = layout;
  const place = { x: left + at.column * cell, width: Math.max(2, cell - 1) };
  return (
    <g class="pointing">
      <rect class="column" {...place} y={head} height={rows * height} />
      {at.row !== null && <rect class="cell" {...place} y={head + at.row * height} height={height - 1} />}
    </g>
  );
}

interface DrawnProps extends CellPictureProps {
  layout: Layout;
  /** for each row */
  shades: readonly Shades[];
}

const isKnown = ({ values, seen }: CellPictureProps, r: number, c: number) => {
  const number = values[r]?.[c];
  return number !== undefined && !Number.isNaN(number) && c < (seen?.(r) ?? Infinity);
};

/** The same for signed values: the largest absolute value shows, in the color of its sign. */
function paintSigned(context: CanvasRenderingContext2D, wide: number, props: DrawnProps) {
  const { columns, rows, values, shades, layout } = props;
  const n = columns.length;
  const width = (n * layout.cell) / wide;
  const gap = layout.cell > 8 ? 1 : 0;
  for (let r = 0; r < rows.length; ++r) {
    const shown = new Float64Array(wide);
    for (let c = 0; c < n; ++c) {
      const at = Math.floor((c * wide) / n);
      const value = isKnown(props, r, c) && !columns[c].excluded ? (values[r]?.[c] ?? 0) : 0;
      if (Math.abs(value) > Math.abs(shown[at])) shown[at] = value;
    }
    for (const [at, value] of shown.entries()) {
      context.fillStyle = shades[r].css(value);
      context.fillRect(at * width, r * layout.height, width - gap, layout.height - 1);
    }
  }
}

/**
 * If a pixel covers several columns, the largest value shows. The background shows between cells that are wide enough.
 */
function paint(context: CanvasRenderingContext2D, ratio: number, props: DrawnProps) {
  const { columns, rows, values, shades, layout } = props;
  const { cell, height } = layout;
  const [n, m] = [columns.length, rows.length];
  const wide = Math.max(1, Math.min(n, Math.round(n * cell * ratio)));
  context.clearRect(0, 0, n * cell, m * height);
  if (shades[0]?.signed) {
    paintSigned(context, wide, props);
    return;
  }
  const steps = new Int16Array(m * wide).fill(-1);
  for (let r = 0; r < m; ++r) {
    for (let c = 0; c < n; ++c) {
      const at = r * wide + Math.floor((c * wide) / n);
      if (columns[c].excluded) steps[at] = wide === n ? NO_STEP : steps[at];
      else if (isKnown(props, r, c)) steps[at] = Math.max(steps[at], shades[r].step(values[r]?.[c] ?? 0));
    }
  }
  context.imageSmoothingEnabled = false;
  if (m > 0) context.drawImage(stepImage(steps, m, wide, shades[0]), 0, 0, n * cell, m * height);
  for (let r = 1; r <= m; ++r) context.clearRect(0, r * height - 1, n * cell, 1);
  for (let c = 1; cell > 8 && c < n; ++c) context.clearRect(c * cell - 1, 0, 1, m * height);
}

/** One rectangle per cell, with its number if it fits, and a corner mark if it lies above the scale. */
function Cells(props: DrawnProps & { marked: boolean }) {
  const { columns, rows, values, shades, layout, marked } = props;
  const { left, head, cell, height } = layout;
  const blank = `rgb(${blankColour(shades[0]?.dark ?? false).join(" ")})`;
  let corners = "";
  const cells = rows.flatMap((_, r) =>
    columns.map(({ excluded }, c) => {
      const [x, y] = [left + c * cell, head + r * height];
      const place = { x, y, width: Math.max(1, cell - 1), height: height - 1 };
      if (!isKnown(props, r, c)) return <rect {...place} fill={excluded ? "none" : blank} />;
      const value = values[r]?.[c] ?? 0;
      if (marked && !excluded && shades[r].beyond(value)) corners += cornerAt(x + cell - 1, y);
      return [
        <rect {...place} fill={excluded ? "none" : shades[r].css(value)} data-value={value} />,
        cell >= WIDE_CELL * unit() && (
          <text
            class="value"
            x={x + cell / 2}
            y={y + height / 2 + 4 * unit()}
            text-anchor="middle"
            fill={excluded ? "currentColor" : shades[r].ink(value)}
          >
            {shades[r].signed ? signed(value.toFixed(2)) : format(value)}
          </text>
        ),
      ];
    }),
  );
  return (
    <g class="cells">
      <Excluded {...props} />
      {cells}
      {corners && <path class="corners" d={corners} />}
    </g>
  );
}

/** Hatching over excluded columns. */
function Excluded({ id, columns, rows, layout }: CellPictureProps & { layout: Layout }) {
  const { left, head, cell, height } = layout;
  const hatched = columns.map(({ excluded }, c) =>
    excluded ? `M${left + c * cell} ${head}h${cell - 1}v${rows.length * height - 1}h${1 - cell}z` : "",
  );
  if (cell < 1 || hatched.every((path) => !path)) return null;
  return (
    <>
      <defs>
        <pattern id={`${id}-hatch`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path class="hatch" d="M0 0V6" />
        </pattern>
      </defs>
      <path d={hatched.join("")} fill={`url(#${id}-hatch)`} />
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

function ColumnLabels({ columns, rows, onColumn, chosenColumn, layout }: CellPictureProps & { layout: Layout }) {
  const { left, head, cell, height, level, labelled, bottom } = layout;
  const below = head + rows.length * height;
  const place = (c: number) => left + (c + 0.5) * cell;
  if (onColumn && !labelled) {
    return (
      <>
        {ticks(0, columns.length, cell, 60 * unit()).map((c) => (
          <text key={c} x={place(c)} y={below + 18 * unit()} text-anchor="middle" class="tick">
            {c}
          </text>
        ))}
        {chosenColumn !== undefined && <path d={`M${place(chosenColumn)} ${below}l5 8h-10z`} class="pointer" />}
      </>
    );
  }
  const step = level ? 1 : Math.max(1, Math.ceil((14 * unit()) / cell));
  return (
    <>
      {columns.map(({ label }, c) =>
        c % step === 0 || onColumn ? (
          <TokenLabel
            key={c}
            x={place(c)}
            y={below + 8}
            label={label.label}
            level={level}
            class={onColumn && (c === chosenColumn ? "label chosen" : "label")}
          >
            <LabelText label={label} most={MOST_COLUMN} room={level ? cell : bottom - 10} />
          </TokenLabel>
        ) : null,
      )}
    </>
  );
}

function RowLabels({ rows, chosen, sideName, layout }: CellPictureProps & { layout: Layout }) {
  const { left, head, height, size } = layout;
  const rowStep = Math.max(1, Math.ceil((12 * unit()) / height));
  return (
    <>
      {sideName && (
        <text class="side" x={size.width - 4} y={14 * unit()} text-anchor="end">
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
              <text class="side" x={size.width - 4} y={y} text-anchor="end">
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
  /** height of the labels at the bottom of the box, over what scrolls */
  below: number;
}

/** A box that scrolls. */
type Scrolls = Pick<HTMLElement, "scrollLeft" | "scrollTop" | "clientWidth" | "clientHeight">;

/** Scrolls the picture's box so that a cell is in it. */
function reveal(box: Scrolls | null, place: Revealed) {
  const { x, width } = place;
  if (!box) return;
  if (x - width < box.scrollLeft) box.scrollLeft = x - width;
  else if (x + width > box.scrollLeft + box.clientWidth) box.scrollLeft = x + width - box.clientWidth;
  revealRow(box, place);
}

/** Scrolls only vertically. */
export function revealRow(box: Scrolls | null, { y, height, below }: Omit<Revealed, "x" | "width">) {
  if (!box) return;
  if (y < box.scrollTop) box.scrollTop = y - height;
  else if (y + 2 * height > box.scrollTop + box.clientHeight - below)
    box.scrollTop = Math.min(y, y + 2 * height - box.clientHeight + below);
}

/** The picture on the page, as an SVG document. */
export function exportedCells(id: string): string {
  const root = document.getElementById(`${id}-cells`);
  const picture = root?.querySelector("svg");
  if (!picture) throw new Error("the picture is not there");
  return withSheets(standalone(picture), root);
}
