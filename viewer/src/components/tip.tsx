// What the pointer or the keyboard is over, in words beside it. A popover: no card's edge cuts it off.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useViewer } from "../context";
import { listen } from "../listen";

/** Where the pointer was last; null: a key was pressed since. */
let pointer: { x: number; y: number } | null = null;

/** Keeps where the pointer is for every tip of the page. */
export function followPointer(): () => void {
  const move = ({ clientX, clientY }: PointerEvent) => (pointer = { x: clientX, y: clientY });
  const keydown = () => (pointer = null);
  return listen({ pointermove: move, pointerdown: move, keydown }, { capture: true, passive: true });
}

const GAP = 14;

/** What the keyboard is at within a card: a cell of a picture, or the element that has the focus. */
function keyboardPlace(tip: Element): DOMRect | null {
  const cell = tip.closest(".card")?.querySelector(".pointing .cell, .pointed-patch, .node.pointed");
  return (cell ?? document.activeElement)?.getBoundingClientRect() ?? null;
}

/** Below and to the right, or where there is no room on the other side; never over what it is about. */
function moveTip(tip: HTMLElement) {
  const at = pointer ? new DOMRect(pointer.x, pointer.y, 0, 0) : keyboardPlace(tip);
  if (!at) return;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const below = at.bottom + GAP;
  const left = Math.max(4, Math.min(at.left + (pointer ? GAP : 0), innerWidth - width - 4));
  const top = below + height < innerHeight ? below : Math.max(4, at.top - GAP - height);
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

interface TipProps {
  /** the view that it is of: shown while something in it is pointed at */
  view: string;
  id?: string;
  /** said to screen readers when it changes */
  status?: boolean;
  children: ComponentChildren;
}

export function Tip({ view, id = `${view}-readout`, status = false, children }: TipProps) {
  const shown = useViewer().state.pointed.value?.view === view;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tip = box.current;
    if (!tip || !shown) return;
    const follow = () => moveTip(tip);
    const escape = ({ key }: KeyboardEvent) => key === "Escape" && tip.hidePopover();
    tip.showPopover();
    const stops = [
      listen({ pointermove: follow, keydown: escape }),
      listen({ scroll: follow }, { capture: true, passive: true }),
      () => tip.hidePopover(),
    ];
    return () => stops.forEach((stop) => stop());
  }, [shown]);
  // What it says has another size, and stands elsewhere when a key has moved on.
  useLayoutEffect(() => {
    if (shown && box.current) moveTip(box.current);
  });
  return (
    <div class="tip" id={id} ref={box} popover="manual" role={status ? "status" : undefined}>
      {children}
    </div>
  );
}
