// All methods at once, for the chosen output token and layer: a strip each, on a scale of its own.
import { useSignalEffect } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { useViewer } from "../context";
import { largest } from "../explanation";
import { pictureOf } from "../export/element_picture";
import { METHODS, type Method } from "../report/document";
import "../styles/compare.css";

/** Longer texts are looked at one method at a time. */
const MOST_TOKENS = 160;

export function Methods() {
  const { report, state, explanation } = useViewer();
  const { choices } = state;
  if (report.document.input.kind === "image" || report.n > MOST_TOKENS) return null;
  const [layer, token] = [choices.layer.value, choices.token.value];
  const methods = METHODS.filter((method) => explanation.value.row(method, layer, token) !== null);
  if (methods.length < 2) return null;
  const exporter = {
    svg: () => pictureOf("all-methods"),
    rows: () => ({
      columns: ["output_token", "layer", "input_token", "token", ...methods],
      rows: report.tokens.map(({ index, label }) => [
        token,
        layer,
        index,
        label,
        ...methods.map((method) => explanation.value.row(method, layer, token)?.[index] ?? null),
      ]),
    }),
  };
  return (
    <Card id="methods" title={`Every method, layer ${layer}`} wide exporter={exporter}>
      <div class="compare" id="all-methods">
        {methods.map((method) => (
          <MethodStrip key={method} method={method} />
        ))}
      </div>
      <p class="help">Each on a scale of its own: flows do not sum to 1, shares do.</p>
    </Card>
  );
}

function MethodStrip({ method }: { method: Method }) {
  const { report, state, explanation, scale } = useViewer();
  const { choices, counts, pointed } = state;
  const parts = useMemo(() => report.stripParts(), [report]);
  const box = useRef<HTMLDivElement>(null);
  const row = explanation.value.row(method, choices.layer.value, choices.token.value);
  useSignalEffect(() => {
    const input = pointed.value?.input;
    for (const cell of box.current?.querySelectorAll(".pointed") ?? []) cell.classList.remove("pointed");
    if (input !== undefined) box.current?.querySelector(`[data-token="${input}"]`)?.classList.add("pointed");
  });
  if (!row) return null;
  const max = largest(row, counts.value);
  const lines: preact.ComponentChildren[][] = [[]];
  for (const [k, part] of parts.entries()) {
    if ("line" in part) lines.push([]);
    else if ("gap" in part) lines.at(-1)?.push(part.gap);
    else {
      const { label, segment, begin, end } = report.tokens[part.token];
      const value = row[part.token];
      const drawn = counts.value[part.token];
      lines.at(-1)?.push(
        <span
          key={k}
          class={`token${part.chip ? " chip special" : ""}${drawn ? "" : " left-out"}`}
          data-token={part.token}
          data-value={value}
          dir={part.chip ? "auto" : undefined}
          style={drawn ? { background: scale.value.css(value, max), color: scale.value.ink(value, max) } : undefined}
        >
          {part.chip ? label : report.slice(segment, begin, end)}
        </span>,
      );
    }
  }
  const chosen = choices.method.value === method;
  return (
    <section class="half" data-method={method} aria-label={method}>
      <h3>
        {method}
        {chosen && <span class="index"> shown above</span>}
      </h3>
      <div
        class="half-text"
        ref={box}
        onPointerOver={(event) => {
          const cell = (event.target as Element).closest("[data-token]");
          pointed.value = cell ? { input: Number(cell.getAttribute("data-token")), view: "methods" } : null;
        }}
        onPointerLeave={() => (pointed.value = null)}
      >
        {lines.map((line, k) => (
          <div class="line" dir="auto" lang="" key={k}>
            {line}
          </div>
        ))}
      </div>
      <Legend max={max} />
    </section>
  );
}
