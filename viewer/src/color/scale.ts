// Color scales: ColorBrewer's blues and red to blue, from the same table as attnflow's figures, and d3's cividis
// (Nuñez, Anderton and Renslow, 2018). Between stops they run straight through L*a*b*. Lightness is monotonic in each,
// so that they read the same in grayscale and with any color blindness.
import { BLUES, RED_BLUE } from "../figures";
import { linear, rampOf, type Rgb } from "./lab";

export type { Rgb } from "./lab";
export const PALETTES = ["blue", "cividis", "grey"] as const;
export type PaletteName = (typeof PALETTES)[number];

/** Nine of cividis, from dark to light. */
export const CIVIDIS = [
  "#002051",
  "#11366c",
  "#3c4d6e",
  "#62646f",
  "#7f7c75",
  "#9a9478",
  "#bbaf71",
  "#e2cb5c",
  "#fdea45",
];
const reversed = (colours: readonly string[]) => [...colours].reverse();
/** Color of negligible values on a dark page, where ColorBrewer's would be the brightest. */
const NIGHT = "#1f242e";

/** Colors beyond the scale: a hue it lacks, no darker than those within, or they would seem to be the answer. */
const BEYOND: Record<"gray" | "tan", Record<"light" | "dark", Rgb>> = {
  gray: { light: [0xb4, 0xb8, 0xbe], dark: [0x7b, 0x82, 0x8d] },
  tan: { light: [0xe2, 0xc4, 0x94], dark: [0x8d, 0x70, 0x45] },
};
/** Step of values beyond the scale, after those of the ramp. */
export const BEYOND_STEP = 256;

type Colours = Record<"light" | "dark", readonly string[]>;

/** From near the page's background to the strongest color; on a dark page that is not the palest, which has no hue. */
const STOPS: Record<PaletteName | "less" | "more", Colours> = {
  blue: { light: BLUES, dark: [NIGHT, ...reversed(BLUES.slice(2))] },
  cividis: { light: ["#fefae2", ...reversed(CIVIDIS)], dark: ["#181c28", ...CIVIDIS] },
  grey: { light: ["#f8f8f8", "#242424"], dark: ["#222222", "#eeeeee"] },
  less: { light: reversed(RED_BLUE.slice(0, 6)), dark: [NIGHT, ...RED_BLUE.slice(0, 4)] },
  more: { light: RED_BLUE.slice(5), dark: [NIGHT, ...reversed(RED_BLUE.slice(7))] },
};

// WCAG 2 relative luminance. Black and white have equal contrast, 4.58 to 1, at 0.179: the better of the two has more.
const inkOn = ([r, g, b]: Rgb) =>
  0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.179 ? "#000000" : "#ffffff";

/** Maps values in [0, max] to colors; `beyond` holds `css` and `ink` for values beyond the scale. */
export class Scale {
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

  look(step: number): { css: string; ink: string } {
    return { css: this.colours[step], ink: this.inks[step] };
  }

  rgb(value: number, max: number): Rgb {
    return this.ramp[this.step(value, max)];
  }

  css(value: number, max: number): string {
    return this.colours[this.step(value, max)];
  }

  /** Black or white, whichever is legible on the color. */
  ink(value: number, max: number): string {
    return this.inks[this.step(value, max)];
  }
}

/** Maps signed values in [-max, max] to colors: red below 0, blue above, the background at 0. */
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

/** A color bar as CSS. @param css color at 0 to 1 */
export const barOf = (css: (t: number) => string): string =>
  `linear-gradient(to right, ${Array.from({ length: 17 }, (_, at) => css(at / 16)).join()})`;
