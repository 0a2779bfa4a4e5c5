// Light or dark: what the system says, until the reader chooses. Printed pages are light.
import { computed, effect, signal } from "@preact/signals";

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

const query = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
const systemDark = signal(query?.matches ?? false);
const paper = typeof matchMedia === "function" ? matchMedia("print") : null;
const announced = signal(false);
const onPaper = signal(paper?.matches ?? false);
query?.addEventListener("change", () => (systemDark.value = query.matches));
paper?.addEventListener("change", () => (onPaper.value = paper.matches));
if (typeof addEventListener === "function") {
  addEventListener("beforeprint", () => (announced.value = true));
  addEventListener("afterprint", () => (announced.value = false));
}

/** The page is drawn for paper: what takes a moment elsewhere is done at once, for the next picture is the last. */
export const printing = computed(() => announced.value || onPaper.value);

export const dark = computed(
  () => !printing.value && (theme.value === "dark" || (theme.value === "system" && systemDark.value)),
);

/** Writes the theme where the style sheet reads it. */
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
