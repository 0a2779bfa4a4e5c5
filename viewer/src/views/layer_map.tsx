// The layers x tokens picture of the chosen output token: what it draws on after each layer, the last on top.
import { useMemo } from "preact/hooks";
import { endsOf, EndsOf, endsOfEach, type Ends } from "../color/ends";
import { CheckControl } from "../components/check_box";
import type { Work } from "../compute/slices";
import { useViewer, type Viewer } from "../context";
import type { Exporter } from "../export/exporter";
import { layersWords } from "../report/setting_words";
import { format } from "../report/text";
import type { Numbers } from "../report/values";
import { CellCard } from "./cell_card";
import { useFound } from "./picture";

/** A number of reads whose time is not noticeable. */
const CHEAP = 4e6;

const NO_ENDS = new EndsOf().ends;

interface Found {
  values: (Numbers | null)[];
  /** ends of each row, and of all */
  own: Ends[];
  all: Ends;
}

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

/** @param layer the highest without values */
function whyGray({ state, explanation, askServer, computing }: Viewer, layer: number): string {
  if (computing.value) return "Gray rows are still being computed.";
  const alone = askServer.value === null;
  return `Gray rows have no values here. ${explanation.value.whyNoRow(state.choices.method.value, layer, alone)}`;
}

export function LayerMap() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices } = state;
  const [method, token] = [choices.method.value, choices.token.value];
  const { layers, values, own, all, busy } = useRows();
  const rows = useMemo(() => layers.map((layer) => ({ label: { label: report.layerName(layer) } })), [report, layers]);
  const places = useMemo(() => layers.map((layer) => ({ layer })), [layers]);
  const framed = useMemo(
    () => [layers.indexOf(choices.layer.value)].filter((r) => r >= 0),
    [layers, choices.layer.value],
  );
  const exporter: Exporter = {
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
  const each = choices.ownScale.value ? { ends: own, each: "layer" } : null;
  return (
    <CellCard
      id="heat"
      title="By layer"
      name={`${layers.length} layers by ${report.n} tokens. Arrow keys read values, Enter chooses the layer, Space the token.`}
      {...{ rows, places, values, exporter, busy }}
      ends={each ? endsOfEach(all, own) : all}
      own={each}
      chosen={framed}
      chosenColumn={token}
      onRow={(row) => (choices.layer.value = layers[row])}
      onColumn={(column) => (choices.token.value = column)}
      says={({ row, column }) =>
        `Layer ${layers[row]}, ${report.tokens[column].label}: ${format(values[row]?.[column])}`
      }
      tools={
        <CheckControl id="own-scale" on={choices.ownScale}>
          Each layer on its own scale
        </CheckControl>
      }
    >
      The same output token after each layer. Click a row to choose its layer, a label to choose its token.
      {!busy && values.some(Boolean) && !values.every(Boolean) && ` ${whyGray(viewer, layers[values.indexOf(null)])}`}
    </CellCard>
  );
}
