// The chosen output token after each layer, as thumbnails.
import { movesAlong } from "../components/arrow_keys";
import { Card } from "../components/card";
import { CheckControl } from "../components/check_box";
import { useViewer } from "../context";
import { exportedStages } from "../export/stages";
import { isScore, type Method } from "../report/document";
import { pictureIn, type MapScale } from "../report/picture";
import { layersWords } from "../report/setting_words";
import type { Numbers } from "../report/values";
import { MapLegend } from "./image_legend";
import { fromLeastIn, mapIn, shownMethods, stageLook } from "./image_maps";
import { bitmapOf, Stage } from "./image_stage";

const STRIP_SIDE = 220;

interface Strip {
  method: Method;
  maps: (Numbers | null)[];
  /** one for all layers, and one for each */
  scale: MapScale;
  scales: MapScale[];
}

export function ImageLayers() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices } = state;
  const { layers } = report;
  const picture = pictureIn(report);
  const token = choices.token.value;
  const ownScale = choices.ownScale.value;
  const methods = shownMethods(viewer).filter((method) => !isScore(method));
  if (layers.length < 2 || methods.length === 0) return null;
  const strips = methods.map((method): Strip => {
    const maps = layers.map((layer) => mapIn(viewer, method, layer));
    const fromLeast = fromLeastIn(viewer, method);
    const scale = picture.scale(maps, token, fromLeast);
    return {
      method,
      maps,
      scale,
      scales: maps.map((map) => (ownScale ? picture.scale([map], token, fromLeast) : scale)),
    };
  });
  const exporter = {
    svg: () =>
      exportedStages(
        picture,
        bitmapOf(picture).image.value,
        strips.flatMap(({ method, maps, scales }) =>
          maps.map((map, k) => ({ title: `${method}, layer ${layers[k]}`, map, scale: scales[k] })),
        ),
        { ...stageLook(viewer), pair: false },
      ),
    shown: () => {
      const methods = strips.map(({ method }) => method);
      return {
        method: methods.join(", "),
        layers: layersWords(layers),
        notes: [ownScale ? "Each layer on its own scale." : "All layers of a method on one scale."],
        file: [...methods, `token${token}`],
      };
    },
    rows: () => ({
      columns: ["method", "layer", "output_token", "input_token", "row", "column", "value"],
      rows: rowsOf(strips, layers, token, picture),
    }),
  };
  const tools = (
    <CheckControl id="own-scale" on={choices.ownScale}>
      Each layer on its own scale
    </CheckControl>
  );
  return (
    <Card id="layers" title="By layer" wide tools={tools} exporter={exporter}>
      <div id="strips">
        {strips.map((strip) => (
          <LayerStrip key={strip.method} {...strip} />
        ))}
      </div>
      <p class="help">The same output token after each layer. Click a picture for its layer.</p>
    </Card>
  );
}

function LayerStrip({ method, maps, scale, scales }: Strip) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices } = state;
  const { layers } = report;
  const picture = pictureIn(report);
  const token = choices.token.value;
  const chosen = layers.indexOf(choices.layer.value);
  const choose = (index: number, strip: Element | null) => {
    choices.layer.value = layers[index];
    choices.method.value = method;
    strip?.querySelectorAll<HTMLElement>(".layer")[index]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const moves = movesAlong(layers.length);
    if (!(event.key in moves)) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(layers.length - 1, chosen + moves[event.key])), event.currentTarget as Element);
  };
  return (
    <figure data-method={method}>
      <div class="strip-head">
        <h3>{method}</h3>
        {maps[0] === null ? (
          <div class="legend">no values for {report.tokens[token].label}</div>
        ) : choices.ownScale.value && choices.overlay.value !== "outline" ? (
          <div class="legend">from the palest to the darkest of each layer</div>
        ) : (
          <MapLegend scale={scale} />
        )}
      </div>
      {maps[0] !== null && (
        <div
          class="strip"
          role="listbox"
          aria-orientation="horizontal"
          aria-label={`Layers, ${method}`}
          style={{ "--layers": String(layers.length) }}
          onKeyDown={onKeyDown}
        >
          {layers.map((layer, index) => (
            <div
              class="layer"
              role="option"
              key={layer}
              data-layer={layer}
              aria-selected={index === chosen}
              tabIndex={index === chosen ? 0 : -1}
              onClick={(event) => choose(index, event.currentTarget.parentElement)}
            >
              <Stage
                picture={picture}
                map={maps[index]}
                scale={scales[index]}
                token={token}
                side={STRIP_SIDE / 2}
                photoSide={STRIP_SIDE}
              />
              <span class="name">layer {layer}</span>
            </div>
          ))}
        </div>
      )}
    </figure>
  );
}

function* rowsOf(
  strips: Strip[],
  layers: readonly number[],
  token: number,
  picture: ReturnType<typeof pictureIn>,
): Generator<(string | number | null)[]> {
  for (const { method, maps } of strips) {
    for (const [k, map] of maps.entries()) {
      for (let p = 0; p < picture.patches; ++p) {
        const { row, column } = picture.patchOf(picture.first + p);
        yield [method, layers[k], token, picture.first + p, row, column, map?.[p] ?? null];
      }
    }
  }
}
