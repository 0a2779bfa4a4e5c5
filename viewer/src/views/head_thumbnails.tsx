// The attention of every head as a thumbnail: layers by heads.
import type { RefObject } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { EndsOf, endsOfEach, isAbove } from "../color/ends";
import { walkWithKeys } from "../components/arrow_keys";
import { cornerAt, Legend, MARKED } from "../components/legend";
import { pictureStyle, textWidth, unit } from "../components/measure";
import { Scroller } from "../components/scroller";
import type { Work } from "../compute/slices";
import { useViewer } from "../context";
import type { Report } from "../report/report";
import { Sheet, stepImage, useFound } from "./picture";

const GAP = 4;
/** Most pixels along a thumbnail's side. */
const MOST_PIXELS = 64;

/** The largest value in each square block of a head's matrix. */
interface Thumbnail {
  values: Float32Array;
  side: number;
  scale: EndsOf;
}

function* thumbnailsOf(report: Report, used: readonly boolean[]): Work<Thumbnail[]> {
  const result: Thumbnail[] = [];
  if (!report.hasHeads) return result;
  const { n } = report;
  const side = Math.min(n, MOST_PIXELS);
  const to = Int32Array.from({ length: n }, (_, i) => Math.floor((i * side) / n));
  for (let l = 1; l <= report.model.layers; ++l) {
    for (let h = 0; h < report.model.heads; ++h) {
      const values = new Float32Array(side * side);
      const scale = new EndsOf();
      for (let q = 0; q < n; ++q) {
        const row = report.headRow(l, h, q);
        if (!row) continue;
        const base = to[q] * side;
        for (let k = 0; k < n; ++k) {
          if (!used[k]) continue;
          const at = base + to[k];
          if (row[k] > values[at]) values[at] = row[k];
        }
        scale.addRow(report, row, q, used);
        if (q % 32 === 31) yield;
      }
      result.push({ values, side, scale });
      yield;
    }
  }
  return result;
}

/** The thumbnails, and the ends of their scales: the common one, and each one's own. */
export function useThumbnails() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, counts } = state;
  const { model, n } = report;
  const { found: thumbnails, busy } = useFound(
    () => thumbnailsOf(report, counts.value),
    [report, counts.value],
    model.layers * model.heads * n * n < 1.5e6,
  );
  // In a decoder's heads, too, the first token would leave all others blank: scales are capped as for rows.
  const { all, each } = useMemo(
    () => ({
      all: (thumbnails ?? []).reduce((sum, one) => sum.include(one.scale), new EndsOf()).ends,
      each: (thumbnails ?? []).map((one) => one.scale.ends),
    }),
    [thumbnails],
  );
  const endsAt = (k: number) => (choices.ownScale.value ? each[k] : all);
  const scale = viewer.scale.value;
  const images = useMemo(
    () =>
      thumbnails?.map(({ values, side }, k) => {
        const ends = endsAt(k);
        const shades = viewer.shades(ends, "raw");
        const steps = Int16Array.from(values, (value) => shades.step(value));
        return stepImage(steps, side, side, shades);
      }),
    [thumbnails, scale, choices.ownScale.value, choices.threshold.value, choices.fromLeast.value, choices.log.value],
  );
  return { thumbnails: thumbnails ?? [], busy, all, each, endsAt, images };
}

function gridOf(layers: number, heads: number, outer: number) {
  const u = unit();
  const head = 20 * u;
  const left = 12 + textWidth(`Layer ${layers}`);
  // Next to a square of the same height: wider if there are more heads than layers.
  const part = Math.max(0.45, Math.min(0.6, heads / (heads + layers)));
  const width = outer < 760 ? outer : Math.min(outer * part, left + heads * 72 * u);
  const thumb = Math.max(16, Math.min(64 * u, Math.floor((width - left) / heads) - GAP));
  const pitch = thumb + GAP;
  const size = { width: left + heads * pitch, height: head + layers * pitch };
  const top = (layer: number) => head + (layers - layer) * pitch;
  return { layers, heads, head, left, thumb, pitch, size, top };
}

type GridLayout = ReturnType<typeof gridOf>;

interface GridProps {
  layer: number;
  head: number;
  choose(layer: number, head: number): void;
  width: number;
  svg: RefObject<SVGSVGElement>;
  small: ReturnType<typeof useThumbnails>;
}

export function Grid({ layer, head, choose, width, svg, small }: GridProps) {
  const viewer = useViewer();
  const { layers: depth, heads } = viewer.report.model;
  const { thumbnails, images } = small;
  const box = useRef<HTMLDivElement>(null);
  const grid = gridOf(depth, heads, width);
  const { head: labelled, left, thumb, pitch, size, top } = grid;
  const marked = thumb / (thumbnails[0]?.side ?? 1) >= MARKED;
  const onKeyDown = (event: KeyboardEvent) =>
    void walkWithKeys(event, {
      columns: heads,
      rows: [1, depth],
      at: () => ({ column: head, row: layer }),
      move({ column, row }) {
        choose(row, column);
        // Scrolls to the chosen head.
        const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
        const [x, y] = [left + (column + 0.5) * pitch, top(row) + pitch / 2];
        box.current?.scrollTo({ left: x - clientWidth / 2, top: y - clientHeight / 2 });
        viewer.announcement.value = `Layer ${row}, head ${column}`;
      },
    });
  const onClick = (event: MouseEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const h = Math.floor((event.clientX - frame.left - left) / pitch);
    const l = depth - Math.floor((event.clientY - frame.top - labelled) / pitch);
    if (l >= 1 && l <= depth && h >= 0 && h < heads) choose(l, h);
  };
  const draw = (context: CanvasRenderingContext2D, ratio: number) => {
    context.clearRect(0, 0, heads * pitch, depth * pitch);
    images?.forEach((image, k) => {
      const [l, h] = [1 + Math.floor(k / heads), k % heads];
      // Few pixels stay sharp; many are smoothed.
      context.imageSmoothingEnabled = image.width > thumb * ratio;
      context.drawImage(image, h * pitch, top(l) - labelled, thumb, thumb);
    });
  };
  return (
    <div>
      <Scroller class="picture" id="heads" box={box} aria-busy={small.busy}>
        {width > 0 && (
          <div class="sheets" style={pictureStyle(size)}>
            <Sheet
              of={size}
              left={left}
              top={labelled}
              width={heads * pitch}
              height={depth * pitch}
              inputs={[images, thumb]}
              draw={draw}
            />
            <svg
              ref={svg}
              {...size}
              viewBox={`0 0 ${size.width} ${size.height}`}
              role="application"
              tabindex={0}
              aria-label={`${depth} layers by ${heads} heads; layer ${layer}, head ${head} is shown large. Arrow keys choose another.`}
              onKeyDown={onKeyDown}
              onClick={onClick}
            >
              <text class="tick" x={left - 8} y={13 * unit()} text-anchor="end">
                Head
              </text>
              <Panels {...grid} />
              {marked && <path class="corners" d={cornersOf(small, grid)} />}
              <Labels layer={layer} chosen={head} grid={grid} />
              <rect class="frame" x={left + head * pitch - 2} y={top(layer) - 2} width={thumb + 3} height={thumb + 3} />
            </svg>
          </div>
        )}
      </Scroller>
      <div class="row foot">{thumbnails.length > 0 && <GridLegend {...small} marked={marked} />}</div>
    </div>
  );
}

const Panels = ({ layers, heads, left, top, pitch, thumb }: GridLayout) => (
  <>
    {Array.from({ length: layers * heads }, (_, k) => {
      const [l, h] = [1 + Math.floor(k / heads), k % heads];
      return (
        <rect key={k} class="panel" x={left + h * pitch} y={top(l)} width={thumb} height={thumb}>
          <title>{`layer ${l}, head ${h}`}</title>
        </rect>
      );
    })}
  </>
);

/** Corner marks of squares above the scale. */
function cornersOf({ thumbnails, endsAt }: GridProps["small"], { heads, left, top, pitch, thumb }: GridLayout): string {
  const corners = thumbnails.flatMap(({ values, side }, k) => {
    const [x, y] = [left + (k % heads) * pitch, top(1 + Math.floor(k / heads))];
    const pixel = thumb / side;
    return Array.from(values, (value, at) =>
      isAbove(value, endsAt(k)) ? cornerAt(x + ((at % side) + 1) * pixel, y + Math.floor(at / side) * pixel) : "",
    );
  });
  return corners.join("");
}

function Labels({ layer, chosen, grid }: { layer: number; chosen: number; grid: GridLayout }) {
  const { layers, heads, left, top, pitch, thumb } = grid;
  const u = unit();
  return (
    <>
      {Array.from({ length: heads }, (_, h) => {
        if (pitch < 22 * u && h % 4 !== 0) return null;
        const place = { x: left + h * pitch + thumb / 2, y: 13 * u };
        return (
          <text key={h} class={h === chosen ? "tick chosen" : "tick"} {...place} text-anchor="middle">
            {h}
          </text>
        );
      })}
      {Array.from({ length: layers }, (_, at) => {
        const place = { x: left - 8, y: top(at + 1) + thumb / 2 + 4 * u };
        return (
          <text key={at} class={at + 1 === layer ? "chosen" : ""} {...place} text-anchor="end">
            Layer {at + 1}
          </text>
        );
      })}
    </>
  );
}

function GridLegend({ all, each, marked }: Pick<GridProps["small"], "all" | "each"> & { marked: boolean }) {
  return useViewer().state.choices.ownScale.value ? (
    <Legend ends={endsOfEach(all, each)} each="head" of="Every head" marked={marked} />
  ) : (
    <Legend ends={all} of="Every head" marked={marked} />
  );
}
