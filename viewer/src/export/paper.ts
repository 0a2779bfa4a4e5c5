// How pictures are saved: as shown, or for a paper.
import { signal } from "@preact/signals";

/** Whether with title and caption, and the width on paper in inches (null: as shown). */
export const paper = { captions: signal(true), inches: signal<number | null>(null) };

/** The largest letters on paper, 8 points in pixels of 1/96 inch. */
const LETTERS = 32 / 3;
/** The most milliseconds that a picture may take to be redrawn. */
const PATIENCE = 2000;

const frame = () => new Promise(requestAnimationFrame);

/** The page width at which a picture's letters have that size on paper. @param svg the picture as shown */
export function widthFor(svg: string, inches: number): number {
  const largest = Math.max(0, ...Array.from(svg.matchAll(/ font-size="([\d.]+)/g), ([, size]) => Number(size)));
  return Math.round((96 * inches * Math.max(largest, LETTERS)) / LETTERS);
}

/** Makes something while a card has this width: texts wrap and cells are laid out for it. */
export async function laidOut<T>(card: HTMLElement | null, width: number, make: () => T): Promise<T> {
  if (!card) return make();
  const [left, top] = [scrollX, scrollY];
  const style = getComputedStyle(card);
  const sides = ["paddingLeft", "paddingRight", "borderLeftWidth", "borderRightWidth"] as const;
  const around = sides.reduce((sum, side) => sum + (parseFloat(style[side]) || 0), 0);
  Object.assign(card.style, { boxSizing: "border-box", width: `${width + around}px`, maxWidth: "none", minWidth: "0" });
  try {
    const end = performance.now() + PATIENCE;
    // Sizes are observed in one frame and drawn in the next.
    for (let k = 0; k < 3; ++k) await frame();
    while (card.querySelector('[aria-busy="true"]') && performance.now() < end) await frame();
    return make();
  } finally {
    Object.assign(card.style, { boxSizing: "", width: "", maxWidth: "", minWidth: "" });
    scrollTo(left, top);
  }
}
