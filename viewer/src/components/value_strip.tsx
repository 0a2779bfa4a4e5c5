// The text coloured by one number a token, on a scale of its own: small, several side by side.
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { endsOf, isAbove } from "../color/ends";
import { useViewer } from "../context";
import { largest } from "../explanation";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import { HalfText, TextLines } from "./half_text";
import { Legend } from "./legend";

export interface ValueStripProps {
  /** for screen readers and tests: data-strip */
  name: string;
  title: ComponentChildren;
  values: Numbers | null;
  /** which tokens are coloured and set the scale; without it all */
  counts?: readonly boolean[];
  /** the output token that the values are of; null: none */
  output?: number | null;
  /** what pointing at a token calls this view */
  view: string;
}

/** The tokens of one text, or of all. */
function Tokens({ report, segment }: { report: Report; segment?: number }) {
  const lines: ComponentChildren[][] = [[]];
  for (const [k, part] of report.stripParts(segment).entries()) {
    if ("line" in part) lines.push([]);
    else if ("gap" in part) lines.at(-1)?.push(part.gap);
    else {
      const { label, segment, begin, end } = report.tokens[part.token];
      const text = part.chip ? label : report.slice(segment, begin, end);
      const kind = part.chip ? " chip special" : text.includes("\n") ? " line-break" : "";
      lines.at(-1)?.push(
        <span key={k} class={`token${kind}`} data-token={part.token} dir={part.chip ? "auto" : undefined}>
          {text}
        </span>,
      );
    }
  }
  return <TextLines lines={lines} />;
}

export function ValueStrip({ name, title, values, counts, output = null, view }: ValueStripProps) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { pointed } = state;
  const box = useRef<HTMLDivElement>(null);
  const used = counts ?? report.tokens.map(() => true);
  const max = values ? largest(values, used) : 0;
  // Other scores than explanations park nothing anywhere.
  const ends = output === null ? { least: 0, top: max, above: max } : endsOf(report, [values], output, used);
  const shades = viewer.shades(ends);
  // Of a generation what comes after the output token is not there yet.
  const seen = report.document.generation && output !== null ? output + 1 : report.n;
  const tokens = useMemo(
    () =>
      report.document.generation ? (
        <>
          <Tokens report={report} segment={0} />
          <hr />
          <Tokens report={report} segment={1} />
        </>
      ) : (
        <Tokens report={report} />
      ),
    [report],
  );
  // Painted in place: a player changes colours, not elements.
  useLayoutEffect(() => {
    for (const element of box.current?.querySelectorAll<HTMLElement>(".token") ?? []) {
      const token = Number(element.dataset.token);
      const value = token < seen ? values?.[token] : undefined;
      const coloured = value !== undefined && used[token];
      element.dataset.value = value === undefined ? "" : String(value);
      element.style.backgroundColor = coloured ? shades.css(value, ends.top) : "";
      element.style.color = coloured ? shades.ink(value, ends.top) : "";
      element.classList.toggle("excluded", value !== undefined && !used[token]);
      element.classList.toggle("above", coloured && isAbove(value, ends));
      element.classList.toggle("later", token >= seen);
    }
  });
  useSignalEffect(() => {
    const input = pointed.value?.input;
    for (const cell of box.current?.querySelectorAll(".pointed") ?? []) cell.classList.remove("pointed");
    if (input !== undefined) box.current?.querySelector(`[data-token="${input}"]`)?.classList.add("pointed");
  });
  return (
    <section class="half" data-strip={name} aria-label={name}>
      <h3>{title}</h3>
      <HalfText box={box} of={name} onPoint={(input) => (pointed.value = input === null ? null : { input, view })}>
        {tokens}
      </HalfText>
      {values ? <Legend ends={ends} /> : <p class="help">Not computed for this token and these layers.</p>}
    </section>
  );
}
