// What the layers' matrices are made of, and one click to change it: from the server, or else by a command.
import { useSignal } from "@preact/signals";
import { useViewer, type Viewer } from "../context";
import { MIXINGS, type MixingInfo, type MixingName } from "../report/mixings";
import { Close, Command, commandFor } from "./ask_for";
import { Choice } from "./fields";
import { Info } from "./guide";

/** Mixings that a model of this kind may have; decoders normalize before each residual connection. */
const fitsModel = ({ norms_after }: MixingInfo, causal: boolean): boolean => !norms_after || !causal;

/** The mixings the report could have been made with; for numbers from a file there is no other. */
export function mixingsOf({ report, askMixing }: Viewer): readonly MixingInfo[] {
  const { kind } = report.document.input;
  if (kind === "attention" || kind === "generation") return [];
  const offers = askMixing.value?.offers ?? (() => true);
  return MIXINGS.filter((one) => one === report.mixing || (fitsModel(one, report.model.causal) && offers(one)));
}

export function MixingChoice() {
  const viewer = useViewer();
  const { report, explanation, state, askMixing } = viewer;
  // An object, so that picking the same item again triggers a redraw and resets the list.
  const picked = useSignal<{ name: MixingName } | null>(null);
  const options = mixingsOf(viewer);
  if (options.length === 0) return null;
  const now = report.mixing.name;
  const server = askMixing.value;
  const wanted = picked.value?.name ?? now;
  // Without a server the pick has no effect: the list shows what the report holds.
  const shown = server ? wanted : now;
  const choose = (name: MixingName) => {
    picked.value = { name };
    // A choice that the server refuses is not shown as chosen.
    if (server && name !== now) void server.ask(name).finally(() => (picked.value = null));
  };
  const { method, token } = state.choices;
  return (
    <>
      <Choice
        id="mixing"
        label="Mixing"
        value={shown}
        options={options.map(({ name }) => [name, server || name === now ? name : `${name} (by command)`])}
        title={options.map(({ name, help }) => `${name}: ${help}`).join("\n")}
        choose={choose}
      >
        <Info about="mixings" place="mixing" />
      </Choice>
      {shown !== "attention" && (
        <button type="button" id="paper-attention" onClick={() => choose("attention")}>
          Attention, as in Abnar & Zuidema
        </button>
      )}
      {!server && wanted !== now && (
        <p class="help" id="mixing-command" role="status">
          The report holds {report.mixing.weights}. This command computes {wanted}:{" "}
          <Command text={commandFor(report, explanation.value.recipe, method.value, token.value, wanted)} />{" "}
          <Close close={() => (picked.value = null)} />
        </p>
      )}
    </>
  );
}
