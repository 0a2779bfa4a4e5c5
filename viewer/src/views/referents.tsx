// The chosen output token's weights on the requested words, layer by layer, as in the terminal's table.
import { Degenerate } from "../components/bar";
import { Card } from "../components/card";
import { Own } from "../components/own_text";
import { Scroller } from "../components/scroller";
import { useViewer } from "../context";
import type { Explanation } from "../explanation";
import { pictureOf } from "../export/element_picture";
import { AGGREGATIONS, type Method } from "../report/document";
import type { Report } from "../report/report";
import { layersWords } from "../report/setting_words";
import { format } from "../report/text";

export interface Weight {
  value: number;
  /** share of the sum over the referents; null if that is 0 */
  share: number | null;
  degenerate: boolean;
}

function namesOf(report: Report): string[] {
  const referents = report.document.referents ?? [];
  return referents.map(({ text, tokens }) =>
    referents.filter((other) => other.text === text).length === 1 ? text : `${text} (${tokens[0]})`,
  );
}

/**
 * Weights of one method, [layer][referent], or null if there are none: the method lacks the row, or it is flow and a
 * referent has several tokens (the flow to a word is not the sum of the flows to its tokens).
 */
function weightsOf(explanation: Explanation, method: Method, token: number): Weight[][] | null {
  const { report } = explanation;
  const referents = report.document.referents ?? [];
  const flow = method === "flow";
  if (flow && referents.some(({ tokens }) => tokens.length !== 1)) return null;
  const layers: Weight[][] = [];
  for (const layer of report.layers) {
    const row = explanation.row(method, layer, token);
    if (!row) return null;
    const degenerate = flow ? explanation.degenerate(layer, token) : null;
    const values = referents.map(({ tokens }) => tokens.reduce((sum, i) => sum + row[i], 0));
    const sum = values.reduce((a, b) => a + b, 0);
    layers.push(
      values.map((value, k) => ({
        value,
        share: sum > 0 && sum < Infinity ? value / sum : null,
        degenerate: Boolean(degenerate?.[referents[k].tokens[0]]),
      })),
    );
  }
  return layers;
}

/** "Among the candidates: his 62.0%, her 38.0%."; "" if the output token has no candidates. */
function candidateShares(report: Report, token: number): string {
  const at = report.document.predictions?.find((p) => p.position === token && (p.candidates ?? []).length > 0);
  const sum = at?.candidates.reduce((all, { probability }) => all + probability, 0) ?? 0;
  if (!at || !(sum > 0 && sum < Infinity)) return "";
  const shares = at.candidates.map(({ label, probability }) => `${label} ${((100 * probability) / sum).toFixed(1)}%`);
  return `Among the candidates: ${shares.join(", ")}.`;
}

export function Referents() {
  const { report, state, explanation } = useViewer();
  const { choices } = state;
  const { referents } = report.document;
  if (!referents?.length) return null;
  const names = namesOf(report);
  const token = choices.token.value;
  const columns = AGGREGATIONS.map((method) => ({
    method,
    layers: weightsOf(explanation.value, method, token),
  })).flatMap(({ method, layers }) => (layers ? [{ method, layers }] : []));
  const marked = columns.some(({ layers }) => layers.some((line) => line.some(({ degenerate }) => degenerate)));
  const help =
    columns.length === 0
      ? ["These weights were not computed for this output token."]
      : [
          candidateShares(report, token),
          "Each weight is followed by its share of the sum over the referents.",
          marked ? "° set by the first or last layer alone." : "",
        ];
  const exporter = {
    svg: () => pictureOf("referents"),
    shown: () => ({
      method: columns.map(({ method }) => method).join(", "),
      layers: layersWords(report.layers),
      notes: help.filter(Boolean),
      file: [`token${token}`],
    }),
    rows: () => ({
      columns: ["layer", "method", "output_token", "referent", "weight", "share"],
      rows: columns.flatMap(({ method, layers }) =>
        layers.flatMap((line, l) =>
          line.map(({ value, share }, k) => [report.layers[l], method, token, names[k], value, share]),
        ),
      ),
    }),
  };
  return (
    <Card id="referents" title="Weights on the referents, by layer" wide exporter={exporter}>
      <Scroller id="referents" tabIndex={0} role="group" aria-label="The weights, which scroll">
        {columns.length > 0 && (
          <table>
            <thead>
              <tr>
                <th rowSpan={2} scope="col" class="number">
                  Layer
                </th>
                {columns.map(({ method }) => (
                  <th key={method} colSpan={names.length} scope="colgroup" class="number">
                    {method}
                  </th>
                ))}
              </tr>
              <tr>
                {columns.flatMap(({ method }) =>
                  names.map((name, k) => (
                    <th key={`${method} ${k}`} scope="col" class="number">
                      <Own text={name} />
                    </th>
                  )),
                )}
              </tr>
            </thead>
            <tbody>
              {report.layers.map((layer, l) => (
                <tr key={layer} class={layer === choices.layer.value ? "chosen" : undefined}>
                  <th scope="row" class="number">
                    {layer}
                  </th>
                  {columns.flatMap(({ method, layers }) =>
                    layers[l].map(({ value, share, degenerate }, k) => (
                      <td
                        key={`${method} ${k}`}
                        class="number share"
                        data-method={method}
                        data-referent={k}
                        data-value={value}
                        data-share={share ?? ""}
                        style={{ "--share": String(share ?? 0) }}
                      >
                        {format(value)}
                        {degenerate && <Degenerate />}{" "}
                        <span class="index">{share === null ? "–" : `${(100 * share).toFixed(0)}%`}</span>
                      </td>
                    )),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Scroller>
      <p class="help key" id="referents-help">
        {help.filter(Boolean).join(" ")}
      </p>
    </Card>
  );
}
