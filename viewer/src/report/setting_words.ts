// Settings in words, the same in the settings cards, in captions of saved pictures and on printed pages.
import table from "../../../attnflow/attribution/setting_words.json";
import { hasTarget } from "./mixings";
import type { GenerationFields, Target } from "./document";
import type { Recipe } from "./recipe";
import type { Report } from "./report";

/** From the table that tables and figures read as well; "*" is any other value, which stands in the words. */
function wordsOf(setting: keyof typeof table, value: string): string {
  const words: Record<string, string> = table[setting];
  return (words[value] ?? words["*"]).replace("{}", value);
}

const NORMALISATIONS: Record<string, string> = {
  none: "none",
  row: "each output token's values sum to 1",
  "receptive-field": "by receptive field",
};

/** What ° next to a value means. */
export const DEGENERATE_WORDS = "set by the first or last layer alone";

export const headsWords = (heads: string) => wordsOf("heads", heads);
export const residualWords = (residual: number) => `weight ${Number(residual.toFixed(4))} in every layer`;
export const downToWords = (layer: number) => (layer ? `layer ${layer}` : "the input");
export const discardWords = (share: number) =>
  share > 0 ? `the smallest ${Number((100 * share).toPrecision(6))}% of each layer's weights` : "";
/** The share of the largest value from which values are drawn; "" for all. */
export const drawnWords = (threshold: number) =>
  threshold > 0 ? `values from ${(100 * threshold).toFixed(0)}% of the largest` : "";
export const normalisationWords = (name: string) => NORMALISATIONS[name] ?? name;

/** Which columns are masked, "" for none; positions refer to subword tokens, even where words are merged. */
export function maskWords({ pieces: { tokens } }: Report, mask: string): string {
  if (mask === "none") return "";
  if (!/^\d/.test(mask)) return wordsOf("mask_columns", mask);
  const positions = mask.split(",").map(Number);
  const names = positions.slice(0, 8).map((i) => (i in tokens ? `${tokens[i].label} (${i})` : String(i)));
  const more = positions.length > 8 ? ` and ${positions.length - 8} more` : "";
  return `${positions.length === 1 ? "token" : "tokens"} ${names.join(", ")}${more}`;
}

/** "1 to 6", or a list of the layers. */
export function layersWords(layers: readonly number[]): string {
  const contiguous = layers.length > 2 && layers[layers.length - 1] === layers[0] + layers.length - 1;
  return contiguous ? `${layers[0]} to ${layers[layers.length - 1]}` : layers.join(", ");
}

/** "28 × 28 pixels, gray" */
export const pixelWords = ({ width, height, channels }: { width: number; height: number; channels: number }) =>
  `${width} × ${height} pixels${channels === 1 ? ", gray" : ""}`;

export const modelWords = ({ name, architecture, layers, heads }: Report["model"]): string[] =>
  [
    name,
    architecture === name ? "" : architecture,
    layers ? `${layers} ${layers === 1 ? "layer" : "layers"} × ${heads} heads` : "",
  ].filter(Boolean);

/** "the next token “Angie” rather than “Yvette”": the explained prediction; documents of before have only labels. */
export function targetWords({ document }: Report, target: Target | undefined = document.target): string {
  if (!target) return "the prediction";
  const labels = [target.label, ...(target.against ? [target.against.label || "all others"] : [])];
  return target.title ?? labels.map((label) => `“${label}”`).join(" rather than ");
}

/** " rather than the ten most probable other tokens": what generated tokens are compared with, each with its own; "" for nothing. */
function contrastOfEach({ tokens }: GenerationFields): string {
  const against = tokens[0]?.target?.against;
  if (!against) return "";
  if (against.index !== undefined) return " rather than the most probable other token";
  const others = against.others?.length ?? 0;
  return ` rather than the ${others === 10 ? "ten" : String(others)} most probable other tokens`;
}

/** "relevance for the next token “Angie” rather than “Yvette”": what the layers' matrices are made of; "" for attention. */
export function mixingWords(report: Report): string {
  const { name, weights, rule } = report.mixing;
  if (name === "attention") return "";
  const { target, generation } = report.document;
  const each = generation ? `, for each token${contrastOfEach(generation)}` : "";
  const of = !hasTarget(report.mixing) ? "" : target ? ` for ${targetWords(report)}` : each;
  if (rule === "added") return `${weights}${of}; identity added, for flow, rows divided by their sums`;
  return `${weights}${of}${rule === "added-normalized" ? "; identity added, rows divided by their sums" : ""}`;
}

/** What a recipe makes of the report's layers: terms and descriptions, "" where one does not apply. */
export const recipeFacts = (report: Report, recipe: Recipe): [string, string][] => [
  ["Mixing", mixingWords(report)],
  ["Heads", report.mixing.needs === "attention" ? headsWords(recipe.heads) : ""],
  ["Residual", report.mixing.rule === "convex" ? residualWords(recipe.residual) : ""],
  ["Discarded", discardWords(recipe.discard)],
  ["Masked", maskWords(report, recipe.mask_columns)],
];
