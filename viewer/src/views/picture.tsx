// Shared by pictures: their width, token labels, rasters on canvas.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, RefObject } from "preact";
import { finish, useWork, type Work } from "../compute/slices";
import type { Scale } from "../color/scale";
import { PAPER, placeStyle, textWidth, unit } from "../components/measure";
import type { Report } from "../report/report";
import { graphemes } from "../report/text";
import { printing } from "../theme";

/** The size of an element's content box, kept up to date; 0 before the first layout. */
export function useRoom(element: RefObject<HTMLElement>): { width: number; height: number } {
  const [room, setRoom] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return;
    const measureIt = () => setRoom({ width: target.clientWidth, height: target.clientHeight });
    measureIt();
    const observer = new ResizeObserver(measureIt);
    observer.observe(target);
    return () => observer.disconnect();
  }, [element.current]);
  return room;
}

/** The element's width; on paper, the page's. */
export function useWidth(element: RefObject<HTMLElement>): number {
  const { width } = useRoom(element);
  return printing.value ? PAPER : width;
}

/** The width of the widest label; only the longest are measured. */
export function widest(labels: readonly string[]): number {
  const longest = [...labels].sort((a, b) => b.length - a.length).slice(0, 60);
  return Math.max(0, ...longest.map((label) => textWidth(label)));
}

interface TokenLabelProps {
  x: number;
  y: number;
  label: string;
  /** all labels of the picture fit horizontally */
  level: boolean;
  /** above the point instead of below */
  above?: boolean;
  class?: string;
  title?: string;
  children?: ComponentChildren;
}

/** Horizontal if it fits or is one character (emoji and Han characters are hard to read sideways), otherwise turned. */
export function TokenLabel({ x, y, label, level, above = false, class: name, title, children }: TokenLabelProps) {
  const upright = level || graphemes(label).length === 1;
  const place = upright
    ? { x, y: above ? y : y + 12 * unit(), "text-anchor": "middle" as const }
    : {
        transform: `translate(${x + 4 * unit()} ${y}) rotate(-90)`,
        "text-anchor": above ? ("start" as const) : ("end" as const),
      };
  return (
    <text {...place} class={name}>
      {children ?? label}
      {title !== undefined && title !== label && <title>{title}</title>}
    </text>
  );
}

/** Positions to name where labels do not fit: round numbers at least `apart` units from each other. */
export function ticks(begin: number, end: number, unit: number, apart: number): number[] {
  const least = apart / unit;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const step = Math.max(1, [1, 2, 5, 10].map((k) => k * power).find((k) => k >= least) ?? 10 * power);
  const found = [];
  for (let i = Math.ceil(begin / step) * step; i < end; i += step) found.push(i);
  return found;
}

export interface Tick {
  at: number;
  words: string;
}

/** Tokens to name where labels do not fit: by position; for a picture, the first patch of a row. */
export function tokenTicks(
  report: Report,
  [begin, end]: readonly [number, number],
  unit: number,
  apart: number,
): Tick[] {
  const image = report.document.input.image;
  if (!report.pictured || !image) return ticks(begin, end, unit, apart).map((at) => ({ at, words: String(at) }));
  const { columns, first_patch: first, rows } = image;
  return ticks(0, rows, columns * unit, apart)
    .map((row) => first + row * columns)
    .filter((at) => at >= begin && at < end)
    .map((at) => ({ at, words: report.tokens[at].short }));
}

/** Color of what is excluded from the color scale. */
export const blankColour = (dark: boolean): readonly number[] => (dark ? [52, 56, 66] : [226, 228, 233]);

/** The result of some work: at once if it is cheap. While slices run, the previous one is kept and `busy` is set. */
export function useFound<T>(
  make: () => Work<T>,
  inputs: readonly unknown[],
  cheap: boolean,
): { found: T | null; busy: boolean } {
  const atOnce = cheap || printing.value;
  const now = useMemo(() => (atOnce ? { result: finish(make()) } : null), [atOnce, ...inputs]);
  const later = useWork(() => (atOnce ? null : make()), [atOnce, ...inputs]);
  const last = useRef<T | null>(null);
  const current = now ? now.result : later;
  if (current !== null) last.current = current;
  return { found: current ?? last.current, busy: current === null };
}

/** A canvas drawn in device pixels, redrawn when `inputs` change. */
export function Sheet({
  width,
  height,
  left = 0,
  top = 0,
  of,
  draw,
  inputs,
}: {
  width: number;
  height: number;
  left?: number;
  top?: number;
  /** size of the whole picture */
  of: { width: number; height: number };
  draw: (context: CanvasRenderingContext2D, ratio: number) => void;
  inputs: readonly unknown[];
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const target = canvas.current;
    const on = target?.getContext("2d");
    if (!target || !on || !(width > 0 && height > 0)) return;
    const ratio = Math.min(devicePixelRatio || 1, 16_000 / width, 16_000 / height);
    target.width = Math.max(1, Math.round(width * ratio));
    target.height = Math.max(1, Math.round(height * ratio));
    on.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(on, ratio);
  }, [width, height, ...inputs]);
  const style = placeStyle({ left, top, width, height }, of);
  return <canvas ref={canvas} class="sheet" aria-hidden="true" style={style} />;
}

/** The step of cells that are not drawn at all. */
export const NO_STEP = -2;

/** Pixels of `rows` by `columns` steps of the scale; other negative steps are blank. */
export function* stepImageWork(
  steps: Int16Array,
  rows: number,
  columns: number,
  scale: Pick<Scale, "ramp" | "dark">,
): Work<HTMLCanvasElement> {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const colour = ([r, g, b]: readonly number[]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  const ramp = Uint32Array.from(scale.ramp, colour);
  const blank = colour(blankColour(scale.dark));
  // In bands, each the work of one slice.
  const band = Math.max(1, Math.min(rows, Math.floor(200_000 / columns)));
  for (let begin = 0; begin < rows; begin += band) {
    const height = Math.min(band, rows - begin);
    const image = new ImageData(columns, height);
    const pixels = new Uint32Array(image.data.buffer);
    const from = begin * columns;
    for (let e = 0; e < pixels.length; ++e) {
      const step = steps[from + e];
      pixels[e] = step === NO_STEP ? 0 : step < 0 ? blank : ramp[step];
    }
    context?.putImageData(image, 0, begin);
    yield;
  }
  return canvas;
}

export const stepImage = (...of: Parameters<typeof stepImageWork>): HTMLCanvasElement => finish(stepImageWork(...of));

interface ZoomButtonsProps {
  id: string;
  zoomBy: (factor: number) => void;
  whole: () => void;
  zoomed: boolean;
}

export function ZoomButtons({ id, zoomBy, whole, zoomed }: ZoomButtonsProps) {
  return (
    <div class="zoom-buttons" role="group" aria-label="Zoom">
      <button type="button" id={`${id}-closer`} aria-label="Zoom in" onClick={() => zoomBy(1.6)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" disabled={!zoomed} onClick={() => zoomBy(1 / 1.6)}>
        −
      </button>
      <button type="button" id={`${id}-whole`} disabled={!zoomed} onClick={whole}>
        Whole
      </button>
    </div>
  );
}
