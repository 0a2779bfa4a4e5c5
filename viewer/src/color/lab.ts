// Straight lines between colors in CIE L*a*b* with white D65, as in attnflow/report/color_scale.cc. d3 uses white D50,
// which makes channels differ by one step here and there.

export type Rgb = readonly [number, number, number];
type Lab = readonly [number, number, number];

const WHITE_X = 0.95047;
const WHITE_Z = 1.08883;

/** An sRGB channel, 0 to 255, as linear light, 0 to 1. */
export const linear = (channel: number) => {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};

const gammaCoded = (c: number) => {
  const coded = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.max(0, Math.min(1, coded)));
};

/** @param css such as "#c6dbef" */
function toLab(css: string): Lab {
  const [r, g, b] = [1, 3, 5].map((at) => linear(parseInt(css.slice(at, at + 2), 16)));
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / WHITE_X);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / WHITE_Z);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function toRgb([l, a, b]: Lab): Rgb {
  const g = (t: number) => (t > 6 / 29 ? t * t * t : ((116 * t - 16) * 27) / 24389);
  const fy = (l + 16) / 116;
  const [x, y, z] = [g(fy + a / 500) * WHITE_X, g(fy), g(fy - b / 200) * WHITE_Z];
  return [
    gammaCoded(3.2404542 * x - 1.5371385 * y - 0.4985314 * z),
    gammaCoded(-0.969266 * x + 1.8760108 * y + 0.041556 * z),
    gammaCoded(0.0556434 * x - 0.2040259 * y + 1.0572252 * z),
  ];
}

/** `steps` colors from the first of `stops` to the last, with the others evenly spaced in between. */
export function rampOf(stops: readonly string[], steps: number): Rgb[] {
  const labs = stops.map(toLab);
  return Array.from({ length: steps }, (_, i) => {
    const position = (i / (steps - 1)) * (labs.length - 1);
    const below = Math.min(Math.floor(position), labs.length - 2);
    const share = position - below;
    const [from, to] = [labs[below], labs[below + 1]];
    const between = (k: 0 | 1 | 2) => from[k] + share * (to[k] - from[k]);
    return toRgb([between(0), between(1), between(2)]);
  });
}
