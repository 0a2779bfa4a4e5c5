// What a saved picture of a continuation says of itself.
import type { Caption, Shown } from "../export/exporter";
import { quoted, said, titleOf, tokenWords } from "../export/name";
import { asideWords, downToWords, headsWords, residualWords } from "../report/setting_words";
import type { GenerationState } from "./generation_state";

/** "special tokens (2), by hand (1)": why tokens of the prompt take no part in ranking and scale. */
function asideReasons(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) if (reason) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => `${reason} (${count})`).join(", ");
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
    ["Generated token", own("output", tokenWords(token, report.columns[m + token].name.text))],
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
  if (shown.filters !== false) facts.push(["Out of ranking and scale", asideReasons(state.reasons.value)]);
  return {
    title: titleOf(title, shown),
    subject: [`${quoted(input.text, 60)} continued with ${quoted(fields.text, 60)}`, model.name].filter(Boolean),
    facts: said(facts),
    notes: shown.notes ?? [],
  };
}
