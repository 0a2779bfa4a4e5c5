// Two cell pictures: the chosen token after each layer, and all generated tokens at once.
import { useMemo } from "preact/hooks";
import { collectEnds, endsOf, EndsOf, signed } from "../color/ends";
import { layersWords } from "../report/setting_words";
import { percent } from "../report/text";
import { CellCard } from "../views/cell_card";
import { useGeneration, type GenerationViewer } from "./generation_viewer";

/** The rows of "By layer": the chosen token after each layer that has the chosen method, the last on top. */
export function layerRows(viewer: GenerationViewer) {
  const method = viewer.state.choices.method.value;
  const layers = [...viewer.heldLayers(method)].reverse();
  return { layers, values: layers.map((layer) => viewer.explanation.value.row(method, layer, viewer.output)) };
}

/** The rows of "Full matrix": positions with values of the chosen method, in the report or added by a server. */
export function matrixRows(viewer: GenerationViewer) {
  const method = viewer.state.choices.method.value;
  const layers = viewer.layersOf(method);
  const explained = viewer.explanation.value;
  const outputs = explained.outputTokens(method, layers.at(-1));
  return { outputs, values: outputs.map((position) => explained.row(method, layers, position)) };
}

/** The chosen token, one row per layer, the last on top. */
export function LayerPicture() {
  const viewer = useGeneration();
  const { report, state, explanation, output } = viewer;
  const { method, span, token } = state.choices;
  const { layers, values } = useMemo(() => layerRows(viewer), [explanation.value, output, method.value]);
  const counts = state.counts.value;
  const count = values[0]?.length;
  const ends = useMemo(() => endsOf(report, values, output, counts), [values, counts]);
  const chosen = viewer.layersOf(method.value);
  const rows = useMemo(
    () =>
      layers.map((layer) => {
        const share = report.sinkShare(output, layer);
        return { label: { label: report.layerName(layer) }, side: share === null ? undefined : percent(share) };
      }),
    [report, output, layers],
  );
  const framed = useMemo(
    () => (chosen.length < layers.length ? [...layers.keys()].filter((r) => chosen.includes(layers[r])) : []),
    [layers, chosen.join()],
  );
  const places = useMemo(() => layers.map((layer) => ({ layer })), [layers]);
  if (!count || viewer.scored) return null; // scores do not depend on a layer
  const hasShares = rows.some(({ side }) => side !== undefined);
  // Tables are written row by row: the complete table may be larger than the document.
  const table = () => ({
    columns: ["layer", "output_token", "part", "input_token", "text", "value", "share_on_first"],
    rows: (function* () {
      for (const [r, layer] of layers.entries()) {
        const share = report.sinkShare(output, layer);
        for (let j = 0; j < Math.min(count, output + 1); ++j) {
          yield [layer, token.value, ...viewer.partOf(j), values[r]?.[j] ?? null, share];
        }
      }
    })(),
  });
  return (
    <CellCard
      id="heat"
      title="By layer"
      name={`Picture of ${layers.length} ${layers.length === 1 ? "layer" : "layers"} by ${count} tokens that it could depend on; the table has the numbers.`}
      {...{ rows, places, values, ends }}
      chosen={framed}
      sideName={hasShares ? "on the first" : ""}
      onRow={(row) => {
        if (layers.length > 1) span.value = { ...span.value, kind: "one", from: layers[row] };
      }}
      exporter={{ shown: () => ({ layers: layersWords([...layers].reverse()) }), rows: table }}
    >
      The same generated token after each layer.
      {hasShares &&
        " On the right: the share of the layer's attention that falls on the first token of the prompt."}{" "}
      Click a row for that layer alone.
    </CellCard>
  );
}

export function WholePicture() {
  const viewer = useGeneration();
  const { report, state, explanation, output, scored } = viewer;
  const { m, n } = report;
  const method = state.choices.method.value;
  const { outputs, values } = useMemo(
    () => matrixRows(viewer),
    [explanation.value, method, viewer.layersOf(method).join()],
  );
  const counts = state.counts.value;
  const withGenerated = (values[0]?.length ?? 0) > m;
  const ends = useMemo(() => {
    const all = new EndsOf();
    for (const [r, position] of outputs.entries()) {
      const row = scored ? (values[r]?.map(Math.abs) ?? null) : values[r];
      all.include(collectEnds(report, [row], position, counts, scored));
    }
    return scored ? signed(all.ends) : all.ends;
  }, [values, counts]);
  const nameOf = (position: number) => report.tokens[report.namedBy(position)];
  const rows = useMemo(() => outputs.map((position) => ({ label: nameOf(position) })), [outputs]);
  const places = useMemo(() => outputs.map((position) => ({ output: position })), [outputs]);
  const framed = useMemo(() => [...outputs.keys()].filter((r) => outputs[r] === output), [outputs, output]);
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
      title="Full matrix (generated × input)"
      name={`Matrix of ${outputs.length} generated tokens by the ${withGenerated ? n : m} tokens before them${scored ? "" : `, ${viewer.layersText()}`}.`}
      {...{ rows, places, values, ends }}
      chosen={framed}
      onRow={(row) => state.step(outputs[row] - (m - 1))}
      exporter={{ shown: () => ({ output: `all ${outputs.length}, a row each`, file: [method] }), rows: table }}
    >
      A row for each generated token{outputs.length < report.choosable && ` that ${method} was computed for`}, a column
      for each token of the prompt
      {withGenerated && " and, after the line, for each token generated before it"}. Click a row to choose its token.
    </CellCard>
  );
}
