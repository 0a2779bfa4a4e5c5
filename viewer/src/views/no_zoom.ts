// Replaces zoom.ts in the page of a notebook's cell (vite.config.ts): the wheel scrolls the notebook, and each cell is
// 10 kB smaller without.
import type { ZoomTransform } from "d3-zoom";
import type { useZoom as zooming } from "./zoom";

export type { ZoomTransform };

export const ZOOMS = false as boolean;

const same = (at: number) => at;

export const zoomIdentity = {
  k: 1,
  x: 0,
  y: 0,
  applyX: same,
  applyY: same,
  invertX: same,
  invertY: same,
} as ZoomTransform;

const nothing = () => undefined;

export const useZoom: typeof zooming = () => ({ zoomed: false, whole: nothing, zoomBy: nothing, bring: nothing });
