// The page that `attnflow serve` sends, before a server that answers from files (mock_server.js), for the tests of both.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readJson, startMockServer } from "./mock_server.js";
import { samplePages } from "./viewer_pages.js";

export const texts = new Map(samplePages("").map((page) => [page.name, page]));
const picture = samplePages("image").find(({ name }) => name === "small");
const generation = samplePages("generation").find(({ name }) => name === "usual");

/** The server's page: a report's page without its report, which may talk to where it comes from. */
const page = readFileSync(texts.get("short").html, "utf8")
  .replace(/(<script type="application\/json" id="report">)[^]*?(<\/script>)/u, "$1null$2")
  .replace("default-src 'none';", "default-src 'none'; connect-src 'self';");

// The smallest PNG.
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
  "base64",
);

/** The numbers of one of a document's arrays [layers, tokens, columns], the mean over layers: [tokens][columns]. */
export function meanOverLayers({ version, arrays }, name) {
  const { shape, dtype, data } = arrays[name];
  assert.equal(dtype, "f64");
  const bytes = Buffer.from(data, "base64");
  // Before version 3 arrays were [tokens, columns, layers].
  const old = version < 3;
  const [tokens, columns, layers] = old ? shape : [shape[1], shape[2], shape[0]];
  const at = (t, j, l) =>
    bytes.readDoubleLE(8 * (old ? (t * columns + j) * layers + l : (l * tokens + t) * columns + j));
  return Array.from({ length: tokens }, (_, t) =>
    Array.from({ length: columns }, (__, j) => {
      let sum = 0;
      for (let l = 0; l < layers; ++l) sum += at(t, j, l);
      return sum / layers;
    }),
  );
}

/** A finished generation without what the page does not ask for, and the events that the server sends before it. */
export function stream() {
  const report = readJson(generation.json);
  // Before version 3 it was called otherwise.
  report.generation[report.version < 3 ? "dropped" : "excluded"] = [];
  for (const name of Object.keys(report.arrays)) if (name.endsWith("_normalized")) delete report.arrays[name];
  // As decoders have it: the space in front belongs to the token.
  const { tokens: pieces } = report.generation;
  for (const [t, token] of pieces.entries()) if (t > 0) token.begin = pieces[t - 1].end;
  const four = (values) => values.map((value) => Number(value.toPrecision(4)));
  const rows = meanOverLayers(report, "rollout");
  const generated = meanOverLayers(report, "rollout_generated");
  const text = Buffer.from(report.generation.text);
  const tokens = pieces.map(({ text: piece, begin, end, special, probability, choices }, index) => ({
    index,
    text: text.subarray(begin, end).toString(),
    piece,
    special: special ?? false,
    probability,
    choices,
    rollout: four(rows[index]),
    ...(index > 0 ? { rollout_generated: four(generated[index].slice(0, index)) } : {}),
  }));
  const prompt = {
    model: report.model,
    text: report.input.text,
    tokens: report.input.tokens,
    layers: report.settings.layers,
  };
  return { report, steps: [prompt, ...tokens] };
}

/** An evaluation of the text of the page "short". */
export function evaluation() {
  const { input } = readJson(texts.get("short").json);
  const methods = ["raw", "rollout", "flow"];
  const layers = [1, 2];
  const correlations = [];
  for (const [s, score] of ["blank-out", "gradient"].entries()) {
    for (const [k, tokens] of ["all", "without-special"].entries()) {
      for (const [m, method] of methods.entries()) {
        for (const layer of layers) {
          const spearman = s + k + m === 0 && layer === 1 ? null : (0.1 + 0.2 * m + 0.05 * layer) * (s ? -1 : 1);
          correlations.push({ score, tokens, method, layer, count: input.tokens.length - 2 * k, spearman });
        }
      }
    }
  }
  return {
    format: "attnflow-text-evaluation",
    version: 2,
    model: { name: "masked-model", architecture: "bert", layers: 2, heads: 2 },
    input: { text: input.text, text_pair: "", tokens: input.tokens.map((token) => ({ ...token, shown: token.text })) },
    output_token: 0,
    target: { label: "are", probability: 0.61 },
    blank: "[UNK]",
    methods,
    layers,
    scores: ["blank-out", "gradient"].map((name, s) => ({
      name,
      target: "probability of are",
      values: input.tokens.map((_, token) => (token === 2 + s ? 0.5 : token / 100)),
    })),
    relevance: [],
    correlations,
    notes: [{ code: "made-up", values: {}, text: "A note of the evaluation." }],
  };
}

export function answer(path, body) {
  if (path === "evaluate") {
    if (body.model === "classifier") {
      throw { status: 422, kind: "unsupported_model", message: "expected a model with a head, found none" };
    }
    return evaluation();
  }
  if (path === "image") return readJson(picture.json);
  if (path === "generate") return readJson(generation.json);
  if (body.text === "too long") {
    throw { status: 422, kind: "input_too_long", message: "expected at most 512 tokens, found 1000; shorten the text" };
  }
  const report = readJson(texts.get("short").json);
  if (body.residual !== undefined) {
    report.settings.residual = body.residual;
    report.settings.method = body.method;
    for (const name of Object.keys(report.arrays)) {
      if (!name.startsWith(body.method[0])) delete report.arrays[name];
    }
  }
  if (body.blank) {
    report.predictions[0].choices[0] = { label: "blanked", probability: 0.5 };
    for (const position of body.blank) report.input.tokens[position].text = "[UNK]";
  }
  return report;
}

/**
 * Opens the page of a fresh server in a tab of its own; the page must not report anything but what `allowed` matches.
 */
export async function serve(
  browser,
  options,
  run,
  { fragment = "", allowed = [], folds = false, context: more = {} } = {},
) {
  const server = await startMockServer({ page, document: answer, ...options });
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...more });
  const tab = await context.newPage();
  tab.setDefaultTimeout(10_000);
  const messages = [];
  const elsewhere = [];
  tab.on("console", (message) => messages.push(message.text()));
  tab.on("pageerror", (error) => messages.push(error.message));
  tab.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(server.url)) elsewhere.push(request.url());
  });
  // The form folds with each answer; most tests go on with it. The button may go before a pointer reaches it.
  // It may fold again while it unfolds: what waits looks again, not for the button to be gone.
  if (!folds) await tab.addLocatorHandler(tab.locator("#edit"), () => unfold(tab), { noWaitAfter: true });
  try {
    await tab.goto(server.url + fragment);
    await run(tab, server);
    assert.deepEqual(elsewhere, []);
    assert.deepEqual(
      messages.filter((text) => !allowed.some((pattern) => pattern.test(text))),
      [],
    );
  } finally {
    await context.close();
    await server.close();
  }
}

/** Opens the folded form, for what is done by force. */
export const unfold = (tab) => tab.evaluate(() => document.querySelector("#edit")?.click());

/** What a server was asked under a path. */
export const asks = (server, path) => server.asked.filter((one) => one.path === path);
