// Colors of values: from a scale's low end to its top, none below a threshold, and a separate one beyond the top.
import { isAbove } from "./ends";
import { BEYOND_STEP, type DivergingScale, type Rgb, type Scale } from "./scale";

export interface ShadesOf {
  scale: Scale;
  low: number;
  top: number;
  /** smaller values are drawn in the weakest color */
  threshold: number;
  /** equal ratios of values, rather than equal differences, are equally far apart */
  log?: boolean;
  /** for signed values, whose low end is -top: the colors to use */
  diverging?: DivergingScale;
}

export class Shades {
  readonly low: number;
  readonly top: number;
  readonly log: boolean;

  constructor(private readonly of: ShadesOf) {
    this.low = of.low;
    this.top = of.top;
    this.log = of.log ?? false;
  }

  /** Whether values are signed, with different colors on either side of 0. */
  get signed(): boolean {
    return this.of.diverging !== undefined;
  }

  get dark(): boolean {
    return this.of.scale.dark;
  }

  get ramp(): readonly Rgb[] {
    return this.of.scale.ramp;
  }

  beyond(value: number): boolean {
    return isAbove(value, this);
  }

  /** The value at a position on the scale, 0 to 1. */
  valueAt(t: number): number {
    const { low, top } = this;
    return this.log ? low * (top / low) ** t : low + t * (top - low);
  }

  private placeOf(value: number): number {
    const { low, top } = this;
    if (value < this.of.threshold || value <= low || top <= low) return 0;
    return this.log ? Math.log(value / low) / Math.log(top / low) : (value - low) / (top - low);
  }

  step(value: number): number {
    return this.beyond(value) ? BEYOND_STEP : this.of.scale.step(this.placeOf(value), 1);
  }

  private look(value: number): { css: string; ink: string } {
    const { scale, diverging, threshold } = this.of;
    if (!diverging || this.beyond(value)) return scale.look(this.step(value));
    const drawn = Math.abs(value) < threshold ? 0 : value;
    return { css: diverging.css(drawn, this.top), ink: diverging.ink(drawn, this.top) };
  }

  css(value: number): string {
    return this.look(value).css;
  }

  ink(value: number): string {
    return this.look(value).ink;
  }
}
