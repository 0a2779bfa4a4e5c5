// What of a box that scrolls is out of sight, followed while it scrolls and while it or its content changes.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Overflow {
  /** something lies beyond the left end */
  before: boolean;
  /** something lies beyond the right end */
  after: boolean;
  /** it scrolls, sideways or down */
  any: boolean;
}

export type Scrolled = Pick<
  HTMLElement,
  "scrollLeft" | "scrollWidth" | "clientWidth" | "scrollHeight" | "clientHeight"
>;

/** Sizes are rounded, places are not: less than this is nothing. */
const SLACK = 1.5;

export function overflowOf(box: Scrolled): Overflow {
  const { scrollLeft, scrollWidth, clientWidth, scrollHeight, clientHeight } = box;
  const hidden = scrollWidth - clientWidth;
  return {
    before: hidden > SLACK && scrollLeft > SLACK,
    after: hidden - scrollLeft > SLACK,
    any: hidden > SLACK || scrollHeight - clientHeight > SLACK,
  };
}

/** Sizes are read only when the browser has just laid the page out, or scrolls. */
export function useOverflow(box: RefObject<HTMLElement>, changed: (overflow: Overflow, box: HTMLElement) => void) {
  const say = useRef(changed);
  say.current = changed;
  const follower = useRef<Follower | null>(null);
  // After each drawing, which may have put another content into the box, or another box there.
  useLayoutEffect(() => {
    follower.current ??= new Follower((element) => say.current(overflowOf(element), element));
    follower.current.follow(box.current);
  });
  useLayoutEffect(() => () => follower.current?.follow(null), []);
}

class Follower {
  private readonly observer: ResizeObserver;
  private watched: readonly Element[] = [];
  private box: HTMLElement | null = null;

  constructor(private readonly changed: (box: HTMLElement) => void) {
    this.observer = new ResizeObserver(this.look);
  }

  private readonly look = () => {
    if (this.box) this.changed(this.box);
  };

  follow(box: HTMLElement | null) {
    // Content that grows leaves the box as it is, so each has to be watched.
    const all = box ? [box, ...box.children] : [];
    if (all.length === this.watched.length && all.every((one, k) => one === this.watched[k])) return;
    this.observer.disconnect();
    for (const one of all) this.observer.observe(one);
    this.watched = all;
    if (box === this.box) return;
    this.box?.removeEventListener("scroll", this.look);
    box?.addEventListener("scroll", this.look, { passive: true });
    this.box = box;
  }
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
