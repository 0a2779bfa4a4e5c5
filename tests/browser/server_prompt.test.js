// Continuations in the page that `attnflow serve` sends (server_page.js): token by token, their options, their links, and
// what becomes of them when they break off.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startBrowser } from "./browser.js";
import { readJson } from "./mock_server.js";
import { answer, asks, meanOverLayers, serve as serveIn, stream, texts } from "./server_page.js";

let browser;
const serve = (...rest) => serveIn(browser, ...rest);
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

describe("a long text of a decoder", () => {
  test("is asked for its last token's rows, unless all tokens are wanted", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("select").first().selectOption("writer");
      await tab.locator("#ask-text").fill("word ".repeat(500));
      assert.equal(await tab.locator("#long-text").count(), 0);
      await tab.locator("#ask-text").fill("word ".repeat(700));
      assert.match(await tab.locator("#long-text").textContent(), /only its last token is explained/u);
      await tab.locator("#explain").click();
      await tab.locator("#rank").waitFor();
      const [{ body }] = asks(server, "explain");
      assert.equal(body.only_output_token, true);
      assert.deepEqual(body.method, ["raw", "rollout"]);
      const asked = () => tab.evaluate(() => decodeURIComponent(location.hash).replaceAll("+", " "));
      await tab.waitForFunction(() => location.hash.includes("ask="));
      assert.match(await asked(), /"only_output_token":true/u);
      await tab.locator("#ask-all-tokens").check();
      assert.match(await tab.locator("#long-text").textContent(), /takes minutes/u);
      await tab.locator("#explain").click();
      await tab.waitForFunction(() => !document.querySelector("#status progress"));
      const [, { body: whole }] = asks(server, "explain");
      assert.ok(!("only_output_token" in whole));
      assert.deepEqual(whole.method, ["raw", "rollout"]);
      await tab.waitForFunction(() => !location.hash.includes("only_output_token"));
      assert.match(await asked(), /"text":"word word/u);
      // Contributions need the matrices.
      await tab.locator("#ask-all-tokens").uncheck();
      assert.match(await tab.locator("#long-text").textContent(), /only its last token is explained/u);
      await tab.locator("#options-button").click();
      await tab.locator("#ask-mixing").selectOption("alti");
      assert.match(await tab.locator("#long-text").textContent(), /takes minutes/u);
    });
  });

  test("is asked for all tokens where other settings need them", async () => {
    await serve({ document: () => readJson(texts.get("long").json) }, async (tab, server) => {
      await tab.locator("select").first().selectOption("writer");
      await tab.locator("#ask-text").fill("word ".repeat(700));
      await tab.locator("#explain").click();
      await tab.locator("#rank").waitFor();
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      await tab.locator("#recompute > summary").click();
      await tab.locator("#residual").fill("0.3");
      await tab.locator("#ask-server").click();
      await tab.waitForFunction(() => !document.querySelector("#status progress"));
      assert.equal(asks(server, "explain").at(-1).body.only_output_token, true);
      await tab.locator("#discard").fill("0.5");
      await tab.locator("#ask-server").click();
      await tab.waitForFunction(() => !document.querySelector("#status progress"));
      const { body } = asks(server, "explain").at(-1);
      assert.equal(body.discard, 0.5);
      assert.ok(!("only_output_token" in body));
    });
  });
});

describe("a prompt", () => {
  test("is continued token by token, and then explained", async () => {
    const words = ["Once", " upon", " a", " time"];
    // A server that does not say what tokens drew on as they come.
    const steps = [{ text: "Begin", tokens: [], layers: [1] }, ...words.map((text, index) => ({ index, text }))];
    await serve({ steps, pause: 250, chat: true }, async (tab, server) => {
      await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
      // On where the model has a template, and in sight; so are questions then, and else beginnings of texts.
      assert.ok(await tab.locator("#ask-chat").isChecked());
      assert.match(await tab.locator("#examples").textContent(), /\?/u);
      assert.match(await tab.locator("#ask-prompt").inputValue(), /\?$/u);
      await tab.locator("#ask-chat").uncheck();
      assert.equal(await tab.locator("#ask-prompt").inputValue(), "Once upon");
      await tab.locator("#ask-chat").check();
      await tab.locator("#ask-prompt").fill("Begin");
      await tab.locator("#sampling-button").click();
      await tab.locator("#ask-tokens").fill("4");
      await tab.locator("#ask-temperature").fill("0.5");
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

  test("wrong options that are folded away are said in the page", async () => {
    const message = "tokens: expected a number of at least 1, found 0";
    const document = () => {
      throw { status: 400, kind: "bad_request", message };
    };
    await serve(
      { document },
      async (tab, server) => {
        await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
        await tab.locator("#sampling-button").click();
        // What is no number is not asked: the field says again what is.
        await tab.locator("#ask-tokens").fill("7");
        await tab.locator("#ask-tokens").press("Backspace");
        await tab.locator("#ask-tokens").press("e");
        await tab.locator("#ask-tokens").blur();
        assert.equal(await tab.locator("#ask-tokens").inputValue(), "7");
        await tab.locator("#ask-tokens").fill("0");
        await tab.keyboard.press("Escape");
        await tab.locator("#continue").click();
        await tab.locator("#server-problem").filter({ hasText: "at least 1, found 0" }).waitFor();
        assert.equal(asks(server, "generate")[0].body.tokens, 0);
      },
      { allowed: [/400/u] },
    );
  });

  test("its options are asked for by the API's names, and reached from the keyboard", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
      await tab.locator("#sampling-button").focus();
      await tab.keyboard.press("Enter");
      const reached = new Set();
      for (let k = 0; k < 12; ++k) {
        await tab.keyboard.press("Tab");
        reached.add(await tab.evaluate(() => document.activeElement.id || document.activeElement.value));
      }
      assert.equal(await tab.locator("#ask-chat").count(), 0);
      for (const id of ["ask-tokens", "raw", "rollout", "flow", "ask-layers", "ask-mask-first", "ask-temperature"])
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
      await tab.locator("#ask-mask-first").check();
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
        mask_columns: "first",
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
      await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
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
      { steps, document, pause: 200 },
      async (tab, server) => {
        await tab.locator("#status-text").filter({ hasText: "Restoring, with its seed 77" }).waitFor();
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
      tokens: "many",
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
    const said = async (breaks, sentence, tokens) => {
      // A connection that breaks takes with it what the page has not read yet.
      let goOn;
      const read = new Promise((done) => (goOn = done));
      const hold = (count) => (count === breaks.after ? read : undefined);
      return serve(
        { steps, breaks, hold },
        async (tab) => {
          await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
          await tab.locator("#continue").click();
          if (tokens)
            await tab
              .locator("#generated .token")
              .nth(tokens - 1)
              .waitFor();
          goOn();
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
    };
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
    await serve({ steps, document: () => report }, async (tab) => {
      await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
      await tab.locator("#continue").click();
      await tab.locator("#heat-card").waitFor();
      assert.equal(await tab.locator("#step").textContent(), `1 of ${said.tokens.length}`);
      assert.match(await tab.locator("#heading").textContent(), /^“.*”, [\d.]+%: rollout ranks /u);
    });
    const bytes = Buffer.from(arrays.rollout.data, "base64");
    const one = {
      ...report,
      settings: { ...report.settings, method: ["rollout"], layers: [1] },
      input: { ...input, text: "Hi", tokens: [{ text: "Hi", begin: 0, end: 2 }] },
      ...{ output_token: 0, output_tokens: [0], flow_output_tokens: [] },
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
      await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
      await tab.locator("#continue").click();
      await tab.locator("#map-card").waitFor();
      assert.equal(await tab.locator("#step").textContent(), "1 of 1");
      for (const control of ["#previous", "#play", "#next", "#token"])
        assert.equal(await tab.locator(control).isDisabled(), true);
      assert.match(await tab.locator("#model").textContent(), /1 prompt token · 1 generated$/);
    });
  });

  test("an alternative continues it otherwise, and both stay beside each other", async () => {
    const { report, steps } = stream();
    // The other branch: the second token is the runner-up, and so are the tokens behind it.
    for (const [t, token] of report.generation.tokens.entries()) {
      token.id = 1000 + t;
      for (const [k, choice] of token.choices.entries()) choice.id = choice.label === token.text ? token.id : 2000 + k;
    }
    const other = JSON.parse(JSON.stringify(report));
    other.generation.given = 2;
    for (const token of other.generation.tokens.slice(1)) token.id += 500;
    other.generation.tokens[1].probability = 0.125;
    const document = (path, body) => {
      if (path !== "generate") return answer(path, body);
      return body.begin_with ? other : report;
    };
    await serve({ steps, document }, async (tab, server) => {
      await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
      await tab.locator("#continue").click();
      await tab.locator("#heat-card").waitFor();
      assert.equal(await tab.locator("#branches-card").count(), 0);
      await tab.locator('#generated [data-token="1"]').click();
      const alternatives = tab.locator("#choices button.branch");
      const offered = await alternatives.count();
      assert.ok(offered > 0);
      assert.match(await tab.locator("#choices-help").textContent(), /Click an alternative/u);
      const id = report.generation.tokens[1].choices.find((choice) => choice.id >= 2000).id;
      await alternatives.first().click();
      await tab.locator("#branches-card").waitFor();
      assert.deepEqual(asks(server, "generate")[1].body.begin_with, [1000, id]);
      assert.match(await tab.locator("#branches-heading").textContent(), /generated token 2$/u);
      const rows = tab.locator("#branches-card li");
      assert.equal(await rows.count(), 2);
      // Listed while it grows, too.
      await rows.nth(1).filter({ hasText: "12.5%, mean" }).waitFor();
      assert.doesNotMatch(await rows.nth(1).textContent(), /generating/u);
      assert.equal(await rows.nth(1).getAttribute("aria-current"), "true");
      // A link restores the branch, back shows the first again, without asking.
      const link = decodeURIComponent(await tab.evaluate(() => location.hash));
      assert.match(link, /"begin_with":\[1000,20/u);
      await rows.nth(0).locator("button").click();
      await tab.locator('#branches-card li:first-child[aria-current="true"]').waitFor();
      await tab.goBack();
      await tab.locator('#branches-card li:last-child[aria-current="true"]').waitFor();
      assert.equal(asks(server, "generate").length, 2);
      await tab.locator('#generated [data-token="1"]').click();
      assert.match(await tab.locator("#choices-help").textContent(), /was given/u);
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
        await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
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
      const rows = meanOverLayers(report, "rollout");
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
      await tab.locator('#prompt [data-token="3"]').click({ modifiers: ["Control"] });
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
      assert.match(await tab.locator('#prompt [data-token="3"]').getAttribute("class"), /excluded/u);
      await tab.locator('#methods input[value="flow"]').check({ force: true });
    });
  });

  test("one that is asked before the first token of another, and fails, leaves what was there before both", async () => {
    const { report, steps } = stream();
    let first = true;
    const waiting = [];
    const hold = async () => first || new Promise((done) => waiting.push(done));
    const document = (_, body) => {
      if (body.layers === "99") throw { status: 400, kind: "bad_request", message: "expected layers up to 2" };
      return report;
    };
    await serve(
      { steps, hold, document },
      async (tab, server) => {
        await tab.locator('#tasks input[value="generation"]:enabled').check({ force: true });
        const layers = async (text) => {
          await tab.locator("#sampling-button").click();
          await tab.locator("#ask-layers").fill(text);
          await tab.keyboard.press("Escape");
        };
        /** Continues a prompt that gets no token. */
        const wait = async (text) => {
          const count = asks(server, "generate").length;
          await layers("");
          await tab.locator("#ask-prompt").fill(text);
          await tab.locator("#continue").click();
          while (waiting.length === 0) await tab.waitForTimeout(10);
          waiting.length = 0;
          await tab.locator("#heading").filter({ hasText: "Generating" }).waitFor();
          assert.equal(asks(server, "generate").length, count + 1);
        };
        const refused = async () => {
          await layers("99");
          await tab.locator("#continue").click();
          await tab.locator("#server-problem").filter({ hasText: "expected layers up to 2" }).waitFor();
        };
        // Nothing was there before.
        first = false;
        await wait("one");
        await refused();
        assert.equal(await tab.locator("#page").count(), 0);
        await wait("two");
        await wait("three");
        await tab.locator("#cancel").click();
        await tab.locator("#welcome").waitFor();
        // A report was.
        first = true;
        await layers("");
        await tab.locator("#continue").click();
        await tab.locator("#heat-card").waitFor();
        first = false;
        for (const end of [refused, () => tab.locator("#cancel").click()]) {
          await wait("four");
          await wait("five");
          await end();
          await tab.locator("#heat-card").waitFor();
          assert.doesNotMatch(await tab.locator("#heading").textContent(), /Generating|ended early/);
          assert.equal(await tab.locator("#text-strips").getAttribute("aria-busy"), "false");
        }
      },
      { allowed: [/status of 400/] },
    );
  });

  test("a generation that is discarded leaves nothing, and the server hears of it", async () => {
    await held(async ({ tab, server, go }) => {
      await go(1);
      await said(tab, 1);
      await go(1);
      await said(tab, 2);
      assert.match(await tab.locator("#status-text").textContent(), /^Generating: token 2 of 40/u);
      await tab.locator("#cancel").filter({ hasText: "Discard" }).click();
      await tab.locator("#welcome").waitFor();
      for (let k = 0; k < 500 && !asks(server, "generate")[0].left; ++k) await tab.waitForTimeout(10);
      assert.equal(asks(server, "generate")[0].left, true);
      assert.equal(await tab.locator("#page").count(), 0);
      await go(1);
    });
  });

  test("a generation that is stopped is finished with the tokens so far", async () => {
    await held(async ({ tab, server, go }) => {
      assert.equal(await tab.locator("#stop").count(), 0);
      await go(1);
      await said(tab, 1);
      await tab.locator("#stop").click();
      await tab.locator("#stop:disabled").waitFor();
      for (let k = 0; k < 500 && asks(server, "stop").length === 0; ++k) await tab.waitForTimeout(10);
      const [{ stopId }] = asks(server, "generate");
      assert.match(stopId, /^[0-9a-f]{32}$/u);
      assert.deepEqual(asks(server, "stop")[0].body, { stop_id: stopId });
      await go(1);
      await tab.locator("#heat-card").waitFor();
      assert.equal(await tab.locator("#stop, #failure").count(), 0);
      assert.equal(asks(server, "generate")[0].left, false);
    });
  });
});
