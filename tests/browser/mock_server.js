// A server that answers as `attnflow serve` does, from documents in files: for tests of the page alone. It writes down
// what it was asked.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const POLICY =
  "default-src 'none'; connect-src 'self'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A grey picture of one pixel, as a PNG file in base64. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/**
 * @param {object} options
 * @param {string} options.page the server's page (html)
 * @param {(path: string, body: any, asked: object) => object} options.document what a request's answer is; it may throw
 *   {status, kind, message}
 * @param {string} [options.token] wanted of every request
 * @param {boolean} [options.chat] whether the model of continuations has a chat template
 * @param {object[]} [options.steps] of a generation: data of its "prompt" and then of each "token"
 * @param {(said: number) => Promise<void>} [options.hold] waited for behind each of them; how many there were
 * @param {{after: number, error?: object}} [options.breaks] after so many of them the generation ends with an error event,
 *   or, without one, the connection breaks
 * @param {number} [options.pause] milliseconds between events
 */
export async function startMockServer({
  page,
  document,
  token = "",
  chat = false,
  steps = [],
  hold,
  breaks,
  pause = 5,
}) {
  const asked = [];
  const sockets = new Set();
  const stopped = new Set();
  const models = {
    models: [
      model("masked-model", "text", "masked", {
        mixings: ["attention", "norm", "alti", "relevance"],
        methods: ["raw", "rollout", "flow", "attnlrp", "gradient-x-input", "integrated-gradients", "blank-out"],
        blanks: true,
        evaluates: true,
        mask: "[MASK]",
        examples: [{ text: "The key [MASK]." }],
      }),
      model("classifier", "text", "classification", {
        labels: ["singular", "plural"],
        blanks: true,
        evaluates: true,
        examples: [{ text: "The keys to the cabinet" }],
      }),
      model("encoder", "text", "none", { blanks: true, examples: [{ text: "A plain sentence." }] }),
      model("pictures", "image", "classification", {
        examples: [{ name: "ankle boot", type: "image/png", data: PIXEL }],
      }),
      model("writer", "generation", "causal", {
        chat,
        mixings: ["attention", "alti"],
        max_tokens: 2048,
        examples: [{ text: "Once upon" }],
      }),
    ],
    default: { text: "masked-model", image: "pictures", generation: "writer" },
    limits: {},
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/") {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
      return response.end(page);
    }
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const path = url.pathname.replace("/api/v1/", "");
    const json = request.headers["content-type"] === "application/json";
    const one = {
      path,
      query: Object.fromEntries(url.searchParams),
      body: json ? JSON.parse(bytes.toString()) : bytes,
      authorization: request.headers.authorization ?? "",
      type: request.headers["content-type"],
      left: false,
    };
    // Another name each time.
    if (path === "generate") {
      one.stopId = one.body.stop_id;
      delete one.body.stop_id;
    }
    asked.push(one);
    response.on("close", () => (one.left = !response.writableFinished));
    const refuse = ({ status, kind, message }) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ error: { kind, message } }));
    };
    if (token && one.authorization !== `Bearer ${token}`) {
      return refuse({ status: 401, kind: "unauthorized", message: "expected this server's token, found another one" });
    }
    if (path === "models") {
      response.writeHead(200, { "Content-Type": "application/json" });
      return response.end(JSON.stringify(models));
    }
    if (path === "stop") {
      stopped.add(one.body.stop_id);
      response.writeHead(200, { "Content-Type": "application/json" });
      return response.end(JSON.stringify({ stopped: true }));
    }
    let answer;
    try {
      answer = document(path, one.body, one);
    } catch (error) {
      return refuse(error);
    }
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    const say = (name, value) => response.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`);
    const wait = () => new Promise((done) => setTimeout(done, pause));
    for (const position of [1, 0]) {
      say("queued", { position });
      await wait();
    }
    response.write(": still there\n\n");
    if (path === "generate") {
      for (const [said, data] of steps.entries()) {
        say(said === 0 ? "prompt" : "token", data);
        await (hold ? hold(said + 1) : wait());
        if (stopped.has(one.stopId)) break;
        if (breaks?.after !== said + 1) continue;
        if (!breaks.error) return response.destroy();
        say("error", { error: breaks.error });
        return response.end();
      }
    }
    for (const done of [3, 10]) {
      say("progress", { phase: path === "evaluate" ? "blank-out" : "flow", done, total: 10 });
      await wait();
    }
    if (!response.destroyed) {
      say(path === "evaluate" ? "result" : "report", answer);
      response.end();
    }
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    asked,
    policy: POLICY,
    close: () =>
      new Promise((done) => {
        for (const socket of sockets) socket.destroy();
        server.close(done);
      }),
  };
}

function model(name, kind, head, more = {}) {
  const common = { architecture: "bert", layers: 6, heads: 12, labels: [], max_tokens: 512 };
  const cannot = {
    built_in: false,
    mixings: ["attention"],
    methods: ["raw", "rollout", "flow"],
    blanks: false,
    evaluates: false,
    chat: false,
    mask: null,
    examples: [],
  };
  return { name, kind, head, ...common, ...cannot, loaded: true, ...more };
}

export const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));
