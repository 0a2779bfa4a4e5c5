// Without a server: the command that explains the text with some of its tokens blanked.
import { useSignal } from "@preact/signals";
import { Command, commandFor } from "../components/ask_for";
import { Card } from "../components/card";
import { useViewer } from "../context";
import { BlankTokens } from "./blank_tokens";

export function WhatIfCommand() {
  const { report, explanation, pieces, state } = useViewer();
  const blanked = useSignal<readonly number[]>([]);
  const { input, predictions = [] } = pieces.report.document;
  const asked = input.kind === "text" && predictions.length > 0 && !pieces.report.settings.words;
  if (!asked || report !== pieces.report) return null;
  const { method, token } = state.choices;
  const command = commandFor(report, explanation.value.recipe, method.value, token.value);
  return (
    <Card id="what-if" title="What if a word were not there?" wide>
      <BlankTokens report={report} blanked={blanked.value} choose={(positions) => (blanked.value = positions)} />
      {blanked.value.length > 0 && (
        <p class="help" id="what-if-command" role="status">
          This command explains the text without {blanked.value.length === 1 ? "it" : "them"}:{" "}
          <Command text={command.replace(/ -o report\.html$/, ` --blank ${blanked.value.join(",")} -o report.html`)} />
        </p>
      )}
    </Card>
  );
}
