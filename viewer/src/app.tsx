// The frame of every page, and the page of one text or picture report. Generations have their own page
// (generation_app.tsx).
import { effect } from "@preact/signals";
import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { NotTheAnswer } from "./components/belief";
import { MOST_DRAWN } from "./components/card";
import { ChoiceControls, Controls } from "./components/controls";
import { Guide } from "./components/guide";
import { Headline } from "./components/headline";
import { KeysDialog, type Keys } from "./components/help";
import { PredictionCard } from "./components/predictions";
import { RecipeControls } from "./components/recipe_controls";
import { followPointer } from "./components/tip";
import { Toolbar } from "./components/toolbar";
import { computeFlow } from "./compute_flow";
import { useViewer, Viewer, ViewerContext } from "./context";
import { captionOf } from "./export/name";
import { followLink } from "./link";
import { followKeys, SHORTCUTS, type Shortcut } from "./shortcuts";
import { formatOf } from "./report/text";
import { Compare } from "./views/compare";
import { FlowGraph } from "./views/flow_graph";
import { HeadGrid } from "./views/head_grid";
import { ImageLead, ImageViews } from "./views/image_views";
import { LayerMap } from "./views/layer_map";
import { Matrix } from "./views/matrix";
import { Methods } from "./views/methods";
import { NotesCard } from "./views/notes";
import { Ranking } from "./views/ranking";
import { Referents } from "./views/referents";
import { SettingsCard } from "./views/settings";
import { Strip } from "./views/strip";
import { WhatIfCommand } from "./views/what_if_command";

/** Keys that the text handles itself while it has the focus. */
const KEYS_OF_TEXTS: readonly Keys[] = [
  { keys: ["←", "→"], does: "in the text: the previous or next token" },
  { keys: ["x"], does: "exclude the token from rankings and colors, or include it again" },
];

export interface PageProps {
  viewer: Viewer;
  /** the viewer whose choices the address keeps, when it is not `viewer` */
  pieces?: Viewer;
  class?: string;
  top?: ComponentChildren;
  /** the page's answer: the text or the picture, before all controls */
  lead: ComponentChildren;
  controls: ComponentChildren;
  shortcuts: readonly Shortcut[];
  /** the keys that the help lists, if not just the shortcuts */
  keys?: readonly Keys[];
  /** the part of the help that is not about keys */
  help: string;
  /** the other views */
  children: ComponentChildren;
}

/** The parts of every page: its head, its answer, controls, views, keys and link. */
export function Page({ viewer, pieces = viewer, class: kind, top, lead, controls, ...rest }: PageProps) {
  const { children, shortcuts, keys = shortcuts, help } = rest;
  // Before the first paint, so that a link's choices do not flash.
  useLayoutEffect(() => followLink(pieces.state), [pieces]);
  useEffect(() => followKeys(viewer, shortcuts), [viewer, shortcuts]);
  useEffect(() => announceChoices(viewer), [viewer]);
  useEffect(followPointer, []);
  // Switching to words rebuilds everything except the control that was used, which keeps the focus.
  const part = viewer === pieces ? "pieces" : "words";
  const classes = [kind, viewer.report.n > MOST_DRAWN && "large"].filter(Boolean).join(" ");
  return (
    <ViewerContext.Provider value={viewer}>
      <div id="page" class={classes || undefined}>
        {top}
        <header key={`head ${part}`}>
          <Toolbar />
          {pieces.state.misread.value && (
            <p class="help" id="link-misread" role="status">
              {pieces.state.misread}
            </p>
          )}
          <Headline />
          <NotTheAnswer />
          <PrintFacts />
        </header>
        <main>
          <p id="live" class="visually-hidden" aria-live="polite">
            {viewer.announcement}
          </p>
          <Fragment key={`lead ${part}`}>{lead}</Fragment>
          {controls}
          <div class="views" key={`views ${part}`}>
            {children}
          </div>
        </main>
        <Guide />
        <KeysDialog key={`help ${part}`} keys={keys}>
          Pointing at a token in one view highlights it in all views. {help}
        </KeysDialog>
      </div>
    </ViewerContext.Provider>
  );
}

export interface ReportAppProps {
  viewer: Viewer;
  /** after the text: what only a server can do, and a comparison shows */
  children?: ComponentChildren;
  after?: ComponentChildren;
}

export function ReportApp({ viewer: pieces, children, after }: ReportAppProps) {
  const viewer = pieces.shown;
  const { report } = viewer;
  useEffect(() => computeFlow(viewer), [viewer]);
  const pictured = report.document.input.kind === "image";
  return (
    <Page
      viewer={viewer}
      pieces={pieces}
      lead={pictured ? <ImageLead /> : <Strip />}
      controls={
        <>
          <Controls key={viewer === pieces ? "pieces" : "words"}>
            <ChoiceControls />
          </Controls>
          <RecipeControls />
        </>
      }
      shortcuts={SHORTCUTS}
      keys={[...SHORTCUTS, ...KEYS_OF_TEXTS]}
      help="A click explains a token; Shift-click compares it, Ctrl/⌘-click excludes it. The address bar keeps your choices: Back and Forward step through them."
    >
      {pictured ? (
        <ImageViews />
      ) : (
        <>
          <Ranking />
          <PredictionCard />
          <Methods />
        </>
      )}
      {children ?? <WhatIfCommand />}
      <Compare />
      {after}
      {!pictured && !viewer.scored && <LayerMap />}
      {viewer.scored ? <OneNumber /> : <Matrix />}
      {!viewer.scored && <FlowGraph />}
      {!viewer.scored && <HeadGrid />}
      <Referents />
      <NotesCard />
      <SettingsCard />
    </Page>
  );
}

/** Shown in place of views that need a matrix. */
function OneNumber() {
  const { report, state } = useViewer();
  return (
    <p class="help" id="one-number">
      {state.choices.method.value} gives one number per {report.document.input.kind === "image" ? "patch" : "token"};
      the full matrix, layers, graph and heads are shown with raw, rollout and flow.
    </p>
  );
}

/** Announces the choice and its three strongest input tokens once it has settled, not while tokens play or arrive. */
export function announceChoices(viewer: Viewer) {
  const { state, ranking, announcement } = viewer;
  let first = true;
  return effect(() => {
    const best = ranking.value.slice(0, 3);
    const words = formatOf(state.choices.method.value);
    const strongest = best.map(({ token, value }) => `${viewer.plainName(token)} ${words(value)}`).join(", ");
    const text = `${viewer.chosenText()}: ${strongest || (viewer.row() ? "nothing" : "not computed")}`;
    const opening = first;
    // Cleared while tokens arrive, too, so that the state after the last one is announced.
    first = false;
    if (state.playing.value || state.arriving.value) return;
    if (!opening) announcement.value = text;
  });
}

/** How the numbers were made, for printed pages, which do not show the controls. */
function PrintFacts() {
  const facts = captionOf(useViewer(), "", {}).facts.map(([term, text]) => `${term} ${text}`);
  return (
    <p class="print-only" id="print-facts">
      {facts.join("; ")}.
    </p>
  );
}
