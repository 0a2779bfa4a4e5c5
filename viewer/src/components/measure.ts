// Widths of text, for places that must be known before it is drawn.
let scale = 0;
if (typeof addEventListener === "function") addEventListener("resize", () => (scale = 0));

/** How large the page's letters are, as a multiple of 16 pixels: pictures grow with them. */
export function unit(): number {
  scale ||= typeof document === "undefined" ? 1 : parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  return scale || 1;
}

const labelFont = () => `${13 * unit()}px system-ui, "Noto Sans", sans-serif`;

let context: CanvasRenderingContext2D | null | undefined;
const known = new Map<string, number>();

/** Of a label in a picture, in pixels. */
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
