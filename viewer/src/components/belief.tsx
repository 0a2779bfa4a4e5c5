// Below the headline: how far to believe the method that is shown, where the report says so.
import { spreadWords } from "../color/ends";
import { useViewer, type Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import { agreementLevel, effectWords, levelWords } from "../report/agreement";
import type { Agreement, MapAgreement } from "../report/document";
import { degenerateIn, degenerateWords } from "../report/notes";
import { Info } from "./guide";
import { WordReport } from "../report/words";

export interface ShownAgreement {
  agreement: Agreement;
  map: MapAgreement;
  /** of the token that the map ranks first */
  label: string;
}

/** Of the values that are shown; null where the report says nothing of those. */
export function agreementShown(viewer: Viewer): ShownAgreement | null {
  const { report, state, explanation } = viewer;
  const { method, token } = state.choices;
  // Words merged in the page have values of their own.
  if (report instanceof WordReport) return null;
  const layers = [viewer.layersOf(method.value)].flat();
  const from = explanation.value.result(method.value, viewer.layersOf(method.value), viewer.output)?.from;
  if (!from) return null;
  const generation = viewer instanceof GenerationViewer ? viewer : null;
  if (generation?.normalized) return null;
  const agreement = generation ? generation.report.fields.tokens[token.value]?.agreement : from.document.agreement;
  const map = agreement?.maps.find((one) => one.method === method.value);
  if (!agreement || !map) return null;
  const own = viewer.scored || generation || token.value === from.document.output_token;
  const same = map.layer === undefined || (layers.length === 1 && layers[0] === map.layer);
  return own && same ? { agreement, map, label: report.tokens[map.first_token]?.label ?? "" } : null;
}

function Agreed({ agreement, map, label }: ShownAgreement) {
  return (
    <p class="belief" id="agreement" data-level={agreementLevel(map)}>
      <span class="level">{effectWords(agreement, map, label)}</span>{" "}
      <span title="Rank correlation of this map with what blanking each token changes: 1 is the same order, 0 none">
        {levelWords(map)}
      </span>{" "}
      <Info about="agreement with blank-out" place="trust" />
    </p>
  );
}

/** Of flow: how many of the values say nothing of the layers in between. */
function FlowBelief() {
  const viewer = useViewer();
  const found = degenerateIn(viewer.degenerate(), viewer.row());
  const within = spreadWords(viewer.endsOf(viewer.degenerate() && viewer.row()));
  const together = within && (
    <p class="belief" id="flow-spread" data-level="none">
      <span class="level">{within}</span>
    </p>
  );
  if (!found || found.count === 0) return together || null;
  return (
    <>
      {together}
      <p class="belief" id="flow-belief" data-level={2 * found.count >= found.all ? "none" : "weak"}>
        <span class="level">{degenerateWords(found)}</span> <Info about="degenerate flow" place="methods" />
      </p>
    </>
  );
}

export function Belief() {
  const viewer = useViewer();
  const { report, state, scored } = viewer;
  const shown = agreementShown(viewer);
  const checkable = report.document.input.kind === "text" && !scored && state.choices.method.value !== "flow";
  return (
    <div id="belief">
      <FlowBelief />
      {shown && <Agreed {...shown} />}
      {!shown && checkable && viewer.row() && (
        <p class="belief help" id="unchecked">
          Not checked here against blanking tokens. <Info about="checking a map" place="trust" />
        </p>
      )}
    </div>
  );
}
