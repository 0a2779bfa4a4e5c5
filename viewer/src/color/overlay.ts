// How a map is laid over a picture: the same on the page, in its legend and in files.
import { DivergingScale, type Rgb, type Scale } from "./scale";

/**
 * colour: the scale's colors, all equally opaque; opacity: one color, more opaque for larger values, over gray;
 * outline: lines around the patches with the largest values; beside: the map and the picture side by side.
 */
export type Overlay = "colour" | "opacity" | "outline" | "beside";
export const OVERLAYS: readonly Overlay[] = ["colour", "opacity", "outline", "beside"];

/** The single color of "opacity": distinct from every gray, even with red-green color blindness. */
export const MARK: Rgb = [253, 122, 0];

/** Background for a map's color bar: halfway between a picture's light and dark parts. */
export const BEHIND = "#808080";

/** A map's colors: for signed values, both ends of a diverging scale that is transparent in the middle. */
export type MapColours = Scale | DivergingScale;

export interface OverlayLook {
  overlay: Overlay;
  colours: MapColours;
  /** of the map; for "opacity", of its largest value */
  opacity: number;
}

export const mapOpacity = ({ overlay, opacity }: Pick<OverlayLook, "overlay" | "opacity">): number =>
  overlay === "beside" ? 1 : opacity;

/** Color and opacity (0 to 1) of a value from 0, the scale's low end (if signed, evidence against), to 1, its top. */
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
  /** position along the bar, 0 to 1 */
  at: number;
  rgb: Rgb;
  alpha: number;
}

/** A color bar of the map over its background. @param cut where values begin to be drawn, 0 to 1 */
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

export const barCss = (stops: readonly Stop[]): string =>
  `linear-gradient(to right, ${stops
    .map(
      ({ at, rgb, alpha }) => `rgb(${rgb.join(" ")} / ${Number(alpha.toFixed(4))}) ${Number((100 * at).toFixed(3))}%`,
    )
    .join(", ")})`;
