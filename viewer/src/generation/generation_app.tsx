// The page of a generation.
import type { ComponentChildren } from "preact";
import { Page } from "../app";
import { GENERATION_KEYS } from "../shortcuts";
import { LayerPicture, WholePicture } from "./maps";
import { GenerationControls } from "./player";
import type { GenerationViewer } from "./generation_viewer";
import { Likelihood } from "./likelihood";
import { Methods } from "../views/methods";
import { NotesCard } from "../views/notes";
import { Ranking } from "../views/ranking";
import { SettingsCard } from "../views/settings";
import { Texts } from "./texts";
import "../styles/generation.css";

export interface GenerationAppProps {
  viewer: GenerationViewer;
  children?: ComponentChildren;
  /** next to the probabilities: other continuations */
  branches?: ComponentChildren;
}

export function GenerationApp({ viewer, children, branches }: GenerationAppProps) {
  return (
    <Page
      viewer={viewer}
      class="generation"
      top={children}
      controls={<GenerationControls />}
      lead={<Texts />}
      shortcuts={GENERATION_KEYS}
      help="In the texts and pictures, the arrow keys move from token to token; a click explains a generated token; Ctrl/⌘-click excludes any token from rankings and colors, or includes it again. The address bar keeps your choices."
    >
      <Methods />
      {branches}
      <Ranking />
      <Likelihood />
      {!viewer.state.growing.value && (
        <>
          <LayerPicture />
          <WholePicture />
        </>
      )}
      <NotesCard />
      {!viewer.state.growing.value && <SettingsCard />}
    </Page>
  );
}
