// All methods side by side, for the chosen generated token and the chosen layers: a strip each, on a scale of its own.
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Card } from "../components/card";
import { isAbove } from "../color/ends";
import { HalfText, TextLines } from "../components/half_text";
import { pictureOf } from "../export/element_picture";
import type { Shown } from "../export/exporter";
import type { Method } from "../report/document";
import type { Report } from "../report/report";
import { useGeneration, type GenerationState } from "./generation_state";
import { ScaleLegend } from "./scale_legend";

/** Whether there is something to compare with. */
export const comparable = ({ report }: GenerationState) => report.methods.length > 1;

export function EveryMethod() {
  const state = useGeneration();
  const { report } = state;
  if (!state.comparing.value || !comparable(state)) return null;
  const values = (method: Method) => report.values(state.selectionOf(method));
  const spans = new Set(report.methods.map((method) => state.spanText(state.selectionOf(method))));
  const same =
    spans.size === 1
      ? "The same generated token and the same layers"
      : "The same generated token, after the layers that each method has here and its title names";
  return (
    <Card
      id="methods"
      title="Every method"
      wide
      exporter={{
        svg: () => pictureOf("all-methods"),
        shown: () =>
          methodsShown(
            state,
            report.methods.filter((method) => values(method) !== null),
          ),
        rows: () => methodRows(state, values),
      }}
    >
      <div class="compare" id="all-methods">
        {report.methods.map((method) => (
          <MethodStrip key={method} method={method} values={values(method)} />
        ))}
      </div>
      <p class="help">{same}; each method on a scale of its own: flows do not sum to 1, shares do.</p>
    </Card>
  );
}

/** What a picture of these methods says of itself. */
export function methodsShown(state: GenerationState, methods: readonly Method[]): Shown {
  const all = methods.map((method) => state.selectionOf(method));
  const spans = all.map((selection) => state.spanText(selection).replace(/^layer /, ""));
  const alike = new Set(spans).size < 2;
  return {
    title: "Every method",
    method: all.map(({ method, normalized }) => (normalized ? `${method} (normalised)` : method)).join(", "),
    // Flow is of fewer layers, perhaps.
    layers: alike ? spans[0] : all.map(({ method }, k) => `${method}: ${spans[k]}`).join(", "),
    notes: ["Each method on a scale of its own: flows do not sum to 1, shares do."],
    file: [`position${state.token.value}`],
  };
}

function methodRows(state: GenerationState, valuesOf: (method: Method) => Float64Array | null) {
  const { report } = state;
  const token = state.token.value;
  const all = report.methods.map(valuesOf);
  const seen = report.columns.slice(0, report.m + token);
  return {
    columns: ["output_token", "part", "input_token", "text", ...report.methods],
    rows: seen.map(({ name, generated, position }, j) => [
      token,
      generated ? "generated" : "prompt",
      position,
      name.text,
      ...all.map((values) => values?.[j] ?? null),
    ]),
  };
}

/** The tokens of a text; `first` is the column of its first one. */
function Tokens({ report, first }: { report: Report; first: number }) {
  const lines: ComponentChildren[][] = [[]];
  for (const [k, part] of report.stripParts().entries()) {
    if ("line" in part) lines.push([]);
    else if ("gap" in part) lines.at(-1)?.push(part.gap);
    else {
      const { label, segment, begin, end } = report.tokens[part.token];
      const text = part.chip ? label : report.slice(segment, begin, end);
      const kind = part.chip ? " chip special" : text.includes("\n") ? " line-break" : "";
      lines.at(-1)?.push(
        <span key={k} class={`token${kind}`} data-token={first + part.token} dir={part.chip ? "auto" : undefined}>
          {text}
        </span>,
      );
    }
  }
  return <TextLines lines={lines} />;
}

function MethodStrip({ method, values }: { method: Method; values: Float64Array | null }) {
  const state = useGeneration();
  const { report } = state;
  const { m, prompt, said } = report;
  const box = useRef<HTMLDivElement>(null);
  const token = state.token.value;
  const reasons = state.reasons.value;
  const ends = report.scale([values], [token], reasons);
  const shades = state.shades(ends);
  const texts = useMemo(
    () => (
      <>
        <Tokens report={prompt} first={0} />
        <hr />
        <Tokens report={said} first={m} />
      </>
    ),
    [prompt, said],
  );
  // Painted in place: a player changes colours, not elements.
  useLayoutEffect(() => {
    for (const element of box.current?.querySelectorAll<HTMLElement>(".token") ?? []) {
      const j = Number(element.dataset.token);
      const value = j < m + token ? values?.[j] : undefined;
      const out = reasons[j] !== "" && value !== undefined;
      const coloured = value !== undefined && !out;
      element.dataset.value = value === undefined ? "" : String(value);
      element.style.backgroundColor = coloured ? shades.css(value, ends.top) : "";
      element.style.color = coloured ? shades.ink(value, ends.top) : "";
      element.classList.toggle("left-out", out);
      element.classList.toggle("above", coloured && isAbove(value, ends));
      element.classList.toggle("later", j >= m + token);
    }
  });
  useSignalEffect(() => {
    const column = state.pointed.value?.column;
    for (const element of box.current?.querySelectorAll(".pointed") ?? []) element.classList.remove("pointed");
    if (column !== undefined) box.current?.querySelector(`[data-token="${column}"]`)?.classList.add("pointed");
  });
  return (
    <section class="half" data-strip={method} aria-label={method}>
      <h3>
        {method}, {state.spanText(state.selectionOf(method))}
        {state.method.value === method && <span class="index"> shown above</span>}
      </h3>
      <HalfText
        box={box}
        of={method}
        onPoint={(column) => (state.pointed.value = column === null ? null : { column, view: "methods" })}
      >
        {texts}
      </HalfText>
      {values ? <ScaleLegend ends={ends} /> : <p class="help">Not computed for this token and these layers.</p>}
    </section>
  );
}
