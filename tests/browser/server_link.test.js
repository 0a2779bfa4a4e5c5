// Links to the page that `attnflow serve` sends (server_page.js), and the way back and forward through what was asked.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startBrowser } from "./browser.js";
import { answer, asks, serve as serveIn, stream } from "./server_page.js";

let browser;
const serve = (...rest) => serveIn(browser, ...rest);
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

const linkTo = (ask, choices = "") => `#v=1&ask=${encodeURIComponent(JSON.stringify(ask))}${choices}`;
const task = (tab, name) => tab.locator(`#tasks input[value="${name}"]`).check({ force: true });
const chosenTask = (tab) => tab.locator("#tasks input:checked").inputValue();
/** Until a choice would stand in the address. */
const settled = (tab) => tab.waitForTimeout(700);
const address = (tab) =>
  tab.evaluate(() => ({
    entries: history.length,
    ask: JSON.parse(new URLSearchParams(location.hash.slice(1)).get("ask")),
    forward: window.navigation.canGoForward,
  }));

describe("a link by hand", () => {
  const { report, steps } = stream();
  const document = (path, body) => (path === "generate" ? report : answer(path, body));

  for (const { name, ask, path, field, button, shown } of [
    {
      name: "of a text",
      ask: { text: "The key", model: "gone", candidates: "a, b" },
      path: "explain",
      field: "#ask-text",
      button: "#explain",
      shown: "#all-methods",
    },
    {
      name: "of a prompt",
      ask: { prompt: "Once", model: "gone" },
      path: "generate",
      field: "#ask-prompt",
      button: "#continue",
      shown: "#heat-card",
    },
  ]) {
    test(`${name} is asked once, in its place in the history, with what it chooses`, async () => {
      await serve(
        { steps, document },
        async (tab, server) => {
          const { entries } = await address(tab);
          await tab.locator(shown).waitFor();
          await settled(tab);
          const first = await address(tab);
          assert.equal(first.entries, entries);
          assert.equal(first.ask.model, path === "explain" ? "masked-model" : "writer");
          assert.equal(await tab.locator("#methods input:checked").inputValue(), "raw");
          assert.match(await tab.locator("#server-notice").textContent(), /“gone”, which this server does not have/);
          await tab.locator(field).fill("Another");
          await tab.locator(button).click();
          await tab.waitForFunction(() => decodeURIComponent(location.hash).includes("Another"));
          assert.equal(await tab.locator("#server-notice").textContent(), "");
          await tab.locator(shown).waitFor();
          await settled(tab);
          const { entries: both } = await address(tab);
          // The way back asks it again, once, and leaves the way forward.
          await tab.goBack();
          await tab.waitForFunction((id) => document.querySelector(id).value !== "Another", field);
          await tab.waitForFunction(() => !document.getElementById("status-text"));
          await tab.locator(shown).waitFor();
          await settled(tab);
          assert.deepEqual(await address(tab), { ...first, entries: both, forward: true });
          assert.equal(asks(server, path).length, 3);
        },
        { fragment: linkTo(ask, "&m=raw") },
      );
    });
  }

  test("says what it lacks in its own task only", async () => {
    for (const [ask, own] of [
      [{ text: "The key", model: "gone" }, "text"],
      [{ prompt: "Once", model: "gone" }, "generation"],
    ]) {
      await serve(
        { steps, document, pause: 100 },
        async (tab, server) => {
          await tab.locator("#status-text").waitFor();
          await task(tab, "image");
          await tab.waitForFunction(() => !document.getElementById("status-text"));
          await tab.waitForTimeout(100);
          assert.equal(await tab.locator("#server-notice").textContent(), "");
          await task(tab, own);
          assert.match(await tab.locator("#server-notice").textContent(), /“gone”/);
          assert.equal(server.asked.length, 2);
        },
        { fragment: linkTo(ask) },
      );
    }
  });

  test("waits for the server's token with all that it names", async () => {
    await serve(
      { token: "secret" },
      async (tab, server) => {
        await tab.locator("#token").fill("secret");
        await tab.keyboard.press("Enter");
        await tab.locator("#all-methods").waitFor();
        assert.deepEqual(
          asks(server, "explain").map(({ body }) => [body.model, body.text]),
          [["classifier", "The key"]],
        );
        assert.equal(await tab.locator("#server-notice").textContent(), "");
      },
      { fragment: linkTo({ text: "The key", model: "classifier" }), allowed: [/401/] },
    );
  });
});

describe("a continuation's address", () => {
  test("leaves that of another task alone", async () => {
    const { report, steps } = stream();
    await serve({ steps, document: () => report, pause: 300 }, async (tab, server) => {
      await task(tab, "generation");
      const { entries } = await address(tab);
      await tab.locator("#continue").click();
      await task(tab, "text");
      while (asks(server, "generate").length === 0) await tab.waitForTimeout(20);
      await tab.waitForTimeout(1000);
      assert.deepEqual(await address(tab), { entries, ask: null, forward: false });
      await task(tab, "generation");
      await tab.locator("#generated .token").first().waitFor();
    });
  });

  test("may not be to be had, in a frame without a history", async () => {
    const { report, steps } = stream();
    await serve({ steps, document: () => report }, async (tab) => {
      await tab.evaluate(() => {
        history.pushState = history.replaceState = () => {
          throw new DOMException("no history here", "SecurityError");
        };
      });
      await task(tab, "generation");
      await tab.locator("#continue").click();
      await tab.locator("#heat-card").waitFor();
      assert.equal(await tab.locator("#server-problem").count(), 0);
      assert.equal(await chosenTask(tab), "generation");
    });
  });
});
