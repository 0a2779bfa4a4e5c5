// Blanks tokens of the text: what becomes of the prediction, and of what is drawn on?
import { useSignal } from "@preact/signals";
import { Card } from "../components/card";
import { Select, tokenOption } from "../components/fields";
import { Own } from "../components/own_text";
import type { Viewer } from "../context";
import type { ServerState } from "./server_state";

export function WhatIf({ state, viewer }: { state: ServerState; viewer: Viewer }) {
  const { report } = viewer;
  const ordinary = report.tokens.filter(({ special }) => !special);
  const picked = useSignal(ordinary[0]?.index ?? 0);
  const asked = report.document.input.kind === "text" && !report.settings.words;
  if (!asked || !state.explaining()?.blanks || ordinary.length === 0) return null;
  const blanked = state.blanked.value;
  const busy = state.working.value !== "";
  const change = (positions: readonly number[]) =>
    void state.blank(
      viewer,
      [...positions].sort((a, b) => a - b),
    );
  return (
    <Card id="what-if" title="What if a token were not there?" wide>
      <div class="row what-if">
        <label for="blank-token">Blank</label>
        <Select
          id="blank-token"
          own
          value={picked.value}
          options={ordinary.map(tokenOption)}
          choose={(token) => (picked.value = token)}
        />
        <button
          type="button"
          id="blank"
          disabled={busy || blanked.includes(picked.value)}
          onClick={() => change([...blanked, picked.value])}
        >
          See what changes
        </button>
        {blanked.length > 0 && (
          <ul class="chips" id="blanked" aria-label="Blanked tokens">
            {blanked.map((token) => (
              <li key={token}>
                <button
                  type="button"
                  disabled={busy}
                  aria-label={`Put ${report.tokens[token].label} back`}
                  onClick={() => change(blanked.filter((other) => other !== token))}
                >
                  <Own text={report.tokens[token].label} most={16} /> <span class="index">{token}</span>{" "}
                  <span aria-hidden="true">×</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        <p class="help">
          The model sees its unknown token in their place (its mask where it has none); the comparison below sets both
          side by side.
        </p>
      </div>
    </Card>
  );
}
