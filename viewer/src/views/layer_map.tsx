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

export function LayerMap() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts, pointed } = state;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const svg = useRef<SVGSVGElement>(null);
  const [stretch, setStretch] = useState(1);
  const [method, token, explained] = [choices.method.value, choices.token.value, explanation.value];
  const layers = useMemo(
    () => report.layers.filter((layer) => layer > choices.toLayer.value),
    [report, choices.toLayer.value],
  );
  const cost = layers.reduce((sum, layer) => sum + explained.cost(method, layer), 0);
  const { found, busy } = useFound(
    function* (): Work<{ rows: (Numbers | null)[]; own: Ends[]; all: Ends }> {
      const rows: (Numbers | null)[] = [];
      for (const layer of layers) {
        rows.push(explained.row(method, layer, token));
        yield;
      }
      return {
        rows,
        own: rows.map((row) => endsOf(report, [row], token, counts.value)),
        all: endsOf(report, rows, token, counts.value),
      };
    },
    [explained, method, token, layers, counts.value],
    cost < CHEAP,
  );
  const { n } = report;
  const u = unit();
  const ROW = 26 * u;
  const labels = useMemo(() => report.tokens.map((t) => shorten(t.label, 16)), [report]);
  const labelWidth = useMemo(() => widest(labels), [labels, u]);
  const rows = found && found.rows.length === layers.length ? found.rows : layers.map(() => null);
  const all = found?.all ?? new EndsOf().ends;
  const any = rows.some(Boolean);

  const left = 12 + textWidth(`Layer ${report.model.layers}`);
  const room = width - left - 2;
  const onPaper = printing.value;
  const many = n > 128;
  // Many tokens stand in the picture's width, and are stretched to look closer.
  const fit = Math.min(300 * u, room / n);
  // Paper does not scroll: up to some more tokens than fit keep their names, in smaller letters.
  const narrowest = onPaper ? (n <= MOST_NAMED_ON_PAPER ? LABELLED * u : 0) : 19 * u;
  const most = many ? (room / n) * (onPaper ? 1 : stretch) : Math.max(narrowest, fit);
  const level = labelWidth + 8 <= most;
  // Labels that are turned lean out of the last column.
  const lean = level || many ? 0 : Math.max(0, Math.min(24, labelWidth * 0.1));
  const cell = many || level ? most : Math.max(narrowest, fit - lean / n);
  const labelled = cell >= LABELLED * u;
  const right = 2 + lean;
  const bottom = level || !labelled ? 26 * u : Math.min(labelWidth, 140 * u) + 14 * u;
  const size = { width: left + n * cell + right, height: 2 + layers.length * ROW + bottom };
  const top = (index: number) => 2 + (layers.length - 1 - index) * ROW;
  const inRects = n * layers.length <= MOST_RECTS;
  const endsIn = (index: number) => (choices.ownScale.value ? found?.own[index] : null) ?? all;
  const scale = viewer.scale.value;
  const [least, fromLeast] = [choices.threshold.value, choices.fromLeast.value];
  const shadesIn = layers.map((_, index) => viewer.shades(endsIn(index)));

  const marked = inRects && cell >= MARKED;
  /** Of cells above the scale. */
  const corners = () =>
    rows
      .flatMap((row, index) =>
        Array.from(row ?? [], (value, i) =>
          counts.value[i] && isAbove(value, endsIn(index)) ? cornerAt(left + (i + 1) * cell - 1, top(index)) : "",
        ),
      )
      .join("");

  const middle = useRef(0.5);
  const stretchTo = (to: number) => {
    const target = box.current;
    const at = pointed.peek()?.view === "heat" ? (pointed.peek()?.input ?? 0) + 0.5 : null;
    if (target) middle.current = at !== null ? at / n : (target.scrollLeft + width / 2 - left) / (n * cell);
    setStretch(Math.max(1, Math.min((20 * u) / (room / n), to)));
  };
  // What stood in the middle stays there.
  useLayoutEffect(() => {
    if (many) box.current?.scrollTo({ left: left + middle.current * n * cell - width / 2 });
  }, [stretch]);
  const locate = (event: MouseEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const input = Math.floor((event.clientX - frame.left - left) / cell);
    const index = layers.length - 1 - Math.floor((event.clientY - frame.top - 2) / ROW);
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
        aria-busy={busy}
        tabIndex={0}
        role="group"
        aria-labelledby="heat-heading"
      >
        {width > 0 && any && (
          <div class="sheets" style={pictureStyle(size)}>
            {!inRects && (
              <Sheet
                of={size}
                left={left}
                top={2}
                width={n * cell}
                height={layers.length * ROW}
                inputs={[found, scale, counts.value, choices.ownScale.value, least, fromLeast, cell]}
                draw={(context, ratio) => {
                  // Where a pixel holds several tokens, the largest shows.
                  const columns = Math.min(n, Math.round(n * cell * ratio));
                  const steps = new Int16Array(layers.length * columns).fill(-1);
                  const used = counts.value;
                  for (const [index, row] of rows.entries()) {
                    const { top: most } = endsIn(index);
                    const base = (layers.length - 1 - index) * columns;
                    for (let i = 0; row && i < n; ++i) {
                      if (!used[i]) continue;
                      const at = base + Math.floor((i * columns) / n);
                      steps[at] = Math.max(steps[at], shadesIn[index].step(row[i], most));
                    }
                  }
                  context.imageSmoothingEnabled = false;
                  context.drawImage(
                    stepImage(steps, layers.length, columns, scale),
                    0,
                    0,
                    n * cell,
                    layers.length * ROW,
                  );
                  // The ground shows between layers, and between tokens where they are wide enough.
                  for (let index = 1; index <= layers.length; ++index)
                    context.clearRect(0, index * ROW - 1, n * cell, 1);
                  for (let i = 1; cell > 8 && i < n; ++i) context.clearRect(i * cell - 1, 0, 1, layers.length * ROW);
                }}
              />
            )}
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
              <defs>
                <pattern id="left-out" width={6} height={6} patternUnits="userSpaceOnUse">
                  <path d="M0 6 6 0" class="hatch" />
                </pattern>
              </defs>
              <g class="cells">
                {inRects &&
                  rows.map((row, index) =>
                    row === null
                      ? null
                      : Array.from(row, (value, i) => {
                          const used = counts.value[i];
                          const { top: most } = endsIn(index);
                          const fill = used ? shadesIn[index].css(value, most) : "url(#left-out)";
                          const x = left + i * cell;
                          return [
                            <rect
                              x={x}
                              y={top(index)}
                              width={Math.max(1, cell - 1)}
                              height={ROW - 1}
                              fill={fill}
                              data-value={value}
                            />,
                            cell >= 44 * u && (
                              <text
                                x={x + cell / 2}
                                y={top(index) + 17 * u}
                                text-anchor="middle"
                                class="value"
                                fill={used ? shadesIn[index].ink(value, most) : "currentColor"}
                              >
                                {format(value)}
                              </text>
                            ),
                          ];
                        }),
                  )}
                {marked && <path class="corners" d={corners()} />}
              </g>
              {layers.map((layer, index) => (
                <text
                  key={layer}
                  x={left - 8}
                  y={top(index) + 17 * u}
                  text-anchor="end"
                  class={layer === choices.layer.value ? "chosen" : ""}
                >
                  Layer {layer}
                </text>
              ))}
              {layers.includes(choices.layer.value) && (
                <rect
                  x={left - 1}
                  y={top(layers.indexOf(choices.layer.value)) - 1}
                  width={n * cell + 1}
                  height={ROW + 1}
                  class="frame"
                />
              )}
              {labelled
                ? labels.map((label, i) => (
                    <TokenLabel
                      key={i}
                      x={left + (i + 0.5) * cell}
                      y={top(-1) + 8}
                      label={label}
                      level={level}
                      title={report.tokens[i].label}
                      class={i === token ? "label chosen" : "label"}
                    />
                  ))
                : ticks(0, n, cell, 60 * u).map((i) => (
                    <text key={i} x={left + (i + 0.5) * cell} y={top(-1) + 18 * u} text-anchor="middle" class="tick">
                      {i}
                    </text>
                  ))}
              {!labelled && (
                <path d={`M${left + (token + 0.5) * cell} ${top(-1)}l5 8h-10z`} class="pointer">
                  <title>{labels[token]}</title>
                </path>
              )}
              <Pointer left={left} cell={cell} line={ROW} height={layers.length * ROW} top={top} layers={layers} />
            </svg>
          </div>
        )}
      </Scroller>
      {many && (
        <ZoomButtons
          id="heat"
          zoomBy={(factor) => stretchTo(stretch * factor)}
          whole={() => stretchTo(1)}
          zoomed={stretch > 1}
        />
      )}
      <Readout view="heat" />
      <div class="foot">
        {any &&
          (choices.ownScale.value ? (
            <Legend ends={endsOfEach(all, found?.own ?? [])} each="layer" marked={marked} />
          ) : (
            <Legend ends={all} marked={marked} />
          ))}
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

interface PointerProps {
  left: number;
  cell: number;
  /** height of a row */
  line: number;
  height: number;
  top: (index: number) => number;
  layers: readonly number[];
}

/** What is pointed at here, or the column of what is pointed at elsewhere; drawn apart, so that moving draws no more. */
function Pointer({ left, cell, line, height, top, layers }: PointerProps) {
  const { pointed } = useViewer().state;
  if (!pointed.value) return null;
  const { input, layer, view } = pointed.value;
  const index = view === "heat" && layer !== undefined ? layers.indexOf(layer) : -1;
  const wide = Math.max(2, cell - 1);
  return (
    <g class="pointing" aria-hidden="true">
      <rect class="column" x={left + input * cell} y={1} width={wide} height={height} />
      {index >= 0 && <rect class="cell" x={left + input * cell} y={top(index)} width={wide} height={line - 1} />}
    </g>
  );
}
