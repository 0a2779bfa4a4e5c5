// The layer x token picture of the chosen output token: what it draws on after each layer, the last on top.
import { computed, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { endsOf, EndsOf, endsOfEach, type Ends } from "../color/ends";
import { Card } from "../components/card";
import { CheckBox } from "../components/check_box";
import { Legend } from "../components/legend";
import { Readout } from "../components/readout";
import type { Work } from "../compute/slices";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import { layersWords } from "../report/setting_words";
import { format } from "../report/text";
import type { Numbers } from "../report/values";
import { CellPicture, exportedCells } from "./cell_picture";
import { useFound } from "./picture";

/** Numbers touched that nobody notices. */
const CHEAP = 4e6;

const NO_ENDS = new EndsOf().ends;

interface Found {
  values: (Numbers | null)[];
  /** of each row, and of all */
  own: Ends[];
  all: Ends;
}

/** What the output token draws on after each layer that is above the one looked down to. */
function useRows() {
  const { report, state, explanation } = useViewer();
  const { choices, counts } = state;
  const [method, token, explained] = [choices.method.value, choices.token.value, explanation.value];
  const layers = useMemo(
    () => report.layers.filter((layer) => layer > choices.start_layer.value).reverse(),
    [report, choices.start_layer.value],
  );
  const { found, busy } = useFound(
    function* (): Work<Found> {
      const values: (Numbers | null)[] = [];
      for (const layer of layers) {
        values.push(explained.row(method, layer, token));
        yield;
      }
      const own = values.map((row) => endsOf(report, [row], token, counts.value));
      return { values, own, all: endsOf(report, values, token, counts.value) };
    },
    [explained, method, token, layers, counts.value],
    layers.reduce((sum, layer) => sum + explained.cost(method, layer), 0) < CHEAP,
  );
  const none = useMemo(
    () => ({ values: layers.map(() => null), own: layers.map(() => NO_ENDS), all: NO_ENDS }),
    [layers],
  );
  return { layers, busy, ...(found?.values.length === layers.length ? found : none) };
}

export function LayerMap() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, counts, pointed } = state;
  const marking = useSignal(true);
  const [method, token] = [choices.method.value, choices.token.value];
  const { layers, values, own, all, busy } = useRows();
  const rows = useMemo(() => layers.map((layer) => ({ label: { label: `Layer ${layer}` } })), [layers]);
  const columns = useMemo(
    () => report.tokens.map(({ label }, i) => ({ label: { label }, excluded: !counts.value[i] })),
    [report, counts.value],
  );
  const framed = useMemo(
    () => [layers.indexOf(choices.layer.value)].filter((r) => r >= 0),
    [layers, choices.layer.value],
  );
  const at = useMemo(
    () =>
      computed(() => {
        if (!pointed.value) return null;
        const { input, layer = 0, view } = pointed.value;
        const row = view === "heat" ? layers.indexOf(layer) : -1;
        return { row: row < 0 ? null : row, column: input };
      }),
    [pointed, layers],
  );
  const ends = useMemo(
    () => (choices.ownScale.value ? own : layers.map(() => all)),
    [own, all, layers, choices.ownScale.value],
  );
  const any = values.some(Boolean);
  const exporter: Exporter = {
    svg: () => exportedCells("heat"),
    shown: () => ({ layers: layersWords([...layers].reverse()), file: [method, `token${token}`] }),
    rows: () => ({
      columns: ["layer", "output_token", "input_token", "token", "value"],
      rows: [...layers.entries()]
        .reverse()
        .flatMap(([r, layer]) =>
          [...(values[r]?.entries() ?? [])].map(([i, value]) => [layer, token, i, report.tokens[i].label, value]),
        ),
    }),
  };
  return (
    <Card id="heat" title="By layer" wide exporter={any ? exporter : undefined}>
      {any && (
        <CellPicture
          id="heat"
          name={`${layers.length} layers by ${report.n} tokens. Arrow keys read values, Enter chooses the layer, Space the token.`}
          {...{ rows, columns, values, ends, marking, busy }}
          chosen={framed}
          chosenColumn={token}
          pointed={at}
          onPoint={(cell) => {
            pointed.value = cell && { input: cell.column, layer: layers[cell.row], output: token, view: "heat" };
          }}
          onRow={(row) => (choices.layer.value = layers[row])}
          onColumn={(column) => (choices.token.value = column)}
          says={({ row, column }) =>
            `Layer ${layers[row]}, ${report.tokens[column].label}: ${format(values[row]?.[column])}`
          }
        />
      )}
      <Readout view="heat" />
      <div class="row foot">
        {any && (
          <Legend
            ends={choices.ownScale.value ? endsOfEach(all, own) : all}
            each={choices.ownScale.value ? "layer" : undefined}
            marked={marking.value}
          />
        )}
        <div class="control check">
          <CheckBox id="own-scale" on={choices.ownScale}>
            Each layer on its own scale
          </CheckBox>
        </div>
        <p class="help">
          The same output token after each layer. Click a row to choose its layer, a label to choose its token.
        </p>
      </div>
    </Card>
  );
}
