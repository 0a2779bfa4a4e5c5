// A two-minute tour with the built-in model: one sentence, four maps of it, and what the check says of each. Every name
// and number is read from the report on screen; its requests are like those for any other text.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bringToSight } from "../components/in_sight";
import { Own } from "../components/own_text";
import type { Viewer } from "../context";
import type { Method } from "../report/document";
import type { MixingName } from "../report/mixings";
import { amount, percentage } from "../report/text";
import type { ServedModel } from "./client";
import { textsOf } from "./examples";
import type { ServerState } from "./server_state";

const TEXT = "The keys to the cabinet";

interface Step {
  title: string;
  method: Method;
  mixing: MixingName;
  words: (found: Found) => ComponentChildren;
  /** the map that it judges, in words; absent for the first and the last step */
  map?: string;
}

/** The things a step refers to: the report, the token without which the prediction falls most, and the maps judged so far. */
interface Found {
  viewer: Viewer;
  decisive: number;
  judged: ReadonlyMap<string, Judged>;
}

/** The token that a map ranked first, and whether it decides. */
interface Judged {
  label: string;
  right: boolean;
}

const STEPS: readonly Step[] = [
  {
    title: "Without each token",
    method: "rollout",
    mixing: "attention",
    words: ({ viewer, decisive }) => {
      const { predictions = [], check } = viewer.report.document;
      const drop = check?.tokens.find(({ token }) => token === decisive)?.drop;
      const answer = predictions[0]?.choices[0];
      return (
        <>
          The model reads “{TEXT}” and says which number the verb will have: {answer?.label},{" "}
          {percentage(answer?.probability ?? 0)}. Which token does it need for that? Take each one away, put others that
          could stand there in its place, and see how far the prediction falls: the row “Without each token” below.{" "}
          {check && drop !== undefined && (
            <>
              It falls most without <Name viewer={viewer} token={decisive} />: the {check.quantity},{" "}
              {amount(check.value)}, falls by {amount(drop)}.
            </>
          )}{" "}
          Whatever a map says, that is what the model did. Now four maps of this sentence: which of them is right?
        </>
      );
    },
  },
  {
    title: "Raw attention",
    method: "raw",
    mixing: "attention",
    map: "Raw attention",
    words: (found) => (
      <>
        {first(found, "raw", "The last layer's attention")} Above the first layer, each position is a mixture of tokens:
        where a layer looks does not say which token the information came from.
      </>
    ),
  },
  {
    title: "Rollout",
    method: "rollout",
    mixing: "attention",
    map: "Rollout over attention",
    words: (found) => (
      <>
        Rollout multiplies the layers' attention along every path from the output down to the input.{" "}
        {first(found, "rollout")}
      </>
    ),
  },
  {
    title: "Flow",
    method: "flow",
    mixing: "attention",
    map: "Flow over attention",
    words: (found) => (
      <>
        Flow asks how much could pass at most if attention is the capacity of each connection. {first(found, "flow")}{" "}
        Values marked ° are set by the first or the last layer alone.
      </>
    ),
  },
  {
    title: "Better edges",
    method: "flow",
    mixing: "relevance",
    map: "Flow over relevance",
    words: (found) => (
      <>
        Rollout and flow are only as good as what flows. Here each connection carries what it contributes to this
        prediction (relevance), not attention. {first(found, "flow")} Predictions are explained this way unless you
        choose otherwise.
      </>
    ),
  },
  {
    title: "Which is right?",
    method: "flow",
    mixing: "relevance",
    words: ({ viewer, decisive, judged }) => (
      <>
        The model needs <Name viewer={viewer} token={decisive} />.{" "}
        {[...judged].map(([map, { label, right }]) => (
          <span key={map}>
            {map}: “<Own text={label} />
            ”, {right ? "right" : "wrong"}.{" "}
          </span>
        ))}
        You know because the model was asked, not because a picture looks plausible; and you know it for this sentence
        only. So with every answer, look below the text: what falls without each token, and the two lines that say
        whether the map's top token and its order are right. Now try a sentence of your own.
      </>
    ),
  },
];

/** The model that knows the sentence, if this server has it. */
const tourModel = (state: ServerState): ServedModel | undefined =>
  state.question.table.value?.models.find((model) => model.evaluates && textsOf(model).includes(TEXT));

function Name({ viewer, token }: { viewer: Viewer; token: number }) {
  return (
    <b>
      “<Own text={viewer.report.tokens[token].label} />”
    </b>
  );
}

/** The tokens that a method ranks first: several if it cannot tell them apart. */
function firstTokens(viewer: Viewer, method: Method): number[] {
  const { explanation, output, state } = viewer;
  const ranking = explanation.value.ranking(method, viewer.layersOf(method), output, state.counts.value);
  return ranking.filter(({ rank }) => rank === 1).map(({ token }) => token);
}

/** The check's verdict on a map. */
function judgedOf(viewer: Viewer, method: Method, decisive: number): Judged | null {
  const map = viewer.report.document.check?.maps.find((one) => one.method === method);
  if (!map) return null;
  return { label: viewer.report.tokens[map.first_token].label, right: map.first_token === decisive };
}

/** Says which token a method ranks first, and whether its order agrees with the check. */
function first({ viewer, decisive }: Found, method: Method, it = "It"): ComponentChildren {
  const map = viewer.report.document.check?.maps.find((one) => one.method === method);
  if (!map) return null;
  const alike = firstTokens(viewer, method);
  return (
    <>
      {alike.length > 1 ? (
        <>
          {it} cannot tell {alike.length} tokens apart,{" "}
          {alike.includes(decisive) ? (
            <>
              among them <Name viewer={viewer} token={decisive} />, the token that decides
            </>
          ) : (
            "none of which decides"
          )}
        </>
      ) : (
        <>
          {it} ranks <Name viewer={viewer} token={map.first_token} /> first,{" "}
          {map.first_token === decisive ? "the token that decides" : "not the token that decides"}
        </>
      )}
      .{` ${map.order ?? ""}`}
    </>
  );
}

/** Requests the sentence with a step's mixing. */
async function ask(state: ServerState, mixing: MixingName) {
  const model = tourModel(state);
  const { question } = state;
  if (!model) return;
  question.choose("text");
  question.model.value = { ...question.model.peek(), text: model.name };
  question.text.value = TEXT;
  question.pair.value = question.target.value = question.against.value = "";
  question.mixing.value = mixing;
  question.scores.value = [];
  await state.explanations.explainText();
}

function go(state: ServerState, step: number) {
  const asked = state.tour.peek() === null || !fits(state, STEPS[step]);
  const shown = state.results.shown.peek();
  // The headline changes with the tour's words, not a frame later.
  if (!asked && shown && "viewer" in shown) shown.viewer.state.choices.method.value = STEPS[step].method;
  state.tour.value = step;
  if (asked) void ask(state, STEPS[step].mixing);
}

/** Whether the current view is the one that a step describes. */
function fits(state: ServerState, { mixing }: Step): boolean {
  const shown = state.results.shown.value;
  if (!shown || !("viewer" in shown)) return false;
  const { input, settings } = shown.viewer.report.document;
  return input.text === TEXT && settings.mixing === mixing;
}

function end(state: ServerState) {
  state.tour.value = null;
  state.question.mixing.value = "auto";
}

export function TourButton({ state }: { state: ServerState }) {
  if (!tourModel(state)) return null;
  return (
    <p>
      <button type="button" id="tour-begin" class="primary" onClick={() => go(state, 0)}>
        Take the two-minute tour
      </button>{" "}
      <span class="help">One sentence, four maps: which is right, and how do you know?</span>
    </p>
  );
}

export function Tour({ state }: { state: ServerState }) {
  const at = state.tour.value;
  const step = at === null ? null : STEPS[at];
  const judged = useRef(new Map<string, Judged>());
  const shown = state.results.shown.value;
  const viewer = step && shown && "viewer" in shown && fits(state, step) ? shown.viewer : null;
  useEffect(() => {
    if (viewer && step) viewer.state.choices.method.value = step.method;
  }, [viewer, step]);
  // Steps differ in length, and a new report changes what is above.
  useEffect(() => {
    if (at === null) return;
    bringToSight("tour");
    // The pressed button may be gone.
    if (document.activeElement === document.body) {
      (document.getElementById("tour-next") ?? document.getElementById("tour-end"))?.focus({ preventScroll: true });
    }
  }, [at, viewer]);
  if (at === null || !step) return null;
  const decisive = viewer?.report.document.check?.maps[0]?.decisive_token;
  if (viewer && decisive !== undefined && step.map) {
    const found = judgedOf(viewer, step.method, decisive);
    if (found) judged.current.set(step.map, found);
  }
  // Another text was explained: the tour is over.
  const away = shown !== null && !viewer && state.work.working.value === "";
  const last = at === STEPS.length - 1;
  return (
    <section id="tour" class="card wide" aria-label="Tour">
      <div class="row">
        <h2>
          {at + 1} of {STEPS.length}: {step.title}
        </h2>
        <button type="button" id="tour-back" disabled={at === 0} onClick={() => go(state, at - 1)}>
          Back
        </button>
        {!last && (
          <button type="button" id="tour-next" class="primary" onClick={() => go(state, at + 1)}>
            Next: {STEPS[at + 1].title}
          </button>
        )}
        <button type="button" id="tour-end" class={last ? "primary" : ""} onClick={() => end(state)}>
          {last ? "Done" : "End the tour"}
        </button>
      </div>
      <p aria-live="polite" id="tour-words">
        {viewer && decisive !== undefined
          ? step.words({ viewer, decisive, judged: judged.current })
          : away
            ? "The tour is about another text."
            : "The model is running…"}
      </p>
      {away && (
        <button type="button" id="tour-again" onClick={() => void ask(state, step.mixing)}>
          Back to the tour's text
        </button>
      )}
    </section>
  );
}
