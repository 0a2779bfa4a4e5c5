// The prompt and what was generated: coloured by what the chosen token drew on.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Card } from "../components/card";
import { pictureOf } from "../export/element_picture";
import { PaintedText, type Look } from "../components/painted_text";
import { isAbove } from "../color/ends";
import type { Shades } from "../color/shades";
import { Special } from "./filters_view";
import { format, percent } from "../report/text";
import { sum } from "./generation_report";
import { useGeneration, type GenerationState } from "./generation_state";
import { ScaleLegend } from "./scale_legend";
import { Named } from "./piece_view";
import { asideOf, SPECIAL } from "./set_aside";

const ASIDES: Record<string, string> = { first: "the first token", special: "special tokens" };

/** Says what ° means; used wherever it stands. */
export const DEGENERATE =
  "°: the flow repeats the first layer's attention or is as large as it can be; the layers between do not matter.";

export function Texts({ tools }: { tools?: ComponentChildren }) {
  const state = useGeneration();
  const { report } = state;
  const { m } = report;
  const promptFocus = useRef(0);
  const values = state.values.value;
  const scale = report.scale([values], [state.token.value], state.reasons.value);
  const flags = values && report.degenerate(state.selection.value);
  const point = (offset: number) => (token: number | null) =>
    (state.pointed.value = token === null ? null : { column: offset + token, view: "text" });
  return (
    <Card
      id="text"
      title="Prompt"
      wide
      tools={tools}
      exporter={{
        svg: () => pictureOf("text-strips"),
        shown: () => ({ title: "Prompt and continuation" }),
        rows: () => textRows(state),
      }}
    >
      <div id="text-strips" aria-busy={state.arriving.value}>
        <PaintedText
          id="prompt"
          report={report.prompt}
          role="button"
          labelledby="text-heading"
          describedby="text-help"
          look={() => promptLook(state)}
          current={() => promptFocus.current}
          pointed={() => {
            const at = state.pointed.value;
            return at && at.column < m ? at.column : null;
          }}
          onMove={(token) => (promptFocus.current = token)}
          onChoose={(token) => {
            promptFocus.current = token;
            state.toggle(token);
          }}
          onPoint={point(0)}
          onToggle={(token) => state.toggle(token)}
        />
        <h2 id="generated-heading">Generated</h2>
        <PaintedText
          id="generated"
          report={report.said}
          role="option"
          labelledby="generated-heading"
          describedby="text-help"
          look={() => saidLook(state)}
          current={() => state.token.value}
          pointed={() => {
            const at = state.pointed.value;
            return at && at.column >= m ? at.column - m : null;
          }}
          onMove={(token) => state.step(token)}
          onChoose={(token) => state.step(token)}
          onPoint={point(m)}
          onToggle={(token) => state.toggle(m + token)}
          follow
        />
      </div>
      <TextReadout />
      <Special />
      <Shares />
      <div class="foot">
        {values && <ScaleLegend ends={scale} />}
        <p class="help" id="text-help">
          Colour: what the chosen generated token drew on. Choose one with a click or the arrow keys, or play them with
          the space bar; click a token of the prompt to leave it out.
          {flags?.some((flag) => flag > 0) && ` ${DEGENERATE}`}
        </p>
      </div>
      {report.settings.set_aside !== "none" && (
        <p class="help" id="computed-without">
          These numbers were computed without attention on{" "}
          {ASIDES[report.settings.set_aside] ?? `positions ${report.settings.set_aside}`} (--set-aside, --drop-sink):
          zeros there say nothing about the model.
        </p>
      )}
    </Card>
  );
}

/** Colours and marks that both texts share. */
function colours(shades: Shades, value: number, top: number): Pick<Look, "background" | "ink"> {
  return { background: shades.css(value, top), ink: shades.ink(value, top) };
}

function promptLook(state: GenerationState): (token: number) => Look {
  const { report } = state;
  const values = state.values.value;
  const reasons = state.reasons.value;
  const flags = values && report.degenerate(state.selection.value);
  const ends = report.scale([values], [state.token.value], reasons);
  const { top } = ends;
  const shades = state.shades(ends);
  return (token) => {
    const value = values?.[token];
    const reason = reasons[token];
    const classes: string[] = [];
    if (reason) classes.push("left-out");
    if (!reason && value !== undefined && isAbove(value, ends)) classes.push("above");
    if (flags?.[token] && value) classes.push("degenerate");
    const flagged = Boolean(flags?.[token] && value);
    const name = () => {
      const said = [report.columns[token].name.text, value === undefined ? "not computed" : format(value)];
      if (reason) said.push(`left out (${reason})`);
      if (flagged) said.push("degenerate");
      return said.join(", ");
    };
    return {
      value,
      classes,
      attributes: { "aria-pressed": String(reason !== "") },
      name,
      ...(value !== undefined && !reason ? colours(shades, value, top) : {}),
    };
  };
}

function saidLook(state: GenerationState): (token: number) => Look {
  const { report } = state;
  const { m } = report;
  const values = state.values.value;
  const reasons = state.reasons.value;
  const chosen = state.token.value;
  const ends = report.scale([values], [chosen], reasons);
  const { top } = ends;
  const shades = state.shades(ends);
  return (token) => {
    const value = token < chosen ? values?.[m + token] : undefined;
    const reason = reasons[m + token];
    const classes: string[] = [];
    if (token > chosen) classes.push("later");
    if (reason && value !== undefined) classes.push("left-out");
    if (!reason && value !== undefined && isAbove(value, ends)) classes.push("above");
    const name = () => {
      const drawn = value === undefined ? "" : `, ${format(value)}`;
      return `generated token ${token + 1}: ${report.columns[m + token].name.text}${drawn}`;
    };
    return {
      value,
      classes,
      attributes: { "aria-selected": String(token === chosen) },
      name,
      ...(value !== undefined && !reason ? colours(shades, value, top) : {}),
    };
  };
}

/** What the pointer is over, in words; without one, what was drawn on most. */
function TextReadout() {
  const state = useGeneration();
  return (
    <p class="readout" id="text-readout">
      {textReadout(state, state.pointed.value?.column ?? null)}
    </p>
  );
}

export function textReadout(state: GenerationState, column: number | null): ComponentChildren {
  const { report } = state;
  const { m } = report;
  const selection = state.selection.value;
  const values = state.values.value;
  const output = <Named column={report.columns[m + selection.token]} brief />;
  if (!values) {
    const rows = report.rowsOf(selection.method);
    return (
      <>
        No {selection.method} values for {output}; they were computed for{" "}
        {rows.slice(0, 4).map((token, k) => (
          <span key={token}>
            {k > 0 && ", "}
            <Named column={report.columns[m + token]} />
          </span>
        ))}
        {rows.length > 4 && " and others"}.
      </>
    );
  }
  const where = `${selection.method}${selection.normalized ? ", normalised" : ""}, ${state.spanText()}: `;
  if (column === null) {
    const best = state.ranking.value[0];
    return (
      <>
        {where}
        {output} drew most on{" "}
        {best ? (
          <>
            <Named column={report.columns[best.column]} /> ({format(best.value)}
            {best.degenerate && "°"})
          </>
        ) : (
          "nothing that is not left out"
        )}
      </>
    );
  }
  const input = report.columns[column];
  if (input.generated && input.position >= selection.token) {
    return input.position === selection.token ? (
      <>{output} is the token that is explained</>
    ) : (
      <>
        <Named column={input} /> came after {output}
      </>
    );
  }
  if (column >= values.length) {
    return (
      <>
        What was drawn on generated tokens, such as <Named column={input} />, was not kept
        {selection.normalized ? " of normalised values" : " (--generated-columns keeps it)"}
      </>
    );
  }
  const reason = state.reasons.value[column];
  const promptMass = sum(values.subarray(0, m));
  const flag = report.degenerate(selection)?.[column];
  return (
    <>
      {where}
      {output} drew <b>{format(values[column])}</b>
      {flag ? "°" : ""} on <Named column={input} />
      {report.isShare(selection) && !input.generated && promptMass > 0
        ? `, ${percent(values[column] / promptMass)} of the prompt's part`
        : ""}
      {reason && ` (left out: ${reason})`}
    </>
  );
}

/** Where the mass lies, in words. */
function Shares() {
  const state = useGeneration();
  const { report } = state;
  const selection = state.selection.value;
  const values = state.values.value;
  const reasons = state.reasons.value;
  if (!values) return <p class="readout" id="shares" role="status" />;
  const { among, all, parts } = asideOf(report, selection, values, reasons);
  if (all.share === null) {
    const aside = values.subarray(0, among).filter((_, j) => reasons[j]);
    return (
      <p class="readout" id="shares" role="status">
        Each value is the most that can flow from that one token: values do not add up to a whole.{" "}
        {all.count > 0 && (
          <>
            Left out: {all.count} of {among} tokens, the largest with{" "}
            <b id="aside-largest">{format(Math.max(...aside))}</b>.
          </>
        )}
      </p>
    );
  }
  const elsewhere = report.generatedShare(selection);
  return (
    <p class="readout" id="shares" role="status">
      {elsewhere !== null &&
        `Of what it drew on, ${percent(1 - elsewhere)} lies on the prompt and ${percent(elsewhere)} on generated tokens. `}
      Left out: <b id="aside-share">{percent(all.share)}</b> in all
      {parts.some(({ reason }) => reason !== SPECIAL) &&
        ` (${parts.map(({ reason, share }) => `${reason} ${percent(share ?? 0)}`).join(", ")})`}
      .
    </p>
  );
}

function* textRowsOf(state: GenerationState): Generator<(string | number | boolean | null)[]> {
  const { report } = state;
  const { token } = state.selection.value;
  const values = state.values.value;
  for (const [j, { name, generated, position }] of report.columns.entries()) {
    if (generated && (position >= token || !values || j >= values.length)) continue;
    yield [token, generated ? "generated" : "prompt", position, name.text, values?.[j] ?? null, state.reasons.value[j]];
  }
}

export const textRows = (state: GenerationState) => ({
  columns: ["output_token", "part", "input_token", "text", "value", "left_out"],
  rows: textRowsOf(state),
});
