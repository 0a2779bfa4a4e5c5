// How pictures leave the page: as shown, or for a paper.
import { signal } from "@preact/signals";

/** With title and caption; and so many inches wide on paper (null: as shown). */
export const paper = { captions: signal(true), inches: signal<number | null>(null) };

/** The largest letters on paper, in pixels of which 96 are an inch: 8 points. */
const LETTERS = 32 / 3;
/** Milliseconds that a picture has to be drawn anew. */
const PATIENCE = 2000;

const frame = () => new Promise(requestAnimationFrame);

/** How wide a picture is on the page that has letters of that size on paper. @param svg as it is shown */
export function widthFor(svg: string, inches: number): number {
  const largest = Math.max(0, ...Array.from(svg.matchAll(/ font-size="([\d.]+)/g), ([, size]) => Number(size)));
  return Math.round((96 * inches * Math.max(largest, LETTERS)) / LETTERS);
}

/** Makes something while a card has room for so wide a picture: texts are broken and cells laid out for it. */
export async function laidOut<T>(card: HTMLElement | null, width: number, make: () => T): Promise<T> {
  if (!card) return make();
  const [left, top] = [scrollX, scrollY];
  const style = getComputedStyle(card);
  const sides = ["paddingLeft", "paddingRight", "borderLeftWidth", "borderRightWidth"] as const;
  const around = sides.reduce((sum, side) => sum + (parseFloat(style[side]) || 0), 0);
  Object.assign(card.style, { boxSizing: "border-box", width: `${width + around}px`, maxWidth: "none", minWidth: "0" });
  try {
    const end = performance.now() + PATIENCE;
    // Sizes are observed in one frame, and drawn for in the next one.
    for (let k = 0; k < 3; ++k) await frame();
    while (card.querySelector('[aria-busy="true"]') && performance.now() < end) await frame();
    return make();
  } finally {
    Object.assign(card.style, { boxSizing: "", width: "", maxWidth: "", minWidth: "" });
    scrollTo(left, top);
  }
}
