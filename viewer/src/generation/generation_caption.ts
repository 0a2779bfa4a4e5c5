// What saved files of a continuation are called, and what they say of themselves.
import type { Caption, Shown } from "../export/exporter";
import { placeWords, quoted, said, stemOf, titleOf, type Saving } from "../export/name";
import { asideWords, downToWords, drawnWords, headsWords, residualWords } from "../report/setting_words";
import { percent } from "../report/text";
import type { GenerationState } from "./generation_state";
import { asideOf } from "./set_aside";

/**
 * "3 of 12 tokens, 37%: special tokens (2, 25%), by hand (1, 12%)": what takes no part in ranking and scale, and why.
 * @param shared whether a picture is of the chosen method alone: each has shares of its own
 */
function asideReasons({ report, selection, values, reasons }: GenerationState, shared: boolean): string {
  const { among, all, parts } = asideOf(report, selection.value, values.value, reasons.value);
  if (all.count === 0) return "";
  const share = (of: number | null) => (of === null || !shared ? "" : `, ${percent(of)}`);
  const why = parts.map((part) => `${part.reason} (${part.count}${share(part.share)})`);
  return `${all.count} of ${among} tokens${share(all.share)}: ${why.join(", ")}`;
}

export function generationCaption(state: GenerationState, title: string, shown: Shown): Caption {
  const { report } = state;
  const { input, model } = report.document;
  const { settings, fields, m } = report;
  const { method, normalized, token } = state.selection.value;
  const own = (name: "method" | "layers" | "output", usual: string) =>
    shown[name] === undefined ? usual : shown[name];
  const facts: (readonly [string, string | null])[] = [
    ["Method", own("method", normalized ? `${method}, normalised` : method)],
    ["Generated token", own("output", placeWords(token, report.n, report.columns[m + token].name.text))],
    ["Layers", own("layers", state.spanText().replace(/^layer /, ""))],
  ];
  if (shown.recipe !== false) {
    facts.push(
      ["Down to", downToWords(settings.to_layer)],
      ["Heads", headsWords(settings.heads)],
      ["Residual", residualWords(settings.residual)],
      ["Columns set aside", asideWords(settings.set_aside)],
    );
  }
  facts.push(["Tokens", settings.words ? "pieces of a word merged" : ""]);
  if (shown.filters !== false) {
    facts.push(
      ["Out of ranking and scale", asideReasons(state, shown.method === undefined)],
      ["Drawn", drawnWords(state.threshold.value)],
    );
  }
  return {
    title: titleOf(title, shown),
    subject: [`${quoted(input.text, 60)} continued with ${quoted(fields.text, 60)}`, model.name].filter(Boolean),
    facts: said(facts),
    notes: shown.notes ?? [],
  };
}

/** For the cards' export menus. */
export const generationSaving = (state: GenerationState): Saving => ({
  stem: (title, shown) =>
    stemOf(state.report.document, title, shown, [state.method.value, `position${state.token.value}`]),
  caption: (title, shown) => generationCaption(state, title, shown),
  about: (card) => ({
    view: card,
    model: state.report.document.model.name,
    text: state.report.document.input.text,
    generated: state.report.fields.text,
    choices: {
      method: state.method.value,
      normalized: state.selection.value.normalized,
      token: state.token.value,
      layers: state.layers.value.map((at) => state.report.layersOf(state.method.value)[at]),
      left_out: state.reasons.value.flatMap((reason, j) => (reason ? [j] : [])),
    },
  }),
  announce: (text) => (state.announcement.value = text),
});
