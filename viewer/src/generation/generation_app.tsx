// The page of a generation.
import { effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { SavingContext } from "../export/name";
import { format } from "../report/text";
import { GenerationContext, useGeneration, type GenerationState } from "./generation_state";
import { Likelihood } from "./likelihood";
import { LayerPicture, WholePicture } from "./maps";
import { Piece } from "./piece_view";
import { GenerationControls } from "./player";
import { Ranking } from "./ranking_view";
import { SetAside } from "./set_aside_view";
import { GenerationSettings } from "./settings_view";
import { Texts } from "./texts";
import "../styles/generation.css";

export function GenerationApp({ state }: { state: GenerationState }) {
  useEffect(() => announce(state), [state]);
  return (
    <GenerationContext.Provider value={state}>
      <SavingContext.Provider value={state.saving}>
        <div id="page" class="generation">
          <Header />
          <GenerationControls />
          <main>
            <p id="live" class="visually-hidden" aria-live="polite">
              {state.announcement}
            </p>
            <Notes />
            <Texts />
            <Ranking />
            <div class="pile">
              <SetAside />
              <Likelihood />
            </div>
            <LayerPicture />
            <WholePicture />
            <GenerationSettings />
          </main>
        </div>
      </SavingContext.Provider>
    </GenerationContext.Provider>
  );
}

/** Says which token is shown, but not while tokens go by. */
function announce(state: GenerationState) {
  return effect(() => {
    const { report } = state;
    const token = state.token.value;
    const best = state.ranking.value.slice(0, 3);
    if (state.playing.value) return;
    const strongest = best
      .map(({ column, value }) => `${report.columns[column].name.text} ${format(value)}`)
      .join(", ");
    const name = report.columns[report.m + token].name.text;
    state.announcement.value = `Generated token ${token}, ${name}: ${strongest || "nothing"}`;
  });
}

function Header() {
  const state = useGeneration();
  const { report } = state;
  const { model, settings } = report.document;
  const token = state.token.value;
  const parts = [model.name, model.architecture && model.architecture !== model.name ? model.architecture : ""];
  parts.push(model.layers ? `${model.layers} ${model.layers === 1 ? "layer" : "layers"} × ${model.heads} heads` : "");
  parts.push(`${report.m} prompt ${settings.words ? "words" : "tokens"}`, `${report.n} generated`);
  return (
    <header>
      <p id="model">{parts.filter(Boolean).join(" · ")}</p>
      <h1 id="heading">
        What token {token} “
        <Piece name={report.columns[report.m + token].name} class="quote" />” drew on
      </h1>
    </header>
  );
}

function Notes() {
  const { notes } = useGeneration().report.document;
  if (notes.length === 0) return null;
  return (
    <ul id="notes" class="wide">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
