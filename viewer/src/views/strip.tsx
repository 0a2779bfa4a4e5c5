// The user's own text, coloured by what the chosen output token draws on.
import { useMemo } from "preact/hooks";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { Readout } from "../components/readout";
import { largest } from "../explanation";
import { pictureOf } from "../export/element_picture";
import { format } from "../report/text";
import { useViewer } from "../context";

export function Strip() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts, pointed } = state;
  const parts = useMemo(() => report.stripParts(), [report]);
  const row = explanation.value.row(choices.method.value, choices.layer.value, choices.token.value);
  const max = row ? largest(row, counts.value) : 0;
  const lines: preact.ComponentChildren[][] = [[]];
  for (const [k, part] of parts.entries()) {
    if ("line" in part) lines.push([]);
    else if ("gap" in part) lines.at(-1)?.push(part.gap);
    else lines.at(-1)?.push(<TokenSpan key={k} token={part.token} chip={part.chip} max={max} />);
  }
  const tokenOf = (event: Event) => {
    const option = (event.target as Element).closest("[data-token]");
    return option ? Number(option.getAttribute("data-token")) : null;
  };
  const choose = (token: number, box: Element) => {
    choices.token.value = token;
    requestAnimationFrame(() => box.querySelector<HTMLElement>(`[data-token="${token}"]`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "x") {
      const token = tokenOf(event);
      if (token !== null) state.toggleLeftOut(token);
      return;
    }
    const line = (event.target as Element).closest(".line");
    const forward = line && getComputedStyle(line).direction === "rtl" ? -1 : 1;
    const n = report.n;
    const moves: Record<string, number> = {
      ArrowRight: forward,
      ArrowLeft: -forward,
      ArrowDown: 1,
      ArrowUp: -1,
      Home: -n,
      End: n,
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(n - 1, choices.token.value + move)), event.currentTarget as Element);
  };
  const exporter = {
    svg: () => pictureOf("strip"),
    rows: () => ({
      columns: ["layer", "output_token", "input_token", "token", choices.method.value],
      rows: report.tokens.map(({ index, label }) => [
        choices.layer.value,
        choices.token.value,
        index,
        label,
        row?.[index] ?? null,
      ]),
    }),
  };
  return (
    <Card id="strip" title={report.document.input.kind === "text" ? "Text" : "Tokens"} wide exporter={exporter}>
      <div
        id="strip"
        role="listbox"
        aria-labelledby="strip-heading"
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const token = tokenOf(event);
          if (token === null) return;
          if (event.ctrlKey || event.metaKey) state.toggleLeftOut(token);
          else choose(token, event.currentTarget);
        }}
        onPointerOver={(event) => {
          const input = tokenOf(event);
          pointed.value = input === null ? null : { input, view: "strip" };
        }}
        onPointerLeave={() => (pointed.value = null)}
      >
        {lines.map((line, k) => (
          <div class="line" role="group" aria-label="text" dir="auto" lang="" key={k}>
            {line}
          </div>
        ))}
      </div>
      <Readout view="strip" />
      <div class="foot">
        {row && <Legend max={max} />}
        <p class="help">
          Colour: what the chosen output token draws on. Choose another with a click or the arrow keys.
          {row && ` The largest is ${format(max)}.`}
        </p>
      </div>
    </Card>
  );
}

function TokenSpan({ token, chip, max }: { token: number; chip: boolean; max: number }) {
  const { report, state, explanation, scale } = useViewer();
  const { choices, counts, pointed } = state;
  const { label, special, unknown, segment, begin, end } = report.tokens[token];
  const row = explanation.value.row(choices.method.value, choices.layer.value, choices.token.value);
  const counted = counts.value[token];
  const coloured = row !== null && counted;
  const text = chip ? (begin === end ? label : `…${label}`) : report.slice(segment, begin, end);
  const classes = ["token"];
  if (chip) classes.push("chip");
  if (special) classes.push("special");
  if (unknown) classes.push("unknown");
  if (row !== null && !counted) classes.push("left-out");
  if (!chip && text.includes("\n")) classes.push("line-break");
  if (pointed.value?.input === token) classes.push("pointed");
  return (
    <span
      role="option"
      class={classes.join(" ")}
      data-token={token}
      data-value={row ? row[token] : undefined}
      dir={chip ? "auto" : undefined}
      tabIndex={choices.token.value === token ? 0 : -1}
      aria-selected={choices.token.value === token}
      aria-label={`${label}, ${row ? format(row[token]) : "not computed"}`}
      style={
        coloured ? { background: scale.value.css(row[token], max), color: scale.value.ink(row[token], max) } : undefined
      }
    >
      {text}
    </span>
  );
}
