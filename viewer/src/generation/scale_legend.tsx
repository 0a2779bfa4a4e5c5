// What the colours mean, and the mark of values above the scale.
import { format } from "../report/text";
import { useGeneration } from "./generation_state";

export function ScaleLegend({ top, above }: { top: number; above: number }) {
  const scale = useGeneration().scale.value;
  const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => scale.css(t, 1)).join();
  return (
    <div class="legend">
      <span>0</span>
      <span class="ramp" aria-hidden="true" style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{format(top)}</span>
      {above > top && (
        <>
          <span class="corner" aria-hidden="true" style={{ backgroundColor: scale.css(top, top) }} />
          <span>up to {format(above)}</span>
        </>
      )}
    </div>
  );
}
