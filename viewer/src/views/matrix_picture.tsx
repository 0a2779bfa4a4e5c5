// A zoomable matrix of all pairs: cells on canvas, labels (where they fit) as text around it. Used for the matrix of a
// layer and for that of a head.
import { select, type Selection as Selected } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { EndsOf, type Ends } from "../color/ends";
import type { Shades } from "../color/shades";
import { walkWithKeys } from "../components/arrow_keys";
import { cornerAt, useMarking } from "../components/legend";
import { chosenFont, fitted, pictureStyle, unit } from "../components/measure";
import { useViewer } from "../context";
import type { Work } from "../compute/slices";
import { format, shorten } from "../report/text";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import { printing } from "../theme";
import {
  Sheet,
  stepImageWork,
  ticks,
  TokenLabel,
  tokenTicks,
  useFound,
  useWidth,
  widest,
  ZoomButtons,
} from "./picture";
import "../styles/pictures.css";

/** The values of all rows, and the ends of the scale of those that count. */
export interface Block {
  /** [rows, columns]; NaN where there is no value */
  values: Float32Array;
  rows: number;
  columns: number;
  ends: Ends;
}

/** Collects rows, yielding in between. */
export function* blockOf(
  report: Report,
  outputs: readonly number[],
  row: (output: number) => Numbers | null,
  counts: readonly boolean[],
): Work<Block> {
  const columns = report.n;
  const values = new Float32Array(outputs.length * columns).fill(NaN);
  const ends = new EndsOf();
  for (const [r, output] of outputs.entries()) {
    const found = row(output);
    if (found) {
      values.set(found, r * columns);
      ends.addRow(report, found, output, counts);
    }
    yield;
  }
  return { values, rows: outputs.length, columns, ends: ends.ends };
}

/** Steps of the color scale. */
interface Raster {
  steps: Int16Array;
  rows: number;
  columns: number;
}

/**
 * A raster, and coarser ones in which a pixel is the maximum of four, so that peaks remain visible when there are few
 * pixels.
 */
interface Drawing {
  canvas: HTMLCanvasElement;
  /** which of the rasters */
  at: number;
  /** of the finest raster */
  rows: number;
  columns: number;
}

type Selection<Element extends SVGSVGElement> = Selected<Element, unknown, null, undefined>;

/** Rasters with more values are made in slices. */
const AT_ONCE = 5e5;

export interface MatrixPictureProps {
  /** id of the view */
  id: string;
  outputs: readonly number[];
  /** drawn if it is for these outputs */
  block: Block | null;
  busy: boolean;
  /** named in the readout */
  layer: number;
  onChoose: (output: number) => void;
  svg: RefObject<SVGSVGElement>;
  /** largest height in pixels */
  most?: number;
  /** whether values above the scale have a corner mark, for the legend */
  marking: Signal<boolean>;
}

/** Cells at least this wide get labels, and wider ones their numbers. */
const LABELLED = 13;
const PRINTED = 44;

const range = ([begin, end]: readonly number[]) =>
  Array.from({ length: Math.max(0, end - begin) }, (_, at) => begin + at);

/** Layout before zooming. */
interface Frame {
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
function frameOf(rows: number, n: number, labelWidth: number, width: number, most: number): Frame {
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

/** Layout after zooming. */
class Place {
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

/** Zooms an element with wheel, fingers and buttons. @param width on the screen; a new one resets the zoom */
function useZoom(
  svg: RefObject<SVGSVGElement>,
  { margin, head, cell, height, plot, n, rows }: Frame,
  [zoomed, setTransform]: [ZoomTransform, (transform: ZoomTransform) => void],
  width: number,
) {
  const behaviour = useRef<ZoomBehavior<SVGSVGElement, unknown> | null>(null);
  useLayoutEffect(() => {
    if (!svg.current) return;
    const element = svg.current;
    const extent: [[number, number], [number, number]] = [
      [margin, head],
      [margin + plot.width, head + plot.height],
    ];
    const zooming = zoom<SVGSVGElement, unknown>()
      .extent(extent)
      .translateExtent(extent)
      .scaleExtent([1, Math.max(2, (56 * unit()) / Math.min(cell, height))])
      .filter((event: Event) => {
        const scaled = (behaviour.current && element.classList.contains("zoomed")) ?? false;
        // The page scrolls over a picture that is neither focused nor zoomed.
        if (event instanceof WheelEvent)
          return event.ctrlKey || event.metaKey || scaled || document.activeElement === element;
        if (event instanceof MouseEvent) return event.button === 0 && scaled;
        return scaled || (event as TouchEvent).touches?.length === 2;
      })
      .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => setTransform(event.transform));
    behaviour.current = zooming;
    const selection = select(element);
    selection.call(zooming).on("dblclick.zoom", null);
    return () => {
      selection.on(".zoom", null);
    };
  }, [svg.current, margin, head, plot.width, plot.height]);
  const act = (does: (zooming: ZoomBehavior<SVGSVGElement, unknown>, on: Selection<SVGSVGElement>) => void) => {
    if (svg.current && behaviour.current) does(behaviour.current, select(svg.current));
  };
  const whole = () => act((zooming, on) => zooming.transform(on, zoomIdentity));
  // A new report or width resets the zoom.
  useEffect(whole, [n, rows, width]);
  return {
    zoomed: zoomed.k > 1,
    whole,
    zoomBy: (factor: number, at?: [number, number]) => act((zooming, on) => zooming.scaleBy(on, factor, at)),
    bring: (x: number, y: number) => act((zooming, on) => zooming.translateTo(on, x, y)),
  };
}

/** Steps of all values, and coarser rasters with half the side length each. */
function* rastersOf(block: Block | null, shading: Shades, used: readonly boolean[]): Work<Raster[]> {
  if (!block) return [];
  const { values, columns } = block;
  let steps = new Int16Array(values.length);
  for (let r = 0; r < block.rows; ++r) {
    for (let i = 0, e = r * columns; i < columns; ++i, ++e) {
      const value = values[e];
      steps[e] = !used[i] || Number.isNaN(value) ? -1 : shading.step(value);
    }
    if (r % 64 === 63) yield;
  }
  let [h, w] = [block.rows, columns];
  const all: Raster[] = [{ steps, rows: h, columns: w }];
  while (Math.max(h, w) > 256) {
    const [nextH, nextW] = [Math.ceil(h / 2), Math.ceil(w / 2)];
    const coarse = new Int16Array(nextH * nextW).fill(-1);
    for (let r = 0; r < h; ++r) {
      const to = (r >> 1) * nextW;
      for (let i = 0, e = r * w; i < w; ++i, ++e) {
        const at = to + (i >> 1);
        if (steps[e] > coarse[at]) coarse[at] = steps[e];
      }
      if (r % 64 === 63) yield;
    }
    [steps, h, w] = [coarse, nextH, nextW];
    all.push({ steps, rows: h, columns: w });
    yield;
  }
  return all;
}

/** What is painted under the labels. @param pitch pixels per cell */
function useDrawing(block: Block | null, pitch: number): Drawing | null {
  const viewer = useViewer();
  const { counts, choices } = viewer.state;
  const scale = viewer.scale.value;
  const { found: rasters } = useFound<Raster[]>(
    () => rastersOf(block, viewer.shades(block?.ends ?? new EndsOf().ends), counts.value),
    // The steps are the same for all palettes.
    [block, counts.value, choices.threshold.value, choices.fromLeast.value, choices.log.value],
    (block?.values.length ?? 0) <= AT_ONCE,
  );
  // The finest raster whose cells are at least a pixel; only its colors are computed.
  let finest = 0;
  const pixel = pitch * (devicePixelRatio || 1);
  while (rasters && finest + 1 < rasters.length && pixel * 2 ** finest < 1) ++finest;
  const { found: drawing } = useFound<Drawing | null>(
    function* () {
      if (!rasters || rasters.length === 0) return null;
      const { steps, rows: h, columns: w } = rasters[finest];
      const canvas = yield* stepImageWork(steps, h, w, scale);
      return { canvas, at: finest, rows: rasters[0].rows, columns: rasters[0].columns };
    },
    [rasters, finest, scale],
    (rasters?.[finest]?.steps.length ?? 0) <= AT_ONCE,
  );
  return drawing;
}

export function MatrixPicture(props: MatrixPictureProps) {
  const { id, outputs, busy, layer, onChoose, svg } = props;
  const viewer = useViewer();
  const { report, state } = viewer;
  const { pointed } = state;
  const { token } = state.choices;
  const box = useRef<HTMLDivElement>(null);
  const zooming = useState<ZoomTransform>(zoomIdentity);
  const width = useWidth(box);
  const onScreen = useRef(width);
  if (!printing.value) onScreen.current = width;
  const u = unit();
  const { n } = report;
  const rows = outputs.length;
  const block = props.block?.rows === rows && props.block.columns === n ? props.block : null;
  const labels = useMemo(() => report.tokens.map((t) => shorten(t.short, 12)), [report]);
  const labelWidth = useMemo(() => Math.min(110 * u, widest(labels)), [labels, u]);
  const most = props.most ?? Math.max(560 * u, Math.min(1100 * u, width));
  const frame = frameOf(rows, n, labelWidth, width, most);
  const { margin, head, cell, height, plot, size } = frame;
  // Paper shows all of it; the screen's zoom is restored afterwards.
  const place = new Place(frame, printing.value ? zoomIdentity : zooming[0]);
  const { zoomed, whole, zoomBy: zoomAt, bring } = useZoom(svg, frame, zooming, onScreen.current);
  const pitch = Math.min(place.pitchX, place.pitchY);
  const marked = useMarking(props.marking, pitch);
  const drawing = useDrawing(block, pitch);

  const zoomBy = (factor: number) => {
    const at = pointed.peek();
    const here = at?.view === id && at.output !== undefined ? at : null;
    zoomAt(
      factor,
      here ? [place.left(here.input + 0.5), place.top(outputs.indexOf(here.output ?? 0) + 0.5)] : undefined,
    );
  };
  const point = (output: number, input: number) => {
    const now = pointed.peek();
    if (now?.view === id && now.input === input && now.output === output && now.layer === layer) return;
    pointed.value = { input, output, layer, view: id };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = pointed.peek()?.view === id ? pointed.peek() : null;
    const walked = walkWithKeys(event, {
      columns: n,
      rows: [rows - 1, 0],
      leap: 10,
      at: () => ({ column: here?.input ?? 0, row: Math.max(0, outputs.indexOf(here?.output ?? token.value)) }),
      move({ column, row }) {
        point(outputs[row], column);
        const name = (i: number) => report.tokens[i].label;
        const value = format(block?.values[row * n + column]);
        viewer.announcement.value = `${name(outputs[row])} depends on ${name(column)}: ${value}`;
        // Keeps the cell being read in view.
        if (!place.hasColumn(column) || !place.hasRow(row))
          bring(margin + (column + 0.5) * cell, head + (row + 0.5) * height);
      },
      choose: ({ row }) => onChoose(outputs[row]),
    });
    if (walked || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "+" || event.key === "=") zoomBy(1.6);
    else if (event.key === "-") zoomBy(1 / 1.6);
    else if (event.key === "0") whole();
    else return;
    event.preventDefault();
  };
  return (
    <div class="picture" id={id} ref={box} aria-busy={busy}>
      {width > 0 && (
        <div class="sheets" style={pictureStyle(size)}>
          {drawing && drawing.rows === rows && drawing.columns === n && (
            <Sheet
              of={size}
              left={margin}
              top={head}
              width={plot.width}
              height={plot.height}
              inputs={[drawing, place.transform, cell, margin, head]}
              draw={(context) => paint(context, drawing, place)}
            />
          )}
          <svg
            ref={svg}
            class={zoomed ? "zoomable zoomed" : "zoomable"}
            {...size}
            viewBox={`0 0 ${size.width} ${size.height}`}
            role="application"
            tabindex={0}
            aria-label={`${rows} output tokens by ${n} input tokens. Arrow keys read values, Enter chooses the output token, plus and minus zoom.`}
            onKeyDown={onKeyDown}
            onPointerMove={(event) => {
              const { column, row } = place.at(event);
              if (row >= 0 && row < rows && column >= 0 && column < n) point(outputs[row], column);
              else if (pointed.peek()?.view === id) pointed.value = null;
            }}
            onPointerLeave={() => (pointed.value = null)}
            onClick={(event) => {
              const output = outputs[place.at(event).row];
              if (output !== undefined) onChoose(output);
            }}
          >
            <Names place={place} labels={labels} outputs={outputs} />
            <Marks {...{ id, outputs, block, place, marked }} />
          </svg>
        </div>
      )}
      <ZoomButtons zoomBy={zoomBy} whole={whole} zoomed={zoomed} id={id} />
    </div>
  );
}

function paint(context: CanvasRenderingContext2D, { canvas, at }: Drawing, place: Place) {
  const { frame, pitchX, pitchY } = place;
  const share = 2 ** at;
  context.imageSmoothingEnabled = at > 0;
  context.imageSmoothingQuality = "high";
  context.clearRect(0, 0, frame.plot.width, frame.plot.height);
  const [x, y] = [place.left(0) - frame.margin, place.top(0) - frame.head];
  context.drawImage(canvas, x, y, canvas.width * share * pitchX, canvas.height * share * pitchY);
}

interface NamesProps {
  place: Place;
  labels: readonly string[];
  outputs: readonly number[];
}

/** Names, or positions, of the columns above and the rows on the left. */
function Names({ place, labels, outputs }: NamesProps) {
  const u = unit();
  const { margin, head } = place.frame;
  const [namedX, namedY] = [place.pitchX >= LABELLED * u, place.pitchY >= LABELLED * u];
  const { report, state } = useViewer();
  const columns = namedX
    ? range(place.columns).map((i) => ({ at: i, words: labels[i] }))
    : tokenTicks(report, place.columns, place.pitchX, 44 * u);
  // If only some tokens have rows, rows are numbered consecutively.
  const rows = namedY
    ? range(place.rows).map((r) => ({ at: r, words: labels[outputs[r]] }))
    : outputs.length === report.n
      ? tokenTicks(report, place.rows, place.pitchY, 44 * u)
      : ticks(...place.rows, place.pitchY, 44 * u).map((r) => ({ at: r, words: String(outputs[r]) }));
  const row = outputs.indexOf(state.choices.token.value);
  return (
    <>
      {columns
        .filter(({ at }) => place.hasColumn(at))
        .map(({ at: i, words }) =>
          namedX ? (
            <TokenLabel
              key={i}
              x={place.left(i + 0.5)}
              y={head - 6}
              label={fitted(words, head - 10)}
              level={false}
              above
            />
          ) : (
            <text key={i} class="tick" x={place.left(i + 0.5)} y={head - 6} text-anchor="middle">
              {words}
            </text>
          ),
        )}
      {rows
        .filter(({ at }) => place.hasRow(at))
        .map(({ at: r, words }) => (
          <text
            key={r}
            class={namedY ? (r === row ? "label chosen" : "label") : "tick"}
            x={margin - (namedY ? 8 : 13)}
            y={place.top(r + 0.5) + 4 * u}
            text-anchor="end"
          >
            {namedY ? fitted(words, margin - 9, undefined, r === row ? chosenFont() : undefined) : words}
          </text>
        ))}
      {row >= 0 && !namedY && place.hasRow(row) && (
        <path class="pointer" d={`M${margin - 10} ${place.top(row + 0.5) - 5}l9 5l-9 5z`} />
      )}
    </>
  );
}

interface MarksProps extends Pick<MatrixPictureProps, "id" | "outputs" | "block"> {
  place: Place;
  marked: boolean;
}

/** Drawn over the cells: numbers where they fit, corner marks above the scale, the chosen row, what is pointed at. */
function Marks({ id, outputs, block, place, marked }: MarksProps) {
  const viewer = useViewer();
  const { choices, counts: counted } = viewer.state;
  const counts = counted.value;
  const u = unit();
  const { margin, head, plot, n } = place.frame;
  const { pitchX, pitchY } = place;
  const ends = block?.ends ?? new EndsOf().ends;
  const shades = viewer.shades(ends);
  const valueAt = (r: number, i: number) => (block ? block.values[r * n + i] : NaN);
  const cells = () => range(place.rows).flatMap((r) => range(place.columns).map((i) => [r, i, valueAt(r, i)] as const));
  const corners = () =>
    cells()
      .map(([r, i, value]) =>
        counts[i] && shades.beyond(value) ? cornerAt(place.left(i + 1) - 1, place.top(r) + 1) : "",
      )
      .join("");
  const printed = block !== null && pitchX >= PRINTED * u && pitchY >= 18 * u;
  const row = outputs.indexOf(choices.token.value);
  const clip = `${id}-clip`;
  return (
    <>
      <defs>
        <clipPath id={clip}>
          <rect x={margin - 2} y={head - 2} width={plot.width + 4} height={plot.height + 4} />
        </clipPath>
      </defs>
      <g clip-path={`url(#${clip})`}>
        {printed &&
          cells().map(([r, i, value]) =>
            Number.isNaN(value) ? null : (
              <text
                key={`${r} ${i}`}
                class="value"
                x={place.left(i + 0.5)}
                y={place.top(r + 0.5) + 4 * u}
                text-anchor="middle"
                fill={counts[i] ? shades.ink(value) : "currentColor"}
                data-value={value}
              >
                {format(value)}
              </text>
            ),
          )}
        {marked && ends.above > ends.top && <path class="corners" d={corners()} />}
        {row >= 0 && (
          <rect
            class="frame"
            x={place.left(0) - 1}
            y={place.top(row) - 1}
            width={n * pitchX + 2}
            height={Math.max(2, pitchY + 2)}
          />
        )}
        <Crosshair id={id} outputs={outputs} place={place} />
      </g>
    </>
  );
}

interface CrosshairProps {
  id: string;
  outputs: readonly number[];
  place: Place;
}

/** Marks the cell pointed at with its row and column; for something pointed at elsewhere, the parts in this picture. */
function Crosshair({ id, outputs, place }: CrosshairProps) {
  const { pointed } = useViewer().state;
  if (!pointed.value) return null;
  const { input, output, view } = pointed.value;
  const r = output === undefined ? -1 : outputs.indexOf(output);
  const { pitchX, pitchY } = place;
  const [x, y, w, h] = [place.left(input), place.top(r), Math.max(1.5, pitchX), Math.max(1.5, pitchY)];
  return (
    <g class="pointing" aria-hidden="true">
      <rect class="column" x={x} y={place.top(0)} width={w} height={outputs.length * pitchY} />
      {r >= 0 && view === id && <rect class="row" x={place.left(0)} y={y} width={place.frame.n * pitchX} height={h} />}
      {r >= 0 && <rect class="cell" x={x} y={y} width={w} height={h} />}
    </g>
  );
}
