// Two pictures of cells: the chosen token after each layer, and all generated tokens at once.
import { computed, useSignal, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { collectEnds, endsOf, EndsOf, type Ends } from "../color/ends";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { Readout } from "../components/readout";
import type { Exporter } from "../export/exporter";
import { layersWords } from "../report/setting_words";
import { percent } from "../report/text";
import { CellPicture, exportedCells, type CellPictureProps } from "../views/cell_picture";
import { useGeneration } from "./generation_viewer";

const HINT = "Point at a cell to read its value, or walk through the picture with the arrow keys.";

/** Columns of both pictures: as many as there are values. */
function useColumns(count: number) {
  const { report, state } = useGeneration();
  const reasons = state.reasons.value;
  return useMemo(
    () => report.tokens.slice(0, count).map((label, j) => ({ label, excluded: reasons[j] !== "" })),
    [report, reasons, count],
  );
}

/** What is pointed at: its column, and its row where that is in this picture. */
function usePointed(view: string, rowOf: (at: { layer?: number; output?: number }) => number, inputs: unknown[]) {
  const { pointed } = useGeneration().state;
  return useMemo(
    () =>
      computed(() => {
        const at = pointed.value;
        if (!at) return null;
        const row = at.view === view ? rowOf(at) : -1;
        return { row: row < 0 ? null : row, column: at.input };
      }),
    [pointed, ...inputs],
  ) satisfies ReadonlySignal<unknown>;
}

type Picture = Omit<CellPictureProps, "id" | "name" | "marking" | "describedby" | "ends">;

interface CellCardProps {
  id: "heat" | "map";
  title: string;
  /** of the picture, for screen readers */
  name: string;
  picture: Picture;
  ends: Ends;
  exporter: Exporter;
  /** what it shows and what a click does */
  children: ComponentChildren;
}

function CellCard({ id, title, name, picture, ends, exporter, children }: CellCardProps) {
  const marking = useSignal(true);
  const all = useMemo(() => picture.rows.map(() => ends), [picture.rows.length, ends]);
  return (
    <Card id={id} title={title} wide exporter={{ svg: () => exportedCells(id), ...exporter }}>
      <CellPicture {...picture} ends={all} id={id} name={name} marking={marking} describedby={`${id}-readout`} />
      <Readout view={id} hint={HINT} />
      <div class="row foot">
        <Legend ends={ends} marked={marking.value} />
        <p class="help">{children}</p>
      </div>
    </Card>
  );
}

/** The chosen token, a row for each layer, the last on top. */
export function LayerPicture() {
  const viewer = useGeneration();
  const { report, state, explanation, output } = viewer;
  const { m } = report;
  const { method, span, token } = state.choices;
  const layers = useMemo(() => [...report.layersOf(method.value)].reverse(), [report, method.value]);
  const explained = explanation.value;
  const values = useMemo(
    () => layers.map((layer) => explained.row(method.value, layer, output)),
    [explained, output, layers],
  );
  const counts = state.counts.value;
  const known = values[0];
  const columns = useColumns(known?.length ?? m);
  const ends = useMemo(() => endsOf(report, values, output, counts), [values, counts]);
  const chosen = viewer.layersOf(method.value);
  const rows = useMemo(
    () =>
      layers.map((layer) => {
        const share = report.sinkShare(output, layer);
        return { label: { label: `Layer ${layer}` }, side: share === null ? undefined : percent(share) };
      }),
    [report, output, layers],
  );
  const framed = useMemo(
    () => (chosen.length < layers.length ? [...layers.keys()].filter((r) => chosen.includes(layers[r])) : []),
    [layers, chosen.join()],
  );
  const pointed = usePointed("heat", ({ layer }) => layers.indexOf(layer ?? -1), [layers]);
  if (!known) return null;
  const hasShares = rows.some(({ side }) => side !== undefined);
  const picture: Picture = {
    rows,
    chosen: framed,
    columns,
    values,
    seen: () => output + 1,
    sideName: hasShares ? "on the first" : "",
    divider: columns.length > m ? m : undefined,
    pointed,
    onRow(row) {
      if (layers.length > 1) span.value = { ...span.value, kind: "one", from: layers[row] };
    },
    onPoint: (cell) =>
      (state.pointed.value = cell && { input: cell.column, view: "heat", layer: layers[cell.row], output }),
  };
  // Tables are written row by row: whole ones may be larger than the document.
  const table = () => ({
    columns: ["layer", "output_token", "part", "input_token", "text", "value", "share_on_first"],
    rows: (function* () {
      for (const [r, layer] of layers.entries()) {
        const share = report.sinkShare(output, layer);
        for (let j = 0; j < Math.min(columns.length, output + 1); ++j) {
          yield [layer, token.value, ...viewer.partOf(j), values[r]?.[j] ?? null, share];
        }
      }
    })(),
  });
  return (
    <CellCard
      id="heat"
      title="By layer"
      name={`Picture of ${layers.length} ${layers.length === 1 ? "layer" : "layers"} by ${columns.length} tokens that could be drawn on; the table has the numbers.`}
      picture={picture}
      ends={ends}
      exporter={{ shown: () => ({ layers: layersWords([...layers].reverse()) }), rows: table }}
    >
      The same generated token after each layer.
      {hasShares &&
        " On the right: the share of the layer's attention that falls on the first token of the prompt."}{" "}
      Click a row for that layer alone.
    </CellCard>
  );
}

/** All generated tokens that the method was computed for. */
export function WholePicture() {
  const viewer = useGeneration();
  const { report, state, explanation, output } = viewer;
  const { m, n } = report;
  const method = state.choices.method.value;
  const explained = explanation.value;
  const layers = viewer.layersOf(method);
  const outputs = useMemo(() => report.outputTokens(method), [report, method]);
  const values = useMemo(
    () => outputs.map((position) => explained.row(method, layers, position)),
    [explained, outputs, layers.join()],
  );
  const counts = state.counts.value;
  const withGenerated = (values[0]?.length ?? 0) > m;
  const columns = useColumns(withGenerated ? n : m);
  const ends = useMemo(() => {
    const all = new EndsOf();
    for (const [r, position] of outputs.entries()) all.include(collectEnds(report, [values[r]], position, counts));
    return all.ends;
  }, [values, counts]);
  const nameOf = (position: number) => report.tokens[report.namedBy(position)];
  const rows = useMemo(() => outputs.map((position) => ({ label: nameOf(position) })), [outputs]);
  const framed = useMemo(() => [...outputs.keys()].filter((r) => outputs[r] === output), [outputs, output]);
  const pointed = usePointed("map", (at) => outputs.indexOf(at.output ?? -1), [outputs]);
  const picture: Picture = {
    rows,
    chosen: framed,
    columns,
    values,
    seen: (row) => outputs[row] + 1,
    divider: withGenerated ? m : undefined,
    pointed,
    onRow: (row) => state.step(outputs[row] - (m - 1)),
    onPoint: (cell) => (state.pointed.value = cell && { input: cell.column, view: "map", output: outputs[cell.row] }),
  };
  const table = () => ({
    columns: ["output_token", "output_text", "part", "input_token", "input_text", "value"],
    rows: (function* () {
      for (const [r, position] of outputs.entries()) {
        const row = values[r];
        for (let j = 0; row && j < Math.min(row.length, position + 1); ++j) {
          yield [position - (m - 1), nameOf(position).label, ...viewer.partOf(j), row[j]];
        }
      }
    })(),
  });
  return (
    <CellCard
      id="map"
      title="All generated tokens"
      name={`Picture of ${outputs.length} generated tokens by ${columns.length} tokens that could be drawn on, ${viewer.layersText()}.`}
      picture={picture}
      ends={ends}
      exporter={{ shown: () => ({ output: `all ${outputs.length}, a row each`, file: [method] }), rows: table }}
    >
      A row for each generated token, a column for each token of the prompt
      {withGenerated && " and, behind the line, for each token generated before it"}. Click a row to choose its token.
    </CellCard>
  );
}
