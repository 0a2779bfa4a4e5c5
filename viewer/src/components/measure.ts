// Text widths, for layout that must be known before drawing; picture sizes, on screen and on paper.
import { shorten } from "../report/text";
import { printing } from "../theme";

/** Width in pixels of pictures in print: an A4 page without margins. The style sheet scales them to other sizes. */
export const PAPER = 672;
/** The style sheet's 10 points. */
const PAPER_UNIT = 10 / 12;

let scale = 0;
if (typeof addEventListener === "function") addEventListener("resize", () => (scale = 0));

/** Size of the page's letters, as a multiple of 16 pixels; pictures scale with it. */
export function unit(): number {
  if (printing.value) return PAPER_UNIT;
  scale ||= typeof document === "undefined" ? 1 : parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  return scale || 1;
}

const labelFont = () => `${13 * unit()}px system-ui, "Noto Sans", sans-serif`;
export const chosenFont = () => `700 ${labelFont()}`;

let context: CanvasRenderingContext2D | null | undefined;
const known = new Map<string, number>();

export function textWidth(text: string, font = labelFont()): number {
  const key = `${font}|${text}`;
  let width = known.get(key);
  if (width === undefined) {
    context ??= document.createElement("canvas").getContext("2d");
    if (!context) return 7 * unit() * text.length;
    if (context.font !== font) context.font = font;
    width = Math.ceil(context.measureText(text).width);
    if (known.size > 20_000) known.clear();
    known.set(key, width);
  }
  return width;
}

/** The longest beginning of a label that fits, at most `most` characters. */
export function fitted(label: string, room: number, most = label.length, font = labelFont()): string {
  while (most > 1 && textWidth(shorten(label, most), font) > room) --most;
  return shorten(label, most);
}

interface Size {
  width: number;
  height: number;
}

/** The box of a picture whose canvases lie under its SVG; on paper it shrinks together with its contents. */
export const pictureStyle = ({ width, height }: Size) => ({
  width: `${width}px`,
  height: `${height}px`,
  "--own": `${width}px`,
  "--aspect": String(width / Math.max(1, height)),
});

export const placeStyle = ({ left, top, width, height }: Size & { left: number; top: number }, of: Size) => ({
  left: `${left}px`,
  top: `${top}px`,
  width: `${width}px`,
  height: `${height}px`,
  "--left": `${(100 * left) / of.width}%`,
  "--top": `${(100 * top) / of.height}%`,
  "--width": `${(100 * width) / of.width}%`,
  "--height": `${(100 * height) / of.height}%`,
});
