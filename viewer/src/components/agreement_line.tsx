// Below the headline: how far to believe the method that is shown, where the report says so.
import { useViewer, type Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import { agreementLevel, effectWords, levelWords } from "../report/agreement";
import type { Agreement, MapAgreement } from "../report/document";
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

export function AgreementLine() {
  const shown = agreementShown(useViewer());
  if (!shown) return null;
  const { agreement, map, label } = shown;
  return (
    <p id="agreement" data-level={agreementLevel(map)}>
      <span class="level">{effectWords(agreement, map, label)}</span>{" "}
      <span title="Rank correlation of this map with what blanking each token changes: 1 is the same order, 0 none">
        {levelWords(map)}
      </span>
    </p>
  );
}
