// What the model said, as bars beside what it drew on.
import { Bar } from "./bar";
import { Own, TokenName } from "./own_text";
import { percentage } from "../report/text";
import type { Choice, Prediction } from "../report/document";
import type { Report } from "../report/report";

const MOST = 5;

const ChoiceBar = ({ choice: { label, probability } }: { choice: Choice }) => (
  <Bar share={probability} words={percentage(probability)} data-value={probability}>
    <Own text={label} />
  </Bar>
);

interface PredictionsProps {
  report: Report;
  id?: string;
  /** whose, where there are several */
  heading?: string;
}

function One({ prediction, report, heading }: { prediction: Prediction; report: Report; heading: string }) {
  const { kind, position, choices, candidates = [] } = prediction;
  const token = report.tokens[position ?? -1];
  return (
    <section>
      <h3>
        {heading}
        {kind === "next" && " of the next token"}
        {kind === "masked" && token && (
          <>
            {" at "}
            <TokenName label={token.label} index={token.index} />
          </>
        )}
      </h3>
      <ol class="bars">
        {choices.slice(0, MOST).map((choice, k) => (
          <ChoiceBar key={k} choice={choice} />
        ))}
        {candidates.length > 0 && <li class="help">Candidates</li>}
        {candidates.map((choice, k) => (
          <ChoiceBar key={`c${k}`} choice={choice} />
        ))}
      </ol>
    </section>
  );
}

/** The sections alone; null where the model said nothing. */
export function Predictions({ report, id, heading = "Prediction" }: PredictionsProps) {
  const predictions = report.document.predictions ?? [];
  if (predictions.length === 0) return null;
  return (
    <div id={id} class="predictions">
      {predictions.map((prediction, k) => (
        <One key={k} prediction={prediction} report={report} heading={heading} />
      ))}
    </div>
  );
}
