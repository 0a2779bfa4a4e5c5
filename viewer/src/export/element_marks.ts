// SVG for what a style sheet paints under and around an element's words.
import { xmlText } from "./picture";

const COLOUR = /rgba?\([^)]*\)|color\([^)]*\)/g;

const opaque = (colour: string) => colour !== "transparent" && !/^rgba\(.*, 0\)$|\/ 0\)$/.test(colour);
export const short = (value: number) => String(Math.round(value * 100) / 100);

/** Referenced definitions, each included once. */
export class Definitions {
  private readonly known = new Map<string, { id: string; element: string }>();

  add(key: string, make: (id: string) => string): string {
    const id = this.known.get(key)?.id ?? `d${this.known.size}`;
    if (!this.known.has(key)) this.known.set(key, { id, element: make(id) });
    return `url(#${id})`;
  }

  toString(): string {
    const elements = Array.from(this.known.values(), ({ element }) => element);
    return elements.length > 0 ? `<defs>${elements.join("")}</defs>` : "";
  }
}

const rule = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The stripes of a repeating gradient at 135 degrees. */
function hatch(image: string, definitions: Definitions): string {
  const colour = image.match(COLOUR)?.find(opaque) ?? "grey";
  const period = Number(/([\d.]+)px\)$/.exec(image)?.[1] ?? 5);
  return definitions.add(
    image,
    (id) =>
      `<pattern id="${id}" width="${period}" height="${period}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="1" height="${period}" fill="${colour}"/></pattern>`,
  );
}

function ramp(image: string, definitions: Definitions): string {
  const colours = image.match(COLOUR) ?? [];
  const stops = colours.map(
    (colour, k) => `<stop offset="${short(k / Math.max(1, colours.length - 1))}" stop-color="${colour}"/>`,
  );
  return definitions.add(image, (id) => `<linearGradient id="${id}">${stops.join("")}</linearGradient>`);
}

interface Point {
  x: number;
  y: number;
}

interface Marked {
  element: HTMLElement;
  style: CSSStyleDeclaration;
  /** from page to picture coordinates */
  shift: Point;
  definitions: Definitions;
  rx: string;
}

type Attributes = Record<string, string | undefined>;

function rect({ shift }: Marked, r: DOMRect, attributes: Attributes, title = ""): string {
  const all: Attributes = {
    x: short(r.left + shift.x),
    y: short(r.top + shift.y),
    width: short(r.width),
    height: short(r.height),
    ...attributes,
  };
  const written = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const list = written.map(([name, value]) => `${name}="${xmlText(value)}"`).join(" ");
  return title ? `<rect ${list}><title>${xmlText(title)}</title></rect>` : `<rect ${list}/>`;
}

/** The color behind the words, with the element's number and name in its first box; hatching, a ramp, an underline. */
function* grounds(marked: Marked, r: DOMRect, first: boolean, ramped: boolean): Iterable<string> {
  const { element, style, definitions, rx } = marked;
  const { value, token } = element.dataset;
  const filled = opaque(style.backgroundColor);
  if (filled || value) {
    const data = first ? { "data-value": value || undefined, "data-token": token } : {};
    const title = first ? (element.getAttribute("aria-label") ?? "") : "";
    yield rect(marked, r, { fill: filled ? style.backgroundColor : "none", ...data, rx }, title);
  }
  const stripes = stripesOf(style);
  if (stripes) yield rect(marked, r, { fill: hatch(stripes, definitions), rx, "data-mark": "excluded" });
  if (ramped) yield rect(marked, r, { fill: ramp(style.backgroundImage, definitions), rx, "data-mark": "ramp" });
  // Underlines are drawn as shadows, so that they shift nothing.
  const line = /^(.*?\)) 0px -([\d.]+)px 0px 0px inset/.exec(style.boxShadow);
  if (line) {
    yield rect(marked, new DOMRect(r.left, r.bottom - Number(line[2]), r.width, Number(line[2])), { fill: line[1] });
  }
}

/** Signs of a token: it continues a word, its value lies above the scale, its row is degenerate. */
function* signs(marked: Marked, r: DOMRect, first: boolean): Iterable<string> {
  const { element, style, shift } = marked;
  const is = (name: string) => element.classList.contains(name);
  if (is("continues") && first) {
    // Below the letters, without cutting them.
    const height = parseFloat(style.paddingBottom);
    const at = style.direction === "rtl" ? r.right - 2 : r.left;
    yield rect(marked, new DOMRect(at, r.bottom - height, 2, height), {
      fill: style.color,
      "fill-opacity": "0.75",
      "data-mark": "continues",
    });
  }
  const [x, y] = [r.right + shift.x, r.top + shift.y];
  const size = parseFloat(style.fontSize);
  if (is("above") || is("corner")) {
    const side = is("corner") ? 0.32 * size : 0.38 * size;
    yield `<path d="M${short(x - side)} ${short(y)}h${short(side)}v${short(side)}z" fill="${rule("--corner")}" data-mark="above"/>`;
  }
  if (is("degenerate")) {
    const cx = is("above") ? r.left + shift.x + 0.26 * size : x - 0.26 * size;
    yield `<circle cx="${short(cx)}" cy="${short(y + 0.24 * size)}" r="${short(0.12 * size)}" fill="none" stroke="${style.color}" stroke-width="${short(0.06 * size)}" data-mark="degenerate"/>`;
  }
}

function* edges(marked: Marked, r: DOMRect): Iterable<string> {
  const { style, shift, rx } = marked;
  const outline = style.outlineStyle !== "none" ? parseFloat(style.outlineWidth) : 0;
  if (outline > 0) {
    const by = parseFloat(style.outlineOffset) + outline / 2;
    const around = new DOMRect(r.left - by, r.top - by, r.width + 2 * by, r.height + 2 * by);
    const look = { stroke: style.outlineColor, "stroke-width": short(outline), "data-mark": "frame" };
    yield rect(marked, around, { fill: "none", ...look });
  }
  const { borderTopWidth, borderBottomWidth, borderLeftWidth } = style;
  const [top, bottom, left] = [borderTopWidth, borderBottomWidth, borderLeftWidth].map(parseFloat);
  if (top > 0 && bottom > 0 && left > 0 && style.borderTopStyle !== "none") {
    // A border lies inside its box; a stroke extends to both sides of its path.
    const inner = new DOMRect(r.left + top / 2, r.top + top / 2, r.width - top, r.height - top);
    yield rect(marked, inner, { fill: "none", stroke: style.borderTopColor, "stroke-width": short(top), rx });
  } else if (bottom > 0 && style.borderBottomStyle !== "none") {
    yield rect(marked, new DOMRect(r.left, r.bottom - bottom, r.width, bottom), { fill: style.borderBottomColor });
  } else if (top > 0 && style.borderTopStyle !== "none") {
    const y = short(r.top + shift.y + top / 2);
    const dashes = style.borderTopStyle === "dashed" ? ' stroke-dasharray="3 3"' : "";
    yield `<path d="M${short(r.left + shift.x)} ${y}h${short(r.width)}" fill="none" stroke="${style.borderTopColor}" stroke-width="${short(top)}"${dashes}/>`;
  }
}

/** A hatched background, possibly under a ring. */
const stripesOf = (style: CSSStyleDeclaration) =>
  /repeating-linear-gradient\(135deg.*\)$/.exec(style.backgroundImage)?.[0];

/** @param shift from page to picture coordinates */
export function marksOf(
  element: HTMLElement,
  style: CSSStyleDeclaration,
  shift: Point,
  definitions: Definitions,
): string[] {
  const rx = short(Math.min(8, parseFloat(style.borderTopLeftRadius) || 0));
  const marked: Marked = { element, style, shift, definitions, rx };
  const boxes = [...element.getClientRects()];
  const share = parseFloat(style.getPropertyValue("--share"));
  const barred = !stripesOf(style) && style.backgroundImage !== "none" && share > 0;
  const bar = (r: DOMRect) =>
    rect(marked, new DOMRect(r.left, r.top, r.width * Math.min(1, share), r.height), {
      fill: rule("--blue"),
      "fill-opacity": "0.26",
    });
  const ramped = !barred && style.backgroundImage.startsWith("linear-gradient(to right");
  return [
    ...(barred ? boxes.map(bar) : []),
    ...boxes.flatMap((r, k) => [
      ...grounds(marked, r, k === 0, ramped),
      ...signs(marked, r, k === 0),
      ...edges(marked, r),
    ]),
  ];
}
