// A small text next to others, colored by one number per token. If long it scrolls, and can then take keyboard focus.
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren, HTMLAttributes } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useViewer } from "../context";
import type { Report } from "../report/report";
import { useKeyboardScroll } from "./overflow";
import "../styles/compare.css";

/** The tokens of one text or of all, by line. @param span makes an element for a token and its characters */
export function tokenLines(
  report: Report,
  segment: number | undefined,
  span: (token: number, chip: boolean, text: string) => ComponentChildren,
): ComponentChildren[][] {
  const lines: ComponentChildren[][] = [[]];
  for (const part of report.stripParts(segment)) {
    if ("line" in part) lines.push([]);
    else if ("gap" in part) lines.at(-1)?.push(part.gap);
    else {
      const { label, segment: own, begin, end } = report.tokens[part.token];
      lines.at(-1)?.push(span(part.token, part.chip, part.chip ? label : report.slice(own, begin, end)));
    }
  }
  return lines;
}

export interface HalfTextProps {
  /** what the text belongs to, for screen readers */
  of: string;
  report: Report;
  values: ArrayLike<number> | null;
  counts: readonly boolean[];
  colours: { css(value: number): string; ink(value: number): string; beyond(value: number): boolean };
  /** number of tokens present, for a text that grows */
  seen?: number;
  gone?: ReadonlySet<number> | null;
  /** this view's name when a token in it is pointed at */
  view: string;
  /** positions of the page's tokens in this text, if it is another one */
  places?: Int32Array | null;
}

const plainSpan = (report: Report, gone?: ReadonlySet<number> | null) =>
  function Span(token: number, chip: boolean, text: string) {
    const plain = report.continues(token) ? " continues" : "";
    const kind = chip ? " chip special" : text.includes("\n") ? " line-break" : plain;
    const absent = gone?.has(token) ?? false;
    return (
      <span
        key={token}
        class={`token${kind}${absent ? " absent" : ""}`}
        data-token={token}
        dir={chip ? "auto" : undefined}
      >
        {text}
        {absent && <span class="visually-hidden"> (gone)</span>}
      </span>
    );
  };

export const TextLines = ({
  lines,
  ...attributes
}: HTMLAttributes<HTMLDivElement> & { lines: readonly ComponentChildren[][] }) => (
  <>
    {lines.map((line, k) => (
      <div class="line" dir="auto" lang="" key={k} {...attributes}>
        {line}
      </div>
    ))}
  </>
);

export function HalfText(props: HalfTextProps) {
  const { of, report, values, counts, colours, seen = report.n, gone, view, places } = props;
  const { pointed } = useViewer().state;
  const box = useRef<HTMLDivElement>(null);
  const origins = useMemo(() => places && new Map([...places].map((there, here) => [there, here])), [places]);
  useKeyboardScroll(box, `The text of ${of}, which scrolls`);
  const lines = useMemo(() => {
    const text = (segment?: number) => <TextLines lines={tokenLines(report, segment, plainSpan(report, gone))} />;
    if (!report.document.generation) return text();
    return (
      <>
        {text(0)}
        <hr />
        {text(1)}
      </>
    );
  }, [report, gone]);
  // Painted in place: a player changes colors, not elements.
  useLayoutEffect(() => {
    for (const element of box.current?.querySelectorAll<HTMLElement>(".token") ?? []) {
      const token = Number(element.dataset.token);
      const value = values && token < seen && !Number.isNaN(values[token]) ? values[token] : undefined;
      const coloured = value !== undefined && counts[token];
      if (value === undefined) delete element.dataset.value;
      else element.dataset.value = String(value);
      element.style.backgroundColor = coloured ? colours.css(value) : "";
      element.style.color = coloured ? colours.ink(value) : "";
      element.classList.toggle("excluded", token < seen && values?.[token] !== undefined && !coloured);
      element.classList.toggle("above", coloured && colours.beyond(value));
      element.classList.toggle("later", token >= seen);
    }
  });
  useSignalEffect(() => {
    const input = pointed.value?.input;
    const here = input === undefined ? -1 : places ? places[input] : input;
    for (const cell of box.current?.querySelectorAll(".pointed") ?? []) cell.classList.remove("pointed");
    box.current?.querySelector(`[data-token="${here}"]`)?.classList.add("pointed");
  });
  return (
    <div
      class="half-text"
      ref={box}
      onPointerOver={(event) => {
        const cell = (event.target as Element).closest<HTMLElement>("[data-token]");
        const here = cell ? Number(cell.dataset.token) : undefined;
        const input = here !== undefined && origins ? origins.get(here) : here;
        pointed.value = input === undefined ? null : { input, view };
      }}
      onPointerLeave={() => (pointed.value = null)}
    >
      {lines}
    </div>
  );
}
