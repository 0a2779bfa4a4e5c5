// A matrix of all pairs, zoomable: cells on canvas, labels (where they fit) as text around it. The matrix of a layer and
// that of a head are both drawn with it.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Signal } from "@preact/signals";
import type { Ref } from "preact";
import { EndsOf, isAbove, type Ends } from "../color/ends";
import { cornerAt, useMarking } from "../components/legend";
import { chosenFont, fitted, pictureStyle, unit } from "../components/measure";
import { useViewer } from "../context";
import type { Work } from "../compute/slices";
import { format, shorten } from "../report/text";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import { printing } from "../theme";
import { Sheet, stepImageWork, ticks, TokenLabel, useFound, useWidth, widest } from "./picture";
import "../styles/pictures.css";

/** The values of all rows, and the ends of the scale of those that count. */
export interface Block {
  /** [rows, columns]; NaN where there is none */
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

/** Steps of the colour scale. */
interface Raster {
  steps: Int16Array;
  rows: number;
  columns: number;
}

/** A raster and coarser ones in which a pixel is the largest of four, so that peaks stay when pixels are few. */
interface Drawing {
  canvas: HTMLCanvasElement;
  /** which of the rasters */
  at: number;
  /** of the finest raster */
  rows: number;
  columns: number;
}

/** Larger rasters are made in slices. */
const AT_ONCE = 5e5;

export interface MatrixPictureProps {
  /** of the view */
  id: string;
  outputs: readonly number[];
  block: Block | null;
  busy: boolean;
  /** the chosen output token */
  chosen: number;
  /** said with what is pointed at */
  layer: number;
  /** values at this share of the largest are not drawn */
  least: number;
  onChoose: (output: number) => void;
  svg: Ref<SVGSVGElement>;
  /** largest height in pixels */
  most?: number;
  /** whether what lies above the scale has a corner, for the legend */
  marking?: Signal<boolean>;
}

export function MatrixPicture(props: MatrixPictureProps) {
  const { id, outputs, block, busy, chosen, layer, least, onChoose } = props;
  const viewer = useViewer();
  const { report, state } = viewer;
  const { counts, pointed } = state;
  const box = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const behaviour = useRef<ZoomBehavior<SVGSVGElement, unknown> | null>(null);
  const [zoomed, setTransform] = useState<ZoomTransform>(zoomIdentity);
  // Paper shows all of it; the screen's zoom is there again afterwards.
  const transform = printing.value ? zoomIdentity : zoomed;
  const width = useWidth(box);
  const onScreen = useRef(width);
  if (!printing.value) onScreen.current = width;
  const u = unit();
  const most = props.most ?? Math.max(560 * u, Math.min(1100 * u, width * 0.9));
  const { n } = report;
  const rows = outputs.length;
  const labels = useMemo(() => report.tokens.map((t) => shorten(t.label, 12)), [report]);
  const labelWidth = useMemo(() => Math.min(110 * u, widest(labels)), [labels, u]);
  // Wide enough for labels, which show when there is room after zooming.
  const margin = Math.min(labelWidth + 14, Math.max(40, width * 0.22));
  const cell = Math.max(0.01, Math.min(64 * u, (width - margin - 4) / n, rows < 6 ? Infinity : (most - margin) / rows));
  const height = rows < 6 ? Math.max(18 * u, Math.min(48 * u, cell)) : cell;
  // On a narrow screen, whose cells have no room for names, these would stand in an empty strip until one zooms.
  const head = width < 480 * u && cell < LABELLED * u ? Math.min(margin, 42 * u) : margin;
  const plot = { width: n * cell, height: rows * height };
  const size = { width: margin + plot.width + 4, height: head + plot.height + 4 };
  const { k } = transform;
  const [pitchX, pitchY] = [cell * k, height * k];
  const marked = useMarking(props.marking, Math.min(pitchX, pitchY));
  const left = (i: number) => transform.applyX(margin + i * cell);
  const top = (r: number) => transform.applyY(head + r * height);
  const visible = {
    columns: [
      Math.max(0, Math.floor((transform.invertX(margin) - margin) / cell)),
      Math.min(n, Math.ceil((transform.invertX(margin + plot.width) - margin) / cell)),
    ],
    rows: [
      Math.max(0, Math.floor((transform.invertY(head) - head) / height)),
      Math.min(rows, Math.ceil((transform.invertY(head + plot.height) - head) / height)),
    ],
  };

  const scale = viewer.scale.value;
  const { found: rasters } = useFound<Raster[]>(
    function* () {
      if (!block) return [];
      const { values, columns, ends } = block;
      const shading = viewer.shades(ends);
      let steps = new Int16Array(values.length);
      const used = counts.value;
      for (let r = 0; r < block.rows; ++r) {
        for (let i = 0, e = r * columns; i < columns; ++i, ++e) {
          const value = values[e];
          steps[e] = !used[i] || Number.isNaN(value) ? -1 : shading.step(value, ends.top);
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
    },
    // The steps of all scales are alike.
    [block, counts.value, least, state.choices.fromLeast.value],
    (block?.values.length ?? 0) <= AT_ONCE,
  );
  // The finest raster whose cells are no smaller than a pixel; its colours only.
  let finest = 0;
  const pixel = Math.min(pitchX, pitchY) * (devicePixelRatio || 1);
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
      .scaleExtent([1, Math.max(2, (56 * u) / Math.min(cell, height))])
      .filter((event: Event) => {
        const scaled = (behaviour.current && element.classList.contains("zoomed")) ?? false;
        // The page scrolls over a picture that nobody has turned to.
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
  // Another report, another width: whole again.
  useEffect(() => {
    if (svg.current && behaviour.current) behaviour.current.transform(select(svg.current), zoomIdentity);
  }, [n, rows, onScreen.current]);

  const zoomBy = (factor: number) => {
    if (!svg.current || !behaviour.current) return;
    const at = pointed.peek();
    const centre = at?.view === id && at.output !== undefined ? at : null;
    const place: [number, number] | undefined = centre
      ? [left(centre.input + 0.5), top(outputs.indexOf(centre.output ?? 0) + 0.5)]
      : undefined;
    behaviour.current.scaleBy(select(svg.current), factor, place);
  };
  const whole = () => {
    if (svg.current && behaviour.current) behaviour.current.transform(select(svg.current), zoomIdentity);
  };
  const locate = (event: MouseEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const isIn = y >= head && y < head + plot.height;
    return {
      input: x >= margin ? Math.floor((transform.invertX(x) - margin) / cell) : -1,
      output: isIn ? outputs[Math.floor((transform.invertY(y) - head) / height)] : undefined,
    };
  };
  const point = (output: number, input: number) => {
    const now = pointed.peek();
    if (now?.view === id && now.input === input && now.output === output && now.layer === layer) return;
    pointed.value = { input, output, layer, view: id };
  };
  const valueAt = (r: number, input: number) => (block ? block.values[r * n + input] : NaN);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const here = pointed.peek()?.view === id ? pointed.peek() : null;
    const at = { input: here?.input ?? 0, r: Math.max(0, outputs.indexOf(here?.output ?? chosen)) };
    const by = event.shiftKey ? 10 : 1;
    const moves: Record<string, [number, number]> = {
      ArrowRight: [by, 0],
      ArrowLeft: [-by, 0],
      ArrowDown: [0, by],
      ArrowUp: [0, -by],
      Home: [-n, 0],
      End: [n, 0],
    };
    const move = moves[event.key];
    if (move) {
      const input = Math.max(0, Math.min(n - 1, at.input + move[0]));
      const r = Math.max(0, Math.min(rows - 1, at.r + move[1]));
      point(outputs[r], input);
      const name = (i: number) => report.tokens[i].label;
      viewer.announcement.value = `${name(outputs[r])} draws ${format(valueAt(r, input))} on ${name(input)}`;
      // What is read stays in sight.
      const [x, y] = [margin + (input + 0.5) * cell, head + (r + 0.5) * height];
      const [sx, sy] = [transform.applyX(x), transform.applyY(y)];
      const out = sx < margin || sx > margin + plot.width || sy < head || sy > head + plot.height;
      if (out && svg.current && behaviour.current) behaviour.current.translateTo(select(svg.current), x, y);
    } else if (event.key === "+" || event.key === "=") zoomBy(1.6);
    else if (event.key === "-") zoomBy(1 / 1.6);
    else if (event.key === "0") whole();
    else if (event.key === "Enter" || event.key === " ") onChoose(outputs[at.r]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = (names: readonly string[], [begin, end]: number[], pitch: number) =>
    pitch >= LABELLED * u ? names.slice(begin, end).map((_, at) => begin + at) : ticks(begin, end, pitch, 44 * u);
  // Of a row or column that is cut off, the name would stand beside the picture.
  const inside = (at: number, begin: number, length: number) => at >= begin && at <= begin + length;
  const xs = shown(labels, visible.columns, pitchX).filter((i) => inside(left(i + 0.5), margin, plot.width));
  const ys = shown(
    outputs.map((output) => labels[output]),
    visible.rows,
    pitchY,
  ).filter((r) => inside(top(r + 0.5), head, plot.height));
  const labelledX = pitchX >= LABELLED * u;
  const labelledY = pitchY >= LABELLED * u;
  const row = outputs.indexOf(chosen);
  const ends = block?.ends ?? new EndsOf().ends;
  const shades = viewer.shades(ends);
  const printed = block !== null && pitchX >= PRINTED * u && pitchY >= 18 * u;
  const clip = `${id}-clip`;
  /** Of cells in sight that lie above the scale. */
  const corners = () =>
    range(visible.rows)
      .flatMap((r) =>
        range(visible.columns).map((i) =>
          counts.value[i] && isAbove(valueAt(r, i), ends) ? cornerAt(left(i + 1) - 1, top(r) + 1) : "",
        ),
      )
      .join("");
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
              inputs={[drawing, transform, cell, margin, head]}
              draw={(context) => {
                const { canvas, at } = drawing;
                const share = 2 ** at;
                context.imageSmoothingEnabled = at > 0;
                context.imageSmoothingQuality = "high";
                context.clearRect(0, 0, plot.width, plot.height);
                context.drawImage(
                  canvas,
                  left(0) - margin,
                  top(0) - head,
                  canvas.width * share * pitchX,
                  canvas.height * share * pitchY,
                );
              }}
            />
          )}
          <svg
            ref={(element) => {
              svg.current = element;
              const given = props.svg;
              if (given && typeof given !== "function") given.current = element;
            }}
            class={k > 1 ? "zoomable zoomed" : "zoomable"}
            {...size}
            viewBox={`0 0 ${size.width} ${size.height}`}
            role="application"
            tabindex={0}
            aria-label={`${rows} output tokens by ${n} input tokens. Arrow keys read values, Enter chooses the output token, plus and minus zoom.`}
            onKeyDown={onKeyDown}
            onPointerMove={(event) => {
              const { input, output } = locate(event);
              if (output !== undefined && input >= 0 && input < n) point(output, input);
              else if (pointed.peek()?.view === id) pointed.value = null;
            }}
            onPointerLeave={() => (pointed.value = null)}
            onClick={(event) => {
              const { output } = locate(event);
              if (output !== undefined) onChoose(output);
            }}
          >
            <defs>
              <clipPath id={clip}>
                <rect x={margin - 2} y={head - 2} width={plot.width + 4} height={plot.height + 4} />
              </clipPath>
            </defs>
            {xs.map((i) =>
              labelledX ? (
                <TokenLabel
                  key={i}
                  x={left(i + 0.5)}
                  y={head - 6}
                  label={fitted(labels[i], head - 10)}
                  level={false}
                  above
                />
              ) : (
                <text key={i} class="tick" x={left(i + 0.5)} y={head - 6} text-anchor="middle">
                  {i}
                </text>
              ),
            )}
            {ys.map((r) => (
              <text
                key={r}
                class={labelledY ? (outputs[r] === chosen ? "label chosen" : "label") : "tick"}
                x={margin - (labelledY ? 8 : 13)}
                y={top(r + 0.5) + 4 * u}
                text-anchor="end"
              >
                {labelledY
                  ? fitted(labels[outputs[r]], margin - 9, undefined, outputs[r] === chosen ? chosenFont() : undefined)
                  : outputs[r]}
              </text>
            ))}
            <g clip-path={`url(#${clip})`}>
              {printed &&
                range(visible.rows).flatMap((r) =>
                  range(visible.columns).map((i) => {
                    const value = valueAt(r, i);
                    return Number.isNaN(value) ? null : (
                      <text
                        key={`${r} ${i}`}
                        class="value"
                        x={left(i + 0.5)}
                        y={top(r + 0.5) + 4 * u}
                        text-anchor="middle"
                        fill={counts.value[i] ? shades.ink(value, ends.top) : "currentColor"}
                        data-value={value}
                      >
                        {format(value)}
                      </text>
                    );
                  }),
                )}
              {marked && ends.above > ends.top && <path class="corners" d={corners()} />}
              {row >= 0 && (
                <rect
                  class="frame"
                  x={left(0) - 1}
                  y={top(row) - 1}
                  width={n * pitchX + 2}
                  height={Math.max(2, pitchY + 2)}
                />
              )}
              <Crosshair id={id} outputs={outputs} left={left} top={top} pitchX={pitchX} pitchY={pitchY} n={n} />
            </g>
            {row >= 0 && !labelledY && inside(top(row + 0.5), head, plot.height) && (
              <path class="pointer" d={`M${margin - 10} ${top(row + 0.5) - 5}l9 5l-9 5z`} />
            )}
          </svg>
        </div>
      )}
      <ZoomButtons zoomBy={zoomBy} whole={whole} zoomed={k > 1} id={id} />
    </div>
  );
}

/** Labels go beside cells that are at least so wide, numbers into wider ones. */
const LABELLED = 13;
const PRINTED = 44;

const range = ([begin, end]: number[]) => Array.from({ length: Math.max(0, end - begin) }, (_, at) => begin + at);

interface CrosshairProps {
  id: string;
  outputs: readonly number[];
  left: (i: number) => number;
  top: (r: number) => number;
  pitchX: number;
  pitchY: number;
  n: number;
}

/** The cell pointed at with its row and column; of what is pointed at elsewhere, what this picture has of it. */
function Crosshair({ id, outputs, left, top, pitchX, pitchY, n }: CrosshairProps) {
  const { pointed } = useViewer().state;
  if (!pointed.value) return null;
  const { input, output, view } = pointed.value;
  const r = output === undefined ? -1 : outputs.indexOf(output);
  const [w, h] = [Math.max(1.5, pitchX), Math.max(1.5, pitchY)];
  return (
    <g class="pointing" aria-hidden="true">
      <rect class="column" x={left(input)} y={top(0)} width={w} height={outputs.length * pitchY} />
      {r >= 0 && view === id && <rect class="row" x={left(0)} y={top(r)} width={n * pitchX} height={h} />}
      {r >= 0 && <rect class="cell" x={left(input)} y={top(r)} width={w} height={h} />}
    </g>
  );
}

interface ZoomButtonsProps {
  id: string;
  zoomBy: (factor: number) => void;
  whole: () => void;
  zoomed: boolean;
}

export function ZoomButtons({ id, zoomBy, whole, zoomed }: ZoomButtonsProps) {
  return (
    <div class="zoom-buttons" role="group" aria-label="Zoom">
      <button type="button" id={`${id}-closer`} aria-label="Zoom in" onClick={() => zoomBy(1.6)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" disabled={!zoomed} onClick={() => zoomBy(1 / 1.6)}>
        −
      </button>
      <button type="button" id={`${id}-whole`} disabled={!zoomed} onClick={whole}>
        Whole
      </button>
    </div>
  );
}
