// A part of the page (the text strip, a table) as SVG: its words as text, its colours as rectangles with their values.
import { graphemes } from "../report/text";
import { Definitions, marksOf, short } from "./element_marks";
import { canvasUrl, standalone, themeOf, xmlText } from "./picture";

interface Fragment {
  text: string;
  /** of the fragment's box, in the picture */
  left: number;
  right: number;
  top: number;
  style: CSSStyleDeclaration;
  rtl: boolean;
  /** where fragments may join into one text: letters of Arabic do across spans */
  line: Element | null;
  /** what it stands for where it is a sign of ours: "degenerate" */
  mark: string | undefined;
}

export const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const ascents = new Map<string, number>();
let measure: CanvasRenderingContext2D | null = null;

/** From the top of a line of this font down to its base. */
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

/** The whole of an element, also what is scrolled out of sight. */
export function elementPicture(root: HTMLElement, padding = 8): string {
  const box = root.getBoundingClientRect();
  const [dx, dy] = [root.scrollLeft - box.left, root.scrollTop - box.top];
  const width = Math.ceil(Math.max(root.scrollWidth, box.width)) + 2 * padding;
  const height = Math.ceil(Math.max(root.scrollHeight, box.height)) + 2 * padding;
  const marks: string[] = [];
  const fragments: Fragment[] = [];

  const shift = { x: dx + padding, y: dy + padding };
  const definitions = new Definitions();

  /** What the style sheet puts before an element's words: ⏎. */
  const writeBefore = (element: HTMLElement) => {
    const before = getComputedStyle(element, "::before");
    const text = /^"(.+)"$/.exec(before.content)?.[1];
    const box = element.getClientRects()[0];
    if (!text || !box || before.display === "none") return;
    const size = parseFloat(before.fontSize);
    const lineTop = box.top + (box.height - 1.2 * size) / 2;
    const rtl = getComputedStyle(element).direction === "rtl";
    const [left, right] = rtl ? [box.right - size, box.right] : [box.left, box.left + size];
    fragments.push({
      text,
      left: left + shift.x,
      right: right + shift.x,
      top: lineTop + shift.y,
      style: before,
      rtl,
      line: null,
      mark: undefined,
    });
  };

  const write = (node: Text, style: CSSStyleDeclaration) => {
    const text = node.data;
    if (text.trim() === "" || !node.parentElement) return;
    const range = document.createRange();
    const add = (from: number, to: number, r: DOMRect) => {
      const part = text.slice(from, to).replace(/\s+/g, " ");
      if (part.trim() === "" || r.width === 0) return;
      if (style.textDecorationStyle === "wavy") {
        const y = r.top + shift.y + ascent(style) + 3.5;
        const waves = "q1.5 -3 3 0t3 0".repeat(Math.max(1, Math.round(r.width / 6)));
        marks.push(
          `<path d="M${short(r.left + shift.x)} ${short(y)}${waves}" fill="none" stroke="${style.textDecorationColor}" data-mark="unknown"/>`,
        );
      }
      fragments.push({
        text: part,
        left: r.left + dx + padding,
        right: r.right + dx + padding,
        top: r.top + dy + padding,
        style,
        rtl: RTL.test(part),
        line: node.parentElement?.closest(".chip") ? null : (node.parentElement?.closest(".line") ?? null),
        mark: node.parentElement?.dataset.mark,
      });
    };
    range.selectNodeContents(node);
    const whole = [...range.getClientRects()].filter((r) => r.width > 0);
    if (whole.length <= 1) {
      if (whole.length === 1) add(0, text.length, whole[0]);
      return;
    }
    // Broken over lines: by characters, gathered line by line.
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
          if (run) add(from, at, run);
          [from, run] = [at, r];
        }
      }
      at += character.length;
    }
    if (run) add(from, at, run);
  };

  const walk = (element: Element) => {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || element.classList.contains("visually-hidden"))
      return;
    if (element instanceof SVGSVGElement || element instanceof HTMLCanvasElement) {
      const r = element.getBoundingClientRect();
      const place = `x="${short(r.left + dx + padding)}" y="${short(r.top + dy + padding)}" width="${short(r.width)}" height="${short(r.height)}"`;
      if (element instanceof HTMLCanvasElement) {
        marks.push(
          `<image ${place} preserveAspectRatio="none" image-rendering="pixelated" href="${canvasUrl(element)}"/>`,
        );
      } else {
        marks.push(
          standalone(element).replace(
            /^<svg\b[^>]*>/,
            (head) => `${head.replace(/ (width|height|x|y)="[^"]*"/g, "").slice(0, -1)} ${place}>`,
          ),
        );
      }
      return;
    }
    if (element instanceof HTMLElement) {
      marks.push(...marksOf(element, style, shift, definitions));
      writeBefore(element);
    }
    for (const child of element.childNodes) {
      if (child instanceof Element) walk(child);
      else if (child instanceof Text) write(child, style);
    }
  };
  walk(root);

  const texts: string[] = [];
  const attributes = ({ style }: Fragment) => {
    const underline =
      style.textDecorationLine.includes("underline") && style.textDecorationStyle !== "wavy"
        ? ' text-decoration="underline"'
        : "";
    const family = style.fontFamily.replaceAll('"', "'");
    return `font-family="${xmlText(family)}" font-size="${short(parseFloat(style.fontSize))}" font-weight="${style.fontWeight}"${underline}`;
  };
  const span = ({ text, style, mark }: Fragment) =>
    `<tspan${mark ? ` data-mark="${xmlText(mark)}"` : ""} fill="${xmlText(style.color)}">${xmlText(text)}</tspan>`;
  for (let k = 0; k < fragments.length;) {
    const first = fragments[k];
    let end = k + 1;
    // Pieces that touch, of one word: a space between words keeps its room.
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
    texts.push(
      `<text x="${short(x)}" y="${y}"${direction} xml:space="preserve" ${attributes(first)}>${parts.map(span).join("")}</text>`,
    );
    k = end;
  }
  const { paper } = themeOf();
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `${String(definitions)}<rect width="${width}" height="${height}" fill="${paper}"/>\n${marks.join("\n")}\n${texts.join("\n")}\n</svg>\n`
  );
}

/** The picture of the element with this id. */
export function pictureOf(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return elementPicture(element);
}
