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
const printing = signal(false);
query?.addEventListener("change", () => (systemDark.value = query.matches));
if (typeof addEventListener === "function") {
  addEventListener("beforeprint", () => (printing.value = true));
  addEventListener("afterprint", () => (printing.value = false));
}

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

const colours = new Map<string, string>();

/** A colour of the style sheet, for canvases. Asked once a theme: each question makes the browser restyle the page. */
export function themeColour(name: string): string {
  const key = `${name} ${dark.peek()}`;
  let colour = colours.get(key);
  if (colour === undefined) {
    colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(key, colour);
  }
  return colour;
}
