// Maps over a picture as one SVG document: the picture, cells with their values, titles, color bars.
import { barStops, BEHIND, mapOpacity, pixelOf } from "../color/overlay";
import type { DivergingScale } from "../color/scale";
import { bordersOf, CASING, heldBy, lineLook, pathOf } from "../report/contours";
import { type Box, cutOf, type MapScale, type Picture, SMALL_PICTURE } from "../report/picture";
import type { Numbers } from "../report/values";
import { AGAINST, FOR, format, formatSigned } from "../report/text";
import { paintMap, type MapLook } from "../views/image_stage";
import { MARK_COLOUR, MARK_DASHES, MARK_INSET, type PatchMark } from "../views/patch_marks";
import { canvasUrl, themeOf, xmlText } from "./picture";

export interface ExportedMap {
  title: string;
  map: Numbers | null;
  scale: MapScale;
  /** outlined patches */
  marks?: readonly PatchMark[];
}

export interface StageLook extends Omit<MapLook, "scale"> {
  token: number;
  /** a map shown next to the picture has the picture to its left */
  pair: boolean;
  opacity: number;
  grey: boolean;
  signed: DivergingScale;
}

/** Longer side of a map in pixels, and the most maps in a row. */
const SIDE = 360;
const ACROSS = 4;
const HEAD = 24;
const FOOT = 40;
const LINE = 22;
const GAP = 16;

/** The picture's pixels, in gray if shown that way. */
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

const along = (value: number, { low, top }: MapScale) => (top > low ? (value - low) / (top - low) : 0);

function smoothUrl(picture: Picture, map: Numbers, look: MapLook): string {
  const canvas = document.createElement("canvas");
  paintMap(canvas, picture, map, SIDE, look);
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
  const { overlay, pair } = look;
  const whole = pair ? 2 * width + GAP / 2 : width;
  const across = Math.min(pair ? ACROSS / 2 : ACROSS, maps.length);
  const down = Math.ceil(maps.length / across);
  const signed = maps.some(({ scale }) => scale.signed);
  const foot = overlay === "outline" ? FOOT + 2 * LINE : signed ? FOOT + LINE : FOOT;
  const total = { width: across * (whole + GAP) + GAP, height: down * (HEAD + height + foot) + GAP };
  const { paper, ink, line } = themeOf();
  const place = ({ left, top, right, bottom }: Box) =>
    `x="${(left - shown.left) * scale}" y="${(top - shown.top) * scale}" width="${(right - left) * scale}" height="${(bottom - top) * scale}"`;
  const around =
    `M0 0h${width}v${height}h${-width}z` +
    `M${(seen.left - shown.left) * scale} ${(seen.top - shown.top) * scale}h${(seen.right - seen.left) * scale}` +
    `v${(seen.bottom - seen.top) * scale}h${-(seen.right - seen.left) * scale}z`;
  const url = photoUrl(image, look.grey);
  const pixels = Math.max(image?.width ?? 0, image?.height ?? 0) <= SMALL_PICTURE ? ' image-rendering="pixelated"' : "";
  // The area beyond the picture's borders is hatched; what the model did not see of the picture is pale.
  const photo =
    `<rect width="${width}" height="${height}" fill="${paper}"/>` +
    `<rect width="${width}" height="${height}" fill="url(#beyond)"/>` +
    (url
      ? `<image ${place({ left: 0, top: 0, right: fields.width, bottom: fields.height })} preserveAspectRatio="none"${pixels} href="${url}"/>`
      : "") +
    `<path d="${around}" fill="${paper}" fill-opacity="0.72" fill-rule="evenodd"/>`;
  const opacity = mapOpacity(look);
  const coloursOf = ({ signed }: MapScale) => (signed ? look.signed : look.colours);
  const drawn = (map: Numbers, values: MapScale): string => {
    if (overlay === "outline") return contours(picture, map, scale);
    if (look.smooth) {
      const href = smoothUrl(picture, map, { ...look, colours: coloursOf(values), scale: values });
      return `<image ${place(seen)} preserveAspectRatio="none" opacity="${opacity}" href="${href}"/>`;
    }
    const cells: string[] = [];
    for (let p = 0; p < rows * columns; ++p) {
      if (Number.isNaN(map[p]) || Math.abs(map[p]) < look.threshold * values.top) continue;
      const box = place(picture.placeOf(picture.first + p));
      const { rgb, alpha } = pixelOf(along(map[p], values), overlay, coloursOf(values));
      const fill = `fill="rgb(${rgb.join(",")})"${alpha < 1 ? ` fill-opacity="${Number(alpha.toFixed(4))}"` : ""}`;
      cells.push(`<rect ${box} ${fill} data-value="${map[p]}"/>`);
    }
    return `<g opacity="${opacity}" shape-rendering="crispEdges">${cells.join("")}</g>`;
  };
  const picked = () => {
    if (!picture.isPatch(look.token)) return "";
    const box = place(picture.placeOf(look.token));
    const frame = (colour: string, wide: number) =>
      `<rect ${box} fill="none" stroke="${colour}" stroke-width="${wide}"/>`;
    return frame("#ffffff", 4) + frame("#000000", 2);
  };
  const marked = (marks: readonly PatchMark[]) =>
    marks
      .map(({ token, decides }) => {
        const { left, top, right, bottom } = picture.placeOf(token);
        const [x, y] = [MARK_INSET * (right - left), MARK_INSET * (bottom - top)];
        const box = place({ left: left + x, top: top + y, right: right - x, bottom: bottom - y });
        const frame = (colour: string, wide: number, dashes: string) =>
          `<rect ${box} fill="none" stroke="${colour}" stroke-width="${wide}"${dashes && ` stroke-dasharray="${dashes}"`}/>`;
        return frame(CASING, 5, "") + frame(MARK_COLOUR, 2.5, decides ? "" : MARK_DASHES);
      })
      .join("");
  const parts: string[] = [];
  const ramps: string[] = [];
  for (const [k, { title, map, scale: values, marks = [] }] of maps.entries()) {
    const x = GAP + (k % across) * (whole + GAP);
    const y = GAP / 2 + Math.floor(k / across) * (HEAD + height + foot);
    parts.push(`<g transform="translate(${x} ${y})"><text y="14" font-weight="600">${xmlText(title)}</text>`);
    if (pair) parts.push(`<g transform="translate(0 ${HEAD})">${photo}${marked(marks)}${picked()}</g>`);
    parts.push(`<g transform="translate(${pair ? width + GAP / 2 : 0} ${HEAD})">`);
    if (overlay !== "beside") parts.push(photo);
    if (map) parts.push(drawn(map, values));
    parts.push(marked(marks), picked(), "</g>");
    const bar = HEAD + height + 8;
    if (map && overlay === "outline") parts.push(lineLegend(map, bar));
    else if (map) {
      const stops = barStops({ ...look, colours: coloursOf(values) }, cutOf(values, look.threshold)).map(
        ({ at, rgb, alpha }) => `<stop offset="${at}" stop-color="rgb(${rgb.join(",")})" stop-opacity="${alpha}"/>`,
      );
      ramps.push(`<linearGradient id="ramp${k}">${stops.join("")}</linearGradient>`);
      const box = `x="56" y="${bar}" width="110" height="18"`;
      const words = values.signed ? formatSigned : format;
      parts.push(`<text y="${bar + 13}">${words(values.low)}</text>`);
      if (overlay !== "beside") parts.push(`<rect ${box} fill="${BEHIND}"/>`);
      parts.push(`<rect ${box} fill="url(#ramp${k})"/>`);
      parts.push(`<text x="172" y="${bar + 13}">${words(values.top)}</text>`);
      if (values.signed) parts.push(`<text y="${bar + 34}">red ${AGAINST}, blue ${FOR}</text>`);
    }
    parts.push("</g>");
  }
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${total.width}" height="${total.height}" ` +
    `viewBox="0 0 ${total.width} ${total.height}" font-family="system-ui, sans-serif" font-size="13" fill="${ink}">` +
    `<defs>${ramps.join("")}` +
    `<pattern id="beyond" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
    `<rect width="1" height="6" fill="${line}"/></pattern></defs>` +
    `<rect width="${total.width}" height="${total.height}" fill="${paper}"/>${parts.join("")}</svg>`
  );
}

/** A line drawn over pictures, with its casing. */
function cased(path: string, k: number, pixels: number): string {
  const look = lineLook(k, pixels);
  const line = (colour: string, wide: number, dashes: string) =>
    `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${wide}" stroke-linecap="square"${dashes && ` stroke-dasharray="${dashes}"`}/>`;
  return line(CASING, look.casing, "") + line(look.colour, look.width, look.dashes);
}

function contours(picture: Picture, map: Numbers, scale: number): string {
  const { shown, seen, rows, columns } = picture;
  const [across, down] = [(seen.right - seen.left) / columns, (seen.bottom - seen.top) / rows];
  const x = (column: number) => Number(((seen.left - shown.left + column * across) * scale).toFixed(2));
  const y = (row: number) => Number(((seen.top - shown.top + row * down) * scale).toFixed(2));
  const pixels = Math.min(across, down) * scale;
  return heldBy(map)
    .map(({ share, inside, patches }, k) => {
      const { colour, tint, inset } = lineLook(k, pixels);
      const path = (distance: number) =>
        pathOf(bordersOf(inside, rows, columns, distance), (column, row) => `${x(column)} ${y(row)}`);
      const ground = tint > 0 ? `<path d="${path(0)}" fill="${colour}" fill-opacity="${tint}"/>` : "";
      return `<g data-share="${share}" data-patches="${patches}">${ground}${cased(path(inset), k, pixels)}</g>`;
    })
    .reverse()
    .join("");
}

/** The lines over white to black, and the share that lies inside the innermost. */
function lineLegend(map: Numbers, top: number): string {
  return heldBy(map)
    .map(({ share, patches }, k) => {
      const y = top + k * LINE;
      const [middle, high] = [y + LINE / 2 - 2, LINE - 4];
      const { colour, tint } = lineLook(k, 34);
      const text = `${Math.round(100 * share)}% on ${patches} ${patches === 1 ? "patch" : "patches"}`;
      const inside =
        tint > 0 ? `<rect y="${middle}" width="44" height="${high / 2}" fill="${colour}" fill-opacity="${tint}"/>` : "";
      return `<rect y="${y}" width="44" height="${high}" fill="${BEHIND}"/>${inside}${cased(`M4 ${middle}H40`, k, 34)}<text x="52" y="${middle + 5}">${text}</text>`;
    })
    .join("");
}
