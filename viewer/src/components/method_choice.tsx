// Raw, rollout or flow, and the methods beside the graph that there are values of.
import { useViewer } from "../context";
import { isScore, METHODS, type Method } from "../report/document";
import { Radios } from "./fields";
import { Info } from "./guide";

interface MethodChoiceProps {
  /** whether there are values of a method */
  has(method: Method): boolean;
  /** why there are none */
  missing(method: Method): string;
  /** a method without values can be chosen: a server is asked for it */
  asks?: boolean;
}

export function MethodChoice({ has, missing, asks = false }: MethodChoiceProps) {
  const { method } = useViewer().state.choices;
  return (
    <fieldset id="methods" class="segments">
      <legend class="visually-hidden">Method</legend>
      <Radios
        name="method"
        value={method.value}
        options={METHODS.filter((one) => !isScore(one) || has(one)).map((one) => ({
          value: one,
          words: <span>{one}</span>,
          title: has(one) ? undefined : missing(one),
          disabled: !has(one) && !asks,
        }))}
        choose={(one) => (method.value = one)}
      />
      <Info about="the methods" place="methods" />
    </fieldset>
  );
}
