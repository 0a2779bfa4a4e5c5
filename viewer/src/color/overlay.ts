// How a map lies over a picture, the same on the page, in its legend and in files.
import { DivergingScale, type Rgb, type Scale } from "./scale";

/**
 * colour: the scale's colours, all as opaque; opacity: one colour, the more opaque the larger the value, over grey;
 * outline: lines around the patches that hold most; beside: the map without the picture, and the picture without the map.
 */
export type Overlay = "colour" | "opacity" | "outline" | "beside";
export const OVERLAYS: readonly Overlay[] = ["colour", "opacity", "outline", "beside"];

/** The one colour of "opacity": no grey is like it, with or without red-green blindness. */
export const MARK: Rgb = [253, 122, 0];

/** What a bar of a map is drawn over: the middle between a picture's light and dark parts. */
export const BEHIND = "#808080";

/** A map's colours; of values with signs both ends of a diverging scale, around nothing in the middle. */
export type MapColours = Scale | DivergingScale;

export interface OverlayLook {
  overlay: Overlay;
  colours: MapColours;
  /** of the map; of "opacity", of its largest value */
  opacity: number;
}

/** How opaque the whole map is. */
export const mapOpacity = ({ overlay, opacity }: Pick<OverlayLook, "overlay" | "opacity">): number =>
  overlay === "beside" ? 1 : opacity;

/** Colour of a value, from 0 (the scale's low end, with signs what speaks against) to 1 (its top), and its own opacity, 0 to 1. */
export function pixelOf(t: number, overlay: Overlay, colours: MapColours): { rgb: Rgb; alpha: number } {
  const within = Math.max(0, Math.min(1, t));
  if (colours instanceof DivergingScale) {
    const signed = 2 * within - 1;
    return overlay === "opacity"
      ? { rgb: colours.rgb(Math.sign(signed), 1), alpha: Math.abs(signed) }
      : { rgb: colours.rgb(signed, 1), alpha: 1 };
  }
  return overlay === "opacity" ? { rgb: MARK, alpha: within } : { rgb: colours.rgb(within, 1), alpha: 1 };
}

export interface Stop {
  /** along the bar, 0 to 1 */
  at: number;
  rgb: Rgb;
  alpha: number;
}

/** A colour bar of the map as it lies over what is behind it. @param cut where values begin to be drawn, 0 to 1 */
export function barStops({ overlay, colours, opacity }: OverlayLook, cut: number): Stop[] {
  const from = Math.max(0, Math.min(1, cut));
  const all = mapOpacity({ overlay, opacity });
  const stop = (at: number, drawn = true): Stop => {
    const { rgb, alpha } = pixelOf(at, overlay, colours);
    return { at, rgb, alpha: drawn ? alpha * all : 0 };
  };
  const stops = Array.from({ length: 17 }, (_, k) => k / 16).filter((at) => at > from);
  return [...(from > 0 ? [stop(0, false), stop(from, false)] : []), stop(from), ...stops.map((at) => stop(at))];
}

/** The same as CSS. */
export const barCss = (stops: readonly Stop[]): string =>
  `linear-gradient(to right, ${stops
    .map(
      ({ at, rgb, alpha }) => `rgb(${rgb.join(" ")} / ${Number(alpha.toFixed(4))}) ${Number((100 * at).toFixed(3))}%`,
    )
    .join(", ")})`;
