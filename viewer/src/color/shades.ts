// Colours of values: from the low end of a scale to its top, and none below a threshold.
import type { Rgb, Scale } from "./scale";

export class Shades {
  constructor(
    private readonly scale: Scale,
    /** the value of the weakest colour */
    readonly low: number,
    /** smaller values are drawn as the weakest colour */
    private readonly threshold: number,
  ) {}

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
    return this.scale.css(this.above(value), top - this.low);
  }

  /** Black or white, whichever reads on the colour. */
  ink(value: number, top: number): string {
    return this.scale.ink(this.above(value), top - this.low);
  }
}
