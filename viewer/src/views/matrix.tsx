// All pairs in the chosen layer: a row for each output token, a column for each input token.
import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { AskFor } from "../components/ask_for";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { TokenName } from "../components/own_text";
import { Readout } from "../components/readout";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import { MatrixPicture } from "./matrix_picture";
import { blockOf } from "./matrix_raster";
import { useFound } from "./picture";

/** Number of reads whose time is not noticeable, and the most that are done even in slices. */
const CHEAP = 6e6;
const MOST = 3e9;

export function Matrix() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts } = state;
  const svg = useRef<SVGSVGElement>(null);
  const marking = useSignal(true);
  const explained = explanation.value;
  const [method, layer] = [choices.method.value, choices.layer.value];
  const outputs = useMemo(() => explained.outputTokens(method, layer), [explained, method, layer]);
  const { n } = report;
  const cost = outputs.length * (explained.cost(method, layer) + n);
  const { found: block, busy } = useFound(
    () =>
      blockOf(
        report,
        outputs,
        cost < MOST ? (output) => explained.row(method, layer, output) : () => null,
        counts.value,
      ),
    [explained, method, layer, outputs, counts.value],
    cost < CHEAP && n * outputs.length <= 3e5,
  );
  const kept = useMemo(() => {
    const values = explained.asComputed ? report.array(method) : report.graphValues();
    return values?.kept
      ? "The document keeps only the strongest values of each row; the others are drawn as their mean."
      : "";
  }, [explained, method, report]);
  if (n < 2) return null;
  if (outputs.length < 2) return <MissingPairs outputs={outputs} />;
  const exporter: Exporter = {
    svg: () => svg.current ?? "",
    shown: () => ({
      output: `${outputs.length === n ? "all" : outputs.length}, a row each`,
      file: [method, `layer${layer}`],
    }),
    rows: () => ({
      columns: ["layer", "output_token", "input_token", "value"],
      rows: (function* () {
        for (const output of outputs) {
          const row = explained.row(method, layer, output);
          for (let i = 0; row && i < n; ++i) yield [layer, output, i, row[i]];
        }
      })(),
    }),
  };
  return (
    <Card id="matrix" title="Full matrix (output × input)" exporter={exporter}>
      <MatrixPicture
        id="matrix"
        svg={svg}
        outputs={outputs}
        block={block}
        busy={busy}
        layer={layer}
        marking={marking}
        onChoose={(output) => (choices.token.value = output)}
      />
      <Readout view="matrix" />
      <div class="row foot">
        {block && <Legend ends={block.ends} marked={marking.value} />}
        <p class="help">
          {cost >= MOST
            ? "The full matrix with these settings is too large to compute in the browser. "
            : busy && "Computing the full matrix in the browser … "}
          A row for each output token, a column for each input token.
          {report.pictured && " Patches are named by row and column."} Click a row to choose it; scroll with Ctrl, or
          pinch, to zoom. {kept} {outputs.length < n && `${outputs.length} of ${n} output tokens have values here.`}
        </p>
      </div>
    </Card>
  );
}

/** Shown in place of a matrix that would have at most one row. */
function MissingPairs({ outputs }: { outputs: readonly number[] }) {
  const viewer = useViewer();
  const { state, explanation } = viewer;
  const [method, layer] = [state.choices.method.value, state.choices.layer.value];
  const why = explanation.value.whyNot(method, layer);
  return (
    <Card id="matrix" title="Full matrix (output × input)">
      <div class="notice" id="matrix-missing">
        <p>
          {outputs.length === 1 ? (
            <>
              {method} was computed for the output token <TokenName {...viewer.name(outputs[0])} said /> only.
            </>
          ) : (
            `This report has no full matrix of ${method}.`
          )}{" "}
          {why}
        </p>
        <p>
          <AskFor id="ask-all-pairs" method={method} token="all" />
        </p>
      </div>
    </Card>
  );
}
