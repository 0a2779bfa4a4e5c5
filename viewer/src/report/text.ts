// Text for display.
import { isScore, type Method } from "./document";

const segmenter = new Intl.Segmenter();

/** User-perceived characters. */
export const graphemes = (text: string): string[] => [...segmenter.segment(text)].map((part) => part.segment);

/** Shortens to at most `most` characters. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = graphemes(text);
  return characters.length <= most ? text : characters.slice(0, most - 1).join("") + "…";
}

/** Makes text of only white space visible. */
export function visible(text: string): string {
  return /^\s+$/u.test(text)
    ? text.replace(/\n/gu, "⏎").replace(/\t/gu, "⇥").replace(/\s/gu, "␣")
    : text.replace(/\s+/gu, " ");
}

/** A formatted number with hyphens replaced by minus signs, which are as wide as a plus. */
export const signed = (number: string): string => number.replaceAll("-", "−");

/** A value for display: four decimals, or two digits if it is small. */
export function format(value: number | undefined | null): string {
  if (value === undefined || value === null || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  return signed(Math.abs(value) < 0.001 ? value.toExponential(1) : value.toFixed(4));
}

/** The same with a sign, also above 0. */
export const formatSigned = (value: number | undefined | null): string =>
  `${(value ?? 0) > 0 ? "+" : ""}${format(value)}`;

/** What the signs of such a value mean. */
export const AGAINST = "argues against";
export const FOR = "argues for";

export const formatOf = (method: Method) => (isScore(method) ? formatSigned : format);

/** A logit: two decimals, or two significant digits if smaller. */
export const amount = (value: number): string =>
  signed(value !== 0 && Math.abs(value) < 0.1 ? String(Number(value.toPrecision(2))) : value.toFixed(2));

/** A value that the document stores with no more than two digits. */
export function formatWithin(value: number, error: number): string {
  if (error === 0 || value === 0 || !Number.isFinite(value)) return format(value);
  return `about ${signed(Math.abs(value) < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(2))))}`;
}

export function percent(share: number): string {
  if (share > 0 && share < 0.005) return "under 1%";
  if (share < 1 && share >= 0.995) return "over 99%";
  return `${Math.round(100 * share)}%`;
}

/** A number with three significant digits. */
export const digits = (value: number): string => signed(String(Number(value.toPrecision(3))));

/** A share with two or three significant digits: "15.3%", "7.9%", "0.079%"; never rounded to none or all. */
export function percentage(share: number): string {
  const percent = 100 * share;
  if (share < 1 && percent >= 99.95) return "over 99.9%";
  if (percent > 0 && percent < 0.001) return "under 0.001%";
  const digits = percent >= 10 ? percent.toFixed(1) : String(Number(percent.toPrecision(2)));
  return `${signed(digits.replace(/\.0$/u, ""))}%`;
}

/** The text with bytes [begin, end) replaced. */
export function withInstead(text: string, begin: number, end: number, instead: string): string {
  const bytes = new TextEncoder().encode(text);
  const read = (part: Uint8Array) => new TextDecoder().decode(part);
  return read(bytes.slice(0, begin)) + instead + read(bytes.slice(end));
}
