// The layer x token picture of the chosen output token: what it draws on after each layer, the last on top.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { walkWithKeys } from "../components/arrow_keys";
import { Card } from "../components/card";
import { CheckBox } from "../components/check_box";
import { cornerAt, Legend, MARKED } from "../components/legend";
import { Readout } from "../components/readout";
import { pictureStyle, textWidth, unit } from "../components/measure";
import { Scroller } from "../components/scroller";
import { useViewer } from "../context";
import { endsOf, EndsOf, endsOfEach, isAbove, type Ends } from "../color/ends";
import type { Exporter } from "../export/exporter";
import { standalone } from "../export/picture";
import { layersWords } from "../report/setting_words";
import { format, shorten } from "../report/text";
import type { Numbers } from "../report/values";
import { printing } from "../theme";
import type { Work } from "../compute/slices";
import { ZoomButtons } from "./matrix_picture";
import { Sheet, stepImage, ticks, TokenLabel, useFound, useWidth, widest, withSheets } from "./picture";
import "../styles/pictures.css";

/** Names of tokens go below a cell that is at least so wide. */
const LABELLED = 13;
const MOST_NAMED_ON_PAPER = 90;
/** More cells are drawn on canvas. */
const MOST_RECTS = 2400;
/** Numbers touched that nobody notices. */
const CHEAP = 4e6;

interface Found {
  rows: (Numbers | null)[];
  /** of each row, and of all */
  own: Ends[];
  all: Ends;
}

/** What the output token draws on after each layer that is above the one looked down to. */
function useRows() {
  const { report, state, explanation } = useViewer();
  const { choices, counts } = state;
  const [method, token, explained] = [choices.method.value, choices.token.value, explanation.value];
  const layers = useMemo(
    () => report.layers.filter((layer) => layer > choices.start_layer.value),
    [report, choices.start_layer.value],
  );
  const { found, busy } = useFound(
    function* (): Work<Found> {
      const rows: (Numbers | null)[] = [];
      for (const layer of layers) {
        rows.push(explained.row(method, layer, token));
        yield;
      }
      const own = rows.map((row) => endsOf(report, [row], token, counts.value));
      return { rows, own, all: endsOf(report, rows, token, counts.value) };
    },
    [explained, method, token, layers, counts.value],
    layers.reduce((sum, layer) => sum + explained.cost(method, layer), 0) < CHEAP,
  );
  const rows = found && found.rows.length === layers.length ? found.rows : layers.map(() => null);
  const all = found?.all ?? new EndsOf().ends;
  const endsIn = (index: number) => (choices.ownScale.value ? found?.own[index] : null) ?? all;
  return { layers, found, rows, own: found?.own ?? [], all, endsIn, busy };
}

/** Where everything stands. */
interface Layout {
  n: number;
  layers: readonly number[];
  left: number;
  cell: number;
  /** height of a row */
  line: number;
  /** columns are named, else ticked */
  labelled: boolean;
  /** names fit upright */
  level: boolean;
  size: { width: number; height: number };
  /** of the row of layers[index]; of -1: below the rows */
  top(index: number): number;
}

interface Room {
  /** the box's */
  width: number;
  /** of the widest label */
  labels: number;
  /** of the deepest layer's name */
  deepest: number;
  /** many tokens stand in the box's width, and are stretched to look closer */
  stretch: number;
}

const MANY = 128;

function layoutOf(n: number, layers: readonly number[], { width, labels, deepest, stretch }: Room): Layout {
  const u = unit();
  const line = 26 * u;
  const left = 12 + deepest;
  const room = width - left - 2;
  const onPaper = printing.value;
  const many = n > MANY;
  const fit = Math.min(300 * u, room / n);
  // Paper does not scroll: up to some more tokens than fit keep their names, in smaller letters.
  const narrowest = onPaper ? (n <= MOST_NAMED_ON_PAPER ? LABELLED * u : 0) : 19 * u;
  const most = many ? (room / n) * (onPaper ? 1 : stretch) : Math.max(narrowest, fit);
  const level = labels + 8 <= most;
  // Labels that are turned lean out of the last column.
  const lean = level || many ? 0 : Math.max(0, Math.min(24, labels * 0.1));
  const cell = many || level ? most : Math.max(narrowest, fit - lean / n);
  const labelled = cell >= LABELLED * u;
  const bottom = level || !labelled ? 26 * u : Math.min(labels, 140 * u) + 14 * u;
  const size = { width: left + n * cell + 2 + lean, height: 2 + layers.length * line + bottom };
  const top = (index: number) => 2 + (layers.length - 1 - index) * line;
  return { n, layers, left, cell, line, labelled, level, size, top };
}

export function LayerMap() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, pointed } = state;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const svg = useRef<SVGSVGElement>(null);
  const [stretch, setStretch] = useState(1);
  const [method, token] = [choices.method.value, choices.token.value];
  const values = useRows();
  const { layers, rows, own, all } = values;
  const { n } = report;
  const u = unit();
  const labels = useMemo(() => report.tokens.map((t) => shorten(t.label, 16)), [report]);
  const labelWidth = useMemo(() => widest(labels), [labels, u]);
  const deepest = textWidth(`Layer ${report.model.layers}`);
  const layout = layoutOf(n, layers, { width, labels: labelWidth, deepest, stretch });
  const { left, cell, line, size } = layout;
  const any = rows.some(Boolean);
  const inRects = n * layers.length <= MOST_RECTS;
  const marked = inRects && cell >= MARKED;

  const middle = useRef(0.5);
  const stretchTo = (to: number) => {
    const target = box.current;
    const at = pointed.peek()?.view === "heat" ? (pointed.peek()?.input ?? 0) + 0.5 : null;
    if (target) middle.current = at !== null ? at / n : (target.scrollLeft + width / 2 - left) / (n * cell);
    setStretch(Math.max(1, Math.min((20 * u * n) / (width - left - 2), to)));
  };
  // What stood in the middle stays there.
  useLayoutEffect(() => {
    if (n > MANY) box.current?.scrollTo({ left: left + middle.current * n * cell - width / 2 });
  }, [stretch]);
  const locate = (event: MouseEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const input = Math.floor((event.clientX - frame.left - left) / cell);
    const index = layers.length - 1 - Math.floor((event.clientY - frame.top - 2) / line);
    return { input, index };
  };
  const point = (input: number, layer: number) => {
    const now = pointed.peek();
    if (now?.view === "heat" && now.input === input && now.layer === layer) return;
    pointed.value = { input, layer, output: token, view: "heat" };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = pointed.peek()?.view === "heat" ? pointed.peek() : null;
    walkWithKeys(event, {
      columns: n,
      rows: [0, layers.length - 1],
      at: () => ({ column: here?.input ?? token, row: layers.indexOf(here?.layer ?? choices.layer.value) }),
      move({ column: input, row: index }) {
        point(input, layers[index]);
        viewer.announcement.value = `Layer ${layers[index]}, ${labels[input]}: ${format(rows[index]?.[input])}`;
        box.current?.scrollTo({ left: left + (input + 0.5) * cell - width / 2 });
      },
      choose({ column, row }, key) {
        if (key === " ") choices.token.value = column;
        else if (row >= 0) choices.layer.value = layers[row];
      },
    });
  };
  const exporter: Exporter = {
    svg: () => (svg.current ? withSheets(standalone(svg.current), box.current) : ""),
    shown: () => ({ layers: layersWords(layers), file: [method, `token${token}`] }),
    rows: () => ({
      columns: ["layer", "output_token", "input_token", "token", "value"],
      rows: layers.flatMap((layer, index) =>
        [...(rows[index]?.entries() ?? [])].map(([i, value]) => [layer, token, i, report.tokens[i].label, value]),
      ),
    }),
  };
  return (
    <Card id="heat" title="By layer" wide exporter={any ? exporter : undefined}>
      <Scroller
        class="picture"
        id="heat"
        box={box}
        aria-busy={values.busy}
        tabIndex={0}
        role="group"
        aria-labelledby="heat-heading"
      >
        {width > 0 && any && (
          <div class="sheets" style={pictureStyle(size)}>
            {!inRects && <Raster layout={layout} values={values} />}
            <svg
              ref={svg}
              {...size}
              viewBox={`0 0 ${size.width} ${size.height}`}
              role="application"
              tabindex={0}
              aria-label={`${layers.length} layers by ${n} tokens. Arrow keys read values, Enter chooses the layer, Space the token.`}
              onKeyDown={onKeyDown}
              onPointerMove={(event) => {
                const { input, index } = locate(event);
                if (input >= 0 && input < n && index >= 0 && index < layers.length) point(input, layers[index]);
              }}
              onPointerLeave={() => (pointed.value = null)}
              onClick={(event) => {
                const { input, index } = locate(event);
                if (index >= 0 && index < layers.length) choices.layer.value = layers[index];
                else if (input >= 0 && input < n) choices.token.value = input;
              }}
            >
              {inRects && <Cells layout={layout} values={values} marked={marked} />}
              <Names layout={layout} labels={labels} />
              <Pointer layout={layout} />
            </svg>
          </div>
        )}
      </Scroller>
      {n > MANY && (
        <ZoomButtons
          id="heat"
          zoomBy={(factor) => stretchTo(stretch * factor)}
          whole={() => stretchTo(1)}
          zoomed={stretch > 1}
        />
      )}
      <Readout view="heat" />
      <div class="row foot">
        {any && (
          <Legend
            ends={choices.ownScale.value ? endsOfEach(all, own) : all}
            each={choices.ownScale.value ? "layer" : undefined}
            marked={marked}
          />
        )}
        <div class="control check">
          <CheckBox id="own-scale" on={choices.ownScale}>
            Each layer on its own scale
          </CheckBox>
        </div>
        <p class="help">
          The same output token after each layer. Click a row to choose its layer, a label to choose its token.
        </p>
      </div>
    </Card>
  );
}

interface CellsProps {
  layout: Layout;
  values: ReturnType<typeof useRows>;
}

/** Many cells, on canvas. Where a pixel holds several tokens, the largest shows. */
function Raster({ layout, values }: CellsProps) {
  const viewer = useViewer();
  const { choices, counts } = viewer.state;
  const scale = viewer.scale.value;
  const used = counts.value;
  const { n, layers, left, cell, line, size } = layout;
  const draw = (context: CanvasRenderingContext2D, ratio: number) => {
    const columns = Math.min(n, Math.round(n * cell * ratio));
    const steps = new Int16Array(layers.length * columns).fill(-1);
    for (const [index, row] of values.rows.entries()) {
      const ends = values.endsIn(index);
      const shades = viewer.shades(ends);
      const base = (layers.length - 1 - index) * columns;
      for (let i = 0; row && i < n; ++i) {
        if (!used[i]) continue;
        const at = base + Math.floor((i * columns) / n);
        steps[at] = Math.max(steps[at], shades.step(row[i], ends.top));
      }
    }
    context.imageSmoothingEnabled = false;
    context.drawImage(stepImage(steps, layers.length, columns, scale), 0, 0, n * cell, layers.length * line);
    // The ground shows between layers, and between tokens where they are wide enough.
    for (let index = 1; index <= layers.length; ++index) context.clearRect(0, index * line - 1, n * cell, 1);
    for (let i = 1; cell > 8 && i < n; ++i) context.clearRect(i * cell - 1, 0, 1, layers.length * line);
  };
  return (
    <Sheet
      of={size}
      left={left}
      top={2}
      width={n * cell}
      height={layers.length * line}
      inputs={[
        values.found,
        scale,
        used,
        choices.ownScale.value,
        choices.threshold.value,
        choices.fromLeast.value,
        cell,
      ]}
      draw={draw}
    />
  );
}

/** A rectangle a cell, with its number where that has room, and a corner where it lies above the scale. */
function Cells({ layout, values: { rows, endsIn }, marked }: CellsProps & { marked: boolean }) {
  const viewer = useViewer();
  const counts = viewer.state.counts.value;
  const { left, cell, line, top } = layout;
  const u = unit();
  let corners = "";
  const cells = rows.map((row, index) => {
    const ends = endsIn(index);
    const shades = viewer.shades(ends);
    const [y, inkY] = [top(index), top(index) + 17 * u];
    return Array.from(row ?? [], (value, i) => {
      const used = counts[i];
      const x = left + i * cell;
      if (marked && used && isAbove(value, ends)) corners += cornerAt(x + cell - 1, y);
      const fill = used ? shades.css(value, ends.top) : "url(#excluded)";
      const ink = used ? shades.ink(value, ends.top) : "currentColor";
      return [
        <rect x={x} y={y} width={Math.max(1, cell - 1)} height={line - 1} fill={fill} data-value={value} />,
        cell >= 44 * u && (
          <text x={x + cell / 2} y={inkY} text-anchor="middle" class="value" fill={ink}>
            {format(value)}
          </text>
        ),
      ];
    });
  });
  return (
    <>
      <defs>
        <pattern id="excluded" width={6} height={6} patternUnits="userSpaceOnUse">
          <path d="M0 6 6 0" class="hatch" />
        </pattern>
      </defs>
      <g class="cells">
        {cells}
        {marked && <path class="corners" d={corners} />}
      </g>
    </>
  );
}

/** Layers at the left, tokens below, and a frame around what is chosen. */
function Names({ layout, labels }: { layout: Layout; labels: readonly string[] }) {
  const { report, state } = useViewer();
  const { layer: chosen, token } = state.choices;
  const { n, layers, left, cell, line, labelled, level, top } = layout;
  const u = unit();
  const at = layers.indexOf(chosen.value);
  const place = (i: number) => left + (i + 0.5) * cell;
  return (
    <>
      {layers.map((layer, index) => (
        <text key={layer} x={left - 8} y={top(index) + 17 * u} text-anchor="end" class={index === at ? "chosen" : ""}>
          Layer {layer}
        </text>
      ))}
      {at >= 0 && <rect x={left - 1} y={top(at) - 1} width={n * cell + 1} height={line + 1} class="frame" />}
      {labelled
        ? labels.map((label, i) => (
            <TokenLabel
              key={i}
              x={place(i)}
              y={top(-1) + 8}
              label={label}
              level={level}
              title={report.tokens[i].label}
              class={i === token.value ? "label chosen" : "label"}
            />
          ))
        : ticks(0, n, cell, 60 * u).map((i) => (
            <text key={i} x={place(i)} y={top(-1) + 18 * u} text-anchor="middle" class="tick">
              {i}
            </text>
          ))}
      {!labelled && (
        <path d={`M${place(token.value)} ${top(-1)}l5 8h-10z`} class="pointer">
          <title>{labels[token.value]}</title>
        </path>
      )}
    </>
  );
}

/** What is pointed at here, or the column of what is pointed at elsewhere; drawn apart, so that moving draws no more. */
function Pointer({ layout: { left, cell, line, top, layers } }: { layout: Layout }) {
  const { pointed } = useViewer().state;
  if (!pointed.value) return null;
  const { input, layer, view } = pointed.value;
  const index = view === "heat" && layer !== undefined ? layers.indexOf(layer) : -1;
  const wide = Math.max(2, cell - 1);
  return (
    <g class="pointing" aria-hidden="true">
      <rect class="column" x={left + input * cell} y={1} width={wide} height={layers.length * line} />
      {index >= 0 && <rect class="cell" x={left + input * cell} y={top(index)} width={wide} height={line - 1} />}
    </g>
  );
}
