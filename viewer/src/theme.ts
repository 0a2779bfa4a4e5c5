// Light or dark: the setting of the system, or of the page around a frame, until the user chooses; on paper, light. Also whether there is one column.
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { hostTheme } from "./embedding";

export type Theme = "system" | "light" | "dark";
const KEY = "attnflow-theme";

function remembered(): Theme {
  try {
    const name = localStorage.getItem(KEY);
    return name === "light" || name === "dark" ? name : "system";
  } catch {
    return "system"; // pages from files may have no storage
  }
}

export const theme = signal<Theme>(remembered());

function matching(query: string): ReadonlySignal<boolean> {
  const list = typeof matchMedia === "function" ? matchMedia(query) : null;
  const matches = signal(list?.matches ?? false);
  list?.addEventListener("change", () => (matches.value = list.matches));
  return matches;
}

const systemDark = matching("(prefers-color-scheme: dark)");
const onPaper = matching("print");
const announced = signal(false);

/** Cards are stacked in one column (screens.css): the most informative come first. */
export const oneColumn = matching("screen and (max-width: 52rem)");

if (typeof addEventListener === "function") {
  addEventListener("beforeprint", () => (announced.value = true));
  addEventListener("afterprint", () => (announced.value = false));
}

/** The page is drawn for printing: deferred work is done at once, since the next drawing is the final one. */
export const printing = computed(() => announced.value || onPaper.value);

const host = typeof document === "object" ? hostTheme(document.documentElement) : undefined;
const surroundingsDark = computed(() => (host ? host === "dark" : systemDark.value));

export const dark = computed(
  () => !printing.value && (theme.value === "dark" || (theme.value === "system" && surroundingsDark.value)),
);

/** Sets the theme attribute that the style sheet reads. */
export function followTheme(root: HTMLElement) {
  effect(() => {
    try {
      if (theme.value === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme.value);
    } catch {
      // Then it lasts as long as the page.
    }
  });
  effect(() => {
    root.dataset.theme = dark.value ? "dark" : "light";
  });
}
