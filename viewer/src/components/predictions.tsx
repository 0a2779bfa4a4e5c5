// The model's predictions, as bars.
import { useViewer } from "../context";
import { Bar } from "./bar";
import { Card } from "./card";
import { hasTarget } from "../report/mixings";
import { Own, TokenName } from "./own_text";
import { percentage } from "../report/text";
import type { Choice, Prediction, Target } from "../report/document";
import type { Report } from "../report/report";

const MOST = 5;

/** "+4.2 pp": percentage points more than before. */
const changeWords = (by: number) => `${by > 0 ? "+" : by < 0 ? "−" : "±"}${(100 * Math.abs(by)).toFixed(1)} pp`;

interface ChoiceBarProps {
  choice: Choice;
  before?: number;
  /** explains it next to the target */
  explain?: (() => void) | null;
}

function ChoiceBar({ choice: { label, probability }, before, explain }: ChoiceBarProps) {
  const words = percentage(probability);
  return (
    <Bar
      share={probability}
      words={before === undefined ? words : `${words} (${changeWords(probability - before)})`}
      data-value={probability}
    >
      {explain ? (
        <button
          type="button"
          class="quiet candidate"
          title={`Explain “${label}”, too, and compare the two`}
          onClick={explain}
        >
          <Own text={label} />
        </button>
      ) : (
        <Own text={label} />
      )}
    </Bar>
  );
}

/**
 * The target to request for a candidate: its number where the report knows it. Without it, a class is requested by its
 * name if no other has it, and a token not at all: its text may belong to another token, or be a keyword.
 */
function targetName({ against, kind }: Target, label: string, choices: readonly Choice[]): string | null {
  const other = [against, ...(against?.others ?? [])].find((one) => one?.label === label);
  if (other?.index !== undefined) return `id:${other.index}`;
  return kind === "class" && choices.filter((one) => one.label === label).length === 1 ? label : null;
}

/** How to explain another candidate of the explained prediction; null for the target itself, and without a server. */
function useExplainCandidate(
  { kind, position, choices }: Prediction,
  report: Report,
): (label: string) => (() => void) | null {
  const ask = useViewer().askTarget.value;
  const { target, output_token: own } = report.document;
  const explained = target && target.kind === KIND_OF_TARGET[kind] && (position ?? own) === (target.position ?? own);
  const isMade = explained && hasTarget(report.mixing);
  return (label) => {
    const name = ask && isMade && label !== target.label ? targetName(target, label, choices) : null;
    return ask && name !== null ? () => ask(name) : null;
  };
}

/** The kinds of predictions whose candidates can be targets. */
const KIND_OF_TARGET: Partial<Record<Prediction["kind"], Target["kind"]>> = {
  classification: "class",
  masked: "masked",
  next: "next",
};

/** Sorted in the order of another prediction, for side-by-side display; labels missing there come last. */
export function inOrderOf(choices: readonly Choice[], other: readonly Choice[]): Choice[] {
  const place = new Map(other.map(({ label }, k) => [label, k]));
  const at = ({ label }: Choice) => place.get(label) ?? Infinity;
  return [...choices].sort((a, b) => (at(a) === at(b) ? 0 : at(a) - at(b)));
}

interface PredictionsProps {
  report: Report;
  id?: string;
  /** above each; "": the card's is enough */
  heading?: string;
  /** set next to another report's: in its order, with the differences */
  beside?: Report;
}

interface OneProps {
  prediction: Prediction;
  report: Report;
  heading: string;
  other?: Prediction;
}

function One({ prediction, report, heading, other }: OneProps) {
  const { kind, position, candidates = [] } = prediction;
  const choices = other ? inOrderOf(prediction.choices, other.choices.slice(0, MOST)) : prediction.choices;
  const before = (all: readonly Choice[] | undefined, label: string) =>
    all?.find((choice) => choice.label === label)?.probability;
  const token = report.tokens[position ?? -1];
  const explain = useExplainCandidate(prediction, report);
  const asks = !other && choices.some(({ label }) => explain(label) !== null);
  const whole = { next: "next token", answer: "answer" }[kind as string] ?? "";
  return (
    <section>
      {(heading || kind !== "classification") && (
        <h3>
          {whole && heading ? `${heading} of the ${whole}` : whole ? `The ${whole}` : heading}
          {(kind === "masked" || kind === "token-class") && token && (
            <>
              {heading && (kind === "masked" ? " at " : " for ")}
              <TokenName label={token.label} index={token.index} said />
            </>
          )}
        </h3>
      )}
      <ol class="bars">
        {choices.slice(0, MOST).map((choice, k) => (
          <ChoiceBar
            key={k}
            choice={choice}
            before={before(other?.choices, choice.label)}
            explain={other ? null : explain(choice.label)}
          />
        ))}
        {candidates.length > 0 && <li class="help">Candidates</li>}
        {candidates.map((choice, k) => (
          <ChoiceBar
            key={`c${k}`}
            choice={choice}
            before={before(other?.candidates, choice.label)}
            explain={other ? null : explain(choice.label)}
          />
        ))}
      </ol>
      {asks && <p class="help">Click another one to explain it, too, and see both side by side.</p>}
    </section>
  );
}

/** The model's label for each token on one line, for tokens it classifies. */
function OtherTokens({ report, predictions }: { report: Report; predictions: readonly Prediction[] }) {
  if (predictions.length === 0) return null;
  return (
    <section>
      <h3>Other tokens</h3>
      <ol class="bars">
        {predictions.map(({ position, choices: [{ label, probability }] }, k) => {
          const token = report.tokens[position ?? 0];
          return (
            <Bar key={k} share={probability} words={percentage(probability)} data-value={probability}>
              <span>
                <TokenName label={token.label} index={token.index} /> <Own text={label} />
              </span>
            </Bar>
          );
        })}
      </ol>
    </section>
  );
}

/** Those that can be listed; an embedding has no choices. */
export const withChoices = ({ document }: Report): Prediction[] =>
  (document.predictions ?? []).filter(({ choices }) => choices.length > 0);

/** Only the sections; null if the model predicted nothing. */
export function Predictions({ report, id, heading = "Prediction", beside }: PredictionsProps) {
  const predictions = withChoices(report);
  if (predictions.length === 0) return null;
  const of = (all: readonly Prediction[] | undefined, { kind, position }: Prediction, k: number) =>
    kind === "token-class" ? all?.find((one) => one.position === position) : all?.[k];
  const isOther = ({ kind, position, choices }: Prediction) =>
    kind === "token-class" &&
    position !== report.document.output_token &&
    choices.length > 0 &&
    report.tokens[position ?? 0] !== undefined;
  return (
    <div id={id} class="predictions">
      {predictions
        .filter((one) => !isOther(one))
        .map((prediction, k) => (
          <One key={k} {...{ prediction, report, heading }} other={of(beside?.document.predictions, prediction, k)} />
        ))}
      <OtherTokens report={report} predictions={predictions.filter(isOther)} />
    </div>
  );
}

/** @param open beside a picture there is room for it */
export function PredictionCard({ open = false }: { open?: boolean }) {
  const { report } = useViewer();
  if (withChoices(report).length === 0) return null;
  return (
    <Card id="prediction" title="Probabilities" open={open}>
      <Predictions report={report} id="predictions" heading="" />
    </Card>
  );
}
