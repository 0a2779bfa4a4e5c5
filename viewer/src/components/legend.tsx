// The color legend, and the mark of values above the scale.
import type { Signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { spansDecades, type Ends } from "../color/ends";
import { barOf } from "../color/scale";
import type { Method } from "../report/document";
import { AGAINST, FOR, format, formatSigned } from "../report/text";
import { useViewer } from "../context";
import { CheckBox } from "./check_box";

export interface LegendProps {
  ends: Ends;
  /** which picture's colors, if a card has several */
  of?: string;
  /** what has a scale each ("layer"), if there are several scales */
  each?: string;
  /** the method of the values; by default the chosen one */
  method?: Method;
  /** whether values above the scale have a corner mark as well as their color */
  marked?: boolean;
}

/** Cells at least this many pixels wide show a corner mark if their value lies above the scale. */
export const MARKED = 9;

/** Lets the legend next to a picture know whether its cells are large enough for corner marks. */
export function useMarking(marking: Signal<boolean> | undefined, cell: number): boolean {
  const marked = cell >= MARKED;
  useLayoutEffect(() => {
    if (marking) marking.value = marked;
  });
  return marked;
}

/** The corner mark of a cell whose upper right corner is here, as part of a path. */
export const cornerAt = (right: number, top: number) => `M${right - 6} ${top}h6v6z`;

interface ScaleBarProps {
  of?: string;
  from: string;
  to: string;
  bar: string;
  /** values beyond an end: the end's color, and how far they go in words */
  beyond: readonly { colour: string; words: string }[];
  marked: boolean;
}

export function ScaleBar({ of, from, to, bar, beyond, marked }: ScaleBarProps) {
  return (
    <div class="legend">
      {of && <span>{of}:</span>}
      <span>{from}</span>
      <span class="ramp" aria-hidden="true" style={{ background: bar }} />
      <span>{to}</span>
      {beyond.map((end) => (
        <span class="beyond" key={end.words}>
          <span class={marked ? "corner" : "swatch"} aria-hidden="true" style={{ backgroundColor: end.colour }} />
          <span>{end.words}</span>
        </span>
      ))}
    </div>
  );
}

export function Legend({ ends, of, each, method, marked = true }: LegendProps) {
  const { above, signed } = ends;
  const shades = useViewer().shades(ends, method);
  const { low, top, log } = shades;
  const clipped = shades.beyond(above);
  const beyond = (words: string) => (clipped ? [{ colour: shades.css(above), words }] : []);
  const end = each ? `each ${each}'s ${clipped ? "end" : "maximum"}` : format(top);
  const words = signed
    ? {
        from: `${AGAINST} ${format(-top)}`,
        to: `${formatSigned(top)} ${FOR}`,
        beyond: beyond(`as far as ${format(above)} from 0`),
      }
    : {
        from: each && low > 0 ? `each ${each}'s least` : format(low),
        to: log ? `${end} (log)` : end,
        beyond: beyond(each ? "above it" : `up to ${format(above)}`),
      };
  return <ScaleBar {...{ of, marked }} {...words} bar={barOf((t) => shades.css(shades.valueAt(t)))} />;
}

/** Below a text: its legend, and the logarithmic scale option where values span orders of magnitude. */
export function TextLegend() {
  const viewer = useViewer();
  const { log } = viewer.state.choices;
  const row = viewer.row();
  if (!row) return null;
  const ends = viewer.endsOf(row);
  return (
    <>
      <Legend ends={ends} />
      {!ends.signed && (log.value || spansDecades(ends)) && (
        <CheckBox id="log-scale" on={log} class="check">
          Log scale
        </CheckBox>
      )}
    </>
  );
}
