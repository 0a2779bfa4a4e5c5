// Colours of values: from the low end of a scale to its top, and none below a threshold.
import type { DivergingScale, Rgb, Scale } from "./scale";

export class Shades {
  constructor(
    private readonly scale: Scale,
    /** the value of the weakest colour */
    readonly low: number,
    /** smaller values are drawn as the weakest colour */
    private readonly threshold: number,
    /** of values with signs, whose low end is the top's other side: these colours */
    private readonly diverging: DivergingScale | null = null,
  ) {}

  /** A value with a sign; 0 where it is not drawn. */
  private drawn(value: number): number {
    return Math.abs(value) < this.threshold ? 0 : value;
  }

  get dark(): boolean {
    return this.scale.dark;
  }

  get ramp(): readonly Rgb[] {
    return this.scale.ramp;
  }

  private above(value: number): number {
    return value < this.threshold ? 0 : value - this.low;
  }

  step(value: number, top: number): number {
    return this.scale.step(this.above(value), top - this.low);
  }

  css(value: number, top: number): string {
    if (this.diverging) return this.diverging.css(this.drawn(value), top);
    return this.scale.css(this.above(value), top - this.low);
  }

  /** Black or white, whichever reads on the colour. */
  ink(value: number, top: number): string {
    if (this.diverging) return this.diverging.ink(this.drawn(value), top);
    return this.scale.ink(this.above(value), top - this.low);
  }
}
