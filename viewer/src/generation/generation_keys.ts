// Keys that work wherever nothing else takes them.
import { copyText } from "../components/copy_text";
import { showHelp, type Keys } from "../components/help";
import { METHODS } from "../report/document";
import { linkAnnouncement } from "../shortcuts";
import { dark, theme } from "../theme";
import { generationLink } from "./generation_link";
import { comparable } from "./methods_view";
import type { GenerationState } from "./generation_state";

interface Shortcut extends Keys {
  run(state: GenerationState, key: string): void;
}

/** As KeyboardEvent.key names them. */
const NAMES: Record<string, string> = { "←": "ArrowLeft", "→": "ArrowRight", space: " " };

function otherLayer(state: GenerationState, by: number) {
  if (state.growing.value) return;
  const layers = state.report.layersOf(state.method.value);
  const at = state.span.value === "one" ? layers.indexOf(state.from.value) + by : layers.length - 1;
  state.from.value = layers[Math.max(0, Math.min(layers.length - 1, at))];
  state.span.value = "one";
}

export function toggleComparison(state: GenerationState) {
  if (!comparable(state)) return;
  state.comparing.value = !state.comparing.value;
  if (!state.comparing.value) return;
  requestAnimationFrame(() => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    document.getElementById("methods-card")?.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  });
}

/** The token that the pointer is over changes sides; in a text, the one that has the focus does. */
function outPointed(state: GenerationState) {
  const at = state.pointed.value;
  if (at) state.toggle(at.column);
}

/** Copies the page's address with what is chosen; whether that was possible. */
export async function copyGenerationLink(state: GenerationState): Promise<boolean> {
  const link = generationLink(state);
  const copied = await copyText(link);
  state.announcement.value = linkAnnouncement(copied, state.lacks, link);
  return copied;
}

export const GENERATION_KEYS: readonly Shortcut[] = [
  {
    keys: ["space"],
    does: "play, pause",
    run(state) {
      if (state.report.n > 1) state.playing.value = !state.playing.value;
    },
  },
  {
    keys: ["←", "→"],
    does: "the generated token before, after",
    run: (state, key) => state.step(state.token.value + (key === "→" ? 1 : -1)),
  },
  {
    keys: ["Home", "End"],
    does: "the first, the last generated token",
    run: (state, key) => state.step(key === "Home" ? 0 : state.report.n - 1),
  },
  {
    keys: ["1", "2", "3"],
    does: "raw, rollout, flow",
    run(state, key) {
      const method = METHODS[Number(key) - 1];
      if (state.report.methods.includes(method)) state.choose(method);
    },
  },
  {
    keys: ["[", "]"],
    does: "one layer, and the one below, above",
    run: (state, key) => otherLayer(state, key === "]" ? 1 : -1),
  },
  { keys: ["a"], does: "mean over all layers", run: (state) => (state.span.value = "all") },
  {
    keys: ["j", "k"],
    does: "the next generated token, the one before",
    run: (state, key) => state.step(state.token.value + (key === "j" ? 1 : -1)),
  },
  {
    keys: ["s"],
    does: "leave special tokens out, or take them in",
    run: (state) => (state.skipSpecial.value = !state.skipSpecial.value),
  },
  {
    keys: ["x"],
    does: "in the texts: leave the token out of rankings and colours, or take it back in",
    run: outPointed,
  },
  { keys: ["f"], does: "filters", run: () => document.getElementById("filters-button")?.click() },
  {
    keys: ["c"],
    does: "compare all methods, or stop comparing",
    run: (state) => toggleComparison(state),
  },
  { keys: ["y"], does: "copy the link", run: (state) => void copyGenerationLink(state) },
  { keys: ["d"], does: "light or dark page", run: () => (theme.value = dark.value ? "light" : "dark") },
  { keys: ["?"], does: "this list", run: showHelp },
];

/** What keys move in, or scroll. */
const MOVING = ".strip, .scroll, .half-text";

/** Listens for the keys; returns how to stop. */
export function followGenerationKeys(state: GenerationState): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as Element;
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || event.isComposing) return;
    if (target.closest("textarea, select, [contenteditable], dialog, [role=menu]")) return;
    if (target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type)) return;
    const key = Object.keys(NAMES).find((name) => NAMES[name] === event.key) ?? event.key;
    // What is focused keeps the keys that move in it and press it.
    const moves = ["←", "→", "Home", "End"].includes(key);
    if (moves && target.closest(`input, ${MOVING}`)) return;
    if (key === "space" && target.closest(`button, a, label, input, summary, ${MOVING}`)) return;
    const shortcut = GENERATION_KEYS.find(({ keys }) => keys.includes(key));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(state, key);
  };
  document.addEventListener("keydown", onKeyDown);
  return () => document.removeEventListener("keydown", onKeyDown);
}
