// Two pictures of cells: the chosen token after each layer, and all generated tokens at once.
import { computed, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Card } from "../components/card";
import { CellPicture, exportedCells, type CellLabel } from "../components/cell_picture";
import { Scroller } from "../components/scroller";
import { layersWords } from "../report/setting_words";
import { format, percent } from "../report/text";
import type { Ends } from "../color/ends";
import { useGeneration, type GenerationState } from "./generation_state";
import { Named } from "./piece_view";
import { ScaleLegend } from "./scale_legend";

const HINT = "Point at a cell to read its value, or walk through the picture with the arrow keys.";

const labelOf = (state: GenerationState, column: number): CellLabel => state.report.columns[column].name;

/** Columns of both pictures: as many as there are values. */
function useColumns(count: number) {
  const state = useGeneration();
  const reasons = state.reasons.value;
  return useMemo(
    () => Array.from({ length: count }, (_, j) => ({ label: labelOf(state, j), aside: reasons[j] !== "" })),
    [state, reasons, count],
  );
}

/** The same colours as long as what they follow from is the same: pictures are made anew for others only. */
function useShades(ends: Ends) {
  const state = useGeneration();
  return useMemo(() => state.shades(ends), [state.scale.value, state.fromLeast.value, state.threshold.value, ends]);
}

/** The chosen token, a row for each layer, the last on top. */
export function LayerPicture() {
  const state = useGeneration();
  const { report } = state;
  const { m } = report;
  const marking = useSignal(true);
  const method = state.method.value;
  const selection = state.selection.value;
  const { token, normalized } = selection;
  const layers = report.layersOf(method);
  const order = useMemo(() => [...layers.keys()].reverse(), [layers]);
  const values = useMemo(
    () => order.map((at) => report.values({ method, normalized, token, layers: [at] })),
    [report, method, normalized, token, order],
  );
  const reasons = state.reasons.value;
  const known = values[0] ?? null;
  const columns = useColumns(known?.length ?? m);
  const scale = useMemo(() => report.scale(values, Array(values.length).fill(token), reasons), [values, reasons]);
  const shades = useShades(scale);
  const chosen = state.layers.value;
  const rows = useMemo(
    () =>
      order.map((at) => {
        const share = report.sinkShare(token, layers[at]);
        return {
          label: { text: `Layer ${layers[at]}` },
          side: share === null ? undefined : percent(share),
        };
      }),
    [report, token, order],
  );
  const framed = useMemo(
    () => (chosen.length < layers.length ? [...order.keys()].filter((r) => chosen.includes(order[r])) : []),
    [order, chosen],
  );
  const pointed = useMemo(
    () =>
      computed(() => {
        const at = state.pointed.value;
        if (!at) return null;
        const row = at.view === "heat" ? order.findIndex((l) => layers[l] === at.layer) : -1;
        return { row: row < 0 ? null : row, column: at.column };
      }),
    [state, order, layers],
  );
  if (!known) return null;
  const hasShares = rows.some(({ side }) => side !== undefined);
  const picture = {
    rows,
    chosen: framed,
    columns,
    values,
    seen: () => m + token,
    top: scale.top,
    scale: shades,
    sideName: hasShares ? "on the first" : "",
    divider: columns.length > m ? m : undefined,
  };
  const name = `Picture of ${layers.length} ${layers.length === 1 ? "layer" : "layers"} by ${columns.length} tokens that could be drawn on; the table has the numbers.`;
  return (
    <Card
      id="heat"
      title="By layer"
      wide
      exporter={{
        svg: () => exportedCells("heat", picture),
        shown: () => ({ layers: layersWords(layers) }),
        rows: () => ({
          columns: ["layer", "output_token", "part", "input_token", "text", "value", "share_on_first"],
          rows: layerRows(state, order, values, Math.min(columns.length, m + token)),
        }),
      }}
    >
      <Scroller id="heat">
        <CellPicture
          {...picture}
          id="heat"
          name={name}
          pointed={pointed}
          marking={marking}
          describedby="heat-readout"
          onRow={(row) => {
            if (layers.length < 2) return;
            state.from.value = layers[order[row]];
            state.span.value = "one";
          }}
          onPoint={(cell) =>
            (state.pointed.value = cell && { column: cell.column, view: "heat", layer: layers[order[cell.row]] })
          }
        />
      </Scroller>
      <MapReadout view="heat" />
      <div class="foot">
        <ScaleLegend ends={scale} marked={marking.value} />
        <p class="help">
          The same generated token after each layer.
          {hasShares &&
            " On the right: the share of the layer's attention that falls on the first token of the prompt."}{" "}
          Click a row for that layer alone.
        </p>
      </div>
    </Card>
  );
}

function* layerRows(
  state: GenerationState,
  order: readonly number[],
  values: readonly (Float64Array | null)[],
  count: number,
): Generator<(string | number | null)[]> {
  const { report } = state;
  const token = state.token.value;
  for (const [r, at] of order.entries()) {
    const layer = report.layersOf(state.method.value)[at];
    for (let j = 0; j < count; ++j) {
      const { generated, position, name } = report.columns[j];
      const part = generated ? "generated" : "prompt";
      yield [layer, token, part, position, name.text, values[r]?.[j] ?? null, report.sinkShare(token, layer)];
    }
  }
}

/** All generated tokens that the method was computed for. */
export function WholePicture() {
  const state = useGeneration();
  const { report } = state;
  const { m, n } = report;
  const marking = useSignal(true);
  const method = state.method.value;
  const { normalized } = state.selection.value;
  const layers = state.layers.value;
  const tokens = report.rowsOf(method);
  const values = useMemo(
    () => tokens.map((token) => report.values({ method, normalized, token, layers })),
    [report, method, normalized, layers, tokens.length],
  );
  const reasons = state.reasons.value;
  const withGenerated = (values[0]?.length ?? 0) > m;
  const columns = useColumns(withGenerated ? m + n : m);
  const scale = useMemo(() => report.scale(values, tokens, reasons), [values, reasons]);
  const shades = useShades(scale);
  const chosen = state.token.value;
  const rows = useMemo(
    () => tokens.map((token) => ({ label: labelOf(state, m + token) })),
    [state, tokens.length, method],
  );
  const framed = useMemo(() => [...tokens.keys()].filter((r) => tokens[r] === chosen), [tokens.length, method, chosen]);
  const pointed = useMemo(
    () =>
      computed(() => {
        const at = state.pointed.value;
        if (!at) return null;
        const row =
          at.view === "map" && at.token !== undefined ? report.rowsOf(state.method.value).indexOf(at.token) : -1;
        return { row: row < 0 ? null : row, column: at.column };
      }),
    [state],
  );
  const picture = {
    rows,
    chosen: framed,
    columns,
    values,
    seen: (row: number) => m + tokens[row],
    top: scale.top,
    scale: shades,
    divider: withGenerated ? m : undefined,
  };
  return (
    <Card
      id="map"
      title="All generated tokens"
      wide
      exporter={{
        svg: () => exportedCells("map", picture),
        shown: () => ({ output: `all ${tokens.length}, a row each`, file: [method] }),
        rows: () => ({
          columns: ["output_token", "output_text", "part", "input_token", "input_text", "value"],
          rows: wholeRows(state, tokens, values),
        }),
      }}
    >
      <Scroller id="map">
        <CellPicture
          {...picture}
          id="map"
          name={`Picture of ${tokens.length} generated tokens by ${columns.length} tokens that could be drawn on, ${state.spanText()}.`}
          pointed={pointed}
          marking={marking}
          describedby="map-readout"
          onRow={(row) => state.step(tokens[row])}
          onPoint={(cell) =>
            (state.pointed.value = cell && { column: cell.column, view: "map", token: tokens[cell.row] })
          }
        />
      </Scroller>
      <MapReadout view="map" />
      <div class="foot">
        <ScaleLegend ends={scale} marked={marking.value} />
        <p class="help">
          A row for each generated token, a column for each token of the prompt
          {withGenerated && " and, behind the line, for each token generated before it"}. Click a row to choose its
          token.
        </p>
      </div>
    </Card>
  );
}

function* wholeRows(
  state: GenerationState,
  tokens: readonly number[],
  values: readonly (Float64Array | null)[],
): Generator<(string | number | null)[]> {
  const { report } = state;
  for (const [r, token] of tokens.entries()) {
    const row = values[r];
    for (let j = 0; row && j < Math.min(row.length, report.m + token); ++j) {
      const { generated, position, name } = report.columns[j];
      const output = report.columns[report.m + token].name.text;
      yield [token, output, generated ? "generated" : "prompt", position, name.text, row[j]];
    }
  }
}

/** The value of the cell that the pointer or the keyboard is at. */
function MapReadout({ view }: { view: "heat" | "map" }) {
  const state = useGeneration();
  const { report } = state;
  const at = state.pointed.value;
  const content = () => {
    if (at?.view !== view) return HINT;
    const { method, normalized } = state.selection.value;
    const token = at.token ?? state.token.value;
    const layers = at.layer === undefined ? state.layers.value : [report.layersOf(method).indexOf(at.layer)];
    const value = report.values({ method, normalized, token, layers })?.[at.column];
    const input = report.columns[at.column];
    if (input.generated && input.position >= token) {
      return (
        <>
          <Named column={input} /> came after{" "}
          <Named column={report.columns[report.m + token]} brief={token === state.token.value} />
        </>
      );
    }
    return (
      <>
        {view === "heat" ? `Layer ${at.layer}: ` : ""}
        <Named column={report.columns[report.m + token]} brief={token === state.token.value} /> drew{" "}
        <b>{format(value)}</b> on <Named column={input} />
      </>
    );
  };
  return (
    <p class={at?.view === view ? "readout" : "readout hint"} id={`${view}-readout`} role="status">
      {content()}
    </p>
  );
}
