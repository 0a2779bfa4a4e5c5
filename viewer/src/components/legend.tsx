// What the colours mean, and the mark of values above the scale.
import type { Ends } from "../color/ends";
import type { Shades } from "../color/shades";
import { format } from "../report/text";
import { useViewer } from "../context";

/** @param name in place of the top, where the scale is not one */
export function Legend({ ends, name }: { ends: Ends; name?: string }) {
  return <ShadesLegend ends={ends} shades={useViewer().shades(ends)} name={name} />;
}

/** Of any page. */
export function ShadesLegend({ ends: { top, above }, shades, name }: { ends: Ends; shades: Shades; name?: string }) {
  const { low } = shades;
  const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => shades.css(low + t * (top - low), top)).join();
  return (
    <div class="legend">
      <span>{name && low > 0 ? "each layer's least" : format(low)}</span>
      <span class="ramp" aria-hidden="true" style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{name ?? format(top)}</span>
      {!name && above > top && (
        <>
          <span class="corner" aria-hidden="true" style={{ backgroundColor: shades.css(top, top) }} />
          <span>up to {format(above)}</span>
        </>
      )}
    </div>
  );
}
