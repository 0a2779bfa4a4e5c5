// The page that `attnflow serve` sends (server_page.js): what it asks, what it shows, and what it does when things go wrong.
// Continuations have tests of their own (server_prompt.test.js).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { startBrowser, violations } from "./browser.js";
import { readJson } from "./mock_server.js";
import { answer, asks, evaluation, PNG, serve as serveIn, texts, unfold } from "./server_page.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
const serve = (...rest) => serveIn(browser, ...rest);
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

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
      assert.match(await tab.locator("#predictions").textContent(), /is61%/);
    });
  });

  test("its options are asked for by the API's names", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#ask-text").fill("x".repeat(300));
      await tab.locator("#options-button").click();
      await tab.locator("#ask-pair").fill("Two");
      await tab.locator("#ask-candidates").fill("is, are");
      await tab.locator("#ask-referents").fill("key");
      assert.match(await tab.locator("#ask-mixing").locator("option").first().textContent(), /^auto: attention$/);
      await tab.locator("#ask-mixing").selectOption("relevance");
      await tab.locator("#ask-target").fill("are");
      await tab.locator("#ask-against").fill("is");
      await tab.locator('#ask-scores input[value="attnlrp"]').check();
      await tab.keyboard.press("Escape");
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      assert.deepEqual(asks(server, "explain")[0].body, {
        method: ["raw", "rollout", "flow", "attnlrp"],
        compact: true,
        model: "masked-model",
        text: "x".repeat(300),
        pair: "Two",
        mixing: "relevance",
        target: "are",
        against: "is",
        candidates: ["is", "are"],
        referents: ["key"],
      });
    });
  });

  test("the layers' matrices are others in one click, and the paper's attention comes back in another", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      const text = asks(server, "explain")[0].body.text;
      await tab.locator("#mixing").selectOption("alti");
      await tab.waitForFunction(() => location.hash.includes("alti"));
      const { mixing, text: again } = asks(server, "explain")[1].body;
      assert.deepEqual([mixing, again], ["alti", text]);
      // The composer still asks as it is set.
      await tab.locator("#explain").click();
      await tab.waitForFunction(() => !location.hash.includes("alti"));
      assert.equal(asks(server, "explain")[2].body.mixing, undefined);
    });
  });

  test("progress is shown, and cancelling ends the request", async () => {
    await serve({ pause: 700 }, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#status-text").filter({ hasText: "Waiting: 1 ahead of this one" }).waitFor();
      await tab.locator("#status-text").filter({ hasText: "flow 3 of 10" }).waitFor();
      assert.equal(await tab.locator("#status progress").getAttribute("max"), "10");
      await tab.locator("#cancel").click();
      await tab.locator("#status-text").waitFor({ state: "detached" });
      await tab.waitForTimeout(100);
      assert.equal(asks(server, "explain")[0].left, true);
      assert.equal(await tab.locator("#page").count(), 0);
      assert.equal(await tab.locator("#server-problem").textContent(), "Canceled.");
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
      await tab.waitForFunction(() => document.querySelector("#ask-text")?.value); // an example comes with the models
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
      await tab.locator('#blank-tokens [data-token="2"][aria-disabled=false]').click();
      await tab.locator(".predictions-pair").waitFor();
      assert.deepEqual(asks(server, "explain")[1].body.blank, [2]);
      assert.match(await tab.locator(".predictions-pair").textContent(), /blanked/);
      // Which token is gone: in the title, in the text, and in the prediction's one heading.
      const second = tab.locator('.half[data-side="second"]');
      assert.equal(await second.locator("h3").textContent(), "rollout, layer 6, without “key”");
      assert.deepEqual(await second.locator(".absent").allTextContents(), ["key (gone)"]);
      assert.equal(await second.locator(".absent").getAttribute("data-token"), "2");
      assert.match(await second.locator(".absent").evaluate((one) => getComputedStyle(one).textDecoration), /through/);
      assert.equal(await tab.locator('.half:not([data-side="second"]) .absent').count(), 0);
      const headings = await tab.locator(".predictions-pair h3").allTextContents();
      assert.equal(headings.length, 4);
      assert.match(headings[0], /^Prediction \(A\) at /u);
      assert.match(headings[2], /^Prediction without “key” at /u);
      assert.match(await tab.locator(".compare-bar").textContent(), /this text without “key”/u);
      // What asks stays in sight, right above what it brings.
      const top = (id) => tab.$eval(id, (card) => card.getBoundingClientRect().top);
      assert.ok((await top("#what-if-card")) >= 0);
      const next = await tab.$eval("#what-if-card", (card) => card.nextElementSibling.id);
      assert.equal(next, "compare-card");
      assert.ok((await top("#compare-card")) < 900);
      await tab.locator('#blank-tokens [data-token="1"][aria-disabled=false]').click();
      await tab.waitForFunction(() => document.querySelectorAll("#blank-tokens [aria-pressed=true]").length === 2);
      await tab.waitForTimeout(200);
      assert.deepEqual(asks(server, "explain")[2].body.blank, [1, 2]);
      for (let k = 0; k < 2; ++k)
        await tab.locator("#blank-tokens [aria-pressed=true][aria-disabled=false]").first().click();
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
      assert.equal(await tab.locator(".absent").count(), 0);
    });
  });

  test("what the page cannot compute is asked, and joins what is shown", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      // Small inputs are asked for once the choices rest: the second alone.
      await tab.locator("#residual").evaluate((slider) => {
        for (const value of ["0.8", "0.9"]) {
          slider.value = value;
          slider.dispatchEvent(new Event("input", { bubbles: true }));
        }
      });
      await tab.waitForFunction(() => document.querySelector('#strip [data-token="1"]').dataset.value);
      const { body } = asks(server, "explain")[1];
      assert.deepEqual(body.method, ["flow"]);
      assert.equal(body.residual, 0.9);
      assert.equal(body.output_token, 6);
      const shown = await tab.locator('#strip [data-token="1"]').getAttribute("data-value");
      assert.ok(Math.abs(Number(shown) - 0.89) < 0.01, shown);
      assert.equal(asks(server, "explain").length, 2);
    });
  });

  test("of long texts it is asked with a button, and at once where a link shows it", async () => {
    const document = (_, body) => {
      const report = readJson(texts.get("long").json);
      report.settings.residual = body.residual ?? report.settings.residual;
      return report;
    };
    let link = "";
    await serve({ document, pause: 300 }, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#all-methods").waitFor();
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      await tab.locator("#recompute > summary").click();
      await tab.locator("#residual").fill("0.9");
      await tab.waitForTimeout(900);
      assert.equal(asks(server, "explain").length, 1);
      await tab.locator("#ask-server").click();
      await tab.locator("#ask-server").filter({ hasText: "The server is computing flow" }).waitFor();
      await tab.locator("#ask-server").dispatchEvent("click");
      await tab.waitForFunction(() => document.querySelector('#strip [data-token="1"]').dataset.value);
      assert.equal(asks(server, "explain").length, 2);
      link = await tab.evaluate(() => location.hash);
    });
    await serve(
      { document },
      async (tab, server) => {
        await tab.waitForFunction(() => document.querySelector('#strip [data-token="1"]')?.dataset.value);
        assert.equal(asks(server, "explain").length, 2);
        assert.equal(asks(server, "explain")[1].body.residual, 0.9);
        // The link was followed: what is chosen now has the button.
        await tab.locator("#residual").fill("0.7");
        await tab.waitForTimeout(900);
        assert.equal(asks(server, "explain").length, 2);
        assert.equal(await tab.locator("#ask-server").textContent(), "Compute on the server");
      },
      { fragment: link },
    );
  });

  test("what is refused is not asked again and again, and other work is not ended", async () => {
    let refused = 0;
    const document = (path, body) => {
      if (body.residual !== 0.9) return answer(path, body);
      ++refused;
      throw { status: 422, kind: "unsupported_model", message: "expected something else, found this" };
    };
    await serve(
      { document, pause: 400 },
      async (tab, server) => {
        await tab.locator("#explain").click();
        await tab.locator("#all-methods").waitFor();
        await tab.locator('#methods input[value="flow"]').check({ force: true });
        await tab.locator("#evaluate").click();
        await tab.locator("#recompute > summary").click();
        await tab.locator("#residual").fill("0.9");
        await tab.locator("#agreement-table").waitFor();
        assert.equal(asks(server, "evaluate")[0].left, false);
        await tab.locator("#server-problem").filter({ hasText: "expected something else" }).waitFor();
        await tab.waitForTimeout(900);
        assert.equal(refused, 1);
      },
      { allowed: [/status of 422/] },
    );
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
      await tab.waitForFunction(() => document.querySelector('#strip [data-token="1"]').dataset.value === "0.25");
      const { body } = asks(server, "explain")[1];
      // The third word is the fourth piece.
      assert.deepEqual([body.words, body.keep_attention, body.output_token, body.method], [true, false, 3, ["flow"]]);
      assert.match(await tab.locator('[data-setting="Numbers"]').textContent(), /by the server/);
      assert.match(
        await tab.locator("#matrix-missing").textContent(),
        /flow was computed for the output token .* only/,
      );
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

describe("a text that is too long", () => {
  test("is said below its field, before it is asked and after, and can be cut", async () => {
    await serve(
      {
        document: (path, body) => answer(path, body.truncate ? { ...body, text: "cut" } : body),
      },
      async (tab, server) => {
        const field = tab.locator("#ask-text");
        await field.fill("word ".repeat(200));
        assert.equal(await tab.locator("#ask-length").count(), 0);
        await field.fill("word ".repeat(300));
        assert.equal(
          await tab.locator("#ask-length").textContent(),
          "At least 300 tokens; masked-model takes at most 512.",
        );
        await field.fill("word ".repeat(600));
        assert.match(await tab.locator("#ask-length").textContent(), /^Too long: at least 600 tokens; /u);
        assert.equal(await tab.locator("#cut-text").isEnabled(), true);
        assert.deepEqual(await violations(tab), []);
        await field.fill("too long");
        await tab.locator("#explain").click();
        const problem = tab.locator("#server-problem");
        await problem.waitFor();
        const [below, left] = await tab.evaluate(() => {
          const box = (id) => document.getElementById(id).getBoundingClientRect();
          return [
            box("server-problem").top - box("ask-text").bottom,
            box("server-problem").left - box("ask-text").left,
          ];
        });
        assert.ok(below >= 0 && below < 24 && Math.abs(left) < 4, `${below} below, ${left} beside`);
        await tab.locator("#cut-text").click();
        await tab.locator("#all-methods").waitFor();
        assert.equal(await problem.count(), 0);
        assert.equal(asks(server, "explain")[1].body.truncate, true);
        // Its link asks the same.
        await tab.waitForFunction(() => decodeURIComponent(location.hash).includes('"truncate":true'));
      },
      { allowed: [/status of 422/] },
    );
  });
});

describe("the choice of a model", () => {
  test("says what it is for, and takes its example along", async () => {
    await serve({}, async (tab) => {
      await tab.waitForFunction(() => document.getElementById("ask-text").value === "The key [MASK].");
      const help = tab.locator("#model-help");
      assert.match(await help.textContent(), /^Predicts the token at \[MASK\]\. bert, 6 layers × 12 heads/u);
      await tab.locator("#model-choice").selectOption("classifier");
      assert.equal(await tab.locator("#ask-text").inputValue(), "The keys to the cabinet");
      assert.match(await help.textContent(), /^Classifies texts: singular, plural\. /u);
    });
  });
});

describe("each task", () => {
  test("has its own report and its own problem", async () => {
    await serve(
      {},
      async (tab, server) => {
        const task = async (name) => {
          await unfold(tab);
          await tab.locator(`#tasks input[value="${name}"]`).check({ force: true });
        };
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

describe("do the methods agree with blank-out", () => {
  const cell = (tab, score, tokens, method, layer) =>
    tab.locator(
      `#agreement-table td[data-score="${score}"][data-tokens="${tokens}"][data-method="${method}"][data-layer="${layer}"]`,
    );

  test("a table by layer, the scores on the text, and files of both", async () => {
    await serve({ pause: 500 }, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#agreement-card").waitFor();
      assert.equal(await tab.locator("#agreement-heading").textContent(), "Faithfulness check (blank-out)");
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
      assert.match(await tab.locator("#agreement-summary").textContent(), /blank-out.*flow, layer 2 \(ρ = 0\.60\)/);
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

describe("what a model can be asked", () => {
  const of = (change) => (path, body) => {
    const report = answer(path, body);
    change(report);
    return report;
  };
  test("a token replaced by other words", async () => {
    await serve({}, async (tab, server) => {
      await tab.locator("#explain").click();
      await tab.locator("#replaced").selectOption("2");
      await tab.locator("#instead").fill("dōr");
      await tab.locator("#replace").click();
      await tab.locator(".predictions-pair").waitFor();
      const [first, second] = asks(server, "explain").map(({ body }) => body);
      assert.match(first.text, /key/);
      assert.equal(second.text, first.text.replace("key", "dōr"));
      assert.equal(second.blank, undefined);
      assert.equal(await tab.locator(".absent").count(), 0);
    });
  });

  const chosen = async (tab, model) => {
    await tab.locator("#model-choice").selectOption(model);
    await tab.locator("#explain").click();
    await tab.locator("#all-methods").waitFor();
  };

  test("a sentence encoder predicts nothing: no card says that it does", async () => {
    await serve({ document: of((report) => delete report.predictions) }, async (tab) => {
      await chosen(tab, "encoder");
      assert.equal(await tab.locator("#agreement-card").count(), 0);
      await tab.locator("#blank-tokens button").first().click();
      await tab.locator("#compare-readout").waitFor();
      assert.equal(await tab.locator(".predictions-pair").count(), 0);
    });
  });

  test("a decoder without gradients has nothing to blank and nothing to score", async () => {
    await serve({ document: of((report) => (report.model.causal = true)) }, async (tab) => {
      await chosen(tab, "writer");
      assert.equal(await tab.locator("#agreement-card").count(), 0);
      assert.equal(await tab.locator("#blank-tokens").count(), 0);
    });
  });

  test("a text without a mask says what it lacks", async () => {
    await serve({ document: of((report) => delete report.predictions) }, async (tab) => {
      await chosen(tab, "masked-model");
      assert.equal(await tab.locator("#evaluate").isDisabled(), true);
      assert.match(await tab.locator("#evaluation-reason").textContent(), /^The text has no \[MASK\], so /u);
    });
  });

  test("paper has what was evaluated, and no card that only asks", async () => {
    await serve({}, async (tab) => {
      await chosen(tab, "masked-model");
      await tab.emulateMedia({ media: "print" });
      assert.equal(await tab.locator("#agreement-card").isVisible(), false);
      await tab.emulateMedia({ media: "screen" });
      await tab.locator("#evaluate").click();
      await tab.locator("#agreement-table").waitFor();
      await tab.emulateMedia({ media: "print" });
      assert.equal(await tab.locator("#agreement-card").isVisible(), true);
      assert.equal(await tab.locator("#evaluate").isVisible(), false);
    });
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
            await unfold(tab);
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
