// Replaces d3-transition (vite.config.ts), which d3-zoom imports and nothing uses: it took 16 kB of each page.
import { selection } from "d3-selection";

export const interrupt = () => undefined;

Object.assign((selection as unknown as { prototype: object }).prototype, {
  interrupt(this: unknown) {
    return this;
  },
});
