// SVG for what a style sheet paints under and around an element's words: backgrounds, bars, hatching, color ramps,
// corners, rings, outlines, borders.
import { xmlText } from "./picture";

const COLOUR = /rgba?\([^)]*\)|color\([^)]*\)/g;

const opaque = (colour: string) => colour !== "transparent" && !/^rgba\(.*, 0\)$|\/ 0\)$/.test(colour);
export const short = (value: number) => String(Math.round(value * 100) / 100);

/** Referenced definitions, each included once. */
export class Definitions {
  private readonly known = new Map<string, { id: string; element: string }>();

  /** The id of an element, which is created with its id the first time. */
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

/** @param shift from page to picture coordinates */
export function marksOf(
  element: HTMLElement,
  style: CSSStyleDeclaration,
  shift: { x: number; y: number },
  definitions: Definitions,
): string[] {
  const marks: string[] = [];
  const rect = (r: DOMRect, attributes: Record<string, string | undefined>, title = "") => {
    const all = {
      x: short(r.left + shift.x),
      y: short(r.top + shift.y),
      width: short(r.width),
      height: short(r.height),
      ...attributes,
    };
    const written = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const list = written.map(([name, value]) => `${name}="${xmlText(value)}"`).join(" ");
    marks.push(title ? `<rect ${list}><title>${xmlText(title)}</title></rect>` : `<rect ${list}/>`);
  };
  const { value, token } = element.dataset;
  const data = { "data-value": value || undefined, "data-token": token };
  const boxes = [...element.getClientRects()];
  const size = parseFloat(style.fontSize);
  const image = style.backgroundImage;
  const share = parseFloat(style.getPropertyValue("--share"));
  // Possibly under a ring.
  const stripes = /repeating-linear-gradient\(135deg.*\)$/.exec(image)?.[0];
  const striped = stripes !== undefined;
  const barred = !striped && image !== "none" && share > 0;
  if (barred) {
    for (const r of boxes)
      rect(new DOMRect(r.left, r.top, r.width * Math.min(1, share), r.height), {
        fill: rule("--blue"),
        "fill-opacity": "0.26",
      });
  }
  const filled = opaque(style.backgroundColor);
  const ramped = !barred && image.startsWith("linear-gradient(to right");
  // Underlines are drawn as shadows, so that they shift nothing.
  const line = /^(.*?\)) 0px -([\d.]+)px 0px 0px inset/.exec(style.boxShadow);
  const continues = element.classList.contains("continues");
  const outline = style.outlineStyle !== "none" ? parseFloat(style.outlineWidth) : 0;
  const sides = [style.borderTopWidth, style.borderBottomWidth, style.borderLeftWidth].map(parseFloat);
  const [top, bottom, left] = sides;
  const rx = short(Math.min(8, parseFloat(style.borderTopLeftRadius) || 0));
  for (const [k, r] of boxes.entries()) {
    const title = k === 0 ? (element.getAttribute("aria-label") ?? "") : "";
    if (filled || data["data-value"] !== undefined) {
      rect(r, { fill: filled ? style.backgroundColor : "none", ...(k === 0 ? data : {}), rx }, title);
    }
    if (striped) rect(r, { fill: hatch(stripes, definitions), rx, "data-mark": "excluded" });
    if (ramped) rect(r, { fill: ramp(image, definitions), rx, "data-mark": "ramp" });
    if (line) rect(new DOMRect(r.left, r.bottom - Number(line[2]), r.width, Number(line[2])), { fill: line[1] });
    if (continues && k === 0) {
      // Below the letters, without cutting them.
      const height = parseFloat(style.paddingBottom);
      const at = style.direction === "rtl" ? r.right - 2 : r.left;
      rect(new DOMRect(at, r.bottom - height, 2, height), {
        fill: style.color,
        "fill-opacity": "0.75",
        "data-mark": "continues",
      });
    }
    const [x, y] = [r.right + shift.x, r.top + shift.y];
    if (element.classList.contains("above") || element.classList.contains("corner")) {
      const side = element.classList.contains("corner") ? 0.32 * size : 0.38 * size;
      marks.push(
        `<path d="M${short(x - side)} ${short(y)}h${short(side)}v${short(side)}z" fill="${rule("--corner")}" data-mark="above"/>`,
      );
    }
    if (element.classList.contains("degenerate")) {
      const [cx, radius] = [
        element.classList.contains("above") ? r.left + shift.x + 0.26 * size : x - 0.26 * size,
        0.12,
      ];
      marks.push(
        `<circle cx="${short(cx)}" cy="${short(y + 0.24 * size)}" r="${short(radius * size)}" fill="none" stroke="${style.color}" stroke-width="${short(0.06 * size)}" data-mark="degenerate"/>`,
      );
    }
    if (outline > 0) {
      const by = parseFloat(style.outlineOffset) + outline / 2;
      const around = new DOMRect(r.left - by, r.top - by, r.width + 2 * by, r.height + 2 * by);
      rect(around, { fill: "none", stroke: style.outlineColor, "stroke-width": short(outline), "data-mark": "frame" });
    }
    if (top > 0 && bottom > 0 && left > 0 && style.borderTopStyle !== "none") {
      // A border lies inside its box; a stroke extends to both sides of its path.
      const inner = new DOMRect(r.left + top / 2, r.top + top / 2, r.width - top, r.height - top);
      rect(inner, {
        fill: "none",
        stroke: style.borderTopColor,
        "stroke-width": short(top),
        rx,
      });
    } else if (bottom > 0 && style.borderBottomStyle !== "none") {
      rect(new DOMRect(r.left, r.bottom - bottom, r.width, bottom), { fill: style.borderBottomColor });
    } else if (top > 0 && style.borderTopStyle !== "none") {
      const y1 = short(r.top + shift.y + top / 2);
      const dashes = style.borderTopStyle === "dashed" ? ' stroke-dasharray="3 3"' : "";
      marks.push(
        `<path d="M${short(r.left + shift.x)} ${y1}h${short(r.width)}" fill="none" stroke="${style.borderTopColor}" stroke-width="${short(top)}"${dashes}/>`,
      );
    }
  }
  return marks;
}
