// Which parts of a scrolling box are out of sight, tracked as it scrolls and as it or its content changes.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Overflow {
  before: boolean;
  after: boolean;
  below: boolean;
  /** it scrolls, sideways or down */
  any: boolean;
}

export type Scrolled = Pick<
  HTMLElement,
  "scrollLeft" | "scrollWidth" | "clientWidth" | "scrollTop" | "scrollHeight" | "clientHeight"
>;

/** Sizes are rounded but positions are not: differences below this are ignored. */
const SLACK = 1.5;

export function overflowOf(box: Scrolled): Overflow {
  const { scrollLeft, scrollWidth, clientWidth, scrollTop, scrollHeight, clientHeight } = box;
  const hidden = scrollWidth - clientWidth;
  return {
    before: hidden > SLACK && scrollLeft > SLACK,
    after: hidden - scrollLeft > SLACK,
    below: scrollHeight - clientHeight - scrollTop > SLACK,
    any: hidden > SLACK || scrollHeight - clientHeight > SLACK,
  };
}

/** Reads sizes only when the browser has just laid out the page, or on scroll. */
export function useOverflow(box: RefObject<HTMLElement>, changed: (overflow: Overflow, box: HTMLElement) => void) {
  const say = useRef(changed);
  say.current = changed;
  // After each render, which may have changed the content. Children are observed: their growth resizes no box.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => say.current(overflowOf(element), element);
    const observer = new ResizeObserver(look);
    for (const one of [element, ...element.children]) observer.observe(one);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  });
}

/** Makes a scrolling box without focusable content a tab stop. @param name its accessible name */
export function useKeyboardScroll(box: RefObject<HTMLElement>, name: string) {
  // The box may show another text of the same length.
  useLayoutEffect(() => {
    if (box.current?.hasAttribute("aria-label")) box.current.setAttribute("aria-label", name);
  }, [name]);
  useOverflow(box, ({ any }, element) => {
    const attributes = { tabindex: "0", role: "group", "aria-label": name };
    for (const [key, value] of Object.entries(attributes)) {
      if (any) element.setAttribute(key, value);
      else element.removeAttribute(key);
    }
  });
}
