// Raw attention of every head: layers by heads in small, one of them large.
import { useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { EndsOf, endsOfEach, isAbove } from "../color/ends";
import { Card } from "../components/card";
import { cornerAt, Legend, MARKED } from "../components/legend";
import { TokenName } from "../components/own_text";
import type { Work } from "../compute/slices";
import { pictureStyle, textWidth, unit } from "../components/measure";
import { Scroller } from "../components/scroller";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import { panels } from "../export/frame";
import { standalone } from "../export/picture";
import { format } from "../report/text";
import { blockOf, MatrixPicture, type Block } from "./matrix_picture";
import { Sheet, stepImage, useFound, useWidth, withSheets } from "./picture";
import "../styles/pictures.css";

const GAP = 4;
/** Pixels of a small picture. */
const MOST_PIXELS = 64;

/** Largest values of squares of a head's matrix. */
interface Thumbnail {
  values: Float32Array;
  side: number;
  scale: EndsOf;
}

export function HeadGrid() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, counts, pointed } = state;
  const box = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const large = useRef<SVGSVGElement>(null);
  const outer = useWidth(box);
  const { n } = report;
  const { layers: depth, heads } = report.model;
  // A layer that has no values of its own can be looked at, too.
  const own = useSignal<number | null>(null);
  const marking = useSignal(true);
  const layer = own.value ?? choices.layer.value;
  const head = Math.min(choices.head.value, heads - 1);
  const side = Math.min(n, MOST_PIXELS);

  const { found: thumbnails, busy } = useFound(
    function* (): Work<Thumbnail[]> {
      const result: Thumbnail[] = [];
      if (!report.hasHeads) return result;
      const to = Int32Array.from({ length: n }, (_, i) => Math.floor((i * side) / n));
      const used = counts.value;
      for (let l = 1; l <= depth; ++l) {
        for (let h = 0; h < heads; ++h) {
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
    },
    [report, counts.value],
    depth * heads * n * n < 1.5e6,
  );
  const outputs = useMemo(() => report.tokens.map((token) => token.index), [report]);
  const { found: block, busy: drawing } = useFound<Block>(
    () => blockOf(report, outputs, (query) => report.headRow(layer, head, query), counts.value),
    [report, layer, head, counts.value, outputs],
    n <= 512,
  );
  const scale = viewer.scale.value;
  // The first token would leave all others blank in a decoder's heads, too: the scales end as those of rows do.
  const { all, own: each } = useMemo(
    () => ({
      all: (thumbnails ?? []).reduce((sum, one) => sum.include(one.scale), new EndsOf()).ends,
      own: (thumbnails ?? []).map((one) => one.scale.ends),
    }),
    [thumbnails],
  );
  const endsAt = (k: number) => (choices.ownScale.value ? each[k] : all);
  const images = useMemo(
    () =>
      thumbnails?.map(({ values, side: pixels }, k) => {
        const ends = endsAt(k);
        const shades = viewer.shades(ends);
        return stepImage(
          Int16Array.from(values, (value) => shades.step(value, ends.top)),
          pixels,
          pixels,
          scale,
        );
      }),
    [thumbnails, scale, choices.ownScale.value, choices.threshold.value, choices.fromLeast.value],
  );
  if (!report.hasHeads) return null;

  const u = unit();
  const labelled = 20 * u;
  const left = 12 + textWidth(`Layer ${depth}`);
  const narrow = outer < 760;
  const width = narrow ? outer : Math.min(outer * 0.55, left + heads * 72 * u);
  const thumb = Math.max(16, Math.min(64 * u, Math.floor((width - left) / heads) - GAP));
  const pitch = thumb + GAP;
  const size = { width: left + heads * pitch, height: labelled + depth * pitch };
  const top = (l: number) => labelled + (depth - l) * pitch;
  const pixel = thumb / side;
  const marked = pixel >= MARKED;
  /** Of squares above the scale. */
  const corners = () =>
    (thumbnails ?? [])
      .flatMap(({ values, side: pixels }, k) => {
        const [x, y] = [left + (k % heads) * pitch, top(1 + Math.floor(k / heads))];
        return Array.from(values, (value, at) =>
          isAbove(value, endsAt(k))
            ? cornerAt(x + ((at % pixels) + 1) * pixel, y + Math.floor(at / pixels) * pixel)
            : "",
        );
      })
      .join("");
  const choose = (l: number, h: number) => {
    choices.head.value = h;
    if (report.layers.includes(l)) {
      own.value = null;
      choices.layer.value = l;
    } else own.value = l;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const moves: Record<string, [number, number]> = {
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
      ArrowUp: [1, 0],
      ArrowDown: [-1, 0],
      Home: [0, -heads],
      End: [0, heads],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const [l, h] = [layer + move[0], head + move[1]];
    const [toLayer, toHead] = [Math.max(1, Math.min(depth, l)), Math.max(0, Math.min(heads - 1, h))];
    choose(toLayer, toHead);
    // What is chosen comes into sight.
    const { clientWidth = 0, clientHeight = 0 } = grid.current ?? {};
    const [x, y] = [left + (toHead + 0.5) * pitch, top(toLayer) + pitch / 2];
    grid.current?.scrollTo({ left: x - clientWidth / 2, top: y - clientHeight / 2 });
    viewer.announcement.value = `Layer ${toLayer}, head ${toHead}`;
  };
  const locate = (event: MouseEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const h = Math.floor((event.clientX - frame.left - left) / pitch);
    const l = depth - Math.floor((event.clientY - frame.top - labelled) / pitch);
    return l >= 1 && l <= depth && h >= 0 && h < heads ? { l, h } : null;
  };
  const exporter: Exporter = {
    svg: () =>
      panels(
        [svg.current, large.current].flatMap((one, k) =>
          one
            ? [
                {
                  title: k === 0 ? "Every head: rows are layers, columns heads" : `Layer ${layer}, head ${head}`,
                  svg: withSheets(standalone(one), one.closest(".sheets")),
                },
              ]
            : [],
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
          for (let k = 0; row && k < n; ++k) yield [layer, head, query, k, row[k]];
        }
      })(),
    }),
  };
  const kept = report.array("attention")?.kept;
  const here = pointed.value?.view === "head" ? pointed.value : null;
  return (
    <Card id="heads" title="Attention of every head" wide exporter={exporter}>
      <div class="heads-box" ref={box}>
        <div>
          <Scroller class="picture" id="heads" box={grid} aria-busy={busy}>
            {outer > 0 && (
              <div class="sheets" style={pictureStyle(size)}>
                <Sheet
                  of={size}
                  left={left}
                  top={labelled}
                  width={heads * pitch}
                  height={depth * pitch}
                  inputs={[images, thumb]}
                  draw={(context, ratio) => {
                    context.clearRect(0, 0, heads * pitch, depth * pitch);
                    images?.forEach((image, k) => {
                      const [l, h] = [1 + Math.floor(k / heads), k % heads];
                      // Few pixels stay sharp, many are evened out.
                      context.imageSmoothingEnabled = image.width > thumb * ratio;
                      context.drawImage(image, h * pitch, top(l) - labelled, thumb, thumb);
                    });
                  }}
                />
                <svg
                  ref={svg}
                  {...size}
                  viewBox={`0 0 ${size.width} ${size.height}`}
                  role="application"
                  tabindex={0}
                  aria-label={`${depth} layers by ${heads} heads; layer ${layer}, head ${head} is shown large. Arrow keys choose another.`}
                  onKeyDown={onKeyDown}
                  onClick={(event) => {
                    const at = locate(event);
                    if (at) choose(at.l, at.h);
                  }}
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
                  {Array.from({ length: heads }, (_, h) =>
                    pitch >= 22 * u || h % 4 === 0 ? (
                      <text
                        key={h}
                        class={h === head ? "tick chosen" : "tick"}
                        x={left + h * pitch + thumb / 2}
                        y={13 * u}
                        text-anchor="middle"
                      >
                        {h}
                      </text>
                    ) : null,
                  )}
                  {Array.from({ length: depth }, (_, at) => at + 1).map((l) => (
                    <text
                      key={l}
                      class={l === layer ? "chosen" : ""}
                      x={left - 8}
                      y={top(l) + thumb / 2 + 4 * u}
                      text-anchor="end"
                    >
                      Layer {l}
                    </text>
                  ))}
                  <rect
                    class="frame"
                    x={left + head * pitch - 2}
                    y={top(layer) - 2}
                    width={thumb + 3}
                    height={thumb + 3}
                  />
                </svg>
              </div>
            )}
          </Scroller>
          <div class="foot">
            {thumbnails &&
              (choices.ownScale.value ? (
                <Legend ends={endsOfEach(all, each)} each="head" of="Every head" marked={marked} />
              ) : (
                <Legend ends={all} of="Every head" marked={marked} />
              ))}
          </div>
        </div>
        <div>
          <h3 id="head-heading">
            Layer {layer}, head {head}
          </h3>
          <MatrixPicture
            id="head"
            svg={large}
            outputs={outputs}
            block={block && block.columns === n ? block : null}
            busy={drawing}
            chosen={choices.token.value}
            layer={layer}
            least={choices.threshold.value}
            marking={marking}
            onChoose={(query) => (choices.token.value = query)}
            most={u * Math.max(420, Math.min(900, (outer / u) * 0.4))}
          />
          <p class="readout" id="head-readout">
            {here && here.output !== undefined && (
              <>
                head {head}, layer {layer}: <TokenName {...viewer.name(here.output)} /> attends{" "}
                <b>{format(report.headRow(layer, head, here.output)?.[here.input])}</b> to{" "}
                <TokenName {...viewer.name(here.input)} />
              </>
            )}
          </p>
          <div class="foot">
            {block && <Legend ends={block.ends} of={`Layer ${layer}, head ${head}`} marked={marking.value} />}
          </div>
        </div>
      </div>
      <div class="foot">
        <p class="help">
          Rows are queries, columns keys; small pictures show the largest weight of each square
          {choices.ownScale.value ? ", each head on its own scale" : ""}.
          {kept && " Of each row the document keeps the strongest; the others are drawn as their mean."}
          {busy && " Drawing …"}
        </p>
        {!report.gradient && (
          <button
            type="button"
            id="explain-with-head"
            onClick={() =>
              (choices.heads.value = choices.heads.value === String(head) ? report.settings.heads : String(head))
            }
          >
            {choices.heads.value === String(head)
              ? `Explain with heads as computed (${report.settings.heads})`
              : `Explain with head ${head}`}
          </button>
        )}
      </div>
    </Card>
  );
}
