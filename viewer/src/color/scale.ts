// Colour scales: ColorBrewer's blues and its red to blue, which attnflow's figures have from the same table, and as d3
// has it cividis (Nuñez, Anderton and Renslow, 2018). From one colour to the next they run straight through L*a*b*.
// Lightness runs one way in each, so that it reads the same in grey and with any colour blindness.
import { quantize } from "d3-interpolate";
import { interpolateCividis } from "d3-scale-chromatic";
import { BLUES, RED_BLUE } from "../figures";
import { linear, rampOf, type Rgb } from "./lab";

export type { Rgb } from "./lab";
export const PALETTES = ["blue", "cividis", "grey"] as const;
export type PaletteName = (typeof PALETTES)[number];

const CIVIDIS = quantize(interpolateCividis, 9);
const reversed = (colours: readonly string[]) => [...colours].reverse();
/** Next to nothing on a dark page, where it would be ColorBrewer's brightest. */
const NIGHT = "#1f242e";

/** What lies beyond a scale, in no colour that it has: no darker than what is within, or it would seem to be the answer. */
const BEYOND: Record<"gray" | "tan", Record<"light" | "dark", Rgb>> = {
  gray: { light: [0xb4, 0xb8, 0xbe], dark: [0x7b, 0x82, 0x8d] },
  tan: { light: [0xe2, 0xc4, 0x94], dark: [0x8d, 0x70, 0x45] },
};
/** Its step, after those of the ramp. */
export const BEYOND_STEP = 256;

type Colours = Record<"light" | "dark", readonly string[]>;

/** From next to nothing, which is nearly the page's ground, to the strongest: on a dark page not the palest, of no hue. */
const STOPS: Record<PaletteName | "less" | "more", Colours> = {
  blue: { light: BLUES, dark: [NIGHT, ...reversed(BLUES.slice(2))] },
  cividis: { light: ["#fefae2", ...reversed(CIVIDIS)], dark: ["#181c28", ...CIVIDIS] },
  grey: { light: ["#f8f8f8", "#242424"], dark: ["#222222", "#eeeeee"] },
  less: { light: reversed(RED_BLUE.slice(0, 6)), dark: [NIGHT, ...RED_BLUE.slice(0, 4)] },
  more: { light: RED_BLUE.slice(5), dark: [NIGHT, ...reversed(RED_BLUE.slice(7))] },
};

// Relative luminance of WCAG 2. Black and white contrast alike with 0.179: 4.58 to 1, so whichever is taken has at
// least that.
const inkOn = ([r, g, b]: Rgb) =>
  0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.179 ? "#000000" : "#ffffff";

/** Maps values in [0, max] to colours; `css` and `ink` of what lies beyond stand in `beyond`. */
export class Scale {
  /** 256 steps, and that of what lies beyond. */
  readonly ramp: readonly Rgb[];
  private readonly colours: readonly string[];
  private readonly inks: readonly string[];

  constructor(
    readonly dark: boolean,
    palette: keyof typeof STOPS = "blue",
  ) {
    const ground = dark ? "dark" : "light";
    this.ramp = [...rampOf(STOPS[palette][ground], 256), BEYOND[palette === "grey" ? "tan" : "gray"][ground]];
    this.colours = this.ramp.map((colour) => `rgb(${colour.join(" ")})`);
    this.inks = this.ramp.map(inkOn);
  }

  step(value: number, max: number): number {
    return max > 0 && value > 0 ? Math.min(255, Math.round((255 * value) / max)) : 0;
  }

  /** Of a step. */
  look(step: number): { css: string; ink: string } {
    return { css: this.colours[step], ink: this.inks[step] };
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

/** Maps values with signs in [-max, max] to colours: red below, blue above, the background at 0. */
export class DivergingScale {
  private readonly less: Scale;
  private readonly more: Scale;

  constructor(dark: boolean) {
    this.less = new Scale(dark, "less");
    this.more = new Scale(dark, "more");
  }

  private side(value: number): Scale {
    return value < 0 ? this.less : this.more;
  }

  rgb(value: number, max: number): Rgb {
    return this.side(value).rgb(Math.abs(value), max);
  }

  css(value: number, max: number): string {
    return this.side(value).css(Math.abs(value), max);
  }

  ink(value: number, max: number): string {
    return this.side(value).ink(Math.abs(value), max);
  }
}

/** A bar of colours as CSS. @param css of 0 to 1 */
export const barOf = (css: (t: number) => string): string => `linear-gradient(to right, ${quantize(css, 17).join()})`;
