// Colour scales. Lightness runs evenly (OKLCH), so a scale reads the same in grey and with any colour blindness.

export type Rgb = readonly [number, number, number];
export type PaletteName = "blue" | "cividis" | "grey";

/** OKLCH (hue in degrees) to sRGB, 0..255. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const channel = (x: number) => {
    const c = Math.min(1, Math.max(0, x));
    return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
  };
  return [channel(linear[0]), channel(linear[1]), channel(linear[2])];
}

// Cividis (Nuñez, Anderton and Renslow, 2018), which looks nearly alike with and without red-green blindness, from its
// dark end; the ends are drawn towards the page's grounds, so that nothing is no colour.
const CIVIDIS: readonly Rgb[] = [
  [0, 32, 77],
  [0, 51, 111],
  [57, 72, 107],
  [87, 92, 109],
  [112, 113, 115],
  [138, 135, 121],
  [166, 157, 117],
  [196, 181, 108],
  [228, 207, 91],
  [255, 234, 70],
];

function alongCividis(t: number, dark: boolean): Rgb {
  const stops: readonly Rgb[] = dark ? [[24, 28, 40], ...CIVIDIS] : [...CIVIDIS, [254, 250, 226]];
  const place = t * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(place));
  const mix = (c: number) => Math.round(stops[k][c] + (place - k) * (stops[k + 1][c] - stops[k][c]));
  return [mix(0), mix(1), mix(2)];
}

/** t in [0, 1]: from the page's background to the strongest colour. */
function rampColour(name: PaletteName, dark: boolean, t: number): Rgb {
  const lightness = dark ? 0.27 + 0.63 * t : 0.975 - 0.56 * t;
  const bend = Math.sin(Math.PI * Math.min(t * 0.72, 1));
  switch (name) {
    case "grey":
      return oklch(dark ? 0.25 + 0.7 * t : 0.98 - 0.72 * t, 0, 0);
    case "cividis":
      return alongCividis(dark ? t : 1 - t, dark);
    default:
      return oklch(lightness, 0.012 + 0.115 * bend * (dark ? 0.9 : 1.15), dark ? 262 - 45 * t : 235 + 27 * t);
  }
}

const linear = (channel: number) => {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};
const luminance = ([r, g, b]: Rgb) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

// Where black and white contrast alike with the colour: 4.58 to 1, so whichever is taken has at least that.
const inkOn = (colour: Rgb) => (luminance(colour) > 0.179 ? "#000000" : "#ffffff");
const cssOf = (colour: Rgb) => `rgb(${colour.join(" ")})`;

/** Maps values in [0, max] to colours. */
export class Scale {
  /** 256 steps. */
  readonly ramp: readonly Rgb[];
  private readonly colours: readonly string[];
  private readonly inks: readonly string[];

  constructor(
    readonly dark: boolean,
    readonly palette: PaletteName = "blue",
  ) {
    this.ramp = Array.from({ length: 256 }, (_, i) => rampColour(palette, dark, i / 255));
    this.colours = this.ramp.map(cssOf);
    this.inks = this.ramp.map(inkOn);
  }

  step(value: number, max: number): number {
    return max > 0 && value > 0 ? Math.min(255, Math.round((255 * value) / max)) : 0;
  }

  rgb(value: number, max: number): Rgb {
    return this.ramp[this.step(value, max)];
  }

  css(value: number, max: number): string {
    return this.colours[this.step(value, max)];
  }

  /** Black or white, whichever reads on the colour. */
  ink(value: number, max: number): string {
    return this.inks[this.step(value, max)];
  }
}

/** Maps differences in [-max, max] to colours: orange below, blue above, the background at 0. */
export class DivergingScale {
  constructor(readonly dark: boolean) {}

  rgb(value: number, max: number): Rgb {
    const t = max > 0 ? Math.max(-1, Math.min(1, value / max)) : 0;
    const amount = Math.abs(t);
    const lightness = this.dark ? 0.27 + 0.53 * amount : 0.975 - 0.5 * amount;
    return oklch(lightness, 0.008 + 0.125 * amount, t < 0 ? 50 : 250);
  }

  css(value: number, max: number): string {
    return cssOf(this.rgb(value, max));
  }

  ink(value: number, max: number): string {
    return inkOn(this.rgb(value, max));
  }
}
