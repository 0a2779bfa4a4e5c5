// Links to the page that `attnflow serve` sends (server_page.js), and the way back and forward through what was asked.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startBrowser } from "./browser.js";
import { PIXEL } from "./mock_server.js";
import { answer, asks, PNG, serve as serveIn, stream, unfold } from "./server_page.js";

let browser;
const serve = (...rest) => serveIn(browser, ...rest);
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

const linkTo = (ask, choices = "") => `#v=1&ask=${encodeURIComponent(JSON.stringify(ask))}${choices}`;
/** Tasks can be chosen once the models are known. */
const task = async (tab, name) => {
  await unfold(tab);
  // The form may fold again before a pointer reaches it.
  await tab.locator(`#tasks input[value="${name}"]:enabled`).evaluate((input) => input.click());
};
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

describe("a reload", () => {
  test("keeps what was typed since, and asks the link's text again", async () => {
    await serve(
      {},
      async (tab, server) => {
        await tab.locator("#ask-text").fill("the first text");
        await tab.locator("#explain").click();
        await tab.locator("#page").waitFor();
        await settled(tab);
        await unfold(tab);
        await tab.locator("#ask-text").fill("a draft that nobody sent");
        await tab.reload();
        await tab.locator("#page").waitFor();
        assert.equal(asks(server, "explain").at(-1).body.text, "the first text");
        assert.match(await tab.locator(".asked").textContent(), /the first text/);
        await unfold(tab);
        assert.equal(await tab.locator("#ask-text").inputValue(), "a draft that nobody sent");
      },
      { folds: true },
    );
  });

  test("of a link that cannot be read says so in a line, and asks nothing", async () => {
    await serve(
      {},
      async (tab, server) => {
        await tab.locator("#server-notice").filter({ hasText: "cannot be read" }).waitFor();
        assert.equal(asks(server, "explain").length, 0);
      },
      { fragment: "#v=1&ask=%7B%22text%22%3A%22cut" },
    );
  });
});

describe("the way back and forward through pictures", () => {
  const choose = async (tab, name) => {
    await tab.locator("#picture-file").setInputFiles({ name, mimeType: "image/png", buffer: PNG });
    await tab.locator("#picture-sent").filter({ hasText: name }).waitFor();
    await tab.waitForFunction(() => !document.getElementById("status-text"));
    await tab.waitForFunction((part) => decodeURIComponent(location.hash).includes(part.replaceAll(" ", "+")), name);
    await settled(tab);
  };
  const sent = async (tab) => (await tab.locator("#picture-sent").textContent()).trim().split(/\s/u)[0];
  const wanted = (tab) => tab.locator("#picture-wanted");
  const method = (tab) => tab.locator("#methods input:checked").inputValue();

  test("shows them again as they were, without asking", async () => {
    await serve({}, async (tab, server) => {
      await task(tab, "image");
      await choose(tab, "a.png");
      await tab.locator('#methods input[value="raw"]').check({ force: true });
      await tab.waitForFunction(() => location.hash.includes("m=raw"));
      await choose(tab, "b.png");
      await tab.locator('#methods input[value="flow"]').check({ force: true });
      await tab.waitForFunction(() => location.hash.includes("m=flow"));
      const { entries } = await address(tab);
      await tab.goBack();
      assert.equal((await address(tab)).ask.picture, "b.png");
      await tab.goBack();
      await tab.locator("#picture-sent").filter({ hasText: "a.png" }).waitFor();
      assert.equal(await tab.locator("#picture-sent img").evaluate((image) => image.decode().then(() => true)), true);
      assert.equal(await method(tab), "raw");
      await tab.goBack();
      await tab.waitForFunction(() => !location.hash.includes("m=raw"));
      assert.equal(await sent(tab), "a.png");
      assert.notEqual(await method(tab), "raw");
      await settled(tab);
      for (const name of ["a.png", "b.png", "b.png"]) {
        await tab.goForward();
        await tab.waitForTimeout(100);
        assert.equal(await sent(tab), name);
      }
      assert.equal(await method(tab), "flow");
      // From another task as well, to a picture that is not the one it shows.
      await task(tab, "text");
      await tab.evaluate(() => history.go(-2));
      await tab.locator("#picture-sent").filter({ hasText: "a.png" }).waitFor();
      assert.equal(await chosenTask(tab), "image");
      await settled(tab);
      assert.deepEqual([(await address(tab)).entries, await wanted(tab).count()], [entries, 0]);
      assert.equal(asks(server, "image").length, 2);
    });
  });

  test("keeps what is shown where one is not there any more, and asks for it in a line", async () => {
    await serve({}, async (tab, server) => {
      await task(tab, "image");
      await choose(tab, "a.png");
      await choose(tab, "b.png");
      await tab.locator('#methods input[value="raw"]').check({ force: true });
      await tab.waitForFunction(() => location.hash.includes("m=raw"));
      // The tab keeps the last one.
      await tab.reload();
      await tab.locator("#page").waitFor();
      assert.deepEqual([await wanted(tab).count(), await sent(tab), await method(tab)], [0, "b.png", "raw"]);
      assert.deepEqual(asks(server, "image").at(-1).body, PNG);
      await tab.goBack();
      await tab.goBack();
      await wanted(tab).filter({ hasText: "a.png" }).waitFor();
      await settled(tab);
      assert.equal(await tab.locator("#page").count(), 1);
      assert.equal(await sent(tab), "b.png");
      const { ask, forward } = await address(tab);
      assert.deepEqual([ask.picture, forward], ["a.png", true]);
      await tab.goForward();
      await wanted(tab).waitFor({ state: "detached" });
      await tab.goBack();
      await choose(tab, "a.png");
      assert.deepEqual([await wanted(tab).count(), await sent(tab)], [0, "a.png"]);
      await tab.goForward();
      await tab.locator("#picture-sent").filter({ hasText: "b.png" }).waitFor();
      assert.equal(asks(server, "image").length, 4);
    });
  });

  test("an example is explained by one press, and its link brings it", async () => {
    const name = "ankle boot.png";
    await serve({}, async (tab, server) => {
      await task(tab, "image");
      const button = tab.locator("#picture-examples button");
      assert.equal((await button.textContent()).trim(), "ankle boot");
      assert.equal(await button.locator("img").evaluate((image) => image.decode().then(() => true)), true);
      await button.click();
      await tab.locator("#picture-sent").filter({ hasText: name }).waitFor();
      await tab.locator("#page").waitFor();
      const [first] = asks(server, "image");
      assert.deepEqual([first.query.name, first.type], [name, "image/png"]);
      assert.deepEqual(first.body, Buffer.from(PIXEL, "base64"));
      assert.doesNotMatch(await tab.locator("#link-button").textContent(), /without/u);
      await tab.locator('#methods input[value="raw"]').check({ force: true });
      await tab.waitForFunction(() => location.hash.includes("m=raw"));
      await tab.reload();
      await tab.locator("#page").waitFor();
      await tab.locator("#picture-sent").filter({ hasText: name }).waitFor();
      assert.equal(asks(server, "image").length, 2);
      assert.deepEqual([await method(tab), await wanted(tab).count()], ["raw", 0]);
      // A picture of one's own with the same name is another one.
      await choose(tab, name);
      await tab.waitForFunction(() => !decodeURIComponent(location.hash).includes('"example"'));
      await tab.evaluate(() => globalThis.sessionStorage.clear());
      await tab.reload();
      await wanted(tab).filter({ hasText: name }).waitFor();
      assert.equal(asks(server, "image").length, 3);
      // Neither is the example what the link waits for.
      await tab.locator("#picture-examples button").click();
      await tab.locator("#page").waitFor();
      assert.deepEqual([asks(server, "image").length, await method(tab)], [4, "rollout"]);
    });
  });
});
