// A zoomable matrix of all pairs, of a layer or a head: cells on canvas, labels (where they fit) as text around it.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { walkWithKeys, type Cell } from "../components/arrow_keys";
import { useMarking } from "../components/legend";
import { pictureStyle, unit } from "../components/measure";
import { useViewer, type Viewer } from "../context";
import { format, shorten } from "../report/text";
import { printing } from "../theme";
import { Marks, Names } from "./matrix_marks";
import { frameOf, Place } from "./matrix_place";
import { paint, useDrawing, type Block } from "./matrix_raster";
import { Sheet, useWidth, widest, ZoomButtons } from "./picture";
import { useZoom, zoomIdentity, ZOOMS, type ZoomTransform } from "./zoom";
import "../styles/pictures.css";

export interface MatrixPictureProps {
  id: string;
  outputs: readonly number[];
  /** drawn if it is for these outputs */
  block: Block | null;
  busy: boolean;
  layer: number;
  onChoose: (output: number) => void;
  svg: RefObject<SVGSVGElement>;
  /** largest height in pixels */
  most?: number;
  /** whether values above the scale have a corner mark, for the legend */
  marking: Signal<boolean>;
}

export function MatrixPicture(props: MatrixPictureProps) {
  const { id, outputs, busy, svg } = props;
  const viewer = useViewer();
  const { report } = viewer;
  const { n } = report;
  const rows = outputs.length;
  const box = useRef<HTMLDivElement>(null);
  const transform = useState<ZoomTransform>(zoomIdentity);
  const width = useWidth(box);
  const onScreen = useRef(width);
  if (!printing.value) onScreen.current = width;
  const u = unit();
  const block = props.block?.rows === rows && props.block.columns === n ? props.block : null;
  const labels = useMemo(() => report.tokens.map((t) => shorten(t.short, 12)), [report]);
  const labelWidth = useMemo(() => Math.min(110 * u, widest(labels)), [labels, u]);
  const most = props.most ?? Math.max(560 * u, Math.min(1100 * u, width));
  const frame = frameOf(rows, n, labelWidth, width, most);
  const { margin, head, cell, plot, size } = frame;
  // Paper shows all of it; the screen's zoom is restored afterwards.
  const place = new Place(frame, printing.value ? zoomIdentity : transform[0]);
  const zooming = useZoom(svg, frame, transform, onScreen.current);
  const { zoomed, whole } = zooming;
  const pitch = Math.min(place.pitchX, place.pitchY);
  const marked = useMarking(props.marking, pitch);
  const drawing = useDrawing(block, pitch);
  const zoomBy = (factor: number) => zooming.zoomBy(factor, pointedAt(viewer, props, place));
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
            aria-label={`${rows} output tokens by ${n} input tokens. Arrow keys read values, Enter chooses the output token${ZOOMS ? ", plus and minus zoom" : ""}.`}
            {...handlers(viewer, { ...props, block }, place, { ...zooming, zoomBy })}
          >
            <Names place={place} labels={labels} outputs={outputs} />
            <Marks {...{ id, outputs, block, place, marked }} />
          </svg>
        </div>
      )}
      {ZOOMS && <ZoomButtons zoomBy={zoomBy} whole={whole} zoomed={zoomed} id={id} />}
    </div>
  );
}

/** The middle of the cell pointed at, if it is in this picture. */
function pointedAt({ state }: Viewer, { id, outputs }: MatrixPictureProps, place: Place): [number, number] | undefined {
  const at = state.pointed.peek();
  if (at?.view !== id || at.output === undefined) return undefined;
  return [place.left(at.input + 0.5), place.top(outputs.indexOf(at.output) + 0.5)];
}

/** Pointing, choosing and zooming, with pointer and keys. */
function handlers(viewer: Viewer, props: MatrixPictureProps, place: Place, zooming: ReturnType<typeof useZoom>) {
  const { id, outputs, layer, onChoose } = props;
  const { report, state, announcement } = viewer;
  const { pointed, choices } = state;
  const { rows, n, margin, head, cell, height } = place.frame;
  const point = (output: number, input: number) => {
    const now = pointed.peek();
    if (now?.view === id && now.input === input && now.output === output && now.layer === layer) return;
    pointed.value = { input, output, layer, view: id };
  };
  const move = ({ column, row }: Cell) => {
    point(outputs[row], column);
    const name = (i: number) => report.tokens[i].label;
    const value = format(props.block?.values[row * n + column]);
    announcement.value = `${name(outputs[row])} depends on ${name(column)}: ${value}`;
    // Keeps the cell being read in view.
    if (!place.hasColumn(column) || !place.hasRow(row))
      zooming.bring(margin + (column + 0.5) * cell, head + (row + 0.5) * height);
  };
  return {
    onKeyDown(event: KeyboardEvent) {
      const here = pointed.peek()?.view === id ? pointed.peek() : null;
      const walked = walkWithKeys(event, {
        columns: n,
        rows: [rows - 1, 0],
        leap: 10,
        at: () => ({
          column: here?.input ?? 0,
          row: Math.max(0, outputs.indexOf(here?.output ?? choices.token.value)),
        }),
        move,
        choose: ({ row }) => onChoose(outputs[row]),
      });
      if (walked || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "+" || event.key === "=") zooming.zoomBy(1.6);
      else if (event.key === "-") zooming.zoomBy(1 / 1.6);
      else if (event.key === "0") zooming.whole();
      else return;
      event.preventDefault();
    },
    onPointerMove(event: MouseEvent) {
      const { column, row } = place.at(event);
      if (row >= 0 && row < rows && column >= 0 && column < n) point(outputs[row], column);
      else if (pointed.peek()?.view === id) pointed.value = null;
    },
    onPointerLeave: () => (pointed.value = null),
    onClick(event: MouseEvent) {
      const output = outputs[place.at(event).row];
      if (output !== undefined) onChoose(output);
    },
  };
}
