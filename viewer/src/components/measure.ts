// Widths of text, for places that must be known before it is drawn.
let context: CanvasRenderingContext2D | null | undefined;
const known = new Map<string, number>();

/** Of a label in a picture, in pixels. */
export function textWidth(text: string, font = '13px system-ui, "Noto Sans", sans-serif'): number {
  const key = `${font}|${text}`;
  let width = known.get(key);
  if (width === undefined) {
    context ??= document.createElement("canvas").getContext("2d");
    if (!context) return 7 * text.length;
    if (context.font !== font) context.font = font;
    width = Math.ceil(context.measureText(text).width);
    if (known.size > 20_000) known.clear();
    known.set(key, width);
  }
  return width;
}
