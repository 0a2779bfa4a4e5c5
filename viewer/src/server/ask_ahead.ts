// Asks the server for values that the page cannot compute: for small inputs once settings rest, for any from a link.
import { effect } from "@preact/signals";
import type { Viewer, Wanted } from "../context";
import type { Report } from "../report/report";
import type { ServerState } from "./server_state";

/** Flow at this size takes well under a second. Larger inputs have a button. */
const MOST_TOKENS = 64;
const MOST_LAYERS = 12;
/** Milliseconds without another choice. */
const QUIET = 300;

const isSmall = ({ n, model }: Report) => n <= MOST_TOKENS && model.layers <= MOST_LAYERS;

/** What the chosen values need from the server; null if they are here, or if they cannot be computed at all. */
function lackedBy({ state, explanation }: Viewer): Wanted | null {
  const [method, layer, token] = [state.choices.method.value, state.choices.layer.value, state.choices.token.value];
  const { recipe } = explanation.value;
  if (layer <= recipe.start_layer || explanation.value.result(method, layer, token)) return null;
  return { method, recipe, token };
}

/** Returns a stop function. */
export function askAhead(state: ServerState, pieces: Viewer): () => void {
  // Each once: after a refusal or cancellation it is left to the button.
  const asked = new Set<string>();
  let mine: { wanted: Wanted; key: string } | null = null;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const stop = effect(() => {
    clearTimeout(waiting);
    const viewer = pieces.shown;
    const wanted = lackedBy(viewer);
    const ask = pieces.askServer.value;
    const linked = state.results.linked.value === pieces;
    const asking = pieces.asking.value;
    // This must not interrupt other work, only its own earlier request.
    const own = asking !== null && asking === mine?.wanted;
    if (state.work.working.value !== "" && !own) return;
    if (linked && !wanted) state.results.linked.value = null;
    if (!wanted || !ask || !(linked || isSmall(pieces.report))) return;
    const key = JSON.stringify([viewer === pieces, wanted]);
    if (asked.has(key)) return;
    waiting = setTimeout(
      () => {
        if (own && mine) asked.delete(mine.key);
        asked.add(key);
        mine = { wanted, key };
        if (linked) state.results.linked.value = null;
        ask(viewer, wanted);
      },
      linked ? 0 : QUIET,
    );
  });
  return () => {
    clearTimeout(waiting);
    stop();
  };
}
