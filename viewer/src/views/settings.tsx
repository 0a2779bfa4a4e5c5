// How the numbers were made, in words.
import { Card } from "../components/card";
import { useViewer } from "../context";
import { pictureOf } from "../export/element_picture";
import type { Report } from "../report/report";
import { pictureIn } from "../report/picture";
import { format, visible } from "../report/text";

/** What gradients make of the attention, in words. */
export function gradientMixing(report: Report): string {
  const { target } = report.document;
  const score = target?.kind === "next" ? "the next token" : "class";
  const of = target ? ` for ${score} “${visible(target.label)}”` : "";
  const rows =
    report.settings.mixing === "gradient" ? "for flow, rows divided by their sums" : "rows divided by their sums";
  return `gradient-adjusted attention${of}; identity added, ${rows}`;
}

const HEADS: Record<string, string> = { mean: "mean over heads", max: "maximum over heads", min: "minimum over heads" };
const NORMALISATIONS: Record<string, string> = {
  none: "none, as computed",
  row: "each output token's values sum to 1",
  "receptive-field": "by receptive field",
};
const ASIDES: Record<string, string> = { none: "", first: "the first token", special: "special tokens" };

function precision(report: Report): string {
  const { arrays } = report.document;
  const methods = report.methods.map((name) => arrays[name]);
  const error = Math.max(0, ...methods.map((array) => array.error ?? 0));
  const kept = methods.some((array) => array.dtype === "top");
  if (error > 0 || kept) {
    const parts = error > 0 ? [`values within ${(100 * error).toPrecision(2)}%`] : [];
    if (kept) parts.push("of each row the largest; the others share the rest evenly");
    return `${parts.join("; ")}. Those of output token ${report.document.output_token ?? 0} are exact; a json or npz file has all of them`;
  }
  return methods.some((array) => array.dtype === "f16") ? "3 digits; a json or npz file has all of them" : "";
}

/** Of a report of a picture. */
function pictureRows(report: Report): [string, string][] {
  if (!report.document.input.image) return [];
  const { fields, seen, rows, columns } = pictureIn(report);
  const { width, height } = fields;
  const round = (x: number) => Math.round(10 * x) / 10;
  const whole = seen.left <= 0 && seen.top <= 0 && seen.right >= width && seen.bottom >= height;
  const part = `columns ${round(seen.left)} to ${round(seen.right)} and rows ${round(seen.top)} to ${round(seen.bottom)} of pixels; the model did not see the rest, which is pale here`;
  return [
    ["Picture", `${width} × ${height} pixels`],
    ["Seen", whole ? "all of it" : part],
    ["Patches", `${rows} rows of ${columns}, named by row and column from 0`],
  ];
}

/** Term and description, those without a description left out. */
export function settingsRows(report: Report): [string, string][] {
  const { settings, layers, document } = report;
  const contiguous = layers.length > 2 && layers.at(-1) === layers[0] + layers.length - 1;
  const computed = contiguous ? `${layers[0]} to ${layers.at(-1)}` : layers.join(", ");
  const flow = report.methods.includes("flow");
  const rows: [string, string][] = [
    ...pictureRows(report),
    ["Methods", settings.method.join(", ")],
    ["Mixing", report.gradient ? gradientMixing(report) : ""],
    ["Heads", HEADS[settings.heads] ?? `head ${settings.heads} in the layer looked at, the mean in those below`],
    ["Residual", report.gradient ? "" : `${settings.residual} of each token stays in place in every layer`],
    ["Layers", `${computed}, each down to ${settings.to_layer ? `layer ${settings.to_layer}` : "the input"}`],
    ["Discarded", settings.discard ? `the smallest ${100 * settings.discard}% of each layer's weights` : ""],
    ["Set aside", ASIDES[settings.set_aside] ?? `tokens ${settings.set_aside}`],
    ["Normalisation", NORMALISATIONS[settings.normalize] ?? settings.normalize],
    ["Tokens", settings.words ? "pieces of a word merged" : ""],
    [
      "[?]",
      report.tokens.some((token) => token.unknown)
        ? "marks what is not in the model's vocabulary; such words look the same to it"
        : "",
    ],
    [
      "Flow",
      flow && document.flow_gap_max !== undefined
        ? `certified lower ends, at most ${format(document.flow_gap_max)} below the true maximum`
        : "",
    ],
    ["Precision here", precision(report)],
    ["attnflow report", `version ${document.version}`],
  ];
  return rows.filter(([, text]) => text !== "");
}

export function SettingsCard() {
  const { report, explanation } = useViewer();
  const exporter = {
    svg: () => pictureOf("settings"),
    rows: () => ({ columns: ["setting", "value"], rows: settingsRows(report) }),
  };
  return (
    <Card id="settings" title="How these numbers were made" wide exporter={exporter}>
      {!explanation.value.asComputed && (
        <p class="notice" id="recomputed">
          Other settings are chosen: what can be, is computed in this page from the layers' attention; the list says how
          the report itself was made.
        </p>
      )}
      <dl id="settings">
        {settingsRows(report).map(([term, text]) => (
          <>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
    </Card>
  );
}
