// A text beside others, small. Where it is long it scrolls, and is then a stop of the keyboard.
import type { ComponentChildren, RefObject } from "preact";
import { useKeyboardScroll } from "./overflow";
import "../styles/compare.css";

export interface HalfTextProps {
  box: RefObject<HTMLDivElement>;
  /** what it is the text of, for screen readers */
  of: string;
  /** the token that the pointer is over; null: none */
  onPoint(token: number | null): void;
  /** elements with data-token, in lines */
  children: ComponentChildren;
}

export function HalfText({ box, of, onPoint, children }: HalfTextProps) {
  useKeyboardScroll(box, `The text of ${of}, which scrolls`);
  return (
    <div
      class="half-text"
      ref={box}
      onPointerOver={(event) => {
        const cell = (event.target as Element).closest<HTMLElement>("[data-token]");
        onPoint(cell ? Number(cell.dataset.token) : null);
      }}
      onPointerLeave={() => onPoint(null)}
    >
      {children}
    </div>
  );
}

/** Lines of a text whose direction is its own. */
export const TextLines = ({ lines }: { lines: readonly ComponentChildren[][] }) => (
  <>
    {lines.map((line, k) => (
      <div class="line" dir="auto" lang="" key={k}>
        {line}
      </div>
    ))}
  </>
);
