// The weights of one output token on the words of --referents, layer by layer, as in the terminal's table.
// @ts-check

/**
 * What each referent is called: its text, with its position where two have the same.
 * @param {{text: string, tokens: number[]}[]} referents
 */
function referentNames(referents) {
  return referents.map(({ text, tokens }) => {
    const same = referents.filter((other) => other.text === text).length;
    return same === 1 ? text : `${text} (${tokens[0]})`;
  });
}

/**
 * Weights and shares of one method, [layer][referent], or null where there are none: the method lacks the row, or it is
 * flow and a referent consists of several tokens (the flow to a word is not the sum of the flows to its pieces).
 * @param {ReportData} report @param {string} method @param {number} token
 */
function referentWeights(report, method, token) {
  const { referents } = report.document;
  const flow = method === "flow";
  if (report.row(method, 0, token) === null) return null;
  if (flow && referents.some((/** @type {any} */ { tokens }) => tokens.length !== 1)) return null;
  return report.layers.map((_, layerIndex) => {
    const row = /** @type {Values} */ (report.row(method, layerIndex, token));
    const degenerate = flow ? report.row("flow_degenerate", layerIndex, token) : null;
    const weights = referents.map((/** @type {any} */ { tokens }) => ({
      value: tokens.reduce((/** @type {number} */ sum, /** @type {number} */ i) => sum + row[i], 0),
      degenerate: Boolean(degenerate?.[tokens[0]]),
    }));
    const sum = weights.reduce((/** @type {number} */ all, /** @type {any} */ { value }) => all + value, 0);
    const shared = sum > 0 && sum < Infinity;
    return weights.map((/** @type {any} */ weight) => ({ ...weight, share: shared ? weight.value / sum : null }));
  });
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(0)}%`;

/**
 * A table with a row for each layer and, for each method and referent, the weight and its share of the referents.
 * `null` when no method has weights of the output token.
 * @param {{report: ReportData, token: number, layerIndex: number}} options
 */
function referentTable({ report, token, layerIndex }) {
  const names = referentNames(report.document.referents);
  const columns = report.methods
    .map((method) => ({ method, layers: referentWeights(report, method, token) }))
    .filter(({ layers }) => layers !== null);
  if (columns.length === 0) return null;
  const methods = html("tr", {}, html("th", { rowspan: 2, scope: "col", class: "number" }, "Layer"));
  const words = html("tr");
  for (const { method } of columns) {
    methods.append(html("th", { colspan: names.length, scope: "colgroup", class: "number" }, method));
    for (const name of names) words.append(html("th", { scope: "col", class: "number" }, own(name)));
  }
  const body = html("tbody");
  let marked = false;
  for (const [index, layer] of report.layers.entries()) {
    const line = html("tr", { class: index === layerIndex ? "chosen" : "" });
    line.append(html("th", { scope: "row", class: "number" }, String(layer)));
    for (const { method, layers } of columns) {
      for (const [referent, { value, share, degenerate }] of /** @type {any} */ (layers)[index].entries()) {
        const data = {
          "data-method": method,
          "data-referent": referent,
          "data-value": value,
          "data-share": share ?? "",
        };
        const cell = html("td", { class: "number share", ...data }, format(value));
        if (degenerate) cell.append(html("span", { class: "mark" }, "°"));
        cell.append(" ", html("span", { class: "index" }, share === null ? "–" : percent(share)));
        cell.style.setProperty("--share", String(share ?? 0));
        marked ||= degenerate;
        line.append(cell);
      }
    }
    body.append(line);
  }
  return { root: html("table", {}, html("thead", {}, methods, words), body), marked };
}

/**
 * "Among the candidates: his 62.0%, her 38.0%"; "" without candidates at the output token.
 * @param {ReportData} report @param {number} token
 */
function candidateShares(report, token) {
  const predictions = report.document.predictions ?? [];
  const at = predictions.find((/** @type {any} */ p) => p.position === token && p.candidates.length > 0);
  const sum = at?.candidates.reduce((/** @type {number} */ all, /** @type {any} */ c) => all + c.probability, 0);
  if (!(sum > 0 && sum < Infinity)) return "";
  const shares = at.candidates.map((/** @type {any} */ c) => `${c.label} ${((100 * c.probability) / sum).toFixed(1)}%`);
  return `Among the candidates: ${shares.join(", ")}.`;
}
