// Chooses what is shown: method, layer, output token, and the settings that change the numbers.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Method } from "../report/document";
import { useViewer } from "../context";
import { Filters } from "./filters";
import { Select, SliderControl, tokenOptions } from "./fields";
import { Look } from "./look";
import { MethodChoice } from "./method_choice";
import { SpecialCheck } from "./special_note";
import { WordReport } from "../report/words";

export function ChoiceControls() {
  const viewer = useViewer();
  const { report, state, askServer, scored } = viewer;
  const { choices } = state;
  const { layers, tokens } = report;
  // Whatever a server can compute can be chosen.
  const served = askServer.value !== null;
  const ofWords = report instanceof WordReport ? " of whole words" : "";
  const lacking = (method: Method) =>
    `This report was made without ${method}${ofWords}${served ? "; the server computes it" : ""}`;
  const alike = scored
    ? `${choices.method.value} explains the prediction as a whole, not a layer or an output token`
    : undefined;
  const options = useMemo(() => tokenOptions(tokens, report.pictured), [tokens]);
  return (
    <>
      <MethodChoice has={(method) => viewer.has(method)} missing={lacking} asks={served} />
      <SliderControl
        id="layer"
        label="Layer"
        words={`${choices.layer.value} of ${report.model.layers}`}
        title={alike}
        max={layers.length - 1}
        step={1}
        value={layers.indexOf(choices.layer.value)}
        disabled={layers.length < 2 || scored}
        aria-valuetext={`layer ${choices.layer.value}`}
        choose={(index) => (choices.layer.value = layers[index])}
      />
      <div class="control" title={alike}>
        <label for="output-token">Output token</label>
        <Select
          id="output-token"
          own
          disabled={scored}
          value={choices.token.value}
          options={options}
          choose={(token) => (choices.token.value = token)}
        />
      </div>
    </>
  );
}

/** The bar of a page's choices, including those every page has: exclusions and appearance. */
export const Controls = ({ children }: { children: ComponentChildren }) => (
  <form id="controls" class="row" aria-label="What is shown" onSubmit={(event) => event.preventDefault()}>
    {children}
    <SpecialCheck />
    <div class="panels">
      <Filters />
      <Look />
    </div>
  </form>
);
