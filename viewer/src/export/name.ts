// Names of saved files, and how they describe the choices.
import type { Viewer } from "../context";
import type { ReportDocument } from "../report/document";
import { downToWords, drawnWords, normalisationWords, recipeFacts, targetWords } from "../report/setting_words";
import { excludedOf, readPattern, reasonsExcluded, SINK, SPECIAL } from "../filters";
import { GenerationViewer } from "../generation/generation_viewer";
import { namesOf } from "../link";
import type { Report } from "../report/report";
import { percent, shorten, visible } from "../report/text";
import type { Choices } from "../state";
import type { Caption, Shown } from "./exporter";

const slug = (text: string) =>
  text
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();

/** The report's name: its page's file, or else the model and the beginning of the text. */
function reportName({ model, input }: ReportDocument): string {
  const file = location.protocol === "file:" ? decodeURIComponent(location.pathname.split("/").at(-1) ?? "") : "";
  const own = slug(file.replace(/\.html?$/i, ""));
  if (own) return own.slice(0, 60);
  return slug(`${model.name} ${input.text.slice(0, 24)}`).slice(0, 60) || "attnflow";
}

/** A file's name without its extension: NAME-VIEW-METHOD-layerL-tokenT, or as the view says. */
export function stemOf(viewer: Viewer, title: string, shown: Shown): string {
  const { method, layer, token } = viewer.state.choices;
  const place = viewer.scored ? [] : [`layer${layer.value}`, `token${token.value}`];
  const usual = [method.value, ...(viewer instanceof GenerationViewer ? [`generated${token.value + 1}`] : place)];
  const parts = [slug(shown.title ?? title), ...(shown.file ?? usual).map(slug)];
  return [reportName(viewer.report.document), ...parts.filter(Boolean)].join("-");
}

// User text keeps its own direction whatever surrounds it.
const [ISOLATE, END] = ["\u2068", "\u2069"];
export const quoted = (text: string, most = 120) => `“${ISOLATE}${shorten(visible(text.trim()), most)}${END}”`;
/** The same for data tables, which are not displayed. */
export const undirected = (text: string): string => text.replaceAll(ISOLATE, "").replaceAll(END, "");

/** Positions count from 0 and are labeled as positions: readers take a bare number to count from 1. */
export const tokenWords = (position: number, label: string) => `${quoted(label, 30)} (position ${position})`;
/** The same for a report's token; a patch's label already gives its position. */
export const namedToken = ({ tokens, pictured }: Report, position: number) =>
  pictured ? quoted(tokens[position].label, 30) : tokenWords(position, tokens[position]?.label ?? "");
/** "12 of 12 “.”": the number of a generated token, counted from 1. */
const placeWords = (token: number, count: number, label: string) => `${token + 1} of ${count} ${quoted(label, 30)}`;
const titleOf = (title: string, { title: own, panel }: Shown) => (own ?? title) + (panel ? `: ${panel}` : "");

const telling = (facts: readonly (readonly [string, string | null | undefined])[]) =>
  facts.filter((fact): fact is readonly [string, string] => Boolean(fact[1]));

function excludedWords({ state, report }: Viewer): string {
  const { skipSpecial, skipPunctuation, skipStopWords, pattern, byHand } = state.choices;
  const byHandAs = (excluded: boolean) => [...byHand.value].filter(([, is]) => is === excluded).map(([token]) => token);
  const named = (tokens: readonly number[]) => {
    const names = tokens.slice(0, 5).map((token) => namedToken(report, token));
    return tokens.length > names.length ? [...names, `${tokens.length - names.length} more tokens`] : names;
  };
  const filtered = reasonsExcluded(report, { ...state.filters.value, byHand: new Map() });
  const kept = named(byHandAs(false).filter((token) => filtered[token]));
  return [
    skipSpecial.value && report.hasSpecial ? SPECIAL : "",
    state.reasons.value[0] === SINK ? "the first token, which receives the most" : "",
    skipStopWords.value ? "stop words and punctuation" : skipPunctuation.value ? "punctuation" : "",
    readPattern(pattern.value).expression ? `tokens that match /${ISOLATE}${pattern.value}${END}/` : "",
    ...named(byHandAs(true)),
    kept.length > 0 ? `but not ${kept.join(", ")}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/**
 * Which tokens are left out of ranking and scale, and why: "3 of 12 tokens, 37%: special tokens (2, 25%), …".
 * @param shared whether a picture shows only the chosen method: shares differ between methods
 */
function exclusionReasons({ drawn, state }: Viewer, shared: boolean): string {
  const { among, all, parts } = excludedOf(drawn.value, state.reasons.value);
  if (all.count === 0) return "";
  const share = (of: number | null) => (of === null || !shared ? "" : `, ${percent(of)}`);
  const why = parts.map((part) => `${part.reason} (${part.count}${share(part.share)})`);
  return `${all.count} of ${among} tokens${share(all.share)}: ${why.join(", ")}`;
}

/** The current choices, for facts that the view does not override: method, output token, layers. */
function chosenFacts(viewer: Viewer, shown: Shown): (readonly [string, string | null])[] {
  const { report, state, explanation } = viewer;
  const { method, layer, token } = state.choices;
  const own = (name: "method" | "layers" | "output", usual: string) =>
    shown[name] === undefined ? usual : shown[name];
  const { label } = report.tokens[report.namedBy(viewer.output)];
  const down = downToWords(explanation.value.recipe.start_layer);
  if (viewer instanceof GenerationViewer) {
    return [
      ["Method", own("method", viewer.normalized ? `${method.value}, normalized` : method.value)],
      ["Generated token", own("output", placeWords(token.value, report.choosable, label))],
      ["Layers", own("layers", viewer.layersText().replace(/^layer /, ""))],
      ["Start layer", shown.recipe === false ? "" : down],
    ];
  }
  if (viewer.scored && shown.method === undefined) {
    return [
      ["Method", method.value],
      ["Explained", targetWords(report)],
    ];
  }
  const layers = `${layer.value} of ${report.model.layers}, down to ${down}`;
  return [
    ["Method", own("method", method.value)],
    ["Output token", own("output", namedToken(report, token.value))],
    [
      "Layers",
      shown.layers
        ? `${shown.layers}${shown.recipe === false ? "" : `, each layer down to ${down}`}`
        : own("layers", layers),
    ],
  ];
}

/** What the page shows, as written around pictures. */
export function captionOf(viewer: Viewer, title: string, shown: Shown): Caption {
  const { report, state, explanation } = viewer;
  const { recipe } = explanation.value;
  const { input, model, generation } = report.document;
  const texts = input.kind === "image" ? [input.image?.name] : [input.text, input.text_pair];
  const facts = chosenFacts(viewer, shown);
  // No setting affects the scores of a prediction.
  if (shown.recipe !== false && !(viewer.scored && shown.method === undefined)) {
    facts.push(
      ...recipeFacts(report, recipe),
      // A generation's document has both kinds of values; the method says which are shown.
      ["Normalization", generation || recipe.normalize === "none" ? "" : normalisationWords(recipe.normalize)],
    );
  }
  facts.push(["Tokens", report.ofWords ? "pieces of a word merged" : ""]);
  if (shown.filters !== false) {
    facts.push(
      generation
        ? ["Excluded from ranking and scale", exclusionReasons(viewer, shown.method === undefined)]
        : ["Excluded from rankings and colors", excludedWords(viewer)],
      ["Drawn", drawnWords(state.choices.threshold.value)],
    );
  }
  const said = generation
    ? [`${quoted(input.text, 60)} continued with ${quoted(generation.text, 60)}`]
    : texts.filter((text) => text?.trim()).map((text) => quoted(text ?? ""));
  return {
    title: titleOf(title, shown),
    subject: [...said, model.name].filter(Boolean),
    facts: telling(facts),
    notes: shown.notes ?? [],
  };
}

function choicesOf(viewer: Viewer): Record<string, unknown> {
  const { state } = viewer;
  if (!(viewer instanceof GenerationViewer)) {
    const { byHand, ...chosen } = state.snapshot();
    const names = namesOf(viewer.report);
    const own = Object.entries(chosen).filter(([name]) => names.includes(name as keyof Choices));
    const tokens = (excluded: boolean) =>
      [...byHand].flatMap(([token, is]) => (is === excluded ? [token] : [])).sort((a, b) => a - b);
    // By hand only; filters are separate choices. Tokens included by hand are listed if there are any.
    const included = tokens(false);
    return { ...Object.fromEntries(own), excluded: tokens(true), ...(included.length > 0 && { included }) };
  }
  const { method, token } = state.choices;
  const [, layers] = viewer.place;
  const excluded = state.reasons.value.flatMap((reason, j) => (reason ? [j] : []));
  return { method: method.value, normalized: viewer.normalized, token: token.value, layers, excluded };
}

export function aboutOf(viewer: Viewer, card: string): Record<string, unknown> {
  const { model, input, generation } = viewer.report.document;
  return {
    view: card === "strip" ? "text" : card,
    model: model.name,
    text: input.text,
    ...(generation && { generated: generation.text }),
    choices: choicesOf(viewer),
  };
}
