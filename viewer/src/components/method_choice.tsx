// Raw, rollout or flow, and the score methods that there are values for.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useViewer } from "../context";
import { AGGREGATIONS, isScore, METHODS, type Method } from "../report/document";
import { oneColumn } from "../theme";
import { Command, commandFor } from "./ask_for";
import { Radios } from "./fields";
import { Info } from "./guide";
import { Popover } from "./popover";

interface MethodChoiceProps {
  has(method: Method): boolean;
  missing(method: Method): string;
  /** a method without values can be chosen: a server computes it */
  asks?: boolean;
}

/** The methods as buttons. @param name of the group: a page may have two */
function MethodRadios({ has, missing, asks = false, name }: MethodChoiceProps & { name: string }) {
  const { method } = useViewer().state.choices;
  return (
    <Radios
      name={name}
      value={method.value}
      options={METHODS.filter((one) => !isScore(one) || has(one)).map((one) => ({
        value: one,
        words: <span>{one}</span>,
        title: has(one) ? undefined : missing(one),
        disabled: !has(one) && !asks,
      }))}
      choose={(one) => (method.value = one)}
    />
  );
}

export function MethodChoice(props: MethodChoiceProps) {
  const { has, missing, asks = false } = props;
  const { state } = useViewer();
  // Values that may still arrive with the report are not missing yet.
  const lacking = asks || state.growing.value ? [] : AGGREGATIONS.filter((one) => !has(one));
  return (
    <>
      <fieldset id="methods" class="segments">
        <legend class="visually-hidden">Method</legend>
        <MethodRadios {...props} name="method" />
        <Info about="the methods" place="methods" />
      </fieldset>
      {lacking.length > 0 && <Lacking methods={lacking} missing={missing} />}
      <QuickBar {...props} />
    </>
  );
}

/** In one column the controls scroll out of sight: the method then stays at the top, with a way back to them. */
function QuickBar(props: MethodChoiceProps) {
  const above = useSignal(false);
  const narrow = oneColumn.value;
  useEffect(() => {
    const controls = document.getElementById("controls");
    if (!narrow || !controls || typeof IntersectionObserver !== "function") return;
    const observer = new IntersectionObserver(([{ isIntersecting, boundingClientRect }]) => {
      above.value = !isIntersecting && boundingClientRect.bottom <= 0;
    });
    observer.observe(controls);
    return () => observer.disconnect();
  }, [narrow]);
  if (!narrow || !above.value) return null;
  const back = () => {
    document.getElementById("controls")?.scrollIntoView({ block: "start" });
    document.querySelector<HTMLElement>("#methods input:checked")?.focus({ preventScroll: true });
  };
  return (
    <div class="quick" role="group" aria-label="Method (other controls are scrolled out of view)">
      <fieldset class="segments one-line">
        <legend class="visually-hidden">Method</legend>
        <MethodRadios {...props} name="quick-method" />
      </fieldset>
      <button type="button" class="quiet" id="to-controls" onClick={back}>
        ↑ All controls
      </button>
    </div>
  );
}

/** Why a method is disabled (also where no pointer can show a title), and how to get it. */
function Lacking({ methods, missing }: { methods: readonly Method[]; missing: (method: Method) => string }) {
  const { report, explanation, state } = useViewer();
  const known = ["text", "image", "attention"].includes(report.document.input.kind);
  return (
    <div class="control help" id="methods-missing">
      {`No ${methods.join(" or ")} here.`}
      <Popover id="missing" label="Details" title="Why a method cannot be chosen">
        {methods.map((method) => (
          <p key={method}>
            {missing(method)}.
            {known && (
              <>
                {" This command computes it: "}
                <Command text={commandFor(report, explanation.value.recipe, method, state.choices.token.value)} />
              </>
            )}
          </p>
        ))}
      </Popover>
    </div>
  );
}
