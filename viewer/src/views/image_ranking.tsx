// How much lies on patches and on special tokens, and which patches are strongest, with what they show.
import { useSignal } from "@preact/signals";
import { Bar, Degenerate } from "../components/bar";
import { Card } from "../components/card";
import { Own } from "../components/own_text";
import { Scroller } from "../components/scroller";
import { useViewer, type Viewer } from "../context";
import { pictureOf } from "../export/element_picture";
import { pictureIn } from "../report/picture";
import { format, percent } from "../report/text";
import { Thumbnail } from "./image_stage";

const rowOf = ({ state, explanation }: Viewer) => {
  const { method, layer, token } = state.choices;
  return explanation.value.row(method.value, layer.value, token.value);
};

export function ImageShares() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const picture = pictureIn(report);
  const row = rowOf(viewer);
  const flow = state.choices.method.value === "flow";
  const { all, patches } = row ? picture.sums(row) : { all: 0, patches: 0 };
  const share = (part: number) => (all > 0 ? part / all : 0);
  return (
    <Card id="share" title="Patches and special tokens">
      {row && (
        <ol class="bars" id="shares">
          <Bar share={share(patches)} words={percent(share(patches))} class="all">
            <bdi>{`${picture.patches} patches`}</bdi>
          </Bar>
          {picture.specials.map((token) => (
            <Bar
              key={token}
              share={share(row[token])}
              words={percent(share(row[token]))}
              data-token={token}
              title={format(row[token])}
            >
              <Own text={report.tokens[token].label} />
            </Bar>
          ))}
        </ol>
      )}
      <p class="help key" id="share-help">
        {!row && "No values for this output token here. "}
        {row &&
          (flow
            ? "Shares of the sum of the flow values, each of which is a flow by itself. "
            : "Shares of all that the output token draws on. ")}
        {row &&
          picture.specials.length > 0 &&
          "Special tokens stand for no part of the picture and are not on the map."}
      </p>
    </Card>
  );
}

export function ImageRanking() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts, pointed } = state;
  const picture = pictureIn(report);
  const showAll = useSignal(false);
  const [method, layer, output] = [choices.method.value, choices.layer.value, choices.token.value];
  const row = rowOf(viewer);
  const flags = method === "flow" ? explanation.value.degenerate(layer, output) : null;
  const ranking = explanation.value
    .ranking(method, layer, output, counts.value)
    .filter(({ token }) => picture.isPatch(token));
  const rounded = (explanation.value.result(method, layer, output)?.error ?? 0) > 0;
  // Ranks among the patches: ties share one.
  const ranks = new Map<number, number>();
  for (const [at, { rank }] of ranking.entries()) if (!ranks.has(rank)) ranks.set(rank, at + 1);
  const topK = report.settings.top_k;
  const shown = showAll.value ? ranking : ranking.slice(0, topK);
  const all = row ? picture.sums(row).all : 0;
  const largest = ranking[0]?.value ?? 0;
  const degenerate = flags ? ranking.filter(({ token }) => flags[token]).length : 0;
  const exporter = {
    svg: () => pictureOf("rank"),
    rows: () => ({
      columns: ["rank", "output_token", "input_token", "row", "column", method, "degenerate"],
      rows: ranking.map(({ token, rank, value }) => {
        const { row: r, column } = picture.patchOf(token);
        return [ranks.get(rank) ?? null, output, token, r, column, value, Boolean(flags?.[token])];
      }),
    }),
  };
  return (
    <Card id="rank" title="Strongest patches" exporter={exporter}>
      <Scroller
        id="rank"
        tabIndex={0}
        role="group"
        aria-label="The ranking, which scrolls"
        onPointerLeave={() => (pointed.value = null)}
      >
        <table>
          <thead>
            <tr>
              <th scope="col" class="number">
                Rank
              </th>
              <td />
              <th scope="col">Patch</th>
              <th scope="col" class="number by">
                {method}
              </th>
              {method !== "flow" && (
                <th scope="col" class="number">
                  of all
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ token, rank, value }) => (
              <tr
                key={token}
                data-token={token}
                class={token === output ? "chosen" : ""}
                onPointerEnter={() => (pointed.value = { input: token, view: "rank" })}
              >
                <td class="number">{ranks.get(rank)}</td>
                <td class="cut">
                  <Thumbnail picture={picture} token={token} />
                </td>
                <th scope="row">
                  <button
                    type="button"
                    class="quiet"
                    title="Choose this patch"
                    onClick={() => (choices.token.value = token)}
                  >
                    {report.tokens[token].piece}
                  </button>
                </th>
                <td
                  class="number by"
                  data-value={value}
                  style={{ "--share": String(largest > 0 ? value / largest : 0) }}
                >
                  {format(value)}
                  {flags?.[token] ? <Degenerate /> : null}
                </td>
                {method !== "flow" && <td class="number">{percent(all > 0 ? value / all : 0)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      <p class="help key" id="rank-help">
        {degenerate > 0 &&
          `° ${degenerate} of ${ranking.length} flow values repeat the first layer's attention or are as large as they can be; layers between do not matter. `}
        {rounded && ranks.size < ranking.length && "Equal ranks cannot be told apart at this precision. "}
        {!row && "No values for this output token here."}
      </p>
      {ranking.length > topK && (
        <button type="button" id="rank-all" onClick={() => (showAll.value = !showAll.value)}>
          {showAll.value ? `Show the first ${topK}` : `Show all ${ranking.length}`}
        </button>
      )}
    </Card>
  );
}
