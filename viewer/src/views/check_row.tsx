// Directly below the colored text: the same text colored by what the model loses without each token, whatever a map says.
import { useSignal } from "@preact/signals";
import { barOf, DivergingScale } from "../color/scale";
import { Info } from "../components/guide";
import { Own } from "../components/own_text";
import { PaintedText, type Look } from "../components/painted_text";
import { Tip } from "../components/tip";
import { useViewer } from "../context";
import type { Check, CheckedToken } from "../report/document";
import type { Report } from "../report/report";
import { amount, digits, percent } from "../report/text";
import { dark } from "../theme";

interface CheckRowProps {
  check: Check;
  report: Report;
  /** the text that was checked, if the report has several (PaintedText) */
  segment?: number;
}

const about = ({ drop, spread }: CheckedToken) =>
  `${drop >= 0 ? "falls" : "rises"} by ${amount(Math.abs(drop))}${spread ? ` ± ${digits(spread)}` : ""}`;

export function CheckRow({ check, report, segment }: CheckRowProps) {
  const { pointed } = useViewer().state;
  const open = useSignal<number | null>(null);
  /** where the keyboard is */
  const place = useSignal(check.tokens[0].token);
  const at = new Map(check.tokens.map((one) => [one.token, one]));
  const top = Math.max(...check.tokens.map(({ drop }) => Math.abs(drop)));
  const chosen = open.value === null ? undefined : at.get(open.value);
  const choose = (token: number) => {
    place.value = token;
    open.value = open.value === token || !at.has(token) ? null : token;
  };
  return (
    <section id="check" aria-labelledby="check-heading">
      <h3 id="check-heading">
        Without each token <Info about="check" place="trust" />
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
      <Tip view="check">
        <CheckTip check={check} at={at} report={report} />
      </Tip>
      <Legend check={check} top={top} />
      {chosen && <Replaced chosen={chosen} check={check} label={report.tokens[chosen.token].label} />}
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
      name: () => `${label}: the ${quantity} ${about(checked)}`,
    };
  };
}

function CheckTip({ check, at, report }: { check: Check; at: ReadonlyMap<number, CheckedToken>; report: Report }) {
  const here = useViewer().state.pointed.value;
  if (here?.view !== "check") return null;
  const checked = at.get(here.input);
  const name = <Own text={report.tokens[here.input].label} class="name" />;
  if (!checked) return <>“{name}” was not checked</>;
  return (
    <>
      Without “{name}” the {check.quantity} <b>{about(checked)}</b>
    </>
  );
}

function Legend({ check, top }: { check: Check; top: number }) {
  const { quantity, value, left_out: leftOut = 0, tokens } = check;
  const scale = new DivergingScale(dark.value);
  return (
    <p class="help check-legend" id="check-legend">
      {`The ${quantity} is ${amount(value)}; without the token it rises by ${amount(top)} `}
      <span aria-hidden="true" class="bar" style={{ background: barOf((t) => scale.css((2 * t - 1) * top, top)) }} />
      {` falls by ${amount(top)}.`}
      {leftOut > 0 && ` Left out, to save time: ${leftOut}.`}
      {tokens.some(({ replacements }) => replacements?.length) && " Click a token for what replaced it."}
    </p>
  );
}

function Replaced({ chosen, check, label }: { chosen: CheckedToken; check: Check; label: string }) {
  const { replacements = [] } = chosen;
  if (replacements.length === 0) {
    return (
      <p class="help" id="replaced">
        “<Own text={label} />” was blanked ({check.blank}): the {check.quantity} {about(chosen)}.
      </p>
    );
  }
  // Where classes are predicted, all replacements count alike.
  const weighed = replacements.some(({ fit = 1 }) => fit < 1);
  return (
    <table id="replaced">
      <caption>
        “<Own text={label} />” replaced: the {check.quantity} {about(chosen)} on average.
        {weighed && " Replacements after which the model still expects the same kind of word count most."}
      </caption>
      <thead>
        <tr>
          <th scope="col">by</th>
          <th scope="col">{check.quantity}</th>
          {weighed && <th scope="col">weight</th>}
        </tr>
      </thead>
      <tbody>
        {replacements.map(({ text, value, fit = 1 }, place) => (
          <tr key={place}>
            <th scope="row">
              <Own text={text} />
            </th>
            <td>{amount(value)}</td>
            {weighed && <td>{percent(fit)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
