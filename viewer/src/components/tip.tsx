// Describes what the pointer or keyboard is at, next to it. A popover, so that no card's edge clips it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useViewer } from "../context";
import { listen } from "../listen";

/** The pointer's last position; null if a key has been pressed since. */
let pointer: { x: number; y: number } | null = null;

export function followPointer(): () => void {
  const move = ({ clientX, clientY }: PointerEvent) => (pointer = { x: clientX, y: clientY });
  const keydown = () => (pointer = null);
  return listen({ pointermove: move, pointerdown: move, keydown }, { capture: true, passive: true });
}

const GAP = 14;

/** The keyboard's place within a card: a cell of a picture, or the focused element. */
function keyboardPlace(tip: Element): DOMRect | null {
  const cell = tip.closest(".card")?.querySelector(".pointing .cell, .pointed-patch, .node.pointed");
  return (cell ?? document.activeElement)?.getBoundingClientRect() ?? null;
}

/** Places the tip below and to the right, or on the other side if there is no room; never over its subject. */
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
  /** the view it belongs to: shown while something in it is pointed at */
  view: string;
  id?: string;
  /** announced to screen readers when it changes */
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
  // A new text has a different size, and a key press a different position.
  useLayoutEffect(() => {
    if (shown && box.current) moveTip(box.current);
  });
  return (
    <div class="tip" id={id} ref={box} popover="manual" role={status ? "status" : undefined}>
      {children}
    </div>
  );
}
