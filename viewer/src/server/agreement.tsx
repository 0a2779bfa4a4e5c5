// Do raw attention, rollout and flow rank the tokens of this text as blank-out and gradients do?
import { useMemo } from "preact/hooks";
import { DivergingScale } from "../color/scale";
import { Card } from "../components/card";
import { Scroller } from "../components/scroller";
import { Own, TokenName } from "../components/own_text";
import { ValueStrip } from "../components/value_strip";
import { ViewerContext, type Viewer } from "../context";
import { pictureOf } from "../export/element_picture";
import { AGGREGATIONS } from "../report/document";
import { notesHere } from "../report/notes";
import type { Report } from "../report/report";
import { format } from "../report/text";
import { dark } from "../theme";
import type { ServedModel } from "./client";
import { EVALUATING, evaluate } from "./evaluate";
import { TOKENS, rho, type Evaluation } from "./evaluation";
import type { ServerState } from "./server_state";

/** Longer texts have no strips: the table says it all. */
const MOST_TOKENS = 160;

const DOES: Record<string, string> = {
  "blank-out": "how much it changes when that token is blanked",
  gradient: "the length of its gradient with respect to that token",
};

/** Why this text cannot be evaluated although its model can be; "" if it can. */
function whyNotEvaluated({ mask }: ServedModel, report: Report): string {
  if (mask === null || (report.document.predictions ?? []).length > 0) return "";
  return `The text has no ${mask}, so the model predicts nothing whose change could be measured. Replace one of its words with ${mask} and explain the text again.`;
}

export function Agreement({ state, viewer }: { state: ServerState; viewer: Viewer }) {
  const { report } = viewer;
  const model = state.explanations.explaining();
  if (report.document.input.kind !== "text" || !model?.evaluates) return null;
  const reason = whyNotEvaluated(model, report);
  const evaluation = state.results.evaluation.value;
  const running = state.work.working.value === EVALUATING;
  const score = model.head === "causal" ? "gradients" : "blank-out";
  return (
    <Card
      id="agreement"
      title={`Faithfulness check (${score})`}
      wide
      exporter={
        evaluation
          ? {
              svg: () => pictureOf("agreement"),
              shown: () => ({ method: viewer.report.methods.join(", "), filters: false }),
              rows: () => evaluation.table(),
            }
          : undefined
      }
    >
      <div class="row what-if">
        <button
          type="button"
          id="evaluate"
          disabled={state.work.working.value !== "" || reason !== ""}
          aria-describedby={reason ? "evaluation-reason" : undefined}
          onClick={() => void evaluate(viewer, state.work, state.results)}
        >
          {evaluation ? "Evaluate again" : "Evaluate"}
        </button>
        {running && <EvaluationProgress state={state} />}
        {reason && (
          <p class="notice" id="evaluation-reason">
            {reason}
          </p>
        )}
        <p class="help">
          {score === "blank-out"
            ? "Each token in turn is blanked, and the change of the prediction is correlated (Spearman) with each method; gradients are a second score. "
            : "Each method is correlated (Spearman) with the gradient of the prediction. "}
          Each method's values for the output token are compared with these scores. One text shows whether a method
          misleads on it, not how well the method does on average.
          {report.mixing.name !== "attention" && ` This check ranks attention itself, not ${report.mixing.weights}.`}
        </p>
      </div>
      {state.results.evaluationProblem.value && (
        <p class="problem" role="alert" id="evaluation-problem">
          {state.results.evaluationProblem.value}
        </p>
      )}
      {evaluation && <Result evaluation={evaluation} viewer={viewer} />}
    </Card>
  );
}

function EvaluationProgress({ state }: { state: ServerState }) {
  const progress = state.work.progress.value;
  const known = progress && progress.position === null && progress.total > 0;
  return (
    <span class="row status" id="evaluation-progress">
      <progress aria-label="Evaluating" {...(known ? { value: progress.done, max: progress.total } : {})} />
      {known && `${progress.phase} ${progress.done} of ${progress.total}`}
    </span>
  );
}

function Result({ evaluation, viewer }: { evaluation: Evaluation; viewer: Viewer }) {
  const { scores, target, blank, notes } = evaluation.document;
  const { report } = viewer;
  // The page already shows the others.
  const said = notesHere(
    notes.filter(({ text }) => !report.document.notes.some((note) => note.text === text)),
    { methods: AGGREGATIONS, asWritten: true, ownToken: true, words: false, served: true, recipe: false },
  );
  const strips = report.n <= MOST_TOKENS && scores.every(({ values }) => values.length === report.n);
  return (
    <div id="agreement">
      <p class="readout" id="agreement-summary">
        The model says <Own text={target.label} /> ({format(target.probability)}). {evaluation.summary()}
      </p>
      <p class="help" id="agreement-help">
        Spearman's correlation between each method's values and a score: 1 means the same order, 0 no relation, −1 the
        reverse order. Bold: the best of its group.
      </p>
      <AgreementTable evaluation={evaluation} />
      {strips && (
        // The scores belong to subword tokens, even where the page shows words.
        <ViewerContext.Provider value={viewer}>
          <div class="compare" id="scores">
            {scores.map((score) => {
              const first = evaluation.first(score);
              const title = (
                <>
                  {score.name} <span class="index">most: </span>
                  <TokenName label={report.tokens[first.index].label} index={first.index} />
                </>
              );
              return (
                <section key={score.name}>
                  <ValueStrip name={score.name} title={title} values={Float64Array.from(score.values)} view="scores" />
                  <p class="help">
                    <Own text={score.target} most={80} />: {DOES[score.name] ?? score.name}
                    {score.name === "blank-out" && blank && (
                      <>
                        {" "}
                        (by <Own text={blank} />)
                      </>
                    )}
                  </p>
                </section>
              );
            })}
          </div>
        </ViewerContext.Provider>
      )}
      {said.map(({ text }) => (
        <p class="help note" key={text}>
          {text}
        </p>
      ))}
    </div>
  );
}

function AgreementTable({ evaluation }: { evaluation: Evaluation }) {
  const { methods, layers } = evaluation.document;
  const night = dark.value;
  const scale = useMemo(() => new DivergingScale(night), [night]);
  return (
    <Scroller tabIndex={0} role="group" aria-label="Correlations, which scroll">
      <table id="agreement-table" aria-describedby="agreement-help">
        <thead>
          <tr>
            <th scope="col" rowSpan={2}>
              Layer
            </th>
            {evaluation.groups.map(({ score, tokens, count }) => (
              <th key={score + tokens} scope="colgroup" class="group" colSpan={methods.length}>
                <b>{score}</b>, {TOKENS[tokens]} ({count})
              </th>
            ))}
          </tr>
          <tr>
            {evaluation.groups.map((group) =>
              methods.map((method, k) => (
                <th key={group.score + group.tokens + method} scope="col" class={k === 0 ? "number group" : "number"}>
                  {method}
                </th>
              )),
            )}
          </tr>
        </thead>
        <tbody>
          {[...layers].reverse().map((layer) => (
            <tr key={layer}>
              <th scope="row">{layer}</th>
              {evaluation.groups.map((group) => {
                const best = evaluation.best(group);
                return methods.map((method, k) => {
                  const value = evaluation.spearman(group, method, layer);
                  const nearest = value !== null && value === best?.spearman;
                  return (
                    <td
                      key={group.score + group.tokens + method}
                      class={`number${k === 0 ? " group" : ""}${nearest ? " nearest" : ""}`}
                      data-score={group.score}
                      data-tokens={group.tokens}
                      data-method={method}
                      data-layer={layer}
                      data-value={value ?? ""}
                      style={
                        value === null ? undefined : { background: scale.css(value, 1), color: scale.ink(value, 1) }
                      }
                    >
                      {rho(value)}
                    </td>
                  );
                });
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}
