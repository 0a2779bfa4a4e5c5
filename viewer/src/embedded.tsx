// The page in a frame, such as a notebook's cell (data-embed of the root element): a slim bar and one card. It handles
// no page-wide keys, keeps nothing in the address, and asks the frame to match its height.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, FunctionComponent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ChoiceControls } from "./components/controls";
import { Choice } from "./components/fields";
import { computeFlow } from "./compute_flow";
import { ViewerContext, type Viewer } from "./context";
import type { GenerationViewer } from "./generation/generation_viewer";
import { Likelihood } from "./generation/likelihood";
import { LayerPicture, WholePicture } from "./generation/maps";
import { GenerationChoices } from "./generation/player";
import { Texts } from "./generation/texts";
import { FlowGraph } from "./views/flow_graph";
import { HeadGrid } from "./views/head_grid";
import { LayerMap } from "./views/layer_map";
import { Matrix } from "./views/matrix";
import { Notes } from "./views/notes";
import { Ranking } from "./views/ranking";
import { Strip } from "./views/strip";
import "./styles/embedded.css";
import "./styles/generation.css";

const VIEWS: Readonly<Record<string, FunctionComponent>> = {
  Text: Strip,
  "By layer": LayerMap,
  "Full matrix": Matrix,
  Graph: FlowGraph,
  Heads: HeadGrid,
  Ranking,
};

const GENERATION_VIEWS: typeof VIEWS = {
  Text: Texts,
  Probabilities: Likelihood,
  "By layer": LayerPicture,
  "Full matrix": WholePicture,
  Ranking,
};

const without = (name: string, views: typeof VIEWS): typeof VIEWS =>
  Object.fromEntries(Object.entries(views).filter(([one]) => one !== name));

/** Reports the page's height to the page holding the frame; returns a stop function. */
function reportHeight(page: HTMLElement): () => void {
  const observer = new ResizeObserver(() => {
    const height = Math.ceil(page.getBoundingClientRect().height);
    // Any origin may receive it: the height is not secret.
    parent.postMessage({ attnflow: { height } }, "*");
  });
  observer.observe(page);
  return () => observer.disconnect();
}

interface EmbeddedProps {
  viewer: Viewer;
  class?: string;
  views: Readonly<Record<string, FunctionComponent>>;
  /** shown first, if it is one of them */
  first?: string;
  controls: ComponentChildren;
}

function Embedded({ viewer, class: kind, views, first, controls }: EmbeddedProps) {
  const page = useRef<HTMLDivElement>(null);
  const names = Object.keys(views);
  // The parts that the answer around the frame does not show.
  const chosen = useSignal(names.find((name) => name === first) ?? names[0]);
  // Another method may lack this view.
  const view = chosen.value in views ? chosen.value : names[0];
  const View = views[view];
  useEffect(() => (page.current ? reportHeight(page.current) : undefined), []);
  return (
    <ViewerContext.Provider value={viewer}>
      <div id="page" class={kind} ref={page}>
        <form id="controls" class="row" aria-label="What is shown" onSubmit={(event) => event.preventDefault()}>
          <Choice
            id="view"
            label="View"
            value={view}
            options={names.map((name) => [name] as const)}
            choose={(name) => (chosen.value = name)}
          />
          {controls}
        </form>
        <main>
          <h1 class="visually-hidden">{viewer.chosenText()}</h1>
          <View />
          <details id="embedded-notes" hidden={viewer.report.document.notes.length === 0}>
            <summary>Notes</summary>
            <Notes />
          </details>
        </main>
      </div>
    </ViewerContext.Provider>
  );
}

export function EmbeddedReport({ viewer }: { viewer: Viewer }) {
  const views = viewer.report.hasHeads ? VIEWS : without("Heads", VIEWS);
  useEffect(() => computeFlow(viewer), [viewer]);
  const first = viewer.report.layers.length > 1 ? "By layer" : undefined;
  return <Embedded viewer={viewer} views={views} first={first} controls={<ChoiceControls />} />;
}

export function EmbeddedGeneration({ viewer }: { viewer: GenerationViewer }) {
  // Scores do not depend on a layer.
  const views = viewer.scored ? without("By layer", GENERATION_VIEWS) : GENERATION_VIEWS;
  return <Embedded viewer={viewer} class="generation" views={views} controls={<GenerationChoices />} />;
}
