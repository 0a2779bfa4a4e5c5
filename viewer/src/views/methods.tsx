// All methods at once for the chosen output token and layers: one strip each, on its own scale.
import { Card } from "../components/card";
import { ValueStrip } from "../components/value_strip";
import { Readout } from "../components/readout";
import { useViewer, type Viewer } from "../context";
import { pictureOf } from "../export/element_picture";
import type { Shown, Table } from "../export/exporter";
import { GenerationViewer } from "../generation/generation_viewer";
import { isScore, METHODS, type Method } from "../report/document";

/** Longer texts show one method at a time. */
const MOST_TOKENS = 160;
const SCALES = "on its own color scale; flow values do not sum to 1.";
const UNITS = "on a scale of its own, in units of its own.";

/** The methods shown side by side; none if there is no card. */
function methodsOf(viewer: Viewer): readonly Method[] {
  const { report, state } = viewer;
  if (viewer instanceof GenerationViewer) {
    return state.choices.comparing.value && viewer.comparable ? report.methods : [];
  }
  if (report.document.input.kind === "image" || report.n > MOST_TOKENS) return [];
  const methods = METHODS.filter((method) => viewer.row(method) !== null);
  return methods.length > 1 ? methods : [];
}

export function Methods() {
  const viewer = useViewer();
  const { state } = viewer;
  const methods = methodsOf(viewer);
  if (methods.length === 0) return null;
  const generation = viewer instanceof GenerationViewer ? viewer : null;
  const same =
    new Set(methods.filter((method) => !isScore(method)).map((method) => viewer.layersText(method))).size < 2
      ? "The same generated token and the same layers"
      : "The same generated token, after the layers named in each method's title";
  const scales = methods.some((method) => viewer.inLogits(method)) ? UNITS : SCALES;
  const exporter = {
    svg: () => pictureOf("all-methods"),
    shown: () =>
      methodsShown(
        viewer,
        methods.filter((method) => viewer.row(method) !== null),
      ),
    rows: () => tableOf(viewer, methods),
  };
  return (
    <Card
      id="methods"
      title={generation ? "Methods side by side" : `Methods side by side, layer ${state.choices.layer.value}`}
      wide
      open={generation !== null}
      exporter={exporter}
    >
      <div class="compare" id="all-methods">
        {methods.map((method) => (
          <ValueStrip
            key={method}
            name={method}
            title={
              <>
                {method}
                {generation && !isScore(method) && `, ${viewer.layersText(method)}`}
                {state.choices.method.value === method && <span class="index"> shown above</span>}
              </>
            }
            values={viewer.row(method)}
            counts={state.counts.value}
            output={viewer.output}
            method={method}
            view="methods"
          />
        ))}
      </div>
      <Readout view="methods" />
      <p class="help key">{generation ? `${same}; each method ${scales}` : `Each ${scales}`}</p>
    </Card>
  );
}

export function methodsShown(viewer: Viewer, methods: readonly Method[]): Shown {
  const { choices } = viewer.state;
  const { explanation } = viewer;
  const named = methods.map((method) =>
    explanation.value.arrayOf(method) === method ? method : `${method} (normalized)`,
  );
  const shown = { title: "Methods side by side", method: named.join(", "), notes: [`Each method ${SCALES}`] };
  if (!(viewer instanceof GenerationViewer)) {
    return { ...shown, file: [`layer${choices.layer.value}`, `token${choices.token.value}`] };
  }
  const spans = methods.map((method) => viewer.layersText(method).replace(/^layer /, ""));
  // Flow may have fewer layers.
  const alike = new Set(spans).size < 2;
  const layers = alike ? spans[0] : methods.map((method, k) => `${method}: ${spans[k]}`).join(", ");
  return { ...shown, layers, file: [`position${choices.token.value}`] };
}

function tableOf(viewer: Viewer, methods: readonly Method[]): Table {
  const { report, state } = viewer;
  const { token, layer } = state.choices;
  const rows = methods.map((method) => viewer.row(method));
  const valuesOf = (j: number) => rows.map((row) => row?.[j] ?? null);
  if (viewer instanceof GenerationViewer) {
    return {
      columns: ["output_token", "part", "input_token", "text", ...methods],
      rows: Array.from({ length: viewer.output + 1 }, (_, j) => [token.value, ...viewer.partOf(j), ...valuesOf(j)]),
    };
  }
  return {
    columns: ["output_token", "layer", "input_token", "token", ...methods],
    rows: report.tokens.map(({ index, label }) => [token.value, layer.value, index, label, ...valuesOf(index)]),
  };
}
