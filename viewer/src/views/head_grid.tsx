// Raw attention of every head: layers by heads as thumbnails, one of them enlarged.
import { useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { EndsOf, endsOfEach, isAbove } from "../color/ends";
import { walkWithKeys } from "../components/arrow_keys";
import { Card } from "../components/card";
import { cornerAt, Legend, MARKED } from "../components/legend";
import { TokenName } from "../components/own_text";
import { Tip } from "../components/tip";
import type { Work } from "../compute/slices";
import { pictureStyle, textWidth, unit } from "../components/measure";
import { Scroller } from "../components/scroller";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import { panels } from "../export/frame";
import { standalone } from "../export/picture";
import type { Report } from "../report/report";
import { percentage } from "../report/text";
import { blockOf, MatrixPicture, type Block } from "./matrix_picture";
import { Sheet, stepImage, useFound, useWidth, withSheets } from "./picture";
import "../styles/pictures.css";

const GAP = 4;
/** Most pixels along a thumbnail's side. */
const MOST_PIXELS = 64;

/** The largest value in each square block of a head's matrix. */
interface Thumbnail {
  values: Float32Array;
  side: number;
  scale: EndsOf;
}

/** Thumbnails of every head's matrix. */
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
function useThumbnails() {
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

/** Layout of the thumbnails. */
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
  return { head, left, thumb, pitch, size, top };
}

interface GridProps {
  layer: number;
  head: number;
  choose(layer: number, head: number): void;
  /** of the whole card */
  width: number;
  svg: RefObject<SVGSVGElement>;
  small: ReturnType<typeof useThumbnails>;
}

/** Every head as a thumbnail: layers by heads. */
function Grid({ layer, head, choose, width, svg, small: { thumbnails, busy, all, each, endsAt, images } }: GridProps) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { layers: depth, heads } = report.model;
  const box = useRef<HTMLDivElement>(null);
  const u = unit();
  const { head: labelled, left, thumb, pitch, size, top } = gridOf(depth, heads, width);
  const side = thumbnails[0]?.side ?? 1;
  const pixel = thumb / side;
  const marked = pixel >= MARKED;
  /** Corner marks of squares above the scale. */
  const corners = () =>
    thumbnails
      .flatMap(({ values }, k) => {
        const [x, y] = [left + (k % heads) * pitch, top(1 + Math.floor(k / heads))];
        return Array.from(values, (value, at) =>
          isAbove(value, endsAt(k)) ? cornerAt(x + ((at % side) + 1) * pixel, y + Math.floor(at / side) * pixel) : "",
        );
      })
      .join("");
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
      <Scroller class="picture" id="heads" box={box} aria-busy={busy}>
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
              <text class="tick" x={left - 8} y={13 * u} text-anchor="end">
                Head
              </text>
              {Array.from({ length: depth * heads }, (_, k) => {
                const [l, h] = [1 + Math.floor(k / heads), k % heads];
                return (
                  <rect key={k} class="panel" x={left + h * pitch} y={top(l)} width={thumb} height={thumb}>
                    <title>{`layer ${l}, head ${h}`}</title>
                  </rect>
                );
              })}
              {marked && <path class="corners" d={corners()} />}
              {Array.from({ length: heads }, (_, h) => {
                if (pitch < 22 * u && h % 4 !== 0) return null;
                const place = { x: left + h * pitch + thumb / 2, y: 13 * u };
                return (
                  <text key={h} class={h === head ? "tick chosen" : "tick"} {...place} text-anchor="middle">
                    {h}
                  </text>
                );
              })}
              {Array.from({ length: depth }, (_, at) => {
                const place = { x: left - 8, y: top(at + 1) + thumb / 2 + 4 * u };
                return (
                  <text key={at} class={at + 1 === layer ? "chosen" : ""} {...place} text-anchor="end">
                    Layer {at + 1}
                  </text>
                );
              })}
              <rect class="frame" x={left + head * pitch - 2} y={top(layer) - 2} width={thumb + 3} height={thumb + 3} />
            </svg>
          </div>
        )}
      </Scroller>
      <div class="row foot">
        {thumbnails.length > 0 &&
          (state.choices.ownScale.value ? (
            <Legend ends={endsOfEach(all, each)} each="head" of="Every head" marked={marked} />
          ) : (
            <Legend ends={all} of="Every head" marked={marked} />
          ))}
      </div>
    </div>
  );
}

interface LargeProps {
  layer: number;
  head: number;
  width: number;
  outputs: readonly number[];
  svg: RefObject<SVGSVGElement>;
}

/** One head's matrix. */
function Large({ layer, head, width, outputs, svg }: LargeProps) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, counts, pointed } = state;
  const marking = useSignal(true);
  const { found: block, busy } = useFound<Block>(
    () => blockOf(report, outputs, (query) => report.headRow(layer, head, query), counts.value),
    [report, layer, head, counts.value, outputs],
    report.n <= 512,
  );
  const here = pointed.value?.view === "head" ? pointed.value : null;
  const u = unit();
  return (
    <div>
      <h3 id="head-heading">
        Layer {layer}, head {head}
      </h3>
      <MatrixPicture
        id="head"
        svg={svg}
        outputs={outputs}
        block={block}
        busy={busy}
        layer={layer}
        marking={marking}
        // A new function each time: the picture is redrawn with what is pointed at before the tip is positioned.
        onChoose={(query) => (choices.token.value = query)}
        most={u * Math.max(420, Math.min(900, (width / u) * 0.4))}
      />
      <Tip view="head">
        {here && here.output !== undefined && (
          <>
            <TokenName {...viewer.name(here.output)} said /> ← <TokenName {...viewer.name(here.input)} said />:{" "}
            <b>{percentage(report.headRow(layer, head, here.output)?.[here.input] ?? 0)}</b> (head {head}, layer {layer}
            )
          </>
        )}
      </Tip>
      <div class="row foot">
        {block && <Legend ends={block.ends} of={`Layer ${layer}, head ${head}`} marked={marking.value} />}
      </div>
    </div>
  );
}

export function HeadGrid() {
  const { report, state } = useViewer();
  const { choices } = state;
  const box = useRef<HTMLDivElement>(null);
  const svgs = [useRef<SVGSVGElement>(null), useRef<SVGSVGElement>(null)];
  const width = useWidth(box);
  // A layer without values of its own can be shown, too.
  const own = useSignal<number | null>(null);
  const layer = own.value ?? choices.layer.value;
  const head = Math.min(choices.head.value, report.model.heads - 1);
  const outputs = useMemo(() => report.tokens.map((token) => token.index), [report]);
  const small = useThumbnails();
  if (!report.hasHeads) return null;
  const choose = (l: number, h: number) => {
    choices.head.value = h;
    const explained = report.layers.includes(l);
    own.value = explained ? null : l;
    if (explained) choices.layer.value = l;
  };
  const titles = ["Every head: rows are layers, columns heads", `Layer ${layer}, head ${head}`];
  const exporter: Exporter = {
    svg: () =>
      panels(
        svgs.flatMap(({ current }, k) =>
          current ? [{ title: titles[k], svg: withSheets(standalone(current), current.closest(".sheets")) }] : [],
        ),
      ),
    shown: () => ({
      panel: `layer ${layer}, head ${head}`,
      method: "attention as the model computed it",
      output: "all, a row each",
      layers: null,
      recipe: false,
      notes: [
        `Small pictures show the largest weight of each square, ${choices.ownScale.value ? "each on its own scale" : "all on one scale"}.`,
      ],
      file: [`layer${layer}`, `head${head}`],
    }),
    rows: () => ({
      columns: ["layer", "head", "output_token", "input_token", "attention"],
      rows: (function* () {
        for (const query of outputs) {
          const row = report.headRow(layer, head, query);
          for (let k = 0; row && k < report.n; ++k) yield [layer, head, query, k, row[k]];
        }
      })(),
    }),
  };
  const kept = report.array("attention")?.kept;
  const explains = choices.heads.value === String(head);
  return (
    <Card id="heads" title="Attention of every head" wide exporter={exporter}>
      <div class="heads-box" ref={box}>
        <Grid layer={layer} head={head} choose={choose} width={width} svg={svgs[0]} small={small} />
        <Large layer={layer} head={head} width={width} outputs={outputs} svg={svgs[1]} />
      </div>
      <div class="row foot">
        <p class="help">
          Rows are queries, columns keys; small pictures show the largest weight of each square
          {choices.ownScale.value ? ", each head on its own scale" : ""}.
          {kept && " The document keeps only the strongest values of each row; the others are drawn as their mean."}
          {small.busy && " Drawing …"}
        </p>
        {report.mixing.needs === "attention" && (
          <button
            type="button"
            id="explain-with-head"
            title={explains ? undefined : "The layers below it keep the mean of the heads"}
            onClick={() => (choices.heads.value = explains ? report.settings.heads : String(head))}
          >
            {explains
              ? `Explain with heads as computed (${report.settings.heads})`
              : `Explain with head ${head} in each layer shown`}
          </button>
        )}
      </div>
    </Card>
  );
}
