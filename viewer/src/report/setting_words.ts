// Settings in words, the same in the settings cards, in captions of saved pictures and on printed pages.
import { hasTarget } from "./mixings";
import type { Target } from "./document";
import type { Report } from "./report";
import { visible } from "./text";

const HEADS: Record<string, string> = { mean: "mean over heads", max: "maximum over heads", min: "minimum over heads" };
const NORMALISATIONS: Record<string, string> = {
  none: "none",
  row: "each output token's values sum to 1",
  "receptive-field": "by receptive field",
};
const MASKS: Record<string, string> = {
  none: "",
  first: "the first token",
  special: "special tokens",
  registers: "registers",
};

/** What ° next to a value means. */
export const DEGENERATE_WORDS = "set by the first or last layer alone";

export const headsWords = (heads: string) => HEADS[heads] ?? `head ${heads}`;
export const residualWords = (residual: number) => `weight ${Number(residual.toFixed(4))} in every layer`;
export const downToWords = (layer: number) => (layer ? `layer ${layer}` : "the input");
export const discardWords = (share: number) =>
  share > 0 ? `the smallest ${Number((100 * share).toPrecision(6))}% of each layer's weights` : "";
/** The share of the largest value from which values are drawn; "" for all. */
export const drawnWords = (threshold: number) =>
  threshold > 0 ? `values from ${(100 * threshold).toFixed(0)}% of the largest` : "";
export const maskWords = (columns: string) => MASKS[columns] ?? `tokens ${columns}`;
export const normalisationWords = (name: string) => NORMALISATIONS[name] ?? name;

/** "1 to 6", or a list of the layers. */
export function layersWords(layers: readonly number[]): string {
  const contiguous = layers.length > 2 && layers[layers.length - 1] === layers[0] + layers.length - 1;
  return contiguous ? `${layers[0]} to ${layers[layers.length - 1]}` : layers.join(", ");
}

/** "28 × 28 pixels, gray" */
export const pixelWords = ({ width, height, channels }: { width: number; height: number; channels: number }) =>
  `${width} × ${height} pixels${channels === 1 ? ", gray" : ""}`;

/** A model in short: name, architecture, layers and heads. */
export const modelWords = ({ name, architecture, layers, heads }: Report["model"]): string[] =>
  [
    name,
    architecture === name ? "" : architecture,
    layers ? `${layers} ${layers === 1 ? "layer" : "layers"} × ${heads} heads` : "",
  ].filter(Boolean);

/** "the next token “Angie” against “Yvette”": the explained prediction; "the prediction" if none is given. */
export function targetWords({ document }: Report, target: Target | undefined = document.target): string {
  if (!target) return "the prediction";
  const quoted = (label: string) => `“${visible(label)}”`;
  const kind = {
    next: "the next token",
    masked: "the masked token",
    answer: "the answer beginning with",
    class: "class",
  }[target.kind];
  const { against } = target;
  const other = against ? ` against ${against.index === undefined ? "all others" : quoted(against.label)}` : "";
  const of = target.kind === "class" && target.position !== undefined ? ` of token ${target.position}` : "";
  return `${kind} ${quoted(target.label)}${of}${other}`;
}

/** "relevance for the next token “Angie” against “Yvette”": what the layers' matrices are made of; "" for attention. */
export function mixingWords(report: Report): string {
  const { name, weights, rule } = report.mixing;
  if (name === "attention") return "";
  const of = hasTarget(report.mixing) && report.document.target ? ` for ${targetWords(report)}` : "";
  if (rule === "added") return `${weights}${of}; identity added, for flow, rows divided by their sums`;
  return `${weights}${of}${rule === "added-normalized" ? "; identity added, rows divided by their sums" : ""}`;
}
