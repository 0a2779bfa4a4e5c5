// All methods at once, for the chosen output token and layer: a strip each, on a scale of its own.
import { Card } from "../components/card";
import { ValueStrip } from "../components/value_strip";
import { useViewer } from "../context";
import { pictureOf } from "../export/element_picture";
import { METHODS, type Method } from "../report/document";

/** Longer texts are looked at one method at a time. */
const MOST_TOKENS = 160;

export function Methods() {
  const { report, state, explanation } = useViewer();
  const { choices } = state;
  if (report.document.input.kind === "image" || report.n > MOST_TOKENS) return null;
  const [layer, token] = [choices.layer.value, choices.token.value];
  const methods = METHODS.filter((method) => explanation.value.row(method, layer, token) !== null);
  if (methods.length < 2) return null;
  const exporter = {
    svg: () => pictureOf("all-methods"),
    shown: () => ({
      title: "Every method",
      method: methods.join(", "),
      notes: ["Each on a scale of its own: flows do not sum to 1, shares do."],
      file: [`layer${layer}`, `token${token}`],
    }),
    rows: () => ({
      columns: ["output_token", "layer", "input_token", "token", ...methods],
      rows: report.tokens.map(({ index, label }) => [
        token,
        layer,
        index,
        label,
        ...methods.map((method) => explanation.value.row(method, layer, token)?.[index] ?? null),
      ]),
    }),
  };
  return (
    <Card id="methods" title={`Every method, layer ${layer}`} wide exporter={exporter}>
      <div class="compare" id="all-methods">
        {methods.map((method) => (
          <MethodStrip key={method} method={method} />
        ))}
      </div>
      <p class="help key">Each on a scale of its own: flows do not sum to 1, shares do.</p>
    </Card>
  );
}

function MethodStrip({ method }: { method: Method }) {
  const { state, explanation } = useViewer();
  const { choices, counts } = state;
  const row = explanation.value.row(method, choices.layer.value, choices.token.value);
  if (!row) return null;
  const chosen = choices.method.value === method;
  const title = (
    <>
      {method}
      {chosen && <span class="index"> shown above</span>}
    </>
  );
  return (
    <ValueStrip
      name={method}
      title={title}
      values={row}
      counts={counts.value}
      output={choices.token.value}
      view="methods"
    />
  );
}
