// The strongest input tokens of the chosen output token, with every method's values.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Card } from "../components/card";
import { TokenName } from "../components/own_text";
import { Scroller } from "../components/scroller";
import { useViewer } from "../context";
import { pictureOf } from "../export/element_picture";
import { METHODS } from "../report/document";
import { format } from "../report/text";

// A longer table would make each choice slow; its export has every row.
const MOST_ROWS = 500;

export function Ranking() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts, pointed } = state;
  const all = useSignal(false);
  const body = useRef<HTMLTableSectionElement>(null);
  const [method, layer, output] = [choices.method.value, choices.layer.value, choices.token.value];
  const ranking = useComputed(() =>
    explanation.value.ranking(choices.method.value, choices.layer.value, choices.token.value, counts.value),
  ).value;
  const top = report.settings.top_k;
  const shown = ranking.slice(0, all.value ? MOST_ROWS : top);
  const columns = METHODS.map((name) => ({ name, row: explanation.value.row(name, layer, output) })).filter(
    ({ name, row }) => row !== null || report.methods.includes(name),
  );
  const degenerate = explanation.value.degenerate(layer, output);
  const max = ranking[0]?.value ?? 0;
  const repeated = degenerate ? ranking.filter(({ token }) => degenerate[token]).length : 0;
  const help = [];
  const tied = ranking.some((entry, at) => entry.rank !== at + 1);
  const rounded = (explanation.value.result(method, layer, output)?.error ?? 0) > 0;
  if (tied && rounded) help.push("Equal ranks cannot be told apart at this precision.");
  else if (tied && method === "flow") {
    help.push("Flow values that their enclosures cannot tell apart share a rank.");
  }
  if (repeated > 0) {
    help.push(
      `° ${repeated} of ${ranking.length} flow values repeat the first layer's attention or are as large as they can be; layers between do not matter.`,
    );
  }
  if (ranking.length === 0) help.push(`No ${method} values of this output token here.`);
  useSignalEffect(() => {
    const token = pointed.value?.input;
    for (const line of body.current?.querySelectorAll("tr.pointed") ?? []) line.classList.remove("pointed");
    if (token !== undefined) body.current?.querySelector(`tr[data-token="${token}"]`)?.classList.add("pointed");
  });
  const exporter = {
    svg: () => pictureOf("rank"),
    rows: () => ({
      columns: ["rank", "input_token", "token", ...columns.map(({ name }) => name)],
      rows: ranking.map(({ token, rank }) => [
        rank,
        token,
        report.tokens[token].label,
        ...columns.map(({ row }) => row?.[token] ?? null),
      ]),
    }),
  };
  return (
    <Card id="rank" title="Strongest input tokens" exporter={ranking.length > 0 ? exporter : undefined}>
      <Scroller id="rank" tabIndex={0} role="group" aria-label="The ranking, which scrolls">
        <table>
          <thead>
            <tr>
              <th scope="col" class="number">
                Rank
              </th>
              <th scope="col">Token</th>
              {columns.map(({ name }) => (
                <th
                  scope="col"
                  key={name}
                  class={name === method ? "number by" : "number"}
                  aria-sort={name === method ? "descending" : undefined}
                >
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody
            ref={body}
            onPointerOver={(event) => {
              const line = (event.target as Element).closest("tr");
              if (line) pointed.value = { input: Number(line.dataset.token), view: "rank" };
            }}
            onPointerLeave={() => (pointed.value = null)}
            onClick={(event) => {
              const line = (event.target as Element).closest("tr");
              if (!line) return;
              const token = Number(line.dataset.token);
              if (event.ctrlKey || event.metaKey) state.toggleLeftOut(token);
              else choices.input.value = token;
            }}
          >
            {shown.map(({ token, rank, value }) => (
              <tr data-token={token} key={token}>
                <td class="number">{rank}</td>
                <th scope="row">
                  <TokenName {...viewer.name(token)} />
                </th>
                {columns.map(({ name, row }) => (
                  <td
                    key={name}
                    class={name === method ? "number by" : "number"}
                    data-method={name}
                    data-value={row ? row[token] : ""}
                    style={name === method ? { "--share": String(max > 0 ? value / max : 0) } : undefined}
                  >
                    {format(row?.[token])}
                    {name === "flow" && degenerate?.[token] ? (
                      <span class="mark" data-mark="degenerate">
                        °
                      </span>
                    ) : null}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      <p class="help key" id="rank-help">
        {help.join(" ")}
      </p>
      <button type="button" id="rank-all" hidden={ranking.length <= top} onClick={() => (all.value = !all.value)}>
        {all.value
          ? `Show the first ${top}`
          : ranking.length > MOST_ROWS
            ? `Show ${MOST_ROWS} of ${ranking.length}`
            : `Show all ${ranking.length}`}
      </button>
    </Card>
  );
}
