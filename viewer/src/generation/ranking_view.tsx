// What the chosen token drew most on, as a table.
import { Card } from "../components/card";
import { Scroller } from "../components/scroller";
import { pictureOf } from "../export/element_picture";
import { format, percent } from "../report/text";
import { sum, type RankedColumn } from "./generation_report";
import { useGeneration, type GenerationState } from "./generation_state";
import { Piece, positionText } from "./piece_view";
import { DEGENERATE, textReadout } from "./texts";

/** Plain and normalised values stand side by side where the document has both. */
function pairOf(state: GenerationState) {
  const { report } = state;
  const selection = state.selection.value;
  if (!report.hasNormalized(selection.method)) return null;
  const other = { ...selection, normalized: !selection.normalized };
  return { normalized: other.normalized, values: report.values(other) };
}

export function Ranking() {
  const state = useGeneration();
  const { report } = state;
  const { m } = report;
  const { top_k: topK } = report.settings;
  const selection = state.selection.value;
  const values = state.values.value;
  const ranking = state.ranking.value;
  const shown = state.allRanks.value ? ranking : ranking.slice(0, topK);
  const mass = values ? sum(values.subarray(0, m)) : 0;
  const largest = ranking[0]?.value ?? 0;
  const shares = report.isShare(selection);
  const pair = pairOf(state);
  const degenerate = ranking.filter((entry) => entry.degenerate).length;
  const nameOf = (normalized: boolean) => (normalized ? "normalised" : selection.method);
  const line = ({ column, rank, value, degenerate: flag }: RankedColumn) => {
    const { name, generated } = report.columns[column];
    return (
      <tr key={column} data-token={column} onPointerEnter={() => (state.pointed.value = { column, view: "rank" })}>
        <td class="number">{rank}</td>
        <td class="number index" title={generated ? "position among the generated tokens" : "position in the prompt"}>
          {positionText(report.columns[column])}
        </td>
        <th scope="row">
          <Piece name={name} />
        </th>
        <td class="number by" data-value={value} style={{ "--share": largest > 0 ? value / largest : 0 }}>
          {format(value)}
          {flag && (
            <span class="mark" data-mark="degenerate" title={DEGENERATE}>
              °
            </span>
          )}
        </td>
        {pair && (
          <td class="number" data-beside={pair.values?.[column]}>
            {format(pair.values?.[column])}
          </td>
        )}
        {shares && <td class="number">{generated ? "–" : percent(mass > 0 ? value / mass : 0)}</td>}
      </tr>
    );
  };
  return (
    <Card id="rank" title="Drew most on" exporter={{ svg: () => pictureOf("rank"), rows: () => rankRows(state) }}>
      <Scroller
        id="rank"
        tabIndex={0}
        role="group"
        aria-label="The ranking, which scrolls"
        onPointerLeave={() => (state.pointed.value = null)}
      >
        <table>
          <thead>
            <tr>
              <th scope="col" class="number">
                Rank
              </th>
              <th scope="col" class="number">
                Position
              </th>
              <th scope="col">Token</th>
              <th scope="col" class="number by">
                {nameOf(selection.normalized)}
              </th>
              {pair && (
                <th scope="col" class="number">
                  {nameOf(pair.normalized)}
                </th>
              )}
              {shares && (
                <th scope="col" class="number">
                  of the prompt
                </th>
              )}
            </tr>
          </thead>
          <tbody>{shown.map(line)}</tbody>
        </table>
      </Scroller>
      <p class="help key" id="rank-help">
        {ranking.length === 0 && textReadout(state, null)}
        {degenerate > 0 && `${DEGENERATE} Here ${degenerate} of ${ranking.length} values. `}
        {selection.method === "flow" && !selection.normalized && ranking.length > 0
          ? "Flows that their enclosures cannot tell apart share a rank; none is a share of a whole. "
          : ""}
        {shown.some(({ column }) => column >= m) && "Positions count from 0, those with + among the generated tokens."}
      </p>
      {ranking.length > topK && (
        <button type="button" id="rank-all" onClick={() => (state.allRanks.value = !state.allRanks.value)}>
          {state.allRanks.value ? `Show the first ${topK}` : `Show all ${ranking.length}`}
        </button>
      )}
    </Card>
  );
}

function rankRows(state: GenerationState) {
  const { report } = state;
  const pair = pairOf(state);
  const { token } = state.selection.value;
  return {
    columns: [
      "output_token",
      "rank",
      "part",
      "input_token",
      "text",
      "value",
      "degenerate",
      ...(pair ? ["beside"] : []),
    ],
    rows: state.ranking.value.map(({ column, rank, value, degenerate }) => {
      const { generated, position, name } = report.columns[column];
      const part = generated ? "generated" : "prompt";
      const beside = pair ? [pair.values?.[column] ?? null] : [];
      return [token, rank, part, position, name.text, value, degenerate, ...beside];
    }),
  };
}
