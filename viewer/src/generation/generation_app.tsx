// The page of a generation.
import { effect, useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo } from "preact/hooks";
import { KeysDialog } from "../components/help";
import { HelpButton, LinkButton, ThemeButton } from "../components/toolbar";
import { MOST_DRAWN } from "../components/card";
import { NoteList } from "../components/note_list";
import { PrintFacts } from "../components/print_facts";
import { SavingContext } from "../export/name";
import { degenerateShown, notesHere } from "../report/notes";
import { modelWords } from "../report/setting_words";
import { format } from "../report/text";
import { copyGenerationLink, GENERATION_KEYS, toggleComparison } from "./generation_keys";
import { followGenerationLink } from "./generation_link";
import { generationCaption, generationSaving } from "./generation_caption";
import { GenerationContext, useGeneration, type GenerationState } from "./generation_state";
import { Likelihood } from "./likelihood";
import { LayerPicture, WholePicture } from "./maps";
import { comparable, EveryMethod } from "./methods_view";
import { Piece } from "./piece_view";
import { GenerationControls } from "./player";
import { Ranking } from "./ranking_view";
import { GenerationSettings } from "./settings_view";
import { Texts } from "./texts";
import "../styles/generation.css";

export interface GenerationAppProps {
  state: GenerationState;
  /** above the page's head: the server's composer */
  children?: ComponentChildren;
  /** controls at the right of the text's heading */
  tools?: ComponentChildren;
}

export function GenerationApp({ state, children, tools }: GenerationAppProps) {
  // Before the first drawing: a link's choices never flash past.
  useLayoutEffect(() => followGenerationLink(state), [state]);
  useEffect(() => announce(state), [state]);
  const saving = useMemo(() => generationSaving(state), [state]);
  const large = useComputed(() => state.report.m + state.report.n > MOST_DRAWN);
  return (
    <GenerationContext.Provider value={state}>
      <SavingContext.Provider value={saving}>
        <div id="page" class={large.value ? "generation large" : "generation"}>
          {children}
          <Header />
          <GenerationControls />
          <main>
            <p id="live" class="visually-hidden" aria-live="polite">
              {state.announcement}
            </p>
            {!state.grew && <Notes served={children !== undefined} />}
            <Texts tools={tools} />
            <EveryMethod />
            <Ranking />
            <Likelihood />
            {state.grew && <Notes served={children !== undefined} />}
            {!state.growing.value && (
              <>
                <LayerPicture />
                <WholePicture />
                <GenerationSettings />
              </>
            )}
          </main>
          <KeysDialog keys={GENERATION_KEYS}>
            Pointing at a token in one view points at it in all. In the texts and pictures the arrow keys walk from
            token to token; a click on a token of the prompt leaves it out of rankings and colours, or takes it back in.
            The address keeps what is chosen.
          </KeysDialog>
        </div>
      </SavingContext.Provider>
    </GenerationContext.Provider>
  );
}

/** Says which token is shown, but not while tokens go by or arrive. */
function announce(state: GenerationState) {
  return effect(() => {
    const { report } = state;
    const token = state.token.value;
    const best = state.ranking.value.slice(0, 3);
    if (state.playing.value || state.arriving.value) return;
    const strongest = best
      .map(({ column, value }) => `${report.columns[column].name.text} ${format(value)}`)
      .join(", ");
    const name = report.columns[report.m + token].name.text;
    state.announcement.value = `Generated token ${token + 1} of ${report.n}, ${name}: ${strongest || "nothing"}`;
  });
}

function GenerationToolbar() {
  const state = useGeneration();
  const { report } = state;
  const { model, settings } = report.document;
  const parts = modelWords(model);
  const tokens = `${settings.words ? "word" : "token"}${report.m === 1 ? "" : "s"}`;
  parts.push(`${report.m} prompt ${tokens}`, `${report.n} generated`);
  return (
    <div class="toolbar">
      <p id="model">{parts.filter(Boolean).join(" · ")}</p>
      <div class="tools">
        <button
          type="button"
          class="quiet"
          id="compare-button"
          aria-pressed={state.comparing.value && comparable(state)}
          disabled={!comparable(state)}
          title={comparable(state) ? "All methods side by side (c)" : missingComparison(state)}
          onClick={() => toggleComparison(state)}
        >
          Compare
        </button>
        <LinkButton copy={() => copyGenerationLink(state)} lacks={state.lacks} />
        <ThemeButton />
        <HelpButton />
      </div>
    </div>
  );
}

const missingComparison = ({ arriving }: GenerationState) =>
  arriving.value ? "Other methods may come with the report, when the text is complete" : "This report holds one method";

function Header() {
  const state = useGeneration();
  const { report, token } = state;
  return (
    <header>
      <GenerationToolbar />
      <h1 id="heading">
        What generated token {token.value + 1} “
        <Piece name={report.columns[report.m + token.value].name} class="quote" />” drew on
      </h1>
      <PrintFacts facts={() => generationCaption(state, "", {}).facts} />
    </header>
  );
}

function Notes({ served }: { served: boolean }) {
  const state = useGeneration();
  const { report, selection } = state;
  const flow = degenerateShown(
    report.degenerate(selection.value),
    report.promptValues(selection.value),
    state.spanText(),
  );
  const place = {
    methods: [selection.value.method],
    asWritten: true,
    ownToken: true,
    words: report.document.settings.words,
    served,
    recipe: false,
  };
  return <NoteList notes={notesHere(report.document.notes, place)} flow={flow} />;
}
