// Replaces d3-transition, which d3-zoom imports (vite.config.ts): pictures are zoomed by hand, and nothing is animated.
// It took 16 kB of each page.
import { selection } from "d3-selection";

export const interrupt = () => undefined;

Object.assign((selection as unknown as { prototype: object }).prototype, {
  interrupt(this: unknown) {
    return this;
  },
});
