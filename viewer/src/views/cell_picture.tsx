// A picture of cells: rows with a label on the left (and a text on the right), columns with a label below. A few cells
// are rectangles with their numbers; many are painted on canvas. Rebuilt only when its numbers or labels change.
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { walkWithKeys } from "../components/arrow_keys";
import { useMarking } from "../components/legend";
import { PAPER, pictureStyle, unit } from "../components/measure";
import { Scroller } from "../components/scroller";
import { useViewer, type Viewer } from "../context";
import { printing } from "../theme";
import { MANY, useLayout, type CellPictureProps, type Layout } from "./cell_layout";
import { Cells, ColumnLabels, Cursor, Excluded, paint, RowLabels } from "./cell_parts";
import { Sheet, useRoom, ZoomButtons } from "./picture";
import "../styles/cells.css";

/** Up to this many rows, the picture does not scroll vertically. */
const ALL_ROWS = 60;
/** Space above the column labels for the last row's frame. */
const FRAME = 2;

/** The layout, which can be stretched around what is pointed at, or else around the middle of what is in view. */
function useStretched(props: CellPictureProps, scroll: RefObject<HTMLElement>, width: number) {
  const [stretch, setStretch] = useState(1);
  const layout = useLayout(props, printing.value ? PAPER : width || 600, stretch);
  const { left, cell } = layout;
  const n = props.columns.length;
  // Keeps the center in place.
  const middle = useRef(0.5);
  useLayoutEffect(() => {
    if (scroll.current && stretch > 1) scroll.current.scrollLeft = left + middle.current * n * cell - width / 2;
  }, [stretch]);
  const stretchTo = (to: number) => {
    const at = props.pointed.peek()?.column;
    const seen = (scroll.current?.scrollLeft ?? 0) + width / 2 - left;
    middle.current = at === undefined ? seen / (n * cell) : (at + 0.5) / n;
    setStretch(Math.max(1, Math.min((20 * unit() * n) / (width - left - 4), to)));
  };
  return { layout, stretch, stretchTo };
}

export function CellPicture(props: CellPictureProps) {
  const { id, rows, chosen, columns, onColumn } = props;
  const viewer = useViewer();
  const scroll = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const { width, height: room } = useRoom(scroll);
  const { layout, stretch, stretchTo } = useStretched(props, scroll, width);
  const { head, height, bottom, size } = layout;
  const [n, m] = [columns.length, rows.length];
  // Sticky labels take at most a third of the box.
  const stays = room >= 3 * bottom;
  const below = stays ? bottom : 0;
  // Scrolls to the chosen row.
  const [row] = chosen;
  useLayoutEffect(() => {
    if (row !== undefined && m > ALL_ROWS) revealRow(scroll.current, { y: head + row * height, height, below });
  }, [row, m, height]);
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
          aria-label={props.name}
          aria-describedby={props.describedby}
          tabIndex={0}
          style={pictureStyle(size)}
          {...handlers(props, viewer, layout, { box, scroll, below })}
        >
          <Drawing {...props} layout={layout} />
          {/* Selectable labels are not duplicated: the selection would not show on the copy. */}
          {!onColumn && (
            <svg
              class={stays ? "stuck" : "stuck free"}
              width={size.width}
              height={bottom - FRAME}
              viewBox={`0 ${head + m * height + FRAME} ${size.width} ${bottom - FRAME}`}
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

interface Boxes {
  box: RefObject<HTMLElement>;
  scroll: RefObject<HTMLElement>;
  /** height of the labels at the bottom, over what scrolls */
  below: number;
}

/** Pointing and choosing, with pointer and keys. */
function handlers(props: CellPictureProps, viewer: Viewer, layout: Layout, { box, scroll, below }: Boxes) {
  const { rows, columns, chosen, pointed, onRow, onPoint, onColumn } = props;
  const { left, head, cell, height } = layout;
  const [n, m] = [columns.length, rows.length];
  const locate = (event: MouseEvent) => {
    const area = box.current?.getBoundingClientRect();
    if (!area) return null;
    const stuck = event.target instanceof Element && event.target.closest(".stuck") !== null;
    const row = stuck ? m : Math.floor((event.clientY - area.top - head) / height);
    const column = Math.floor((event.clientX - area.left - left) / cell);
    return { row, column, inRow: row >= 0 && row < m, inColumn: column >= 0 && column < n };
  };
  const leave = () => onPoint(null);
  return {
    onKeyDown(event: KeyboardEvent) {
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
          reveal(scroll.current, { x, y, width: left + cell, height, below });
        },
        choose({ row, column }, key) {
          if (key === " " && onColumn) onColumn(column);
          else onRow(row);
        },
      });
      if (event.key === "Escape") leave();
    },
    onPointerMove(event: MouseEvent) {
      const at = locate(event);
      onPoint(at && at.inRow && at.inColumn ? at : null);
    },
    onClick(event: MouseEvent) {
      const at = locate(event);
      if (at?.inRow) onRow(at.row);
      else if (at?.inColumn) onColumn?.(at.column);
    },
    onBlur: leave,
    onPointerLeave: leave,
  };
}

/** Cells, labels and frames. A player's changes are painted; static parts are not rebuilt. */
function Drawing(props: CellPictureProps & { layout: Layout }) {
  const { id, rows, chosen, columns, divider, pointed, layout } = props;
  const viewer = useViewer();
  const { left, head, cell, height, size } = layout;
  const [n, m] = [columns.length, rows.length];
  const marked = useMarking(props.marking, Math.min(cell, height));
  const { fromLeast, log, threshold } = viewer.state.choices;
  const looks = [props.values, props.ends, columns, viewer.scale.value, fromLeast.value, log.value, threshold.value];
  const shades = useMemo(() => props.ends.map((ends) => viewer.shades(ends)), looks);
  const cells = useMemo(() => layout.inRects && <Cells {...props} {...{ shades, marked }} />, [layout, shades, marked]);
  const rowLabels = useMemo(() => <RowLabels {...props} />, [layout, rows, chosen]);
  const columnLabels = useMemo(() => <ColumnLabels {...props} />, [layout, m, columns, props.chosenColumn]);
  return (
    <>
      {!layout.inRects && (
        <Sheet
          of={size}
          {...{ left, top: head, width: n * cell, height: m * height }}
          inputs={[shades, layout]}
          draw={(context, ratio) => paint(context, ratio, { ...props, shades })}
        />
      )}
      <svg {...size} viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true">
        {cells || <Excluded {...props} />}
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
        <Cursor pointed={pointed} layout={layout} rows={m} />
      </svg>
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

type Scrolls = Pick<HTMLElement, "scrollLeft" | "scrollTop" | "clientWidth" | "clientHeight">;

/** Scrolls the picture's box so that a cell is in it. */
function reveal(box: Scrolls | null, place: Revealed) {
  const { x, width } = place;
  if (!box) return;
  if (x - width < box.scrollLeft) box.scrollLeft = x - width;
  else if (x + width > box.scrollLeft + box.clientWidth) box.scrollLeft = x + width - box.clientWidth;
  revealRow(box, place);
}

export function revealRow(box: Scrolls | null, { y, height, below }: Omit<Revealed, "x" | "width">) {
  if (!box) return;
  if (y < box.scrollTop) box.scrollTop = y - height;
  else if (y + 2 * height > box.scrollTop + box.clientHeight - below)
    box.scrollTop = Math.min(y, y + 2 * height - box.clientHeight + below);
}
