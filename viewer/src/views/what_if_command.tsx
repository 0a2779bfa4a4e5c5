// Without a server: the command that explains the text with some of its tokens blanked.
import { useSignal } from "@preact/signals";
import { blankedIn, Command, commandFor } from "../components/ask_for";
import { Card } from "../components/card";
import { useViewer } from "../context";
import { BlankTokens } from "./blank_tokens";

export function WhatIfCommand() {
  const { report, explanation, pieces, state } = useViewer();
  const before = blankedIn(pieces.report);
  const blanked = useSignal(before);
  const { input, predictions = [] } = pieces.report.document;
  const asked = input.kind === "text" && predictions.length > 0 && !pieces.report.settings.words;
  if (!asked || report !== pieces.report) return null;
  const { method, token } = state.choices;
  const { recipe } = explanation.value;
  const command = commandFor(report, recipe, method.value, token.value, report.settings.mixing, blanked.value);
  return (
    <Card id="what-if" title="What if a word were missing?" wide>
      <BlankTokens report={report} blanked={blanked.value} choose={(positions) => (blanked.value = positions)} />
      {String(blanked.value) !== String(before) && (
        <p class="help" id="what-if-command" role="status">
          This command explains {blanked.value.length > 0 ? "the text without them" : "the whole text"}:{" "}
          <Command text={command} />
        </p>
      )}
    </Card>
  );
}
