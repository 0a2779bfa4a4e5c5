// What of a box that scrolls is out of sight, followed while it scrolls and while it or its content changes.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Overflow {
  /** something lies beyond the left end */
  before: boolean;
  /** something lies beyond the right end */
  after: boolean;
  /** something lies beyond the lower end */
  below: boolean;
  /** it scrolls, sideways or down */
  any: boolean;
}

export type Scrolled = Pick<
  HTMLElement,
  "scrollLeft" | "scrollWidth" | "clientWidth" | "scrollTop" | "scrollHeight" | "clientHeight"
>;

/** Sizes are rounded, places are not: less than this is nothing. */
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

/** Sizes are read only when the browser has just laid the page out, or scrolls. */
export function useOverflow(box: RefObject<HTMLElement>, changed: (overflow: Overflow, box: HTMLElement) => void) {
  const say = useRef(changed);
  say.current = changed;
  // After each drawing, which may have put another content into the box, or another box there. Content that grows leaves
  // the box as it is, so each has to be watched.
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

/**
 * A box that holds nothing to stop at is a stop of the keyboard while it scrolls: arrow keys then move it.
 * @param name what a screen reader calls it
 */
export function useKeyboardScroll(box: RefObject<HTMLElement>, name: string) {
  // What it is the text of may change while it stays as long.
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
