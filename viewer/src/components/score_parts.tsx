// The parts of a score method's result that belong to no token, and the total.
import { useViewer, type Viewer } from "../context";
import type { Table } from "../export/exporter";
import type { ScoreSum } from "../report/document";
import { formatSigned } from "../report/text";

/** Longer lists are folded. */
const MOST_IN_LINE = 4;

/** The sums that go with the chosen method's scores; null if there are none. */
export function scoresShown({ explanation, state, output }: Viewer): ScoreSum | null {
  const method = state.choices.method.value;
  const from = explanation.value.result(method, 1, output)?.from;
  const scores = from?.document.scores?.find((one) => one.method === method);
  if (!from || !scores) return null;
  return scores.sums?.[from.predictionOf(output)] ?? { ...scores, parts: scores.parts ?? [] };
}

/** The numbers of a text of scores: first those of tokens, then the parts that belong to none. */
export function scoreTable(viewer: Viewer): Table {
  const { report, state } = viewer;
  const row = viewer.row();
  return {
    columns: ["input_token", "token", state.choices.method.value.replaceAll("-", "_")],
    rows: [
      ...report.tokens.map(({ index, label }) => [index, label, row?.[index] ?? null]),
      ...(scoresShown(viewer)?.parts ?? []).map(({ name, value }) => [null, name, value]),
    ],
  };
}

/** "Beside the tokens: biases +0.12, embedding −0.03. All adds up to +4.10 of +4.10." */
export function ScoreParts() {
  const viewer = useViewer();
  const scores = viewer.scored ? scoresShown(viewer) : null;
  if (!scores || (scores.parts.length === 0 && scores.total === undefined)) return null;
  const { parts, total, error = 0 } = scores;
  const sum = parts.reduce((all, { value }) => all + value, 0);
  const adds =
    total === undefined ? "" : `All parts add up to ${formatSigned(total - error)} of ${formatSigned(total)}.`;
  if (parts.length <= MOST_IN_LINE) {
    const words = parts.map(({ name, value }) => `${name} ${formatSigned(value)}`).join(", ");
    return (
      <p class="readout" id="score-parts">
        {words && `In addition to the tokens: ${words}. `}
        {adds}
      </p>
    );
  }
  return (
    <details id="score-parts">
      <summary>
        In addition to the tokens: {formatSigned(sum)} in {parts.length} parts. {adds}
      </summary>
      <table>
        <tbody>
          {parts.map(({ name, value }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{formatSigned(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
