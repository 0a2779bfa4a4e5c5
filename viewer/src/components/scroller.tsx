// A box that scrolls if its content is too large; a shadow at a side or the bottom shows that there is more.
import type { HTMLAttributes, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { useOverflow } from "./overflow";
import "../styles/scroller.css";

export interface ScrollerProps extends HTMLAttributes<HTMLDivElement> {
  box?: RefObject<HTMLDivElement>;
  /** pixels at its lower end that stay in place while it scrolls */
  stuck?: number;
}

/** If nothing inside can take the focus, it needs tabIndex, role and aria-label. */
export function Scroller({ box, stuck = 0, children, class: name, ...attributes }: ScrollerProps) {
  const own = useRef<HTMLDivElement>(null);
  const inner = box ?? own;
  const outer = useRef<HTMLDivElement>(null);
  useOverflow(inner, ({ before, after, below }, { offsetWidth, offsetHeight, clientWidth, clientHeight }) => {
    const frame = outer.current;
    if (!frame) return;
    // Written in place: scrolling causes no re-render.
    frame.dataset.more = [before && "before", after && "after", below && "below"].filter(Boolean).join(" ");
    // Shadows do not cover the scroll bars.
    frame.style.setProperty("--bar-right", `${offsetWidth - clientWidth}px`);
    frame.style.setProperty("--bar-bottom", `${offsetHeight - clientHeight}px`);
  });
  return (
    <div class="scroller" ref={outer}>
      <div {...attributes} class={typeof name === "string" ? `scroll ${name}` : "scroll"} ref={inner}>
        {children}
      </div>
      <span class="more before" aria-hidden="true" />
      <span class="more after" aria-hidden="true" />
      <span class="more below" aria-hidden="true" style={{ "--stuck": `${stuck}px` }} />
    </div>
  );
}
