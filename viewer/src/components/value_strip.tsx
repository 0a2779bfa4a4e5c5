// The text coloured by one number a token, on a scale of its own: small, several side by side.
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { endsOf, isAbove } from "../color/ends";
import { useViewer } from "../context";
import { largest } from "../explanation";
import type { Numbers } from "../report/values";
import { HalfText, TextLines } from "./half_text";
import { Legend } from "./legend";

export interface ValueStripProps {
  /** for screen readers and tests: data-strip */
  name: string;
  title: ComponentChildren;
  values: Numbers;
  /** which tokens are coloured and set the scale; without it all */
  counts?: readonly boolean[];
  /** the output token that the values are of; null: none */
  output?: number | null;
  /** what pointing at a token calls this view */
  view: string;
}

export function ValueStrip({ name, title, values, counts, output = null, view }: ValueStripProps) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { pointed } = state;
  const parts = useMemo(() => report.stripParts(), [report]);
  const box = useRef<HTMLDivElement>(null);
  useSignalEffect(() => {
    const input = pointed.value?.input;
    for (const cell of box.current?.querySelectorAll(".pointed") ?? []) cell.classList.remove("pointed");
    if (input !== undefined) box.current?.querySelector(`[data-token="${input}"]`)?.classList.add("pointed");
  });
  const used = counts ?? report.tokens.map(() => true);
  const max = largest(values, used);
  // Other scores than explanations park nothing anywhere.
  const ends = output === null ? { least: 0, top: max, above: max } : endsOf(report, [values], output, used);
  const shades = viewer.shades(ends);
  const lines: ComponentChildren[][] = [[]];
  for (const [k, part] of parts.entries()) {
    if ("line" in part) lines.push([]);
    else if ("gap" in part) lines.at(-1)?.push(part.gap);
    else {
      const { label, segment, begin, end } = report.tokens[part.token];
      const value = values[part.token];
      const drawn = used[part.token];
      const above = drawn && isAbove(value, ends);
      lines.at(-1)?.push(
        <span
          key={k}
          class={`token${part.chip ? " chip special" : ""}${drawn ? "" : " left-out"}${above ? " above" : ""}`}
          data-token={part.token}
          data-value={value}
          dir={part.chip ? "auto" : undefined}
          style={
            drawn ? { backgroundColor: shades.css(value, ends.top), color: shades.ink(value, ends.top) } : undefined
          }
        >
          {part.chip ? label : report.slice(segment, begin, end)}
        </span>,
      );
    }
  }
  return (
    <section class="half" data-strip={name} aria-label={name}>
      <h3>{title}</h3>
      <HalfText box={box} of={name} onPoint={(input) => (pointed.value = input === null ? null : { input, view })}>
        <TextLines lines={lines} />
      </HalfText>
      <Legend ends={ends} />
    </section>
  );
}
