// Directly below the colored text: the same text colored by what the model loses without each token, whatever a map says.
import { useSignal } from "@preact/signals";
import { DivergingScale } from "../color/scale";
import { Info } from "../components/guide";
import { Own } from "../components/own_text";
import { PaintedText, type Look } from "../components/painted_text";
import { useViewer } from "../context";
import type { Check, CheckedToken } from "../report/document";
import type { Report } from "../report/report";
import { dark } from "../theme";
import { changeOf, CheckLegend, CheckTip, largestDrop, Replaced } from "./check_parts";

interface CheckRowProps {
  check: Check;
  report: Report;
  /** the text that was checked, if the report has several (PaintedText) */
  segment?: number;
}

const quoted = ({ tokens }: Report, token: number) => (
  <>
    “<Own text={tokens[token].label} class="name" />”
  </>
);

export function CheckRow({ check, report, segment }: CheckRowProps) {
  const { pointed } = useViewer().state;
  const open = useSignal<number | null>(null);
  /** where the keyboard is */
  const place = useSignal(check.tokens[0].token);
  const at = new Map(check.tokens.map((one) => [one.token, one]));
  const top = largestDrop(check);
  const part = report.settings.words ? "word" : "token";
  const chosen = open.value === null ? undefined : at.get(open.value);
  const choose = (token: number) => {
    place.value = token;
    open.value = open.value === token || !at.has(token) ? null : token;
  };
  return (
    <section id="check" aria-labelledby="check-heading">
      <h3 id="check-heading">
        {`Without each ${part} `}
        <Info about="check" place="trust" />
      </h3>
      <PaintedText
        id="check-text"
        report={report}
        segment={segment}
        fromEnd={segment !== undefined && !report.joint}
        labelledby="check-heading"
        describedby="check-legend"
        look={() => lookOf(check, at, report, top, open.value)}
        current={() => place.value}
        pointed={() => pointed.value?.input ?? null}
        onMove={(token) => (place.value = token)}
        onChoose={choose}
        onPoint={(input) => (pointed.value = input === null ? null : { input, view: "check" })}
      />
      <CheckTip check={check} name={(token) => quoted(report, token)} />
      <CheckLegend check={check} part={part} />
      {chosen && (
        <Replaced chosen={chosen} check={check}>
          {quoted(report, chosen.token)}
        </Replaced>
      )}
    </section>
  );
}

function lookOf(
  { quantity }: Check,
  at: ReadonlyMap<number, CheckedToken>,
  { tokens }: Report,
  top: number,
  open: number | null,
): (token: number) => Look {
  const scale = new DivergingScale(dark.value);
  return (token) => {
    const checked = at.get(token);
    const { label } = tokens[token];
    if (!checked) return { classes: [], selected: false, name: () => `${label}, not checked` };
    return {
      value: checked.drop,
      background: scale.css(checked.drop, top),
      ink: scale.ink(checked.drop, top),
      classes: [],
      selected: token === open,
      name: () => `${label}: the ${quantity} ${changeOf(checked)}`,
    };
  };
}
