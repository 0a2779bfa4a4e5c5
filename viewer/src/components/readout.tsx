// What the pointer is over, in words; without one, what the chosen output token draws on most.
import type { ComponentChildren } from "preact";
import { useViewer } from "../context";
import { format, isPunctuation } from "../report/text";
import { TokenName } from "./own_text";

/** @param view the view it stands under: it answers to pointers in that view and, softly, to those in others */
export function Readout({ view }: { view: string }) {
  const viewer = useViewer();
  const { state, explanation } = viewer;
  const { choices, counts } = state;
  const pointed = state.pointed.value;
  const here = pointed?.view === view ? pointed : null;
  const method = choices.method.value;
  const layer = here?.layer ?? choices.layer.value;
  const output = here?.output ?? choices.token.value;
  const input = pointed?.input ?? null;
  const row = explanation.value.row(method, layer, output);
  const name = (token: number) => <TokenName {...viewer.name(token)} said />;
  let content: ComponentChildren;
  if (row === null) {
    const rows = explanation.value.outputTokens(method);
    content = (
      <>
        No {method} values for {name(output)} here
        {rows.length > 0 && (
          <>
            ; there are for{" "}
            {rows.slice(0, 4).map((token) => (
              <span key={token}>{name(token)} </span>
            ))}
          </>
        )}
        {rows.length > 4 && "and others"}.
      </>
    );
  } else if (input === null) {
    const best = explanation.value.ranking(method, layer, output, counts.value)[0];
    content = (
      <>
        {method}, layer {layer}: {name(output)} draws most on {best ? name(best.token) : "nothing"}
        {best &&
          (isPunctuation(viewer.name(best.token).label) ? `, ${format(best.value)}` : ` (${format(best.value)})`)}
      </>
    );
  } else {
    const flag = method === "flow" ? explanation.value.degenerate(layer, output)?.[input] : 0;
    content = (
      <>
        {method}, layer {layer}: {name(output)} draws <b>{format(row[input])}</b> on {name(input)}
        {flag ? " (repeats the first layer, or as large as it can be)" : ""}
      </>
    );
  }
  return (
    <p class="readout" id={`${view}-readout`}>
      {content}
    </p>
  );
}
