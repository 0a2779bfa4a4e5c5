// What the colours mean, and the mark of values above the scale.
import { format } from "../report/text";
import type { Ends } from "./generation_report";
import { useGeneration } from "./generation_state";

export function ScaleLegend({ ends }: { ends: Ends }) {
  const shades = useGeneration().shades(ends);
  const { top, above } = ends;
  const { low } = shades;
  const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => shades.css(low + t * (top - low), top)).join();
  return (
    <div class="legend">
      <span>{format(low)}</span>
      <span class="ramp" aria-hidden="true" style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{format(top)}</span>
      {above > top && (
        <>
          <span class="corner" aria-hidden="true" style={{ backgroundColor: shades.css(top, top) }} />
          <span>up to {format(above)}</span>
        </>
      )}
    </div>
  );
}
