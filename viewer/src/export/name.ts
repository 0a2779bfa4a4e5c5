// What saved files are called, and what they say of what was chosen.
import { createContext } from "preact";
import type { Viewer } from "../context";
import type { ReportDocument } from "../report/document";

/** What a page's export menus need of it. */
export interface Saving {
  /** a file's name without its ending */
  stem(card: string): string;
  /** written beside the numbers in JSON */
  about(card: string): Record<string, unknown>;
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

/** Of the page of one explanation: NAME-CARD-METHOD-layerL. */
export function savingOf(viewer: Viewer): Saving {
  const { report, state } = viewer;
  return {
    stem(card) {
      const { method, layer } = state.choices;
      return `${reportName(report.document)}-${card}-${method.value}-layer${layer.value}`;
    },
    about: (card) => ({
      view: card,
      model: report.model.name,
      text: report.document.input.text,
      choices: state.snapshot(),
    }),
    announce: (text) => (viewer.announcement.value = text),
  };
}
