// What the colours mean.
import { format } from "../report/text";
import { useViewer } from "../context";

export function Legend({ max, name }: { max: number; name?: string }) {
  const scale = useViewer().scale.value;
  const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => scale.css(t, 1)).join();
  return (
    <div class="legend">
      <span>0</span>
      <span class="ramp" aria-hidden="true" style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{name ?? format(max)}</span>
    </div>
  );
}
