// Parts that the check's row of a text and its map of a picture share.
import type { ComponentChildren } from "preact";
import { barOf, DivergingScale } from "../color/scale";
import { Own } from "../components/own_text";
import { Tip } from "../components/tip";
import { useViewer } from "../context";
import type { Check, CheckedToken } from "../report/document";
import { amount, digits, percent } from "../report/text";
import { dark } from "../theme";

export const changeOf = ({ drop, spread }: CheckedToken) =>
  `${drop >= 0 ? "falls" : "rises"} by ${amount(Math.abs(drop))}${spread ? ` ± ${digits(spread)}` : ""}`;

/** The largest fall or rise. */
export const largestDrop = ({ tokens }: Check) => Math.max(...tokens.map(({ drop }) => Math.abs(drop)));

interface CheckTipProps {
  check: Check;
  /** a token or patch, within a sentence */
  name: (token: number) => ComponentChildren;
}

/** Describes the token or patch that is pointed at. */
export function CheckTip({ check, name }: CheckTipProps) {
  const here = useViewer().state.pointed.value;
  const checked = check.tokens.find(({ token }) => token === here?.input);
  return (
    <Tip view="check">
      {here?.view !== "check" ? null : checked ? (
        <>
          Without {name(here.input)} the {check.quantity} <b>{changeOf(checked)}</b>
        </>
      ) : (
        <>Not checked: {name(here.input)}</>
      )}
    </Tip>
  );
}

/** The scale of falls and rises, and how to see what stood in. */
export function CheckLegend({ check, part }: { check: Check; part: "token" | "word" | "patch" }) {
  const { quantity, value, left_out: leftOut = 0, irreplaceable = [], tokens } = check;
  const scale = new DivergingScale(dark.value);
  const top = largestDrop(check);
  return (
    <p class="help check-legend" id="check-legend">
      {`The ${quantity} is ${amount(value)}. Red: it rises `}
      <span aria-hidden="true" class="bar" style={{ background: barOf((t) => scale.css((2 * t - 1) * top, top)) }} />
      {` blue: it falls. The scale ends at ±${amount(top)}.`}
      {leftOut > 0 && ` Left out, to save time: ${leftOut}.`}
      {irreplaceable.length > 0 && ` Not checked, as nothing fits in their place: ${irreplaceable.length}.`}
      {tokens.some(({ replacements }) => replacements?.length) && ` Click a ${part} for what replaced it.`}
    </p>
  );
}

interface ReplacedProps {
  chosen: CheckedToken;
  check: Check;
  /** names the token or patch at the beginning of a sentence */
  children: ComponentChildren;
}

/** The replacements of a token or patch, and the model's answers with them. */
export function Replaced({ chosen, check, children }: ReplacedProps) {
  const { replacements = [] } = chosen;
  if (replacements.length === 0) {
    return (
      <p class="help" id="replaced">
        {children} was blanked ({check.blank}): the {check.quantity} {changeOf(chosen)}.
      </p>
    );
  }
  // Where classes are predicted, all replacements count alike.
  const weighed = replacements.some(({ fit = 1 }) => fit < 1);
  return (
    <table id="replaced">
      <caption>
        {children} replaced: the {check.quantity} {changeOf(chosen)} on average.
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
