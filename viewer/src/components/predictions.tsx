// What the model said, as bars beside what it drew on.
import { Own, TokenName } from "./own_text";
import { format } from "../report/text";
import type { Choice, Prediction } from "../report/document";
import type { Report } from "../report/report";

const MOST = 5;

function Bar({ choice }: { choice: Choice }) {
  const percent = `${Math.min(100, Math.max(0, 100 * choice.probability))}%`;
  return (
    <li data-value={choice.probability}>
      <Own text={choice.label} />
      <span class="track" aria-hidden="true">
        <span class="bar" style={{ width: percent }} />
      </span>
      <span class="number">{format(choice.probability)}</span>
    </li>
  );
}

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
          <Bar key={k} choice={choice} />
        ))}
        {candidates.length > 0 && <li class="help">Candidates</li>}
        {candidates.map((choice, k) => (
          <Bar key={`c${k}`} choice={choice} />
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
