// The chosen output token's strongest input tokens, with every method's values; for a generation, with both normalized
// and plain values, and shares of the prompt's part.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Degenerate } from "../components/bar";
import { Card } from "../components/card";
import { Piece, TokenName } from "../components/own_text";
import { readoutOf } from "../components/readout";
import { Scroller } from "../components/scroller";
import { useViewer, type Viewer } from "../context";
import type { Ranked } from "../explanation";
import { pictureOf } from "../export/element_picture";
import type { Exporter, Table } from "../export/exporter";
import { GenerationViewer } from "../generation/generation_viewer";
import { isScore, METHODS, type Method } from "../report/document";
import { degenerateIn } from "../report/notes";
import type { Report } from "../report/report";
import { DEGENERATE_WORDS } from "../report/setting_words";
import { AGAINST, FOR, formatOf, percent } from "../report/text";
import type { Numbers } from "../report/values";
import { clickToken } from "../shortcuts";

/** The most lines in a table. A longer one, with every method's values, would make each choice slow. */
export const mostLines = ({ document: { input } }: Report) =>
  input.kind === "generation" || input.kind === "image" ? Infinity : 500;

interface Column {
  /** "" if it belongs to no method */
  method: Method | "";
  title: string;
  row: Numbers | null;
  words(value: number | undefined): string;
  /** the ranking is sorted by it */
  by: boolean;
}

function columnsOf(viewer: Viewer): Column[] {
  const { report, state } = viewer;
  const method = state.choices.method.value;
  if (!(viewer instanceof GenerationViewer)) {
    return METHODS.filter((name) => viewer.row(name) !== null || report.methods.includes(name)).map((name) => ({
      ...{ method: name, title: name, row: viewer.row(name), by: name === method },
      words: formatOf(name),
    }));
  }
  const { normalized } = viewer;
  const [array, layers, output] = viewer.place;
  const titleOf = (isNormalized: boolean) => (isNormalized ? "normalized" : method);
  const words = formatOf(method);
  const columns: Column[] = [{ method, title: titleOf(normalized), row: viewer.row(), words, by: true }];
  if (viewer.report.hasNormalized(method)) {
    const other = viewer.report.row(normalized ? method : `${array}_normalized`, layers, output);
    columns.push({ method: "", title: titleOf(!normalized), row: other, words, by: false });
  }
  return columns;
}

/** Why nothing is ranked, as a sentence. */
export function whyEmpty(viewer: Viewer): string {
  const method = viewer.state.choices.method.value;
  if (viewer.carriesNothing) {
    return `The output token carries no relevance in favor of the prediction at ${viewer.layersText()}: there is nothing to rank.`;
  }
  if (viewer.state.sinkAside.value) return "Nothing is left beside the attention sink, which is excluded.";
  if (viewer.row() === null) return `No ${method} values for this output token here.`;
  return viewer.isZero
    ? `Every ${method} value of this output token is 0: there is nothing to rank.`
    : "Only excluded tokens have values other than 0.";
}

export function helpOf(viewer: Viewer): string {
  const { report, state, ranking, explanation } = viewer;
  const method = state.choices.method.value;
  const all = ranking.value;
  if (viewer.carriesNothing) return whyEmpty(viewer);
  const help: string[] = [];
  // Normalized flow has no enclosures and is a share.
  const flow = explanation.value.arrayOf(method) === "flow";
  const tied = all.some((entry, at) => entry.rank !== at + 1);
  const rounded = (explanation.value.result(method, viewer.layersOf(method), viewer.output)?.error ?? 0) > 0;
  if (tied && rounded) help.push("Equal ranks cannot be told apart at this precision.");
  else if (tied && flow) help.push("Flow values whose certified intervals overlap share a rank.");
  if (viewer.inLogits() && !viewer.scored) help.push(`${method} is in logits of the prediction.`);
  else if (flow && report.document.generation && all.length > 0) help.push("Flow values are not shares of a whole.");
  // Counted as below the headline; flags also appear next to other methods' values.
  const flags = all.some(({ degenerate }) => degenerate)
    ? explanation.value.degenerate(viewer.layersOf("flow"), viewer.output)
    : null;
  const repeated = degenerateIn(flags, viewer.row("flow"), state.counts.value);
  if (repeated) help.push(`° (${repeated.count} of ${repeated.all} values): ${DEGENERATE_WORDS}.`);
  if (viewer.scored && all.length > 0) help.push(`Above 0: ${FOR} ${viewer.targetText()}; below 0: ${AGAINST}.`);
  // For a generation's ranking, the readout says which tokens have values.
  if (all.length === 0 && (viewer.row() || !report.document.generation)) help.push(whyEmpty(viewer));
  if (all.some(({ token }) => token >= report.m)) {
    help.push("Prompt positions count from 0, generated tokens from 1.");
  }
  return help.join(" ");
}

function tableOf(viewer: Viewer, columns: readonly Column[]): Table {
  const { report, ranking } = viewer;
  if (!(viewer instanceof GenerationViewer)) {
    return {
      columns: ["rank", "input_token", "token", ...columns.map(({ title }) => title)],
      rows: ranking.value.map(({ token, rank }) => [
        rank,
        token,
        report.tokens[token].label,
        ...columns.map(({ row }) => row?.[token] ?? null),
      ]),
    };
  }
  const beside = columns.slice(1);
  const names = ["output_token", "rank", "part", "input_token", "text", "value", "degenerate"];
  return {
    columns: [...names, ...beside.map(() => "beside")],
    rows: ranking.value.map(({ token, rank, value, degenerate }) => [
      viewer.state.choices.token.value,
      rank,
      ...viewer.partOf(token),
      value,
      degenerate,
      ...beside.map(({ row }) => row?.[token] ?? null),
    ]),
  };
}

interface RankTableProps<T extends { token: number }> {
  title: string;
  exporter?: Exporter;
  heads: readonly { words: string; class?: string; sorted?: boolean }[];
  ranking: readonly T[];
  line(entry: T): ComponentChildren;
  children: ComponentChildren;
}

/** A ranking as a card: its first lines, or all of them, with an explanation below. */
export function RankTable<T extends { token: number }>(props: RankTableProps<T>) {
  const { title, exporter, heads, ranking, line, children } = props;
  const viewer = useViewer();
  const { report, state } = viewer;
  const { pointed } = state;
  const all = useSignal(false);
  const body = useRef<HTMLTableSectionElement>(null);
  const top = report.settings.top_k;
  const most = mostLines(report);
  useSignalEffect(() => {
    const token = pointed.value?.input;
    for (const line of body.current?.querySelectorAll("tr.pointed") ?? []) line.classList.remove("pointed");
    if (token !== undefined) body.current?.querySelector(`tr[data-token="${token}"]`)?.classList.add("pointed");
  });
  const tokenAt = (event: Event) => {
    const line = (event.target as Element).closest("tr");
    return line ? Number(line.dataset.token) : null;
  };
  return (
    <Card id="rank" title={title} exporter={exporter && { ...exporter, lines: all.value ? most : top }}>
      <Scroller id="rank" tabIndex={0} role="group" aria-label="The ranking, which scrolls">
        <table>
          <thead>
            <tr>
              {heads.map(({ words, class: kind, sorted }) =>
                words ? (
                  <th scope="col" key={words} class={kind} aria-sort={sorted ? "descending" : undefined}>
                    {words}
                  </th>
                ) : (
                  <td />
                ),
              )}
            </tr>
          </thead>
          <tbody
            ref={body}
            onPointerOver={(event) => {
              const input = tokenAt(event);
              if (input !== null) pointed.value = { input, view: "rank" };
            }}
            onPointerLeave={() => (pointed.value = null)}
            onClick={(event) => {
              const token = tokenAt(event);
              if (token !== null) clickToken(viewer, token, event, (one) => viewer.explain(one));
            }}
          >
            {ranking.slice(0, all.value ? most : top).map(line)}
          </tbody>
        </table>
      </Scroller>
      <p class="help key" id="rank-help">
        {children}
      </p>
      <button type="button" id="rank-all" hidden={ranking.length <= top} onClick={() => (all.value = !all.value)}>
        {all.value
          ? `Show the first ${top}`
          : ranking.length > most
            ? `Show ${most} of ${ranking.length}`
            : `Show all ${ranking.length}`}
      </button>
    </Card>
  );
}

export function Ranking() {
  const viewer = useViewer();
  const ranking = viewer.ranking.value;
  const generation = viewer instanceof GenerationViewer ? viewer : null;
  const columns = columnsOf(viewer);
  const mass = generation?.report.promptShare(...generation.place) ?? null;
  const exporter = { svg: () => pictureOf("rank"), rows: () => tableOf(viewer, columns) };
  return (
    <RankTable
      title={"Top input tokens"}
      exporter={ranking.length > 0 || generation ? exporter : undefined}
      heads={[
        { words: "Rank", class: "number" },
        ...(generation ? [{ words: "Position", class: "number" }] : []),
        { words: "Token" },
        ...columns.map(({ title, by }) => ({ words: title, class: by ? "number by" : "number", sorted: by })),
        ...(mass === null ? [] : [{ words: viewer.report.joint ? "of the input" : "of the prompt", class: "number" }]),
      ]}
      ranking={ranking}
      line={(entry) => (
        <Line key={entry.token} entry={entry} largest={Math.abs(ranking[0].value)} columns={columns} mass={mass} />
      )}
    >
      {/* It does not follow the pointer: otherwise the whole table would be redrawn on each move. */}
      {ranking.length === 0 && generation && !viewer.row() && readoutOf(viewer, "rank", null)}
      {helpOf(viewer)}
    </RankTable>
  );
}

interface LineProps {
  entry: Ranked;
  largest: number;
  columns: readonly Column[];
  /** mass on the prompt; null if values are not shares of it */
  mass: number | null;
}

function Line({ entry: { token, rank, value, degenerate }, largest, columns, mass }: LineProps) {
  const viewer = useViewer();
  const generated = token >= viewer.report.m;
  const sink = viewer.isShownSink(token) && <span class="index"> attention sink</span>;
  return (
    <tr data-token={token}>
      <td class="number">{rank}</td>
      {viewer instanceof GenerationViewer ? (
        <>
          <td
            class="number index"
            title={
              generated
                ? "position among the generated tokens"
                : `position in the ${viewer.report.joint ? "source" : "prompt"}`
            }
          >
            {viewer.placeText(token)}
          </td>
          <th scope="row">
            <Piece label={viewer.name(token).label} />
            {sink}
          </th>
        </>
      ) : (
        <th scope="row">
          <TokenName {...viewer.name(token)} />
          {sink}
        </th>
      )}
      {columns.map(({ method, title, row, words, by }) => (
        <td
          key={title}
          class={by ? `number by${method !== "" && isScore(method) && value < 0 ? " against" : ""}` : "number"}
          data-method={method || undefined}
          data-value={row ? row[token] : ""}
          data-beside={method ? undefined : row?.[token]}
          style={by ? { "--share": String(largest > 0 ? Math.abs(value) / largest : 0) } : undefined}
        >
          {words(row?.[token])}
          {method === "flow" && degenerate && <Degenerate />}
        </td>
      ))}
      {mass !== null && <td class="number">{generated ? "–" : percent(mass > 0 ? value / mass : 0)}</td>}
    </tr>
  );
}
