// What the colours mean, and the mark of values above the scale.
import type { Signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { Ends } from "../color/ends";
import { barOf } from "../color/scale";
import { format } from "../report/text";
import { useViewer } from "../context";

export interface LegendProps {
  ends: Ends;
  /** whose colours, where a card has several pictures */
  of?: string;
  /** what has a scale of its own, where each has ("layer") */
  each?: string;
  /** whether values above the scale have a corner; else words alone say that they have the last colour */
  marked?: boolean;
}

/** Cells from so many pixels on have a corner where their value lies above the scale. */
export const MARKED = 9;

/** Says to the legend beside a picture whether its cells are large enough for corners. */
export function useMarking(marking: Signal<boolean> | undefined, cell: number): boolean {
  const marked = cell >= MARKED;
  useLayoutEffect(() => {
    if (marking) marking.value = marked;
  });
  return marked;
}

/** The corner of a cell whose upper right end is here: a part of a path. */
export const cornerAt = (right: number, top: number) => `M${right - 6} ${top}h6v6z`;

export function Legend({ ends, of, each, marked = true }: LegendProps) {
  const { top, above } = ends;
  const shades = useViewer().shades(ends);
  const { low } = shades;
  const bar = barOf((t) => shades.css(low + t * (top - low), top));
  const clipped = above > top;
  const beyond = each ? "above it" : `up to ${format(above)}`;
  return (
    <div class="legend">
      {of && <span>{of}:</span>}
      <span>{each && low > 0 ? `each ${each}'s least` : format(low)}</span>
      <span class="ramp" aria-hidden="true" style={{ background: bar }} />
      <span>{each ? `each ${each}'s ${clipped ? "end" : "maximum"}` : format(top)}</span>
      {clipped &&
        (marked ? (
          <span class="beyond">
            <span class="corner" aria-hidden="true" style={{ backgroundColor: shades.css(top, top) }} />
            <span>{beyond}</span>
          </span>
        ) : (
          <span>the last colour {beyond}</span>
        ))}
    </div>
  );
}
