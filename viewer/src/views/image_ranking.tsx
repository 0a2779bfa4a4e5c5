// How much lies on patches and on special tokens, and the strongest patches with thumbnails.
import { Bar, Degenerate } from "../components/bar";
import { Card } from "../components/card";
import { Own } from "../components/own_text";
import { useViewer } from "../context";
import { pictureOf } from "../export/element_picture";
import { pictureIn } from "../report/picture";
import { DEGENERATE_WORDS, targetWords } from "../report/setting_words";
import { AGAINST, FOR, format, formatOf, percent } from "../report/text";
import { Thumbnail } from "./image_stage";
import { RankTable, whyEmpty } from "./ranking";

export function ImageShares() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const picture = pictureIn(report);
  const row = viewer.row();
  // Signed numbers are not parts of a whole.
  if (viewer.inLogits()) return null;
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
          (flow ? "Shares of the sum of the flow values, each of which is a separate flow. " : "Shares of the total. ")}
        {row &&
          picture.specials.length > 0 &&
          "Special tokens belong to no part of the picture, so they are not on the map."}
      </p>
    </Card>
  );
}

export function ImageRanking() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { method: chosen, layer, token: output } = state.choices;
  const method = chosen.value;
  const picture = pictureIn(report);
  const row = viewer.row();
  const ranking = viewer.ranking.value.filter(({ token }) => picture.isPatch(token));
  const rounded = (explanation.value.result(method, layer.value, output.value)?.error ?? 0) > 0;
  // Ranks among the patches: ties share one.
  const ranks = new Map<number, number>();
  for (const [at, { rank }] of ranking.entries()) if (!ranks.has(rank)) ranks.set(rank, at + 1);
  const all = row ? picture.sums(row).all : 0;
  const largest = Math.abs(ranking[0]?.value ?? 0);
  const flow = method === "flow";
  const shared = !flow && !viewer.inLogits();
  const words = formatOf(method);
  const degenerate = flow ? ranking.filter((entry) => entry.degenerate).length : 0;
  const table = () => ({
    columns: ["rank", "output_token", "input_token", "row", "column", method, "degenerate"],
    rows: ranking.map(({ token, rank, value, degenerate }) => {
      const { row: r, column } = picture.patchOf(token);
      return [ranks.get(rank) ?? null, output.value, token, r, column, value, flow && degenerate];
    }),
  });
  return (
    <RankTable
      title="Top patches"
      exporter={{ svg: () => pictureOf("rank"), rows: table }}
      heads={[
        { words: "Rank", class: "number" },
        { words: "" },
        { words: "Row, column" },
        { words: method, class: "number by" },
        ...(!shared ? [] : [{ words: "of all", class: "number" }]),
      ]}
      ranking={ranking}
      line={({ token, rank, value, degenerate }) => (
        <tr key={token} data-token={token} class={token === output.value ? "chosen" : ""}>
          <td class="number">{ranks.get(rank)}</td>
          <td class="cut">
            <Thumbnail picture={picture} token={token} />
          </td>
          <th scope="row">
            <button type="button" class="quiet" title="Explain this patch">
              {report.tokens[token].short}
            </button>
          </th>
          <td
            class={viewer.scored && value < 0 ? "number by against" : "number by"}
            data-value={value}
            style={{ "--share": String(largest > 0 ? Math.abs(value) / largest : 0) }}
          >
            {words(value)}
            {flow && degenerate && <Degenerate />}
          </td>
          {shared && <td class="number">{percent(all > 0 ? value / all : 0)}</td>}
        </tr>
      )}
    >
      Rows and columns count from 1, at the top left (from 0 in files).{" "}
      {degenerate > 0 && `° ${DEGENERATE_WORDS}: ${degenerate} of ${ranking.length} values. `}
      {rounded && ranks.size < ranking.length && "Equal ranks cannot be told apart at this precision. "}
      {viewer.ranking.value.length === 0 && `${whyEmpty(viewer)} `}
      {viewer.scored && `Above 0: ${FOR} ${targetWords(report)}; below 0: ${AGAINST}.`}
    </RankTable>
  );
}
