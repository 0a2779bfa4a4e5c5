// Keys that work anywhere in the page, and the actions that buttons share with them.
import { copyText } from "./components/copy_text";
import { showHelp, type Keys } from "./components/help";
import type { Viewer } from "./context";
import { linkOf } from "./link";
import { METHODS, type Method } from "./report/document";
import type { Comparison } from "./state";
import { dark, theme } from "./theme";

/** What a link to this page cannot hold; "" when it holds all. */
export function lackingIn({ pieces, other }: Viewer): string {
  return pieces.state.lacks || (other.value ? "the other report" : "");
}

/** What became of copying a link, in words. */
export function linkAnnouncement(copied: boolean, lacks: string, link: string): string {
  if (!copied) return `The link could not be copied: ${link}`;
  return lacks ? `The link was copied; it holds what is chosen, without ${lacks}` : "The link was copied";
}

/** Copies the page's address with what is chosen; whether that was possible. */
export async function copyLink(viewer: Viewer): Promise<boolean> {
  // Words are a way to look at pieces: the address counts pieces.
  const { state } = viewer.pieces;
  const link = linkOf(state, viewer.other.value !== null);
  const copied = await copyText(link);
  viewer.announcement.value = linkAnnouncement(copied, lackingIn(viewer), link);
  return copied;
}

/** The method that says most beside the chosen one. */
function otherMethod(viewer: Viewer, method: Method): Method {
  const others = (["rollout", "flow", "raw"] as const).filter((name) => name !== method);
  return others.find((name) => viewer.report.methods.includes(name)) ?? method;
}

/** What a comparison begins with: another method of the same layer. Flow does not sum to 1 as the others do. */
export function compareWith(viewer: Viewer): NonNullable<Comparison> {
  const { method, layer } = viewer.state.choices;
  const other = otherMethod(viewer, method.value);
  return { method: other, layer: layer.value, shares: (other === "flow") !== (method.value === "flow") };
}

export function toggleComparison(viewer: Viewer) {
  const { comparison } = viewer.state.choices;
  if (comparison.value || viewer.other.value) {
    comparison.value = null;
    viewer.other.value = null;
    return;
  }
  comparison.value = compareWith(viewer);
  requestAnimationFrame(() => {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    document.getElementById("compare-card")?.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  });
}

interface Shortcut extends Keys {
  run(viewer: Viewer, key: string): void;
}

const step = (list: readonly number[], value: number, by: number) =>
  list[Math.max(0, Math.min(list.length - 1, list.indexOf(value) + by))] ?? value;

export const SHORTCUTS: readonly Shortcut[] = [
  {
    keys: ["1", "2", "3"],
    does: "raw, rollout, flow",
    run(viewer, key) {
      const name = METHODS[Number(key) - 1];
      if (viewer.report.methods.includes(name) || viewer.askServer.value) viewer.state.choices.method.value = name;
    },
  },
  {
    keys: ["[", "]"],
    does: "the layer below, above",
    run({ report, state }, key) {
      const { layer } = state.choices;
      layer.value = step(report.layers, layer.value, key === "]" ? 1 : -1);
    },
  },
  {
    keys: ["j", "k"],
    does: "the next output token, the one before",
    run({ report, state }, key) {
      const { token } = state.choices;
      token.value = Math.max(0, Math.min(report.n - 1, token.value + (key === "j" ? 1 : -1)));
    },
  },
  {
    keys: ["s"],
    does: "leave special tokens out, or take them in",
    run({ report, state }) {
      if (report.hasSpecial) state.choices.skipSpecial.value = !state.choices.skipSpecial.value;
    },
  },
  { keys: ["f"], does: "filters", run: () => document.getElementById("filters-button")?.click() },
  { keys: ["c"], does: "compare, or stop comparing", run: toggleComparison },
  { keys: ["y"], does: "copy the link", run: (viewer) => void copyLink(viewer) },
  { keys: ["d"], does: "light or dark page", run: () => (theme.value = dark.value ? "light" : "dark") },
  { keys: ["?"], does: "this list", run: showHelp },
];

/** Listens for the keys; returns how to stop. */
export function followKeys(viewer: Viewer): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || event.isComposing) return;
    const target = event.target as Element;
    // Fields take letters; an open dialog or menu has keys of its own.
    if (target.closest("textarea, select, [contenteditable], dialog, [role=menu]")) return;
    if (target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type)) return;
    const shortcut = SHORTCUTS.find(({ keys }) => keys.includes(event.key));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(viewer, event.key);
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
