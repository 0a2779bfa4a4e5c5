// The page in a frame of another one, such as a notebook's cell (attribute data-embed of the root element): a slim bar and
// one card. It takes no keys of the whole page, keeps nothing in the address, and asks the frame to be as high as it is.
import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ChoiceControls } from "./components/controls";
import { Select } from "./components/fields";
import { computeFlow } from "./compute_flow";
import { ViewerContext, type Viewer } from "./context";
import { FlowGraph } from "./views/flow_graph";
import { HeadGrid } from "./views/head_grid";
import { LayerMap } from "./views/layer_map";
import { Matrix } from "./views/matrix";
import { Notes } from "./views/notes";
import { Ranking } from "./views/ranking";
import { Strip } from "./views/strip";
import "./styles/embedded.css";

/** Whether the page stands in a frame of another one. */
export const isEmbedded = (root: HTMLElement) => "embed" in root.dataset;

const VIEWS: Readonly<Record<string, FunctionComponent>> = {
  Text: Strip,
  "By layer": LayerMap,
  "Full matrix": Matrix,
  Graph: FlowGraph,
  Heads: HeadGrid,
  Ranking,
};

/** Tells whoever holds the frame how high the page is; returns how to stop. */
function reportHeight(page: HTMLElement): () => void {
  const observer = new ResizeObserver(() => {
    const height = Math.ceil(page.getBoundingClientRect().height);
    // Whoever it is: the height is no secret.
    parent.postMessage({ attnflow: { height } }, "*");
  });
  observer.observe(page);
  return () => observer.disconnect();
}

export function EmbeddedReport({ viewer }: { viewer: Viewer }) {
  const page = useRef<HTMLDivElement>(null);
  const view = useSignal("Text");
  const View = VIEWS[view.value];
  const names = Object.keys(VIEWS).filter((name) => name !== "Heads" || viewer.report.hasHeads);
  useEffect(() => (page.current ? reportHeight(page.current) : undefined), []);
  useEffect(() => computeFlow(viewer), [viewer]);
  return (
    <ViewerContext.Provider value={viewer}>
      <div id="page" ref={page}>
        <form id="controls" class="row" aria-label="What is shown" onSubmit={(event) => event.preventDefault()}>
          <div class="control">
            <label for="view">View</label>
            <Select
              id="view"
              value={view.value}
              options={names.map((name) => [name, name] as const)}
              choose={(name) => (view.value = name)}
            />
          </div>
          <ChoiceControls />
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
