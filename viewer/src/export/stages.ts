// Maps over a picture as one SVG document: the picture, cells with their values, titles, colour bars.
import type { Scale } from "../color/scale";
import { type MapScale, type Picture, smoothMap } from "../report/picture";
import type { Numbers } from "../report/values";
import { format } from "../report/text";
import { canvasUrl, themeOf, xmlText } from "./picture";

export interface ExportedMap {
  title: string;
  map: Numbers | null;
  scale: MapScale;
}

export interface StageLook {
  token: number;
  colours: Scale;
  smooth: boolean;
  threshold: number;
  opacity: number;
  grey: boolean;
}

/** Pixels of one map's longer side, and at most so many maps in a row. */
const SIDE = 360;
const ACROSS = 4;
const HEAD = 24;
const FOOT = 34;
const GAP = 16;

/** The picture's pixels, in grey where it is shown so. */
function photoUrl(image: HTMLImageElement | null, grey: boolean): string {
  if (!image) return "";
  const canvas = document.createElement("canvas");
  canvas.width = image.width;
  canvas.height = image.height;
  const context = canvas.getContext("2d");
  if (!context) return "";
  if (grey) context.filter = "grayscale(1)";
  context.drawImage(image, 0, 0);
  return canvasUrl(canvas);
}

/** A smooth map as an image of its own. */
function smoothUrl(picture: Picture, map: Numbers, scale: MapScale, look: StageLook): string {
  const fine = Math.max(1, Math.ceil(SIDE / Math.max(picture.rows, picture.columns)));
  const values = smoothMap(map, picture.rows, picture.columns, fine);
  const image = new ImageData(picture.columns * fine, picture.rows * fine);
  for (let p = 0; p < values.length; ++p) {
    if (Number.isNaN(values[p]) || values[p] < look.threshold * scale.top) continue;
    const [r, g, b] = look.colours.rgb(values[p] - scale.low, scale.top - scale.low);
    image.data.set([r, g, b, 255], 4 * p);
  }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvasUrl(canvas);
}

export function exportedStages(
  picture: Picture,
  image: HTMLImageElement | null,
  maps: readonly ExportedMap[],
  look: StageLook,
): string {
  const { shown, seen, fields, rows, columns } = picture;
  const scale = SIDE / Math.max(shown.right - shown.left, shown.bottom - shown.top);
  const [width, height] = [(shown.right - shown.left) * scale, (shown.bottom - shown.top) * scale];
  const across = Math.min(ACROSS, maps.length);
  const down = Math.ceil(maps.length / across);
  const total = { width: across * (width + GAP) + GAP, height: down * (HEAD + height + FOOT) + GAP };
  const { colours } = look;
  const { paper, ink, line } = themeOf();
  const place = (left: number, top: number, right: number, bottom: number) =>
    `x="${(left - shown.left) * scale}" y="${(top - shown.top) * scale}" width="${(right - left) * scale}" height="${(bottom - top) * scale}"`;
  const around =
    `M0 0h${width}v${height}h${-width}z` +
    `M${(seen.left - shown.left) * scale} ${(seen.top - shown.top) * scale}h${(seen.right - seen.left) * scale}` +
    `v${(seen.bottom - seen.top) * scale}h${-(seen.right - seen.left) * scale}z`;
  const url = photoUrl(image, look.grey);
  const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => `<stop offset="${t}" stop-color="${colours.css(t, 1)}"/>`).join("");
  const parts: string[] = [];
  for (const [k, { title, map, scale: values }] of maps.entries()) {
    const x = GAP + (k % across) * (width + GAP);
    const y = GAP / 2 + Math.floor(k / across) * (HEAD + height + FOOT);
    parts.push(`<g transform="translate(${x} ${y})"><text y="14" font-weight="600">${xmlText(title)}</text>`);
    parts.push(`<g transform="translate(0 ${HEAD})">`);
    // What lies beyond the picture's borders is hatched, what the model did not see of it is pale.
    parts.push(`<rect width="${width}" height="${height}" fill="${paper}"/>`);
    parts.push(`<rect width="${width}" height="${height}" fill="url(#beyond)"/>`);
    if (url) {
      parts.push(`<image ${place(0, 0, fields.width, fields.height)} preserveAspectRatio="none" href="${url}"/>`);
    }
    parts.push(`<path d="${around}" fill="${paper}" fill-opacity="0.72" fill-rule="evenodd"/>`);
    if (map && look.smooth) {
      const href = smoothUrl(picture, map, values, look);
      const box = place(seen.left, seen.top, seen.right, seen.bottom);
      parts.push(`<image ${box} preserveAspectRatio="none" opacity="${look.opacity}" href="${href}"/>`);
    } else if (map) {
      parts.push(`<g opacity="${look.opacity}" shape-rendering="crispEdges">`);
      for (let p = 0; p < rows * columns; ++p) {
        if (Number.isNaN(map[p]) || map[p] < look.threshold * values.top) continue;
        const { left, top, right, bottom } = picture.placeOf(picture.first + p);
        const fill = colours.css(map[p] - values.low, values.top - values.low);
        parts.push(`<rect ${place(left, top, right, bottom)} fill="${fill}" data-value="${map[p]}"/>`);
      }
      parts.push("</g>");
    }
    if (picture.isPatch(look.token)) {
      const { left, top, right, bottom } = picture.placeOf(look.token);
      const box = place(left, top, right, bottom);
      parts.push(`<rect ${box} fill="none" stroke="#ffffff" stroke-width="4"/>`);
      parts.push(`<rect ${box} fill="none" stroke="#000000" stroke-width="2"/>`);
    }
    parts.push("</g>");
    if (map) {
      const bar = HEAD + height + 8;
      parts.push(`<text y="${bar + 10}">${format(values.low)}</text>`);
      parts.push(`<rect x="52" y="${bar}" width="90" height="12" fill="url(#ramp)"/>`);
      parts.push(`<text x="148" y="${bar + 10}">${format(values.top)}</text>`);
    }
    parts.push("</g>");
  }
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${total.width}" height="${total.height}" ` +
    `viewBox="0 0 ${total.width} ${total.height}" font-family="system-ui, sans-serif" font-size="13" fill="${ink}">` +
    `<defs><linearGradient id="ramp">${stops}</linearGradient>` +
    `<pattern id="beyond" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
    `<rect width="1" height="6" fill="${line}"/></pattern></defs>` +
    `<rect width="${total.width}" height="${total.height}" fill="${paper}"/>${parts.join("")}</svg>`
  );
}
