// Raw, rollout or flow.
import { useViewer } from "../context";
import { METHODS, type Method } from "../report/document";

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
    <fieldset id="methods">
      <legend class="visually-hidden">Method</legend>
      {METHODS.map((one) => (
        <label key={one} title={has(one) ? undefined : missing(one)}>
          <input
            type="radio"
            name="method"
            value={one}
            disabled={!has(one) && !asks}
            checked={method.value === one}
            onChange={() => (method.value = one)}
          />
          <span>{one}</span>
        </label>
      ))}
    </fieldset>
  );
}
