// What saved files are called, and what they say of what was chosen.
import { createContext } from "preact";
import type { Viewer } from "../context";
import type { ReportDocument } from "../report/document";
import {
  asideWords,
  discardWords,
  downToWords,
  drawnWords,
  gradientMixing,
  headsWords,
  normalisationWords,
  residualWords,
} from "../report/setting_words";
import { readPattern } from "../filters";
import { shorten, visible } from "../report/text";
import { WordReport } from "../report/words";
import type { Caption, Shown } from "./exporter";

/** What a page's export menus need of it. */
export interface Saving {
  /** a file's name without its ending */
  stem(title: string, shown: Shown): string;
  /** written beside the numbers in JSON */
  about(card: string): Record<string, unknown>;
  /** written around pictures */
  caption(title: string, shown: Shown): Caption;
  /** says a sentence to screen readers */
  announce(text: string): void;
}

/** Pages without a Viewer provide their own. */
export const SavingContext = createContext<Saving | null>(null);

const slug = (text: string) =>
  text
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();

/** What the report is called: its page's file, else the model and the beginning of the text. */
export function reportName({ model, input }: ReportDocument): string {
  const file = location.protocol === "file:" ? decodeURIComponent(location.pathname.split("/").at(-1) ?? "") : "";
  const own = slug(file.replace(/\.html?$/i, ""));
  if (own) return own.slice(0, 60);
  return slug(`${model.name} ${input.text.slice(0, 24)}`).slice(0, 60) || "attnflow";
}

/** NAME-VIEW-METHOD-layerL-tokenT, or what the view says of itself. */
export function stemOf(document: ReportDocument, title: string, shown: Shown, usual: readonly string[]): string {
  const parts = [slug(shown.title ?? title), ...(shown.file ?? usual).map(slug)];
  return [reportName(document), ...parts.filter(Boolean)].join("-");
}

// Whatever stands around it, a user's text keeps its own direction.
const [ISOLATE, END] = ["\u2068", "\u2069"];
export const quoted = (text: string, most = 120) => `“${ISOLATE}${shorten(visible(text.trim()), most)}${END}”`;
/** Positions count from 0, and say that they are positions: whoever reads a bare number counts from 1. */
export const tokenWords = (position: number, label: string) => `${quoted(label, 30)} (position ${position})`;
/** "12 of 12 “.”": the place of a generated token, counted from 1. */
export const placeWords = (token: number, count: number, label: string) =>
  `${token + 1} of ${count} ${quoted(label, 30)}`;
export const titleOf = (title: string, { title: own, panel }: Shown) => (own ?? title) + (panel ? `: ${panel}` : "");

/** Facts that say something. */
export const said = (facts: readonly (readonly [string, string | null | undefined])[]) =>
  facts.filter((fact): fact is readonly [string, string] => Boolean(fact[1]));

/** What is left out of rankings and colours, in words; "" for nothing. */
function leftOutWords({ state, report }: Viewer): string {
  const { skipSpecial, skipStopWords, pattern, leftOut } = state.choices;
  const byHand = leftOut.value.slice(0, 5).map((token) => tokenWords(token, report.tokens[token]?.label ?? ""));
  if (leftOut.value.length > byHand.length) byHand.push(`${leftOut.value.length - byHand.length} tokens more`);
  return [
    skipSpecial.value && report.hasSpecial ? "special tokens" : "",
    skipStopWords.value ? "stop words and punctuation" : "",
    readPattern(pattern.value).expression ? `tokens that match /${ISOLATE}${pattern.value}${END}/` : "",
    ...byHand,
  ]
    .filter(Boolean)
    .join(", ");
}

/** What the page of one explanation shows. */
export function captionOf(viewer: Viewer, title: string, shown: Shown): Caption {
  const { report, state, explanation } = viewer;
  const { choices } = state;
  const { recipe } = explanation.value;
  const { input, model } = report.document;
  const texts = input.kind === "image" ? [input.image?.name] : [input.text, input.text_pair];
  const words = report instanceof WordReport || report.settings.words;
  const own = (name: "method" | "layers" | "output", usual: string) =>
    shown[name] === undefined ? usual : shown[name];
  const down = `each layer down to ${downToWords(recipe.toLayer)}`;
  const layer = `${choices.layer.value} of ${model.layers}, down to ${downToWords(recipe.toLayer)}`;
  const facts: (readonly [string, string | null])[] = [
    ["Method", own("method", choices.method.value)],
    ["Output token", own("output", tokenWords(choices.token.value, report.tokens[choices.token.value].label))],
    ["Layers", shown.layers ? `${shown.layers}${shown.recipe === false ? "" : `, ${down}`}` : own("layers", layer)],
  ];
  if (shown.recipe !== false) {
    facts.push(
      ["Mixing", report.gradient ? gradientMixing(report) : ""],
      ["Heads", headsWords(recipe.heads)],
      ["Residual", report.gradient ? "" : residualWords(recipe.residual)],
      ["Discarded", discardWords(recipe.discard)],
      ["Set aside", asideWords(recipe.setAside)],
      ["Normalisation", recipe.normalize === "none" ? "" : normalisationWords(recipe.normalize)],
    );
  }
  facts.push(["Tokens", words ? "pieces of a word merged" : ""]);
  if (shown.filters !== false) {
    facts.push(
      ["Left out of rankings and colours", leftOutWords(viewer)],
      ["Drawn", drawnWords(choices.threshold.value)],
    );
  }
  return {
    title: titleOf(title, shown),
    subject: [...texts.filter((text) => text?.trim()).map((text) => quoted(text ?? "")), model.name].filter(Boolean),
    facts: said(facts),
    notes: shown.notes ?? [],
  };
}

/** Of the page of one explanation. */
export function savingOf(viewer: Viewer): Saving {
  const { report, state } = viewer;
  return {
    stem(title, shown) {
      const { method, layer, token } = state.choices;
      return stemOf(report.document, title, shown, [method.value, `layer${layer.value}`, `token${token.value}`]);
    },
    about: (card) => ({
      view: card,
      model: report.model.name,
      text: report.document.input.text,
      choices: state.snapshot(),
    }),
    caption: (title, shown) => captionOf(viewer, title, shown),
    announce: (text) => (viewer.announcement.value = text),
  };
}
