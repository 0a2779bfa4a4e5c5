// Gives pages what happy-dom lacks: room for pictures (nothing is laid out), popovers, and a clean tab for each test.
import { afterEach, vi } from "vitest";
import { followTheme } from "../../src/theme";
import { close } from "./page";

followTheme(document.documentElement);

for (const side of ["clientWidth", "clientHeight"] as const) {
  Object.defineProperty(HTMLElement.prototype, side, { configurable: true, get: () => 1100 });
}
for (const [name, open] of [
  ["showPopover", true],
  ["hidePopover", false],
] as const) {
  HTMLElement.prototype[name] = function (this: HTMLElement) {
    this.toggleAttribute("data-open", open);
  };
}
Element.prototype.scrollIntoView = () => undefined;
// A file that is saved does not take the place of the page.
HTMLAnchorElement.prototype.click = () => undefined;
// A browser takes a number for an option's name, happy-dom takes it for none.
const { get, set } = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value") ?? {};
Object.defineProperty(HTMLSelectElement.prototype, "value", {
  configurable: true,
  get,
  set(this: HTMLSelectElement, name: unknown) {
    set?.call(this, String(name));
  },
});

// happy-dom announces an address that the page writes itself, which browsers do not.
addEventListener("hashchange", (event) => event.stopImmediatePropagation());

afterEach(() => {
  close();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});
