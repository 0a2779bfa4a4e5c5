// Starts a page: hands the report that stands in it to what shows it, in the page's theme; failures are shown, too.
import { followTheme } from "./theme";

function fail(error: unknown) {
  const box = document.createElement("p");
  box.id = "failure";
  box.setAttribute("role", "alert");
  box.textContent = `This page could not be drawn: ${error instanceof Error ? error.message : String(error)}`;
  document.body.prepend(box);
}

/** `show` gets the parsed report document, or null in a page without one. */
export function start(show: (value: unknown, root: HTMLElement) => void | Promise<void>) {
  const begin = async () => {
    const root = document.getElementById("viewer");
    const source = document.getElementById("report");
    if (!root || !source) throw new Error("the page has lost its report");
    followTheme(document.documentElement);
    await show(JSON.parse(source.textContent ?? "null"), root);
  };
  begin().catch((error: unknown) => {
    fail(error);
    throw error;
  });
}
