// Below the colored text: what the model does without each token, whatever a map says.
import { useSignal } from "@preact/signals";
import { Own } from "../components/own_text";
import { Info } from "../components/guide";
import { barOf, DivergingScale } from "../color/scale";
import type { Check, CheckedToken } from "../report/document";
import type { Report } from "../report/report";
import { amount, digits, percent } from "../report/text";
import { dark } from "../theme";

interface CheckRowProps {
  check: Check;
  report: Report;
  /** how many of the report's tokens belong to the row */
  tokens: number;
}

const about = (checked: CheckedToken) =>
  `${checked.drop >= 0 ? "falls" : "rises"} by ${amount(Math.abs(checked.drop))}${checked.spread ? ` ± ${digits(checked.spread)}` : ""}`;

export function CheckRow({ check, report, tokens }: CheckRowProps) {
  const open = useSignal<number | null>(null);
  const scale = new DivergingScale(dark.value);
  const top = Math.max(...check.tokens.map(({ drop }) => Math.abs(drop)));
  const at = new Map(check.tokens.map((one) => [one.token, one]));
  const chosen = open.value === null ? undefined : at.get(open.value);
  const { quantity, left_out = 0 } = check;
  return (
    <section id="check" aria-labelledby="check-heading">
      <h3 id="check-heading">
        Without each token <Info about="check" place="trust" />
      </h3>
      <p class="check-text" dir="auto">
        {report.tokens.slice(0, tokens).map(({ index, label }) => {
          const checked = at.get(index);
          const before = index > 0 && !report.continues(index) ? " " : "";
          if (!checked) {
            return (
              <span key={index}>
                {before}
                <Own text={label} />
              </span>
            );
          }
          return (
            <span key={index}>
              {before}
              <button
                type="button"
                class="checked"
                aria-expanded={open.value === index}
                aria-label={`${label}: the ${quantity} ${about(checked)}`}
                title={`the ${quantity} ${about(checked)}`}
                style={{ backgroundColor: scale.css(checked.drop, top), color: scale.ink(checked.drop, top) }}
                onClick={() => (open.value = open.value === index ? null : index)}
              >
                <Own text={label} />
              </button>
            </span>
          );
        })}
      </p>
      <p class="help check-legend">
        {`rises ${amount(top)} `}
        <span aria-hidden="true" class="bar" style={{ background: barOf((t) => scale.css((2 * t - 1) * top, top)) }} />
        {` falls ${amount(top)}: the ${quantity}, ${amount(check.value)}, without the token. `}
        {left_out > 0 && `Left out, to save time: ${left_out}. `}
        {check.tokens.some(({ replacements }) => replacements?.length) && "Click a token for what replaced it."}
      </p>
      {chosen && <Replaced chosen={chosen} check={check} label={report.tokens[chosen.token].label} />}
    </section>
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
