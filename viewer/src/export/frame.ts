// What a picture needs outside the page, drawn around it: a title, what was explained and how, and a color legend.
import { DEGENERATE_WORDS } from "../report/setting_words";
import { textWidth, unit } from "../components/measure";
import { graphemes } from "../report/text";
import type { Caption } from "./exporter";
import { directedIf, elementPicture, RTL } from "./element_picture";
import { themeOf, xmlText } from "./picture";

const PADDING = 16;
export const FRAME = 2 * PADDING;
/** The least width for captions, even of narrower pictures; it scales with the picture's letters. */
const LEAST_WIDTH = 460;
const FAMILY = "system-ui, 'Noto Sans', sans-serif";
const type =
  (size: number, line: number, weight = 400) =>
  () => ({
    size: size * unit(),
    line: line * unit(),
    weight,
  });
const TITLE = type(17, 24, 650);
const HEAD = type(13, 24, 650);
const SUBJECT = type(13, 19);
const FACTS = type(12, 18);
type Type = ReturnType<typeof TITLE>;

interface Word {
  text: string;
  /** part of a term: "Method" */
  soft: boolean;
}

const widthOf = (text: string, { size, weight }: Type) => textWidth(text, `${weight} ${size}px ${FAMILY}`);

/** Splits longer isolates: their direction would be detected anew on each line and depend on the line break. */
const directed = (text: string) =>
  text.replace(
    /\u2068([^\u2069]{41,})/g,
    (_, inner: string) => (RTL.test(/\p{L}/u.exec(inner)?.[0] ?? "") ? "\u2067" : "\u2066") + inner,
  );

/** A text's words; short isolates (a token in quotes) stay whole. */
export const wordsOf = (text: string, soft = false): Word[] =>
  (directed(text).match(/(?:[^\s\u2068]|\u2068[^\u2069]*\u2069|\u2068)+/g) ?? []).map((word) => ({
    text: word,
    soft,
  }));

function broken(word: Word, room: number, type: Type): Word[] {
  if (widthOf(word.text, type) <= room) return [word];
  const pieces: string[] = [];
  for (const letter of graphemes(word.text)) {
    const longer = (pieces.at(-1) ?? "") + letter;
    if (pieces.length > 0 && widthOf(longer, type) <= room) pieces[pieces.length - 1] = longer;
    else pieces.push(letter);
  }
  return pieces.map((text) => ({ ...word, text }));
}

/** Ends isolates that span lines at each line's end, and reopens them on the next. */
function isolateLines(lines: Word[][]): Word[][] {
  const open: string[] = [];
  for (const line of lines) {
    line[0].text = open.join("") + line[0].text;
    open.length = 0;
    for (const { text } of line) {
      for (const letter of text) {
        if (/[\u2066-\u2068]/.test(letter)) open.push(letter);
        else if (letter === "\u2069") open.pop();
      }
    }
    line[line.length - 1].text += "\u2069".repeat(open.length);
  }
  return lines;
}

/** Lines no wider than `room`, each made of runs of one color. */
export function linesOf(words: readonly Word[], room: number, type: Type): Word[][] {
  const lines: Word[][] = [];
  let text = "";
  for (const word of words.flatMap((whole) => broken(whole, room, type))) {
    const longer = text ? `${text} ${word.text}` : word.text;
    const line = lines.at(-1);
    if (!line || (text && widthOf(longer, type) > room)) {
      lines.push([{ ...word }]);
      text = word.text;
      continue;
    }
    text = longer;
    const last = line[line.length - 1];
    if (last.soft === word.soft) last.text += ` ${word.text}`;
    else {
      last.text += " ";
      line.push({ ...word });
    }
  }
  return isolateLines(lines);
}

interface Size {
  width: number;
  height: number;
}

function sizeOf(svg: string): Size {
  const head = /^<svg\b[^>]*>/.exec(svg)?.[0] ?? "";
  const side = (name: string) => Number(new RegExp(` ${name}="([\\d.]+)"`).exec(head)?.[1] ?? 0);
  return { width: side("width"), height: side("height") };
}

/** A document nested in another at a position; its ids are prefixed, so that gradients of several do not clash. */
export function nested(svg: string, x: number, y: number, prefix: string, part = ""): string {
  const attributes = `${part && ` data-part="${part}"`} x="${x}" y="${y}"`;
  // Only in tags, and in attributes that reference ids: texts and labels are the user's.
  return svg
    .trim()
    .replace(/<[^>]*>/g, (tag) =>
      tag
        .replace(/ id="/, ` id="${prefix}-`)
        .replace(
          / (fill|stroke|clip-path|mask|filter|marker-\w+)="url\((?:&quot;|&#34;)?#([^)&"]*)(?:&quot;|&#34;)?\)/g,
          ` $1="url(#${prefix}-$2)`,
        ),
    )
    .replace(/^<svg\b/, `<svg${attributes}`);
}

/** Documents side by side, wrapped if that would be too wide, each with a title. */
export function panels(all: readonly { title: string; svg: string }[], widest = 1400): string {
  const { paper, ink } = themeOf();
  const gap = 24;
  const head = HEAD();
  const sizes = all.map(({ svg }) => sizeOf(svg));
  const level = sizes.reduce((sum, { width }) => sum + width + gap, -gap) <= widest;
  let [x, y, width, height] = [0, 0, 0, 0];
  const parts = all.map(({ title, svg }, k) => {
    const at = { x, y };
    const size = { width: Math.max(sizes[k].width, widthOf(title, head)), height: sizes[k].height + head.line };
    if (level) x += size.width + gap;
    else y += size.height + gap;
    width = Math.max(width, at.x + size.width);
    height = Math.max(height, at.y + size.height);
    const heading = `<text x="${at.x}" y="${at.y + 0.6 * head.line}" font-family="${FAMILY}" font-size="${head.size}" font-weight="${head.weight}" fill="${ink}">${xmlText(directedIf(RTL.test(title), title))}</text>`;
    return heading + nested(svg, at.x, at.y + head.line, `p${k}`);
  });
  [width, height] = [Math.ceil(width), Math.ceil(height)];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="${width}" height="${height}" fill="${paper}"/>${parts.join("\n")}</svg>`;
}

/** The legends below a view; those within it are already in its picture. */
const legendsOf = (card: Element | null) => [
  ...(card?.querySelectorAll<HTMLElement>(":is(.about, .foot) .legend") ?? []),
];

/** The same document with a print width in inches. */
export function inInches(svg: string, inches: number): string {
  const { width, height } = sizeOf(svg);
  const side = (length: number) => Number(((length / width) * inches).toFixed(4));
  return svg.replace(/^<svg\b[^>]*>/, (head) =>
    head.replace(/ width="[^"]*"/, ` width="${inches}in"`).replace(/ height="[^"]*"/, ` height="${side(height)}in"`),
  );
}

/**
 * @param caption null: only the picture and its legends
 * @param card the view's card, whose legends are drawn
 */
export function framed(svg: string, caption: Caption | null, card: Element | null, title = ""): string {
  const { paper, ink, soft } = themeOf();
  const picture = sizeOf(svg);
  const room = caption ? Math.max(picture.width, LEAST_WIDTH * unit()) : picture.width;
  const width = Math.ceil(room + FRAME);
  const parts: string[] = [];
  let y = PADDING;

  const write = (words: readonly Word[], type: Type, part: string) => {
    const lines = linesOf(words, room, type).map((line) => {
      y += type.line;
      const needed = line.some(({ text }) => RTL.test(text));
      const runs = line.map(
        ({ text, soft: isSoft }) => `<tspan fill="${isSoft ? soft : ink}">${xmlText(directedIf(needed, text))}</tspan>`,
      );
      return `<text x="${PADDING}" y="${y - 0.3 * type.line}" font-size="${type.size}" font-weight="${type.weight}" xml:space="preserve">${runs.join("")}</text>`;
    });
    if (lines.length > 0) parts.push(`<g data-part="${part}">${lines.join("\n")}</g>`);
  };
  if (caption) {
    write(wordsOf(caption.title), TITLE(), "title");
    write(wordsOf(caption.subject.join(" · ")), SUBJECT(), "subject");
    y += 8;
  }
  parts.push(nested(svg, PADDING, y, "v", "picture"));
  y += Math.ceil(picture.height) + 8;

  let [x, lowest] = [PADDING, y];
  for (const [k, legend] of legendsOf(card).entries()) {
    const drawn = elementPicture(legend, 2);
    const size = sizeOf(drawn);
    if (size.width < 8) continue;
    if (x > PADDING && x + size.width > room + PADDING) [x, y] = [PADDING, lowest];
    parts.push(nested(drawn, x, y, `l${k}`, "legend"));
    x += size.width + 24;
    lowest = Math.max(lowest, y + size.height + 4);
  }
  y = lowest;
  if (caption) {
    const facts = caption.facts.map(([term, text], k, all) => [
      ...wordsOf(term, true),
      ...wordsOf(k + 1 < all.length ? `${text};` : `${text}.`),
    ]);
    write(facts.flat(), FACTS(), "facts");
    const notes = [...caption.notes];
    const marked = /<[^>]* data-mark="degenerate"/.test(svg);
    if (marked && !notes.some((note) => note.startsWith("°"))) notes.push(`° ${DEGENERATE_WORDS}.`);
    for (const note of notes) write(wordsOf(note, true), FACTS(), "note");
  }
  const height = Math.ceil(y + PADDING - 4);
  const name = caption?.title ?? title;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FAMILY}">` +
    `<title>${xmlText(directedIf(RTL.test(name), name))}</title><rect width="${width}" height="${height}" fill="${paper}"/>\n${parts.join("\n")}\n</svg>\n`
  );
}
