// What a comparison shows: the text or the patches of each side, and layers by tokens.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { HalfText } from "../components/half_text";
import { useViewer } from "../context";
import { CompareLegend, differenceColours, endsOfSides, sideColours, type Colours } from "./compare_colours";
import { difference } from "./compare_difference";
import type { Side } from "./compare_sides";

interface HalfProps {
  name: string;
  title: string;
  side: Side;
  values: Float64Array | null;
  /** why there are no values */
  missing: ComponentChildren;
  image: boolean;
  colours: Colours;
  /** positions of the first report's tokens in this one's; null: it is the first */
  back: Int32Array | null;
  /** tokens that the model did not see */
  gone?: ReadonlySet<number> | null;
}

export function Half({ name, title, side, values, missing, image, colours, back, gone = null }: HalfProps) {
  const { report, counts } = side;
  const label = `${colours.diverging ? "difference" : back ? "second" : "first"}: ${title}`;
  return (
    <section class="half" data-side={name} aria-label={label}>
      <h3>{title}</h3>
      {!values && <p class="help missing-values">{missing}</p>}
      {!values ? null : image ? (
        <PatchMap side={side} values={values} colour={colours.css} />
      ) : (
        <HalfText of={label} view="compare" places={back} {...{ report, values, counts, colours, gone }} />
      )}
      {values && <CompareLegend colours={colours} />}
    </section>
  );
}

/** Patches of a picture, in their places. */
function PatchMap({
  side,
  values,
  colour,
}: {
  side: Side;
  values: Float64Array | null;
  colour(value: number): string;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { rows = 1, columns = 1, first_patch: first = 0 } = side.report.document.input.image ?? {};
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, columns, rows);
    for (let k = 0; values && k < rows * columns; ++k) {
      context.fillStyle = colour(values[first + k]);
      context.fillRect(k % columns, Math.floor(k / columns), 1, 1);
    }
  });
  return <canvas class="patch-map" ref={canvas} width={columns} height={rows} role="img" aria-label="patches" />;
}

/** Layers by tokens of both, and of their difference. */
export function LayerMaps({ sides, match, common }: { sides: [Side, Side]; match: Int32Array; common: boolean }) {
  const viewer = useViewer();
  const [a, b] = sides;
  const layers = a.report.layers;
  const rowsA = layers.map((layer) => a.row(layer));
  const rowsB = b.report.layers.map((layer) => b.row(layer));
  const [endsA, endsB] = endsOfSides(sides, [rowsA, rowsB], common);
  const apart = layers.map((layer, k) => {
    const theirs = rowsB[b.report.layers.indexOf(layer)];
    const ours = rowsA[k];
    return ours && theirs ? difference(ours, theirs, match) : null;
  });
  return (
    <div class="compare">
      <LayerMap
        title={`${a.method}, every layer`}
        side={a}
        layers={layers}
        rows={rowsA}
        colours={sideColours(viewer.shades(endsA, a.method), endsA)}
      />
      <LayerMap
        title={`${b.method}, every layer`}
        side={b}
        layers={b.report.layers}
        rows={rowsB}
        colours={sideColours(viewer.shades(endsB, b.method), endsB)}
      />
      <LayerMap
        title="B − A"
        side={a}
        layers={layers}
        rows={apart}
        colours={differenceColours(viewer, sides, match, apart)}
      />
    </div>
  );
}

interface LayerMapProps {
  title: string;
  side: Side;
  layers: readonly number[];
  rows: (Float64Array | null)[];
  colours: Colours;
}

function LayerMap({ title, side, layers, rows, colours }: LayerMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const n = side.report.n;
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, n, layers.length);
    rows.forEach((row, k) => {
      for (let i = 0; row && i < n; ++i) {
        if (!side.counts[i] || Number.isNaN(row[i])) continue;
        context.fillStyle = colours.css(row[i]);
        // The topmost layer stands at the top.
        context.fillRect(i, layers.length - 1 - k, 1, 1);
      }
    });
  });
  return (
    <figure class="layer-map">
      <figcaption>{title}</figcaption>
      <div>
        <span class="ends" aria-hidden="true">
          <span>{layers.at(-1)}</span>
          <span>{layers[0]}</span>
        </span>
        <canvas ref={canvas} width={n} height={layers.length} role="img" aria-label={`${title}: layers by tokens`} />
      </div>
      <CompareLegend colours={colours} marked={false} />
    </figure>
  );
}
