// Below the colored text: how far to trust the map shown, where the report says so.
import { useSignal } from "@preact/signals";
import { spreadWords } from "../color/ends";
import { useViewer, type Viewer } from "../context";
import type { Ranked } from "../explanation";
import { excludedOf } from "../filters";
import { GenerationViewer } from "../generation/generation_viewer";
import type { MapCheck, ReportDocument } from "../report/document";
import { degenerateIn, degenerateWords } from "../report/notes";
import { percent } from "../report/text";
import { WordReport } from "../report/words";
import { Info } from "./guide";
import { Own } from "./own_text";

export interface ShownCheck {
  map: MapCheck;
  effect: string;
  /** the range of tokens checked, where the first-ranked token is not the one that was replaced; else "" */
  otherFirst: string;
}

export const partsOf = ({ input }: ReportDocument) => (input.kind === "image" ? "patches" : "tokens");

/** If at least this share of the total is excluded, the page says how little the ranking covers. */
const MOSTLY_EXCLUDED = 0.9;

/** The share of the total on ranked tokens; null if it is not small, or if there are no shares. */
export function littleRanked({ drawn, state, ranking }: Viewer): number | null {
  const { share } = excludedOf(drawn.value, state.reasons.value).all;
  return share !== null && share >= MOSTLY_EXCLUDED && ranking.value.length > 0 ? 1 - share : null;
}

const checkedOf = (viewer: Viewer) =>
  viewer instanceof GenerationViewer ? " (checked among the prompt’s tokens)" : " (checked with the usual filters)";

/** The check of the values shown; null if the report has none for them. */
export function checkShown(viewer: Viewer): ShownCheck | null {
  const { report, state, explanation } = viewer;
  const { method, token } = state.choices;
  // Words merged in the page have different values.
  if (report instanceof WordReport) return null;
  const layers = [viewer.layersOf(method.value)].flat();
  const from = explanation.value.result(method.value, viewer.layersOf(method.value), viewer.output)?.from;
  if (!from) return null;
  const generation = viewer instanceof GenerationViewer ? viewer : null;
  if (generation?.normalized) return null;
  const check = generation ? generation.checkOf(token.value) : from.document.check;
  const map = check?.maps.find((one) => one.method === method.value);
  if (!map) return null;
  const own = viewer.scored || generation || token.value === from.document.output_token;
  const same = map.layer === undefined || (layers.length === 1 && layers[0] === map.layer);
  if (!own || !same) return null;
  const first = viewer.ranking.value.filter(({ rank }) => rank === 1);
  return {
    map,
    effect: map.effect ?? `Checked by ${check?.blank ? "blanking" : "replacing"} tokens.`,
    // The check of scores replaces the strongest evidence for the prediction, but the ranking is by size.
    otherFirst: viewer.scored || first.some(({ token: at }) => at === map.first_token) ? "" : checkedOf(viewer),
  };
}

/** The check's two answers: whether the map's top token is right, and whether its order is. */
function Verdicts({ shown: { map, effect, otherFirst } }: { shown: ShownCheck }) {
  return (
    <div id="agreement" data-level={map.level}>
      <p class="belief" data-question="top" data-level={map.top_level ?? map.level}>
        <span class="level">{effect.replace(/\.$/, `${otherFirst}.`)}</span> <Info about="check" place="trust" />
      </p>
      {map.order && (
        <p
          class="belief"
          data-question="order"
          data-level={map.order_level}
          title="Rank correlation of this map with the check’s falls without each token: 1 is the same order, 0 no relation"
        >
          <span class={map.order_level ? "level" : undefined}>{map.order}</span>
        </p>
      )}
    </div>
  );
}

/** While words are shown: the first-ranked token, unless it is part of the first-ranked word; otherwise null. */
export function firstToken({ report, pieces, ranking }: Viewer): number | null {
  if (!(report instanceof WordReport)) return null;
  const firstOf = (ranked: readonly Ranked[]) => ranked.filter(({ rank }) => rank === 1).map(({ token }) => token);
  const [words, tokens] = [firstOf(ranking.value), firstOf(pieces.ranking.value)];
  const apart = words.length > 0 && tokens.every((token) => !words.includes(report.wordOf[token]));
  return apart ? (tokens[0] ?? null) : null;
}

/** Merged words may be ranked in a different order than their tokens. */
function WordsDiffer() {
  const viewer = useViewer();
  const token = firstToken(viewer);
  if (token === null) return null;
  return (
    <p class="belief help" id="words-differ">
      {`Token by token, ${viewer.state.choices.method.value} ranks “`}
      <Own text={viewer.pieces.report.tokens[token].label} />” first.
    </p>
  );
}

/** Where relevance would answer the question, and something else is shown, because it would take long or is not available. */
export function NotTheAnswer() {
  const { report, scored } = useViewer();
  const note = report.document.notes.find(({ code }) => code === "not-the-answer");
  if (!note || scored) return null;
  return (
    <p class="belief" id="not-the-answer" data-level="none">
      <span class="level">{note.text}</span>
    </p>
  );
}

function LittleRanked() {
  const viewer = useViewer();
  const share = littleRanked(viewer);
  if (share === null) return null;
  return (
    <p class="belief" id="little-ranked" data-level="none">
      <span class="level">{`Only ${percent(share)} of the total lies on the ${partsOf(viewer.report.document)} that are ranked.`}</span>
    </p>
  );
}

/** For flow: how many of the values say nothing about the layers in between. */
function FlowBelief() {
  const viewer = useViewer();
  // Over relevance such a value answers the question; the report's note says what it is.
  const overRelevance = viewer.report.mixing.rule === "contained-normalized";
  const found = overRelevance ? null : degenerateIn(viewer.degenerate(), viewer.row(), viewer.state.counts.value);
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

/** A generated token that has not been checked, and how to check it. */
function CheckToken({ viewer }: { viewer: GenerationViewer }) {
  const token = viewer.state.choices.token.value;
  const busy = useSignal(false);
  const check = viewer.check.value;
  const run = async () => {
    busy.value = true;
    await check?.(token);
    busy.value = false;
  };
  const known = viewer.checkOf(token);
  return (
    <p class="belief help" id="unchecked">
      {known
        ? "The check of this token is of other layers, or of other values than those shown. "
        : "Not checked yet: what the model does when the prompt’s tokens are replaced. "}
      {!known && (
        <button type="button" id="check-token" disabled={busy.value} onClick={() => void run()}>
          {busy.value ? "Checking…" : "Check this token"}
        </button>
      )}{" "}
      <Info about="checking a map" place="trust" />
    </p>
  );
}

export function Belief() {
  const viewer = useViewer();
  const { report, state, scored } = viewer;
  if (viewer.carriesNothing) return <div id="belief" />;
  const shown = checkShown(viewer);
  const checkable = !scored && state.choices.method.value !== "flow";
  const { input, predictions = [], generation } = report.document;
  const what = partsOf(report.document);
  const unchecked =
    predictions.length > 0 || generation || input.kind === "attention"
      ? `Not checked here by replacing ${what}.`
      : `Not checked: the model predicts nothing that replacing ${what} could change.`;
  return (
    <div id="belief">
      {shown && <Verdicts shown={shown} />}
      {!shown && !scored && viewer instanceof GenerationViewer && viewer.check.value && !state.growing.value ? (
        <CheckToken viewer={viewer} />
      ) : (
        !shown &&
        checkable &&
        viewer.row() && (
          <p class="belief help" id="unchecked">
            {viewer.evaluated.value ? "Checked below, under Faithfulness check." : unchecked}{" "}
            <Info about="checking a map" place="trust" />
          </p>
        )
      )}
      <FlowBelief />
      <WordsDiffer />
      <LittleRanked />
    </div>
  );
}
