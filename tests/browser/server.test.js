// The page that `attnflow serve` sends, before a server that answers from files (mock_server.js): what it asks, what it
// shows, and what it does when things go wrong.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { startBrowser } from "./browser.js";
import { readJson, startMockServer } from "./mock_server.js";
import { samplePages } from "./viewer_pages.js";

const texts = new Map(samplePages("").map((page) => [page.name, page]));
const picture = samplePages("image").find(({ name }) => name === "small");
const generation = samplePages("generation").find(({ name }) => name === "usual");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The server's page: a report's page without its report, which may talk to where it comes from. */
const page = readFileSync(texts.get("short").html, "utf8")
  .replace(/(<script type="application\/json" id="report">)[^]*?(<\/script>)/u, "$1null$2")
  .replace("default-src 'none';", "default-src 'none'; connect-src 'self';");

// The smallest PNG.
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
  "base64",
);

/** The numbers of one of a document's arrays [tokens, columns, layers], the mean over layers: [tokens][columns]. */
function meanOverLayers({ shape: [tokens, columns, layers], dtype, data }) {
  assert.equal(dtype, "f64");
  const bytes = Buffer.from(data, "base64");
  const at = (k) => bytes.readDoubleLE(8 * k);
  return Array.from({ length: tokens }, (_, t) =>
    Array.from({ length: columns }, (__, j) => {
      let sum = 0;
      for (let l = 0; l < layers; ++l) sum += at((t * columns + j) * layers + l);
      return sum / layers;
    }),
  );
}

/** A finished generation without what the page does not ask for, and the events that the server sends before it. */
function stream() {
  const report = readJson(generation.json);
  report.generation.dropped = [];
  for (const name of Object.keys(report.arrays)) if (name.endsWith("_normalized")) delete report.arrays[name];
  // As decoders have it: the space in front belongs to the token.
  const { tokens: pieces } = report.generation;
  for (const [t, token] of pieces.entries()) if (t > 0) token.begin = pieces[t - 1].end;
  const four = (values) => values.map((value) => Number(value.toPrecision(4)));
  const rows = meanOverLayers(report.arrays.rollout);
  const generated = meanOverLayers(report.arrays.rollout_generated);
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
function evaluation() {
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
    version: 1,
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
    notes: ["A note of the evaluation."],
  };
}

function answer(path, body) {
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

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

/** Opens the page of a fresh server; the page must not report anything but what `messages` allows. */
async function serve(options, run, { fragment = "", allowed = [], context: more = {} } = {}) {
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

const asks = (server, path) => server.asked.filter((one) => one.path === path);

describe("a text", () => {
  test("is explained with all three methods at once", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#ask-text").waitFor();
      assert.equal(await tab.locator("#ask-text").inputValue(), "The key [MASK].");
      await tab.locator("#ask-text").fill("The key to the cabinets [MASK]");
      await tab.keyboard.press("Enter");
      await tab.locator("#all-methods").waitFor();
      const [{ body, type }] = asks(server, "explain");
      assert.equal(type, "application/json");
      assert.deepEqual(body, {
        method: ["raw", "rollout", "flow"],
        compact: true,
        model: "masked-model",
        text: "The key to the cabinets [MASK]",
        keep_attention: true,
      });
      const strips = await tab.$$eval("#all-methods [data-strip]", (all) => all.map((one) => one.dataset.strip));
      assert.deepEqual(strips, ["raw", "rollout", "flow"]);
      assert.equal(await tab.locator("#status-text").count(), 0);
      assert.match(await tab.locator("#predictions").textContent(), /0\.6100/);
    });
  });

  test("its options are asked for by the API's names", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#ask-text").fill("x".repeat(300));
      await tab.locator("#options-button").click();
      await tab.locator("#ask-pair").fill("Two");
      await tab.locator("#ask-candidates").fill("is, are");
      await tab.locator("#ask-referents").fill("key");
      await tab.locator("#ask-gradient").check();
      await tab.locator("#ask-target").fill("are");
      await tab.keyboard.press("Escape");
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      assert.deepEqual(asks(server, "explain")[0].body, {
        method: ["raw", "rollout", "flow"],
        compact: true,
        model: "masked-model",
        text: "x".repeat(300),
        pair: "Two",
        mixing: "gradient",
        target: "are",
        candidates: ["is", "are"],
        referents: ["key"],
      });
    });
  });

  test("progress is shown, and cancelling ends the request", async () => {
    await serve({ pause: 700 }, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#status-text").filter({ hasText: "Waiting: 1 before this" }).waitFor();
      await tab.locator("#status-text").filter({ hasText: "flow 3 of 10" }).waitFor();
      assert.equal(await tab.locator("#status progress").getAttribute("max"), "10");
      await tab.locator("#cancel").click();
      await tab.locator("#status-text").waitFor({ state: "detached" });
      await tab.waitForTimeout(100);
      assert.equal(asks(server, "explain")[0].left, true);
      assert.equal(await tab.locator("#page").count(), 0);
      assert.equal(await tab.locator("#server-problem").count(), 0);
    });
  });

  test("the server's sentences are shown, and what was shown before stays", async () => {
    const allowed = [/status of 422/, /Failed to load resource/];
    await serve(
      {},
      async (tab, server) => {
        await tab.locator("#explain").click();
        await tab.locator("#all-methods").waitFor();
        await tab.locator("#ask-text").fill("too long");
        await tab.locator("#explain").click();
        await tab.locator("#server-problem").waitFor();
        assert.equal(
          await tab.locator("#server-problem").textContent(),
          "expected at most 512 tokens, found 1000; shorten the text",
        );
        assert.equal(await tab.locator("#all-methods").count(), 1);
        await server.close();
        await tab.locator("#explain").click();
        await tab.locator("#server-problem").filter({ hasText: "does not answer" }).waitFor();
      },
      { allowed: [...allowed, /ERR_CONNECTION/] },
    );
  });

  test("its address explains it again", async () => {
    let link = "";
    await serve({}, async (tab) => {
      await tab.locator("#ask-text").fill("a & b # c");
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      await tab.waitForTimeout(600);
      link = await tab.evaluate(() => location.hash);
    });
    await serve(
      {},
      async (tab, server) => {
        await tab.locator("#all-methods").waitFor();
        assert.equal(asks(server, "explain")[0].body.text, "a & b # c");
        assert.equal(await tab.locator("#methods input:checked").inputValue(), "flow");
      },
      { fragment: link },
    );
    // What an address cannot mean is not asked.
    for (const ask of ["{", "[]", "null", '{"text":1}', '{"text":"' + "x".repeat(9000) + '"}']) {
      await serve(
        {},
        async (tab, server) => {
          await tab.locator("#ask-text").waitFor();
          await tab.waitForTimeout(150);
          assert.equal(asks(server, "explain").length, 0, ask.slice(0, 40));
        },
        { fragment: `#v=1&ask=${encodeURIComponent(ask)}` },
      );
    }
  });
});

describe("beside it", () => {
  test("a blanked token: prediction and values side by side", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#blank-token").selectOption("2");
      await tab.locator("#blank").click();
      await tab.locator(".predictions-pair").waitFor();
      assert.deepEqual(asks(server, "explain")[1].body.blank, [2]);
      assert.match(await tab.locator(".predictions-pair").textContent(), /blanked/);
      await tab.locator("#blank-token").selectOption("1");
      await tab.locator("#blank").click();
      await tab.waitForFunction(() => document.querySelectorAll("#blanked li").length === 2);
      await tab.waitForTimeout(200);
      assert.deepEqual(asks(server, "explain")[2].body.blank, [1, 2]);
      for (let k = 0; k < 2; ++k) await tab.locator("#blanked button:enabled").first().click();
      await tab.waitForFunction(() => !document.getElementById("compare-card"));
    });
  });

  test("another text", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      await tab.locator("#ask-text").fill("another");
      await tab.locator("#compare-ask").click();
      await tab.locator(".predictions-pair").waitFor();
      assert.equal(asks(server, "explain")[1].body.text, "another");
    });
  });

  test("what the page cannot compute is asked, and joins what is shown", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      await tab.locator("#residual").fill("0.9");
      await tab.locator("#ask-server").click();
      await tab.waitForFunction(() => document.querySelector('#strip [data-token="1"]').dataset.value);
      const { body } = asks(server, "explain")[1];
      assert.deepEqual(body.method, ["flow"]);
      assert.equal(body.residual, 0.9);
      assert.equal(body.output_token, 6);
      const shown = await tab.locator('#strip [data-token="1"]').getAttribute("data-value");
      assert.ok(Math.abs(Number(shown) - 0.89) < 0.01, shown);
    });
  });

  test("whole words and all pairs are asked for as such", async () => {
    const pieces = readJson(texts.get("arabic").json);
    let word = -1;
    for (const token of pieces.input.tokens) {
      if (!token.special) token.word = token.text.startsWith("##") ? word : ++word;
    }
    const words = pieces.input.tokens.filter((token) => !token.text.startsWith("##"));
    const document = (_, body) => {
      const report = JSON.parse(JSON.stringify(pieces));
      // The one row that is there without asking.
      if (!body.words) {
        delete report.arrays.flow;
        return report;
      }
      const n = words.length;
      const rows = body.output_token === "all" ? words.map((_token, i) => i) : [2];
      const numbers = Float64Array.from({ length: 6 * rows.length * n }, () => 0.25);
      const data = Buffer.from(numbers.buffer).toString("base64");
      report.settings.words = true;
      report.input.tokens = words;
      report.flow_output_tokens = rows;
      report.arrays = { flow: { shape: [6, rows.length, n], dtype: "f64", encoding: "base64", data } };
      return report;
    };
    await serve({ document }, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#words").check();
      await tab.locator('#strip [data-token="2"]').click();
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      await tab.locator("#ask-server").click();
      await tab.waitForFunction(() => document.querySelector('#strip [data-token="1"]').dataset.value === "0.25");
      const { body } = asks(server, "explain")[1];
      // The third word is the fourth piece.
      assert.deepEqual([body.words, body.keep_attention, body.output_token, body.method], [true, false, 3, ["flow"]]);
      assert.match(await tab.locator('[data-setting="Numbers"]').textContent(), /by the server/);
      assert.match(await tab.locator("#matrix-missing").textContent(), /flow is here of the output token .* only/);
      await tab.locator("#ask-all-pairs").click();
      await tab.locator("#matrix svg").waitFor();
      assert.deepEqual(
        [asks(server, "explain")[2].body.words, asks(server, "explain")[2].body.output_token],
        [true, "all"],
      );
      const options = /--[a-z]/u;
      assert.doesNotMatch(await tab.locator("#page main").textContent(), options);
    });
  });
});

describe("a picture", () => {
  test("is explained when it is chosen, dropped or pasted", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator('#tasks input[value="image"]').check({ force: true });
      await tab.locator("#picture-file").setInputFiles({ name: "one.png", mimeType: "image/png", buffer: PNG });
      await tab.locator("#page").waitFor();
      const [first] = asks(server, "image");
      assert.equal(first.type, "image/png");
      assert.ok(first.body.equals(PNG));
      assert.deepEqual(first.query, {
        method: "raw,rollout,flow",
        model: "pictures",
        name: "one.png",
        compact: "true",
      });
      for (const [event, holder] of [
        ["drop", "dataTransfer"],
        ["paste", "clipboardData"],
      ]) {
        await tab.evaluate(
          ([name, key, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([Uint8Array.from(bytes)], `${name}.png`, { type: "image/png" }));
            const made = new Event(name, { bubbles: true, cancelable: true });
            Object.defineProperty(made, key, { value: data });
            document.body.dispatchEvent(made);
          },
          [event, holder, [...PNG]],
        );
        await tab.waitForFunction(() => !document.getElementById("status-text"));
        await tab.waitForTimeout(150);
      }
      assert.deepEqual(
        asks(server, "image").map(({ query }) => query.name),
        ["one.png", "drop.png", "paste.png"],
      );
      const sent = tab.locator("#picture-sent");
      assert.equal((await sent.textContent()).replace(/\s+/gu, " ").trim(), "paste.png 68 bytes");
      assert.equal(await sent.locator("img").evaluate((image) => image.decode().then(() => image.naturalWidth)), 1);
      await tab.locator("#picture-file").setInputFiles({ name: "no.txt", mimeType: "text/plain", buffer: PNG });
      await tab.locator("#server-problem").filter({ hasText: "found no.txt" }).waitFor();
      assert.equal(asks(server, "image").length, 3);
    });
  });

  test("its link says what it cannot hold, and asks for the picture when it is opened", async () => {
    const file = { name: "one.png", mimeType: "image/png", buffer: PNG };
    let link = "";
    await serve({}, async (tab) => {
      await tab.locator('#tasks input[value="image"]').check({ force: true });
      await tab.locator("#picture-file").setInputFiles(file);
      await tab.locator("#page").waitFor();
      assert.match(await tab.locator("#link-button").textContent(), /^Copy link without the picture/);
      await tab.locator('#methods input[value="raw"]').check({ force: true });
      await tab.waitForTimeout(600);
      link = await tab.evaluate(() => location.hash);
    });
    await serve(
      {},
      async (tab, server) => {
        await tab.locator("#picture-wanted").filter({ hasText: "one.png" }).waitFor();
        assert.equal(await tab.locator('#tasks input[value="image"]').isChecked(), true);
        assert.equal(await tab.locator("#page").count(), 0);
        await tab.locator("#picture-file").setInputFiles(file);
        await tab.locator("#page").waitFor();
        assert.equal(await tab.locator("#picture-wanted").count(), 0);
        assert.equal(await tab.locator("#methods input:checked").inputValue(), "raw");
        assert.equal(asks(server, "image").length, 1);
      },
      { fragment: link },
    );
  });
});

describe("each task", () => {
  test("has its own report and its own problem", async () => {
    await serve(
      {},
      async (tab, server) => {
        const task = (name) => tab.locator(`#tasks input[value="${name}"]`).check({ force: true });
        await tab.locator("#ask-text").fill("too long");
        await tab.locator("#explain").click();
        await tab.locator("#server-problem").waitFor();
        await task("generation");
        assert.equal(await tab.locator("#server-problem").count(), 0);
        await task("text");
        assert.match(await tab.locator("#server-problem").textContent(), /shorten the text/);
        await tab.locator("#ask-text").fill("A text");
        await tab.locator("#explain").click();
        await tab.locator("#all-methods").waitFor();
        assert.equal(await tab.locator("#server-problem").count(), 0);
        await tab.locator('#methods input[value="raw"]').check({ force: true });
        await tab.waitForFunction(() => location.hash.includes("m=raw"));
        // What the address does not say yet is not lost.
        await tab.locator('#methods input[value="flow"]').check({ force: true });
        await task("image");
        await task("text");
        assert.equal(await tab.locator("#methods input:checked").inputValue(), "flow");
        await tab.locator('#methods input[value="raw"]').check({ force: true });
        await tab.waitForFunction(() => location.hash.includes("m=raw"));
        await task("generation");
        assert.equal(await tab.locator("#page").count(), 0);
        assert.equal(await tab.locator("#welcome").count(), 1);
        await tab.locator("#continue").click();
        await tab.locator("#generated").waitFor();
        await tab.locator("#heat-card").waitFor();
        await task("image");
        assert.equal(await tab.locator("#page").count(), 0);
        // Each comes back as it was, and nothing is asked again.
        await task("text");
        await tab.locator("#all-methods").waitFor();
        assert.equal(await tab.locator("#methods input:checked").inputValue(), "raw");
        await task("generation");
        await tab.locator("#generated").waitFor();
        await tab.waitForFunction(() => location.hash.includes("prompt"));
        // And so does the way back.
        await tab.goBack();
        await tab.locator("#all-methods").waitFor();
        assert.equal(await tab.locator('#tasks input[value="text"]').isChecked(), true);
        assert.equal(await tab.locator("#methods input:checked").inputValue(), "raw");
        assert.equal(asks(server, "generate").length, 1);
        assert.equal(asks(server, "explain").length, 2);
      },
      { allowed: [/status of 422/] },
    );
  });
});

describe("a prompt", () => {
  test("is continued token by token, and then explained", async () => {
    const words = ["Once", " upon", " a", " time"];
    // A server that does not say what tokens drew on as they come.
    const steps = [{ text: "Begin", tokens: [], layers: [1] }, ...words.map((text, index) => ({ index, text }))];
    await serve({ steps, pause: 250 }, async (tab, server) => {
      await tab.locator('#tasks input[value="generation"]').check({ force: true });
      await tab.locator("#ask-prompt").fill("Begin");
      await tab.locator("#sampling-button").click();
      await tab.locator("#ask-tokens").fill("4");
      await tab.locator("#ask-temperature").fill("0.5");
      await tab.locator("#ask-chat").check();
      await tab.locator("#ask-system").fill("Be brief.");
      await tab.keyboard.press("Escape");
      await tab.evaluate(() => {
        window.seen = new Set();
        const look = () => window.seen.add(document.querySelector("#generated .line")?.textContent);
        new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
      });
      await tab.locator("#continue").click();
      await tab
        .locator("#generated")
        .filter({ hasText: /Once upon/ })
        .waitFor();
      await tab.locator("#rank").waitFor();
      const seen = await tab.evaluate(() => [...window.seen]);
      for (let k = 1; k <= words.length; ++k) {
        assert.ok(seen.includes(words.slice(0, k).join("")), `never saw ${words.slice(0, k).join("")}: ${seen}`);
      }
      const [{ body }] = asks(server, "generate");
      assert.deepEqual(body, {
        model: "writer",
        prompt: "Begin",
        method: ["raw", "rollout"],
        tokens: 4,
        chat: true,
        system: "Be brief.",
        temperature: 0.5,
        top_p: 1,
        seed: 1,
        generated_columns: true,
        compact: true,
      });
    });
  });

  test("its options are asked for by the API's names, and reached from the keyboard", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator('#tasks input[value="generation"]').check({ force: true });
      await tab.locator("#sampling-button").focus();
      await tab.keyboard.press("Enter");
      const reached = new Set();
      for (let k = 0; k < 12; ++k) {
        await tab.keyboard.press("Tab");
        reached.add(await tab.evaluate(() => document.activeElement.id || document.activeElement.value));
      }
      for (const id of [
        "ask-tokens",
        "raw",
        "rollout",
        "flow",
        "ask-layers",
        "ask-drop-sink",
        "ask-temperature",
        "ask-chat",
      ])
        assert.ok(reached.has(id), id);
      await tab.locator("#sampling-button").click();
      if (!(await tab.locator("#ask-tokens").isVisible())) await tab.locator("#sampling-button").click();
      assert.equal(await tab.locator("#ask-seed").count(), 0);
      await tab.locator('#ask-methods input[value="flow"]').check();
      await tab.locator('#ask-methods input[value="raw"]').uncheck();
      await tab.locator('#ask-methods input[value="rollout"]').uncheck();
      // One is left.
      assert.equal(await tab.locator('#ask-methods input[value="flow"]').isDisabled(), true);
      await tab.locator("#ask-layers").fill("1-2");
      await tab.locator("#ask-drop-sink").check();
      await tab.keyboard.press("Escape");
      await tab.locator("#continue").click();
      await tab.locator("#heat-card").waitFor();
      assert.deepEqual(asks(server, "generate")[0].body, {
        model: "writer",
        prompt: "Once upon",
        method: ["flow"],
        tokens: 40,
        chat: false,
        temperature: 0,
        drop_sink: true,
        layers: "1-2",
        generated_columns: true,
        compact: true,
      });
    });
  });

  test("its link runs it again, with the same options and what was chosen", async () => {
    const { report, steps } = stream();
    const document = (path, body) => (path === "generate" ? report : answer(path, body));
    let link = "";
    let asked = null;
    await serve({ steps, document }, async (tab, server) => {
      await tab.locator('#tasks input[value="generation"]').check({ force: true });
      await tab.locator("#ask-prompt").fill("a & b # c");
      await tab.locator("#sampling-button").click();
      await tab.locator("#ask-temperature").fill("0.5");
      await tab.locator("#ask-top-p").fill("0.9");
      await tab.locator("#ask-seed").fill("77");
      await tab.keyboard.press("Escape");
      await tab.locator("#continue").click();
      await tab.locator("#heat-card").waitFor();
      assert.match(await tab.locator("#link-button").textContent(), /^Copy linkCopied$/);
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      await tab.locator('#generated [data-token="1"]').click();
      await tab.locator("#look-button").click();
      await tab.locator('#palettes input[value="grey"]').check();
      await tab.waitForTimeout(600);
      link = await tab.evaluate(() => location.hash);
      asked = asks(server, "generate")[0].body;
    });
    assert.equal(asked.seed, 77);
    await serve(
      { steps, document, pause: 30 },
      async (tab, server) => {
        await tab
          .locator("#status-text")
          .filter({ hasText: "Running again from the link, with its seed 77" })
          .waitFor();
        await tab.locator("#map-card").waitFor();
        assert.deepEqual(asks(server, "generate")[0].body, asked);
        assert.equal(await tab.locator("#ask-prompt").inputValue(), "a & b # c");
        assert.equal(await tab.locator("#methods input:checked").inputValue(), "flow");
        assert.match(await tab.locator("#step").textContent(), /^2 of /);
        await tab.locator("#look-button").click();
        assert.equal(await tab.locator('#palettes input[value="grey"]').isChecked(), true);
        assert.equal(await tab.evaluate(() => location.hash), link);
        assert.equal(asks(server, "generate").length, 1);
      },
      { fragment: link },
    );
    // What an address cannot mean is not asked.
    const ask = JSON.stringify({
      prompt: "p",
      tokens: 1e9,
      method: ["x"],
      temperature: "hot",
      layers: 7,
      model: "gone",
    });
    await serve(
      { steps, document },
      async (tab, server) => {
        await tab.locator("#heat-card").waitFor();
        const { body } = asks(server, "generate")[0];
        assert.deepEqual([body.prompt, body.tokens, body.temperature, body.layers], ["p", 40, 0, undefined]);
        assert.match(
          await tab.locator("#server-notice").textContent(),
          /“gone”, which this server does not have; “writer”/,
        );
      },
      { fragment: `#v=1&ask=${encodeURIComponent(ask)}` },
    );
  });

  test("that breaks off says why, and keeps what came", async () => {
    const { steps } = stream();
    const said = async (breaks, sentence, tokens) =>
      serve(
        { steps, breaks },
        async (tab) => {
          await tab.locator('#tasks input[value="generation"]').check({ force: true });
          await tab.locator("#continue").click();
          await tab
            .locator(tokens ? "#failure" : "#server-problem")
            .filter({ hasText: sentence })
            .waitFor();
          assert.equal(await tab.locator("#generated .token").count(), tokens);
          assert.equal(await tab.locator("#status-text").count(), 0);
          if (!tokens) {
            assert.equal(await tab.locator("#page").count(), 0);
            return;
          }
          assert.equal(await tab.locator("#server-problem").count(), 0);
          assert.equal(await tab.locator("#text-strips").getAttribute("aria-busy"), "false");
          assert.match(await tab.locator("#methods label").first().getAttribute("title"), /ended before its report/);
          await tab.locator("#previous").click();
          assert.equal(await tab.locator("#step").textContent(), `${tokens - 1} of ${tokens}`);
        },
        { allowed: [/ERR_|network error/i] },
      );
    await said({ after: 4 }, "the connection to the server broke before its answer was complete", 3);
    await said(
      { after: 3, error: { kind: "time_limit", message: "expected at most 60 s" } },
      "expected at most 60 s",
      2,
    );
    await said({ after: 1, error: { kind: "internal", message: "a sentence" } }, "a sentence", 0);
  });

  test("of one token, continued by one, and by a special one at the end", async () => {
    const { report, steps } = stream();
    const { input, generation: said, arrays } = report;
    // The last token is one that ends the text.
    said.tokens.at(-1).special = true;
    steps.at(-1).special = true;
    const last = said.tokens.length - 1;
    await serve({ steps, document: () => report }, async (tab) => {
      await tab.locator('#tasks input[value="generation"]').check({ force: true });
      await tab.locator("#continue").click();
      await tab.locator("#heat-card").waitFor();
      assert.equal(await tab.locator("#step").textContent(), `${last} of ${last + 1}`);
      assert.match(await tab.locator("#heading").textContent(), new RegExp(`^What generated token ${last} “`, "u"));
    });
    const bytes = Buffer.from(arrays.rollout.data, "base64");
    const one = {
      ...report,
      settings: { ...report.settings, method: ["rollout"], layers: [1] },
      input: { ...input, text: "Hi", tokens: [{ text: "Hi", begin: 0, end: 2 }] },
      generation: {
        ...said,
        text: "!",
        tokens: [{ ...said.tokens[0], text: "!", begin: 0, end: 1 }],
        flow_tokens: [],
        flow_layers: [],
        dropped: [],
      },
      arrays: { rollout: { ...arrays.rollout, shape: [1, 1, 1], data: bytes.subarray(0, 8).toString("base64") } },
    };
    const events = [
      { ...steps[0], text: "Hi", tokens: one.input.tokens, layers: [1] },
      { index: 0, text: "!", piece: "!", special: false, probability: 0.5, choices: [], rollout: [1] },
    ];
    await serve({ steps: events, document: () => one }, async (tab) => {
      await tab.locator('#tasks input[value="generation"]').check({ force: true });
      await tab.locator("#continue").click();
      await tab.locator("#map-card").waitFor();
      assert.equal(await tab.locator("#step").textContent(), "1 of 1");
      for (const control of ["#previous", "#play", "#next", "#token"])
        assert.equal(await tab.locator(control).isDisabled(), true);
      assert.match(await tab.locator("#model").textContent(), /1 prompt token · 1 generated$/);
    });
  });

  /** Runs a generation that stops behind each event until `go()`. */
  async function held(run, more = {}) {
    const { report, steps } = stream();
    const waiting = [];
    const hold = () => new Promise((done) => waiting.push(done));
    const document = (path, body) => (path === "generate" ? report : answer(path, body));
    await serve(
      { steps, hold, document },
      async (tab, server) => {
        await tab.locator('#tasks input[value="generation"]').check({ force: true });
        await tab.locator("#continue").click();
        /** The next event, `count` times. */
        const go = async (count = 1) => {
          for (let k = 0; k < count; ++k) {
            while (waiting.length === 0) await tab.waitForTimeout(10);
            waiting.shift()();
          }
        };
        await run({ tab, server, go, report, steps });
      },
      more,
    );
  }

  /** What the tokens of a text show. */
  const shown = (tab, id) =>
    tab.$$eval(`#${id} .token`, (all) =>
      all.map((one) => ({
        text: one.textContent,
        value: one.dataset.value,
        background: one.style.backgroundColor,
        classes: [...one.classList].sort().join(" "),
      })),
    );
  const said = (tab, count) =>
    tab.waitForFunction((n) => document.querySelectorAll("#generated .token").length === n, count);

  test("the prompt is coloured by what the newest token drew on, and the report takes over in place", async () => {
    await held(async ({ tab, go, report, steps }) => {
      const rows = meanOverLayers(report.arrays.rollout);
      const near = (found, row) => {
        assert.equal(found.length, row.length);
        for (const [j, { value }] of found.entries()) {
          assert.ok(Math.abs(Number(value) - row[j]) <= 1e-3 * row[j], `${j}: ${value}, expected ${row[j]}`);
        }
      };
      await tab.locator("#prompt").filter({ hasText: "What do people" }).waitFor();
      await go(1);
      const last = steps.length - 2;
      for (const t of [0, 1, 2]) {
        await said(tab, t + 1);
        near(await shown(tab, "prompt"), rows[t]);
        assert.equal(await tab.locator('#generated [aria-selected="true"]').getAttribute("data-token"), String(t));
        await go(1);
      }
      // Every token can be chosen while others come, and stays so.
      await said(tab, 4);
      await tab.locator('#generated [data-token="1"]').click();
      near(await shown(tab, "prompt"), rows[1]);
      await go(1);
      await said(tab, 5);
      near(await shown(tab, "prompt"), rows[1]);
      assert.equal(await tab.locator("#step").textContent(), "2 of 5");
      assert.match(await tab.locator("#choices-help").textContent(), /Probability of the chosen token/);
      // One layer is not known yet.
      assert.equal(await tab.locator("#layers").isDisabled(), true);
      await tab.keyboard.press("[");
      assert.equal(await tab.locator("#layers").inputValue(), "all");
      assert.equal(await tab.locator('#methods input[value="flow"]').isDisabled(), true);
      assert.equal(await tab.locator("#heat-card").count(), 0);
      // A prompt's token set aside stays so as well.
      await tab.locator('#prompt [data-token="3"]').click();
      await tab.locator("#next").click({ clickCount: 3 });
      await go(last - 4);
      await said(tab, last + 1);
      await tab.locator("#generated .token").last().click();
      const places = () =>
        tab.evaluate(() =>
          ["#heading", "#controls", "#text-card", "#prompt", "#generated", "#rank-card", "#choices-card"].map((id) => {
            const { x, y, width } = document.querySelector(id).getBoundingClientRect();
            return [id, x, y, width].map((value) => (typeof value === "number" ? Math.round(value) : value));
          }),
        );
      const before = [await shown(tab, "prompt"), await shown(tab, "generated"), await places()];
      await tab.evaluate(() => (window.element = document.querySelector('#prompt [data-token="5"]')));
      assert.equal(await tab.locator("#text-strips").getAttribute("aria-busy"), "true");
      await go(1);
      await tab.locator("#heat-card").waitFor();
      assert.equal(await tab.locator("#text-strips").getAttribute("aria-busy"), "false");
      const after = [await shown(tab, "prompt"), await shown(tab, "generated"), await places()];
      near(after[0], rows[last]);
      const looks = (all) => all.map(({ text, classes }) => [text, classes]);
      assert.deepEqual(after[2], before[2]);
      assert.deepEqual(looks(after[0]), looks(before[0]));
      assert.deepEqual(looks(after[1]), looks(before[1]));
      // Four digits may lie on the other side of one of 256 steps.
      const same = after[0].filter(({ background }, j) => background === before[0][j].background);
      assert.ok(same.length >= after[0].length - 2, `${same.length} of ${after[0].length} colours are the same`);
      assert.ok(await tab.evaluate(() => window.element.isConnected));
      assert.equal(await tab.locator("#layers").isDisabled(), false);
      assert.equal(await tab.locator('#prompt [data-token="3"]').getAttribute("aria-pressed"), "true");
      await tab.locator('#methods input[value="flow"]').check({ force: true });
    });
  });

  test("what came before it was cancelled stays", async () => {
    await held(async ({ tab, server, go }) => {
      await go(1);
      await said(tab, 1);
      await go(1);
      await said(tab, 2);
      await tab.locator("#cancel").click();
      await tab.locator("#failure").filter({ hasText: "cancelled" }).waitFor();
      await tab.waitForTimeout(100);
      assert.equal(asks(server, "generate")[0].left, true);
      assert.equal(await tab.locator("#text-strips").getAttribute("aria-busy"), "false");
      await tab.locator('#generated [data-token="0"]').click();
      assert.equal(await tab.locator("#step").textContent(), "1 of 2");
      await go(1);
    });
  });
});

describe("do the methods agree with blank-out", () => {
  const cell = (tab, score, tokens, method, layer) =>
    tab.locator(
      `#agreement-table td[data-score="${score}"][data-tokens="${tokens}"][data-method="${method}"][data-layer="${layer}"]`,
    );

  test("a table by layer, the scores on the text, and files of both", async () => {
    await serve({ pause: 500 }, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#agreement-card").waitFor();
      assert.equal(await tab.locator("#agreement-heading").textContent(), "Do the methods agree with blank-out?");
      assert.equal(asks(server, "evaluate").length, 0);
      await tab.locator("#evaluate").click();
      await tab.locator("#evaluation-progress").filter({ hasText: "blank-out 3 of 10" }).waitFor();
      await tab.locator("#agreement-table").waitFor();
      assert.deepEqual(asks(server, "evaluate")[0].body, { model: "masked-model", text: "The key [MASK]." });
      const expected = evaluation();
      assert.equal(await tab.locator("#agreement-table td").count(), expected.correlations.length);
      for (const { score, tokens, method, layer, spearman } of expected.correlations) {
        const one = cell(tab, score, tokens, method, layer);
        assert.equal(await one.getAttribute("data-value"), spearman === null ? "" : String(spearman));
        const text = spearman === null ? "–" : spearman.toFixed(2).replace("-", "−");
        assert.equal(await one.textContent(), text);
      }
      const nearest = await tab.$$eval("#agreement-table .nearest", (all) => all.map(({ dataset }) => dataset.method));
      assert.deepEqual(nearest.sort(), ["flow", "flow", "raw", "raw"]);
      assert.match(await tab.locator("#agreement-summary").textContent(), /blank-out.*flow after layer 2 \(0\.60\)/);
      assert.match(await tab.locator("#agreement-card").textContent(), /A note of the evaluation\./);
      for (const { name, values } of expected.scores) {
        const drawn = await tab.$$eval(`#scores [data-strip="${name}"] .token`, (all) =>
          all.map(({ dataset }) => [Number(dataset.token), Number(dataset.value)]),
        );
        assert.deepEqual(
          drawn,
          values.map((value, token) => [token, value]),
        );
      }
      // Pointing at a token of a score points at it everywhere.
      await tab.locator('#scores [data-strip="gradient"] [data-token="2"]').hover();
      assert.match(await tab.locator('#strip [data-token="2"]').getAttribute("class"), /pointed/);
      const saved = async (kind) => {
        await tab.locator("#agreement-card .export > button").click();
        const coming = tab.waitForEvent("download");
        await tab.locator(`#agreement-card [data-kind="${kind}"]`).click();
        return readFileSync(await (await coming).path(), "utf8");
      };
      const lines = (await saved("csv")).trim().split(/\r?\n/u);
      assert.equal(lines[0], "score,tokens,count,method,layer,spearman");
      assert.equal(lines.length, expected.correlations.length + 1);
      assert.match(await saved("svg"), /data-value="0\.6/);
      // Another text has not been evaluated.
      await tab.locator("#ask-text").fill("another");
      await tab.locator("#explain").click();
      await tab.locator("#agreement-table").waitFor({ state: "detached" });
    });
  });

  test("a model that cannot is told where it was asked", async () => {
    await serve(
      {},
      async (tab, server) => {
        await tab.locator("#model-choice").selectOption("classifier");
        await tab.locator("#explain").click();
        await tab.locator("#evaluate").click();
        await tab.locator("#evaluation-problem").waitFor();
        assert.equal(
          await tab.locator("#evaluation-problem").textContent(),
          "expected a model with a head, found none",
        );
        assert.equal(await tab.locator("#server-problem").count(), 0);
        assert.equal(asks(server, "evaluate").length, 1);
        assert.equal(await tab.locator("#evaluate").isEnabled(), true);
      },
      { allowed: [/status of 422/] },
    );
  });
});

describe("the token", () => {
  test("is asked for, kept for the tab, and sent with every request", async () => {
    const allowed = [/401/];
    await serve(
      { token: "secret" },
      async (tab, server) => {
        await tab.locator("#login").waitFor();
        assert.equal(await tab.locator("#composer").count(), 0);
        await tab.locator("#token").fill("secret");
        await tab.keyboard.press("Enter");
        await tab.locator("#explain").click();
        await tab.locator("#all-methods").waitFor();
        assert.equal(asks(server, "explain")[0].authorization, "Bearer secret");
        await tab.reload();
        await tab.locator("#composer").waitFor();
      },
      { allowed },
    );
    await serve(
      { token: "secret" },
      async (tab, server) => {
        await tab.locator("#composer").waitFor();
        assert.equal(await tab.evaluate(() => location.href), server.url);
        assert.ok(server.asked.every(({ authorization }) => authorization === "Bearer secret"));
      },
      { fragment: "#token=secret" },
    );
  });
});

describe("everyone", () => {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing, ${colorScheme}`, async () => {
      await serve(
        {},
        async (tab) => {
          const check = async () => {
            await tab.evaluate(axe);
            const { violations } = await tab.evaluate(() =>
              window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
            );
            assert.deepEqual(
              violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)}`)),
              [],
            );
          };
          await tab.locator("#composer").waitFor();
          await tab.locator("#options-button").click();
          await check();
          await tab.keyboard.press("Escape");
          await tab.locator("#explain").click();
          await tab.locator("#all-methods").waitFor();
          await tab.locator("#evaluate").click();
          await tab.locator("#agreement-table").waitFor();
          await check();
          for (const task of ["image", "generation"]) {
            await tab.locator(`#tasks input[value="${task}"]`).check({ force: true });
            await check();
          }
        },
        { context: { colorScheme } },
      );
    });
  }

  test("it fits a narrow screen", async () => {
    await serve(
      {},
      async (tab) => {
        await tab.locator("#explain").click();
        await tab.locator("#all-methods").waitFor();
        await tab.locator("#evaluate").click();
        await tab.locator("#agreement-table").waitFor();
        for (const button of ["#options-button", "#filters-button", "#look-button"]) {
          await tab.locator(button).click();
          const width = await tab.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(width <= 360, `${width} pixels wide with ${button}`);
          const box = await tab.locator(`${button.replace("-button", "-panel")}`).boundingBox();
          assert.ok(box.x >= 0 && box.x + box.width <= 360, `${button}: ${box.x} to ${box.x + box.width}`);
          await tab.keyboard.press("Escape");
        }
      },
      { context: { viewport: { width: 360, height: 740 } } },
    );
  });
});
