// Blanks or replaces words of the text: how do the prediction and its dependencies change?
import { useSignal } from "@preact/signals";
import { Card } from "../components/card";
import { Select, tokenOptions } from "../components/fields";
import type { Viewer } from "../context";
import { BlankTokens } from "../views/blank_tokens";
import type { ServerState } from "./server_state";

function Replace({ state, viewer, label }: { state: ServerState; viewer: Viewer; label: string }) {
  const places = viewer.report.tokens.filter(({ special, begin, end }) => !special && begin < end);
  const picked = useSignal(places[0]?.index ?? 0);
  const instead = useSignal("");
  if (places.length === 0) return null;
  return (
    <form
      class="row what-if"
      onSubmit={(event) => {
        event.preventDefault();
        void state.variants.replace(viewer, picked.value, instead.value);
      }}
    >
      <label for="replaced">{label}</label>
      <Select
        id="replaced"
        own
        value={picked.value}
        options={tokenOptions(places, false)}
        choose={(token) => (picked.value = token)}
      />
      <label for="instead">with</label>
      <input
        id="instead"
        type="text"
        dir="auto"
        autocomplete="off"
        placeholder="nothing"
        value={instead.value}
        onInput={({ currentTarget }) => (instead.value = currentTarget.value)}
      />
      <button type="submit" id="replace" disabled={state.work.working.value !== ""}>
        See what changes
      </button>
    </form>
  );
}

export function WhatIf({ state, viewer }: { state: ServerState; viewer: Viewer }) {
  const { report } = viewer;
  const ordinary = report.tokens.filter(({ special }) => !special);
  const asked = report.document.input.kind === "text" && !report.settings.words;
  if (!asked || ordinary.length === 0) return null;
  const blanks = state.explanations.explaining()?.blanks;
  const blanked = state.results.blanked.value;
  const busy = state.work.working.value !== "";
  return (
    <Card id="what-if" title="What if a word were missing, or different?" wide>
      {blanks && (
        <BlankTokens
          report={report}
          blanked={blanked}
          busy={busy}
          choose={(positions) => void state.variants.blank(viewer, positions)}
        />
      )}
      <Replace state={state} viewer={viewer} label={blanks ? "Or replace" : "Replace"} />
    </Card>
  );
}
