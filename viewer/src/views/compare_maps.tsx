// The maps of a comparison: each side's text or patches, and layers by tokens.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { HalfText } from "../components/half_text";
import { layerBeside } from "../compute/align";
import { useViewer } from "../context";
import { CompareLegend, differenceColours, endsOfSides, sideColours, type Colours } from "./compare_colours";
import { difference } from "./compare_difference";
import type { Side } from "./compare_sides";

interface HalfProps {
  name: string;
  title: string;
  side: Side;
  values: Float64Array | null;
  missing: ComponentChildren;
  image: boolean;
  colours: Colours;
  /** positions of the first report's tokens in this one; null: it is the first */
  back?: Int32Array | null;
  gone?: ReadonlySet<number> | null;
}

export function Half({ name, title, side, values, missing, image, colours, back = null, gone = null }: HalfProps) {
  const { report, counts } = side;
  const { shades } = colours;
  const label = `${shades.signed ? "difference" : back ? "second" : "first"}: ${title}`;
  const { rows = 1, columns = 1, first_patch: begin = 0 } = report.document.input.image ?? {};
  return (
    <section class="half" data-side={name} aria-label={label}>
      <h3>{title}</h3>
      {!values && <p class="help missing-values">{missing}</p>}
      {!values ? null : image ? (
        <Pixels
          {...{ rows, columns }}
          class="patch-map"
          label="patches"
          colourAt={(column, row) => shades.css(values[begin + row * columns + column])}
        />
      ) : (
        <HalfText of={label} view="compare" places={back} colours={shades} {...{ report, values, counts, gone }} />
      )}
      {values && <CompareLegend colours={colours} />}
    </section>
  );
}

interface PixelsProps {
  class?: string;
  columns: number;
  rows: number;
  label: string;
  /** null: it stays empty */
  colourAt(column: number, row: number): string | null;
}

/** One pixel per value: patches of a picture, or layers by tokens. */
function Pixels({ class: kind, columns, rows, label, colourAt }: PixelsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, columns, rows);
    for (let k = 0; k < rows * columns; ++k) {
      const [column, row] = [k % columns, Math.floor(k / columns)];
      const colour = colourAt(column, row);
      if (colour === null) continue;
      context.fillStyle = colour;
      context.fillRect(column, row, 1, 1);
    }
  });
  return <canvas class={kind} ref={canvas} width={columns} height={rows} role="img" aria-label={label} />;
}

/** Layers by tokens for both sides and for their difference. */
export function LayerMaps({ sides, match, common }: { sides: [Side, Side]; match: Int32Array; common: boolean }) {
  const viewer = useViewer();
  const [a, b] = sides;
  const layers = a.report.layers;
  const rowsA = layers.map((layer) => a.row(layer));
  const rowsB = b.report.layers.map((layer) => b.row(layer));
  const [endsA, endsB] = endsOfSides(sides, [rowsA, rowsB], common);
  const apart = layers.map((layer, k) => {
    const theirs = rowsB[b.report.layers.indexOf(layerBeside(a.report, b.report, layer))];
    const ours = rowsA[k];
    return ours && theirs ? difference(ours, theirs, match) : null;
  });
  return (
    <div class="compare">
      {([a, b] as const).map((side, k) => {
        const ends = [endsA, endsB][k];
        const colours = sideColours(viewer.shades(ends, side.method), ends);
        return (
          <LayerMap
            key={k}
            title={`${side.method}, every layer`}
            side={side}
            rows={[rowsA, rowsB][k]}
            {...{ colours }}
          />
        );
      })}
      <LayerMap title="B − A" side={a} rows={apart} colours={differenceColours(viewer, sides, match, apart)} />
    </div>
  );
}

interface LayerMapProps {
  title: string;
  side: Side;
  /** for each of its report's layers */
  rows: (Float64Array | null)[];
  colours: Colours;
}

function LayerMap({ title, side: { report, counts }, rows, colours }: LayerMapProps) {
  const { n, layers } = report;
  const colourAt = (token: number, fromTop: number) => {
    const row = rows[layers.length - 1 - fromTop];
    return row && counts[token] && !Number.isNaN(row[token]) ? colours.shades.css(row[token]) : null;
  };
  return (
    <figure class="layer-map">
      <figcaption>{title}</figcaption>
      <div>
        <span class="ends" aria-hidden="true">
          <span>{layers.at(-1)}</span>
          <span>{layers[0]}</span>
        </span>
        <Pixels columns={n} rows={layers.length} label={`${title}: layers by tokens`} colourAt={colourAt} />
      </div>
      <CompareLegend colours={colours} marked={false} />
    </figure>
  );
}
