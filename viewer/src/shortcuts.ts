// Page-wide keys, and the actions that buttons share with them.
import { copyText } from "./components/copy_text";
import { showHelp, type Keys } from "./components/help";
import type { Viewer } from "./context";
import { specialTokens } from "./filters";
import { GenerationViewer } from "./generation/generation_viewer";
import { linkOf } from "./link";
import { listen } from "./listen";
import { AGGREGATIONS, isScore, type Method } from "./report/document";
import type { Comparison } from "./state";
import { dark, theme } from "./theme";

/** What a link to this page cannot hold; "" if it holds everything. */
export function lackingIn({ pieces, other }: Viewer): string {
  return pieces.state.lacks || (other.value ? "the other report" : "");
}

/** The page's address with the choices. Words are only a view of subword tokens: the address counts the latter. */
export const pageLink = (viewer: Viewer) => linkOf(viewer.pieces.state, viewer.other.value !== null);

/** Copies it; returns whether that worked. */
export async function copyLink(viewer: Viewer): Promise<boolean> {
  const link = pageLink(viewer);
  const copied = await copyText(link);
  const lacks = lackingIn(viewer);
  const without = lacks && `; it keeps your choices, but not ${lacks}`;
  viewer.announcement.value = copied ? `The link was copied${without}` : `The link could not be copied: ${link}`;
  return copied;
}

/** The most informative method to compare with the chosen one. */
function otherMethod(viewer: Viewer, method: Method): Method {
  const others = (["rollout", "flow", "raw"] as const).filter((name) => name !== method);
  return others.find((name) => viewer.report.methods.includes(name)) ?? method;
}

/** Whether two methods' values have different sums or units: shares, flows, and units of a prediction. */
export const sumsDiffer = (a: Method, b: Method) => {
  const kind = (method: Method) => (isScore(method) ? "score" : method === "flow" ? "flow" : "share");
  return kind(a) !== kind(b);
};

/** The initial comparison: another method at the same layer. Flow does not sum to 1 as the others do. */
export function compareWith(viewer: Viewer): NonNullable<Comparison> {
  const { method, layer } = viewer.state.choices;
  const other = otherMethod(viewer, method.value);
  return { method: other, layer: layer.value, shares: sumsDiffer(other, method.value) };
}

export function isComparing({ state, other }: Viewer): boolean {
  return state.choices.comparing.value || state.choices.comparison.value !== null || other.value !== null;
}

export function toggleComparison(viewer: Viewer) {
  const { comparison, comparing } = viewer.state.choices;
  const starts = !isComparing(viewer);
  if (viewer instanceof GenerationViewer) {
    if (!viewer.comparable) return;
    comparing.value = starts;
  } else {
    comparison.value = starts ? compareWith(viewer) : null;
    if (!starts) viewer.other.value = null;
  }
  if (starts) showComparison();
}

function showComparison() {
  requestAnimationFrame(() => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const card = document.getElementById("compare-card") ?? document.getElementById("methods-card");
    card?.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  });
}

type Click = Pick<MouseEvent, "ctrlKey" | "metaKey" | "shiftKey">;

/** Explains a clicked token; Shift compares it with the current one, Ctrl (⌘) excludes it or includes it again. */
export function clickToken(viewer: Viewer, token: number, click: Click, explain: (token: number) => void) {
  const { comparison, method, layer } = viewer.state.choices;
  if (click.ctrlKey || click.metaKey) viewer.state.toggle(token);
  // A generation compares methods, not tokens; scores have no output token.
  else if (click.shiftKey && !viewer.scored && !(viewer instanceof GenerationViewer)) {
    viewer.other.value = null;
    comparison.value = { method: method.value, layer: layer.value, shares: false, token };
    showComparison();
  } else explain(token);
}

/** Shows a single layer, or moves to the one below or above. */
function stepLayer(viewer: Viewer, by: number) {
  const { layer, method, span } = viewer.state.choices;
  if (!(viewer instanceof GenerationViewer)) {
    layer.value = step(viewer.report.layersOf(method.value), layer.value, by);
  } else if (!viewer.state.growing.value) {
    const { kind, from } = viewer.span.value;
    const layers = viewer.heldLayers(method.value);
    const one = kind === "one" ? step(layers, from, by) : layers[layers.length - 1];
    span.value = { ...span.value, kind: "one", from: one };
  }
}

export interface Shortcut extends Keys {
  run(viewer: Viewer, key: string): void;
}

const step = (list: readonly number[], value: number, by: number) =>
  list[Math.max(0, Math.min(list.length - 1, list.indexOf(value) + by))] ?? value;

export const SHORTCUTS: readonly Shortcut[] = [
  {
    keys: ["1", "2", "3"],
    does: "raw, rollout, flow",
    run(viewer, key) {
      const name = AGGREGATIONS[Number(key) - 1];
      if (viewer.has(name) || viewer.askServer.value) viewer.state.choices.method.value = name;
    },
  },
  {
    keys: ["[", "]"],
    does: "the layer below or above",
    run: (viewer, key) => stepLayer(viewer, key === "]" ? 1 : -1),
  },
  {
    keys: ["j", "k"],
    does: "the next or previous output token",
    run: ({ state }, key) => state.step(state.choices.token.value + (key === "j" ? 1 : -1)),
  },
  {
    keys: ["s"],
    does: "exclude special tokens, or include them",
    run({ report, state }) {
      const { skipSpecial, skipSink } = state.choices;
      if (specialTokens(report).size > 0) skipSpecial.value = !skipSpecial.value;
      else if (state.takesMost()) skipSink.value = !skipSink.value;
    },
  },
  { keys: ["f"], does: "filters", run: () => document.getElementById("filters-button")?.click() },
  { keys: ["c"], does: "compare, or stop comparing", run: toggleComparison },
  { keys: ["y"], does: "copy the link", run: (viewer) => void copyLink(viewer) },
  { keys: ["d"], does: "light or dark page", run: () => (theme.value = dark.value ? "light" : "dark") },
  { keys: ["?"], does: "this list", run: showHelp },
];

/** As in KeyboardEvent.key. */
const NAMES: Record<string, string> = { "←": "ArrowLeft", "→": "ArrowRight", space: " " };

/** Keys on a generation's page. */
export const GENERATION_KEYS: readonly Shortcut[] = [
  {
    keys: ["space"],
    does: "play or pause",
    run({ report, state }) {
      if (report.choosable > 1) state.playing.value = !state.playing.value;
    },
  },
  {
    keys: ["←", "→"],
    does: "the previous or next generated token",
    run: ({ state }, key) => state.step(state.choices.token.value + (key === "→" ? 1 : -1)),
  },
  {
    keys: ["Home", "End"],
    does: "the first or last generated token",
    run: ({ state }, key) => state.step(key === "Home" ? 0 : Infinity),
  },
  {
    keys: ["a"],
    does: "mean over all layers",
    run: ({ state: { choices } }) => (choices.span.value = { ...choices.span.value, kind: "all" }),
  },
  {
    keys: ["x"],
    does: "in the texts: exclude the token from rankings and colors, or include it again",
    // Within a text, the focused text handles the key.
    run({ state }) {
      if (state.pointed.value) state.toggle(state.pointed.value.input);
    },
  },
  ...SHORTCUTS,
];

/** Elements in which keys move or scroll. */
const MOVING = ".strip, .scroll, .half-text";

/** A focused element keeps the keys that move within it or press it. */
const keeps = (target: Element, key: string) =>
  key === "space"
    ? target.closest(`button, a, label, input, summary, ${MOVING}`)
    : ["←", "→", "Home", "End"].includes(key) && target.closest(`input, ${MOVING}`);

/** Listens for the keys; returns a stop function. */
export function followKeys(viewer: Viewer, shortcuts: readonly Shortcut[]): () => void {
  const keydown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || event.isComposing) return;
    const target = event.target as Element;
    // Fields take letters; an open dialog or menu has its own keys.
    if (target.closest("textarea, select, [contenteditable], dialog, [role=menu]")) return;
    if (target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type)) return;
    const key = Object.keys(NAMES).find((name) => NAMES[name] === event.key) ?? event.key;
    const shortcut = shortcuts.find(({ keys }) => keys.includes(key));
    if (!shortcut || keeps(target, key)) return;
    event.preventDefault();
    shortcut.run(viewer, key);
  };
  return listen({ keydown });
}
