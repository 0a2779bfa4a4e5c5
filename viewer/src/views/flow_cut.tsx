// The minimum cut of a pair's flow: its many arcs drawn as one band per layer that they cross, with their capacity.
import { textWidth, unit } from "../components/measure";
import type { PairFlow } from "../compute/max_flow";
import { format, percent } from "../report/text";

export interface CutBand {
  layer: number;
  arcs: number;
  capacity: number;
  /** share of the whole cut */
  share: number;
  /** the extent, in tokens, over which the arcs cross the middle between two rows */
  from: number;
  to: number;
}

export function cutBands({ cut, cutValue }: PairFlow): CutBand[] {
  const bands = new Map<number, CutBand>();
  for (const { layer, from, to, capacity } of cut) {
    const middle = (from + to) / 2;
    const band = bands.get(layer) ?? { layer, arcs: 0, capacity: 0, share: 0, from: middle, to: middle };
    bands.set(layer, {
      layer,
      arcs: band.arcs + 1,
      capacity: band.capacity + capacity,
      share: (band.capacity + capacity) / cutValue,
      from: Math.min(band.from, middle),
      to: Math.max(band.to, middle),
    });
  }
  return [...bands.values()].sort((a, b) => b.layer - a.layer);
}

/** "70% in layer 6, 16% in layer 4, 14% in other layers": where the whole cut lies. @param shares of each layer */
export function cutWords(shares: ReadonlyMap<number, number>): string {
  const sorted = [...shares].sort((a, b) => b[1] - a[1]);
  const few = sorted.length > 4 ? 3 : 4;
  const rest = sorted.slice(few).reduce((sum, [, share]) => sum + share, 0);
  return [
    ...sorted.slice(0, few).map(([layer, share]) => `${percent(share)} in layer ${layer}`),
    ...(rest > 0 ? [`${percent(rest)} in other layers`] : []),
  ].join(", ");
}

interface CutProps {
  bands: readonly CutBand[];
  x: (token: number) => number;
  y: (layer: number) => number;
  width: number;
}

/** Bands; larger capacities are thicker. */
export function Cut({ bands, x, y, width }: CutProps) {
  const u = unit();
  return (
    <g class="cut">
      {bands.map(({ layer, arcs, capacity, share, from, to }) => {
        const thick = u * (4 + 12 * share);
        const middle = (y(layer) + y(layer - 1)) / 2;
        const [left, right] = [x(from) - 14 * u, x(to) + 14 * u];
        const words = format(capacity) + (bands.length > 1 ? ` (${percent(share)})` : "");
        const room = textWidth(words) + 8;
        // Next to the band, or on it if that is too near the edge.
        const beside = right + room < width;
        return (
          <g key={layer} data-layer={layer} data-value={capacity}>
            <rect x={left} y={middle - thick / 2} width={right - left} height={thick} rx={thick / 2}>
              <title>{`Minimum cut in layer ${layer}: ${arcs} ${arcs === 1 ? "arc" : "arcs"}, capacity ${format(capacity)} (${percent(share)} of the cut)`}</title>
            </rect>
            <text x={beside ? right + 6 : right - 6} y={middle + 4 * u} text-anchor={beside ? "start" : "end"}>
              {words}
            </text>
          </g>
        );
      })}
    </g>
  );
}
