// A server that answers as `attnflow serve` does, from documents in files: for tests of the page alone. It writes down
// what it was asked. Here it stands in the place of fetch; tests/browser puts it on a port.
import { Numbers, readJson, reportOf, samplePage } from "./samples.js";

/** A gray picture of one pixel, as a PNG file in base64. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

const model = (name, kind, head, more = {}) => ({
  ...{ name, kind, head, architecture: "bert", layers: 6, heads: 12, labels: [], max_tokens: 512, built_in: false },
  ...{ mixings: ["attention"], methods: ["raw", "rollout", "flow"], blanks: false, evaluates: false, chat: false },
  ...{ mask: null, examples: [], loaded: true },
  ...more,
});

const modelsOf = (chat) => ({
  models: [
    model("masked-model", "text", "masked", {
      mixings: ["attention", "norm", "alti", "relevance"],
      methods: ["raw", "rollout", "flow", "attnlrp", "gradient-x-input", "integrated-gradients", "blank-out"],
      ...{ blanks: true, evaluates: true, mask: "[MASK]" },
      examples: [{ text: "The key [MASK]." }],
    }),
    model("classifier", "text", "classification", {
      labels: ["singular", "plural"],
      ...{ blanks: true, evaluates: true },
      examples: [{ text: "The keys to the cabinet" }],
    }),
    model("encoder", "text", "none", { blanks: true, examples: [{ text: "A plain sentence." }] }),
    model("pictures", "image", "classification", {
      examples: [{ name: "ankle boot", type: "image/png", data: PIXEL }],
    }),
    model("writer", "generation", "causal", {
      ...{ chat, mixings: ["attention", "alti"], max_tokens: 2048 },
      examples: [{ text: "Once upon" }],
    }),
  ],
  default: { text: "masked-model", image: "pictures", generation: "writer" },
  limits: {},
});

/** A finished generation as the page asks for it, and the events that the server sends before it. */
export function stream() {
  const report = reportOf("generation", "usual");
  report.generation.excluded = [];
  for (const name of Object.keys(report.arrays)) if (name.endsWith("_normalized")) delete report.arrays[name];
  // As decoders have it: the space in front belongs to the token.
  const { tokens: pieces } = report.generation;
  for (const [t, token] of pieces.entries()) if (t > 0) token.begin = pieces[t - 1].end;
  const numbers = new Numbers(report);
  const four = (values) => values.map((value) => Number(value.toPrecision(4)));
  const text = Buffer.from(report.generation.text);
  const tokens = pieces.map(({ text: piece, begin, end, special, probability, choices }, index) => ({
    ...{ index, piece, probability, choices, special: special ?? false },
    text: text.subarray(begin, end).toString(),
    rollout: four(numbers.row("rollout", index)),
    ...(index > 0 ? { rollout_generated: four(numbers.row("rollout_generated", index).slice(0, index)) } : {}),
  }));
  const { model: of, input, settings } = report;
  return { report, steps: [{ model: of, text: input.text, tokens: input.tokens, layers: settings.layers }, ...tokens] };
}

/** An evaluation of the text of the page "short". */
export function evaluation() {
  const { input } = reportOf("", "short");
  const methods = ["raw", "rollout", "flow"];
  const layers = [1, 2];
  const correlations = ["blank-out", "gradient"].flatMap((score, s) =>
    ["all", "without-special"].flatMap((tokens, k) =>
      methods.flatMap((method, m) =>
        layers.map((layer) => {
          const spearman = s + k + m === 0 && layer === 1 ? null : (0.1 + 0.2 * m + 0.05 * layer) * (s ? -1 : 1);
          return { score, tokens, method, layer, count: input.tokens.length - 2 * k, spearman };
        }),
      ),
    ),
  );
  return {
    ...{ format: "attnflow-text-evaluation", version: 2, methods, layers, correlations, output_token: 0 },
    model: { name: "masked-model", architecture: "bert", layers: 2, heads: 2 },
    input: { text: input.text, text_pair: "", tokens: input.tokens.map((token) => ({ ...token, shown: token.text })) },
    target: { label: "are", probability: 0.61 },
    blank: "[UNK]",
    scores: ["blank-out", "gradient"].map((name, s) => ({
      ...{ name, target: "probability of are" },
      values: input.tokens.map((_, token) => (token === 2 + s ? 0.5 : token / 100)),
    })),
    relevance: [],
    notes: [{ code: "made-up", values: {}, text: "A note of the evaluation." }],
  };
}

export function answer(path, body) {
  if (path === "evaluate") {
    if (body.model !== "classifier") return evaluation();
    throw { status: 422, kind: "unsupported_model", message: "expected a model with a head, found none" };
  }
  if (path === "image") return readJson(samplePage("image", "small").json);
  if (path === "generate") return reportOf("generation", "usual");
  if (body.text === "too long") {
    throw { status: 422, kind: "input_too_long", message: "expected at most 512 tokens, found 1000; shorten the text" };
  }
  const report = reportOf("", "short");
  if (body.residual !== undefined) {
    report.settings.residual = body.residual;
    report.settings.method = body.method;
    for (const name of Object.keys(report.arrays)) if (!name.startsWith(body.method[0])) delete report.arrays[name];
  }
  if (body.blank) {
    report.predictions[0].choices[0] = { label: "blanked", probability: 0.5 };
    for (const position of body.blank) report.input.tokens[position].text = "[UNK]";
  }
  return report;
}

/**
 * @param {object} options
 * @param {typeof answer} [options.document]
 * @param {string} [options.token] wanted of every request
 * @param {boolean} [options.chat] whether the model of continuations has a chat template
 * @param {object[]} [options.steps] of a generation: data of its "prompt" and then of each "token"
 * @param {(said: number) => Promise<unknown> | unknown} [options.hold] waited for after each of them; how many there were
 * @param {() => Promise<unknown> | unknown} [options.wait] waited for after each other event
 * @param {{after: number, error?: object}} [options.breaks] after so many of them the generation ends with an error event,
 *   or, without one, the connection breaks
 */
export function served({ document = answer, token = "", chat = false, steps = [], hold, wait, breaks } = {}) {
  const asked = [];
  const stopped = new Set();
  // As much of a Response as pages use: happy-dom's own keeps streams to itself.
  const respond = (status, type, body, json) => {
    return { ok: status === 200, status, headers: new Headers({ "Content-Type": type }), body, json };
  };
  const json = (value, status = 200) => respond(status, "application/json", null, async () => value);
  const refuse = ({ status, kind, message }) => json({ error: { kind, message } }, status);

  async function* events(one, said) {
    for (const position of [1, 0]) {
      yield ["queued", { position }];
      await wait?.();
    }
    for (const [k, data] of one.path === "generate" ? steps.entries() : []) {
      yield [k === 0 ? "prompt" : "token", data];
      await hold?.(k + 1);
      if (stopped.has(one.stopId)) break;
      if (breaks?.after !== k + 1) continue;
      if (!breaks.error) throw new TypeError("network error");
      return yield ["error", { error: breaks.error }];
    }
    for (const done of [3, 10]) {
      yield ["progress", { phase: one.path === "evaluate" ? "blank-out" : "flow", done, total: 10 }];
      await wait?.();
    }
    yield [one.path === "evaluate" ? "result" : "report", said];
  }

  async function ask(address, { method = "GET", headers: given, body, signal } = {}) {
    const { pathname, searchParams } = new URL(address);
    const headers = new Headers(given);
    const path = pathname.replace("/api/v1/", "");
    const type = headers.get("Content-Type");
    const authorization = headers.get("Authorization") ?? "";
    const one = { path, query: Object.fromEntries(searchParams), type, authorization, left: false, body };
    if (type === "application/json") one.body = JSON.parse(body);
    // Another name each time.
    if (path === "generate") {
      one.stopId = one.body.stop_id;
      delete one.body.stop_id;
    }
    asked.push(one);
    if (token && authorization !== `Bearer ${token}`) {
      return refuse({ status: 401, kind: "unauthorized", message: "expected this server's token, found another one" });
    }
    if (method === "GET") return json(modelsOf(chat));
    if (path === "stop") {
      stopped.add(one.body.stop_id);
      return json({ stopped: true });
    }
    let said;
    try {
      said = document(path, one.body, one);
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal;
      return refuse(refusal);
    }
    const coming = events(one, said);
    const stream = new ReadableStream({
      start(controller) {
        signal?.addEventListener("abort", () => {
          if (one.done) return;
          one.left = true;
          controller.error(new DOMException("left", "AbortError"));
        });
      },
      async pull(controller) {
        try {
          const { done, value } = await coming.next();
          one.done = done;
          if (one.left) return;
          if (done) controller.close();
          else
            controller.enqueue(new TextEncoder().encode(`event: ${value[0]}\ndata: ${JSON.stringify(value[1])}\n\n`));
        } catch (error) {
          if (!one.left) controller.error(error);
        }
      },
    });
    return respond(200, "text/event-stream", stream);
  }

  return { asked, fetch: ask, asks: (path) => asked.filter((each) => each.path === path) };
}
