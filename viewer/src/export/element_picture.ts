// A part of the page (the text strip, a table) as SVG: its words as text, its colors as rectangles with their values.
import { graphemes } from "../report/text";
import { Definitions, marksOf, short } from "./element_marks";
import { paper } from "./paper";
import { canvasUrl, standalone, themeOf, xmlText } from "./picture";

interface Fragment {
  text: string;
  left: number;
  right: number;
  top: number;
  style: CSSStyleDeclaration;
  rtl: boolean;
  /** line in which fragments may join into one text: Arabic letters join across spans */
  line: Element | null;
  /** the meaning of one of the page's own signs: "degenerate" */
  mark: string | undefined;
}

export const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
/** Invisible direction marks are kept only where needed: they get in the way of searching and copying. */
export const directedIf = (needed: boolean, text: string) => (needed ? text : text.replace(/[\u2066-\u2069]/g, ""));
const ascents = new Map<string, number>();
let measure: CanvasRenderingContext2D | null = null;

/** Distance from the top of a line in this font to its baseline. */
function ascent(style: CSSStyleDeclaration): number {
  const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const known = ascents.get(font);
  if (known !== undefined) return known;
  measure ??= document.createElement("canvas").getContext("2d");
  if (!measure) return 0.9 * parseFloat(style.fontSize);
  measure.font = font;
  const found = measure.measureText("x").fontBoundingBoxAscent;
  ascents.set(font, found);
  return found;
}

/** The position of a text node: each of its lines, with the part of the text on it. */
function* linesOf(node: Text): Generator<[part: string, place: DOMRect]> {
  const text = node.data;
  const range = document.createRange();
  range.selectNodeContents(node);
  const whole = [...range.getClientRects()].filter((r) => r.width > 0);
  if (whole.length === 1) yield [text, whole[0]];
  if (whole.length <= 1) return;
  // It wraps: measure characters and collect them line by line.
  let [from, at] = [0, 0];
  let run: DOMRect | null = null;
  for (const character of graphemes(text)) {
    range.setStart(node, at);
    range.setEnd(node, at + character.length);
    const r = range.getBoundingClientRect();
    if (r.width > 0) {
      if (run && Math.abs(r.top - run.top) < 2) {
        const left: number = Math.min(run.left, r.left);
        run = new DOMRect(left, run.top, Math.max(run.right, r.right) - left, run.height);
      } else {
        if (run) yield [text.slice(from, at), run];
        [from, run] = [at, r];
      }
    }
    at += character.length;
  }
  if (run) yield [text.slice(from, at), run];
}

class Writer {
  readonly marks: string[] = [];
  readonly fragments: Fragment[] = [];
  readonly definitions = new Definitions();
  /** Horizontal extent of what is shown. */
  readonly reach = { left: Infinity, right: -Infinity };

  /** @param shift from page to picture coordinates */
  constructor(
    private readonly root: Element,
    private readonly shift: { x: number; y: number },
  ) {}

  private add(
    text: string,
    place: { left: number; right: number; top: number },
    rest: Omit<Fragment, "text" | keyof typeof place>,
  ) {
    const { x, y } = this.shift;
    this.extend(place);
    this.fragments.push({ text, left: place.left + x, right: place.right + x, top: place.top + y, ...rest });
  }

  private extend({ left, right }: { left: number; right: number }) {
    const { reach, shift } = this;
    reach.left = Math.min(reach.left, left + shift.x);
    reach.right = Math.max(reach.right, right + shift.x);
  }

  /** Content that the style sheet puts before an element's words: ⏎. */
  private before(element: HTMLElement) {
    const style = getComputedStyle(element, "::before");
    const text = /^"(.+)"$/.exec(style.content)?.[1];
    const box = element.getClientRects()[0];
    if (!text || !box || style.display === "none") return;
    const size = parseFloat(style.fontSize);
    const top = box.top + (box.height - 1.2 * size) / 2;
    const rtl = getComputedStyle(element).direction === "rtl";
    const [left, right] = rtl ? [box.right - size, box.right] : [box.left, box.left + size];
    this.add(text, { left, right, top }, { style, rtl, line: null, mark: undefined });
  }

  private text(node: Text, style: CSSStyleDeclaration) {
    const parent = node.parentElement;
    if (node.data.trim() === "" || !parent) return;
    const line = parent.closest(".chip") ? null : parent.closest(".line");
    for (const [part, r] of linesOf(node)) {
      const words = part.replace(/\s+/g, " ");
      if (words.trim() === "" || r.width === 0) continue;
      if (style.textDecorationStyle === "wavy") this.wave(r, style);
      this.add(words, r, { style, rtl: RTL.test(words), line, mark: parent.dataset.mark });
    }
  }

  private wave(r: DOMRect, style: CSSStyleDeclaration) {
    const y = r.top + this.shift.y + ascent(style) + 3.5;
    const waves = "q1.5 -3 3 0t3 0".repeat(Math.max(1, Math.round(r.width / 6)));
    this.marks.push(
      `<path d="M${short(r.left + this.shift.x)} ${short(y)}${waves}" fill="none" stroke="${style.textDecorationColor}" data-mark="unknown"/>`,
    );
  }

  /** A picture inside the element. */
  private picture(element: SVGSVGElement | HTMLCanvasElement) {
    const r = element.getBoundingClientRect();
    this.extend(r);
    const { x, y } = this.shift;
    const place = `x="${short(r.left + x)}" y="${short(r.top + y)}" width="${short(r.width)}" height="${short(r.height)}"`;
    const placed = (head: string) => `${head.replace(/ (width|height|x|y)="[^"]*"/g, "").slice(0, -1)} ${place}>`;
    this.marks.push(
      element instanceof HTMLCanvasElement
        ? `<image ${place} preserveAspectRatio="none" image-rendering="pixelated" href="${canvasUrl(element)}"/>`
        : standalone(element).replace(/^<svg\b[^>]*>/, placed),
    );
  }

  walk(element: Element) {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || element.classList.contains("visually-hidden"))
      return;
    if (element instanceof SVGSVGElement || element instanceof HTMLCanvasElement) return this.picture(element);
    if (element instanceof HTMLElement) {
      const marks = marksOf(element, style, this.shift, this.definitions);
      if (marks.length > 0 && element !== this.root) for (const box of element.getClientRects()) this.extend(box);
      this.marks.push(...marks);
      this.before(element);
    }
    for (const child of element.childNodes) {
      if (child instanceof Element) this.walk(child);
      else if (child instanceof Text) this.text(child, style);
    }
  }
}

/** Joins the fragments of a word into one text, so that Arabic letters connect. */
function* textsOf(fragments: readonly Fragment[]): Generator<string> {
  const attributes = ({ style }: Fragment) => {
    const underline =
      style.textDecorationLine.includes("underline") && style.textDecorationStyle !== "wavy"
        ? ' text-decoration="underline"'
        : "";
    const family = style.fontFamily.replaceAll('"', "'");
    return `font-family="${xmlText(family)}" font-size="${short(parseFloat(style.fontSize))}" font-weight="${style.fontWeight}"${underline}`;
  };
  const span = ({ text, style, mark }: Fragment) =>
    `<tspan${mark ? ` data-mark="${xmlText(mark)}"` : ""} fill="${xmlText(style.color)}">${xmlText(directedIf(RTL.test(text), text))}</tspan>`;
  for (let k = 0, end = 0; k < fragments.length; k = end) {
    const first = fragments[k];
    end = k + 1;
    // Adjacent parts of one word; a space between words keeps its width.
    const joins = (next: Fragment | undefined) =>
      next !== undefined &&
      Math.abs(fragments[end - 1].left - next.right) < 1 &&
      first.rtl &&
      next.rtl &&
      first.line !== null &&
      next.line === first.line &&
      Math.abs(next.top - first.top) < 3;
    while (joins(fragments[end])) ++end;
    const parts = fragments.slice(k, end);
    const y = short(first.top + ascent(first.style));
    const x = first.rtl ? Math.max(...parts.map(({ right }) => right)) : first.left;
    const direction = first.rtl ? ' direction="rtl"' : "";
    yield `<text x="${short(x)}" y="${y}"${direction} xml:space="preserve" ${attributes(first)}>${parts.map(span).join("")}</text>`;
  }
}

/**
 * A whole element, including what is scrolled out of sight. Empty space at its sides is cut off unless its width is
 * chosen.
 */
export function elementPicture(root: HTMLElement, padding = 8): string {
  const box = root.getBoundingClientRect();
  const whole = Math.ceil(Math.max(root.scrollWidth, box.width));
  const height = Math.ceil(Math.max(root.scrollHeight, box.height)) + 2 * padding;
  const [x, y] = [root.scrollLeft - box.left + padding, root.scrollTop - box.top + padding];
  const writer = new Writer(root, { x, y });
  writer.walk(root);
  const { left, right } = writer.reach;
  const cropped = paper.inches.value === null && right > left;
  const from = cropped ? Math.max(0, Math.floor(left) - padding) : 0;
  const width = (cropped ? Math.min(whole + padding, Math.ceil(right)) : whole + padding) + padding - from;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${from} 0 ${width} ${height}">` +
    `${String(writer.definitions)}<rect x="${from}" width="${width}" height="${height}" fill="${themeOf().paper}"/>\n${writer.marks.join("\n")}\n${[...textsOf(writer.fragments)].join("\n")}\n</svg>\n`
  );
}

export function pictureOf(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return elementPicture(element);
}
