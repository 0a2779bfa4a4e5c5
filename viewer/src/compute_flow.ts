// Computes flow on the screen that the report lacks, the chosen layer first; in slices, as it may take seconds.
import { effect } from "@preact/signals";
import { flowsOf, rowWork, whyNoFlow, type RowValues } from "./compute/recompute";
import { inSlices, type Work } from "./compute/slices";
import type { Computing, Viewer } from "./context";
import { flowKey } from "./explanation";
import { RECIPE } from "./report/recipe";
import { methodsShown } from "./views/notes";

/** Numbers kept, in the most recent rows. */
const MOST_NUMBERS = 2 ** 21;
/** Milliseconds between updates of the page. */
const OFTEN = 200;

/** Layers after which the chosen output token's flow is missing, the most needed first. */
function lacking(viewer: Viewer): number[] {
  const { report, state, explanation } = viewer;
  const { layer, token, comparison } = state.choices;
  if (!methodsShown(viewer).includes("flow") || report.document.generation || viewer.askServer.value) return [];
  const wanted = [layer.value];
  if (comparison.value?.method === "flow") wanted.push(comparison.value.layer);
  const [explained, output] = [explanation.peek(), token.value];
  return [...new Set([...wanted, ...report.layers.toReversed()])].filter(
    (one) => whyNoFlow(report, explained.recipe, one) === null && explained.row("flow", one, output) === null,
  );
}

function kept(rows: Map<string, RowValues>): Map<string, RowValues> {
  let numbers = 0;
  for (const { values } of rows.values()) numbers += values.length;
  for (const [key, { values }] of rows) {
    if (numbers <= MOST_NUMBERS) break;
    numbers -= values.length;
    rows.delete(key);
  }
  return rows;
}

/** Computes the missing flow whenever the choices change; returns a stop function. */
export function computeFlow(viewer: Viewer): () => void {
  const { report, state, explanation, flows, computing } = viewer;

  function* all(layers: readonly number[], token: number): Work<void> {
    const { recipe } = explanation.peek();
    const found = new Map<string, RowValues>();
    let told = performance.now();
    const publish = () => {
      flows.value = kept(new Map([...flows.peek(), ...found]));
      found.clear();
      told = performance.now();
    };
    for (const [at, layer] of layers.entries()) {
      const now: Computing = { layer, done: 0, of: flowsOf(report, recipe, token) };
      const step = () => {
        ++now.done;
        if (performance.now() < told + OFTEN) return;
        computing.value = { ...now };
        told = performance.now();
      };
      const begun = performance.now();
      found.set(flowKey(recipe, layer, token), yield* rowWork(report, recipe, "flow", layer, token, step));
      // The chosen layer at once; others in batches unless they take long.
      if (at === 0 || performance.now() > begun + OFTEN) publish();
    }
    publish();
  }

  let stop: (() => void) | null = null;
  const end = effect(() => {
    stop?.();
    stop = null;
    computing.value = null;
    const token = state.choices.token.value;
    // Not `explanation`, which changes with each row.
    for (const name of RECIPE) void state.choices[name].value;
    const layers = lacking(viewer);
    if (layers.length === 0) return;
    const rest = () => void (computing.value = null);
    stop = inSlices(all(layers, token), rest, rest);
  });
  return () => {
    stop?.();
    end();
  };
}
