// The page that `attnflow serve` sends, as a browser shows it. Tests without a browser (viewer/test/dom) check
// contents.

import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOf, choose, pageWidth, violations } from "./browser.js";
import { explain, PIXEL, press, serve, stream, task, unfold } from "./server_page.js";

const PNG = Buffer.from(PIXEL, "base64");
const method = (tab) => tab.locator("#methods input:checked").inputValue();
const hashHas = (tab, part) => tab.waitForFunction((text) => decodeURIComponent(location.hash).includes(text), part);

test("axe finds nothing, light and dark, in the form, a report and each task", async () => {
  await serve({}, async (tab) => {
    const check = async () => {
      assert.deepEqual(await violations(tab), []);
      await press(tab, "#theme-button");
      assert.deepEqual(await violations(tab), []);
    };
    await tab.locator("#options-button").click();
    await check();
    await tab.keyboard.press("Escape");
    await explain(tab);
    await press(tab, "#evaluate");
    await tab.locator("#agreement-table").waitFor();
    await check();
    await task(tab, "generation");
    await check();
  });
});

test("what is wrong is said right below its field; it fits a narrow screen; paper has no card that only asks", async () => {
  await serve(
    {},
    async (tab) => {
      await tab.locator("#ask-text").fill("too long");
      await press(tab, "#explain");
      await tab.locator("#server-problem").waitFor();
      const [field, problem] = [await boxOf(tab, "#ask-text"), await boxOf(tab, "#server-problem")];
      const below = problem.y - field.y - field.height;
      assert.ok(below >= 0 && below < 24 && Math.abs(problem.x - field.x) < 4, `${below} below`);
      await tab.locator("#ask-text").fill("another");
      await explain(tab);
      const onPaper = async (shown, selector) => {
        await tab.emulateMedia({ media: "print" });
        assert.equal(await tab.locator(selector).isVisible(), shown, selector);
        await tab.emulateMedia({ media: "screen" });
      };
      await onPaper(false, "#agreement-card");
      await press(tab, "#evaluate");
      await tab.locator("#agreement-table").waitFor();
      await onPaper(true, "#agreement-card");
      await onPaper(false, "#evaluate");
      await tab.setViewportSize({ width: 360, height: 740 });
      for (const name of ["options", "filters", "look"]) {
        await unfold(tab);
        await tab.locator(`#${name}-button`).click();
        assert.ok((await pageWidth(tab)) <= 360, name);
        const box = await boxOf(tab, `#${name}-panel`);
        assert.ok(box.x >= 0 && box.x + box.width <= 360, `${name}: ${box.x} to ${box.x + box.width}`);
        await tab.keyboard.press("Escape");
      }
    },
    { allowed: [/status of 422/] },
  );
});

test("what asks for a blanked token stays in sight, right above what it brings", async () => {
  await serve({}, async (tab) => {
    await explain(tab);
    await tab.locator('#blank-tokens [data-token="2"][aria-disabled=false]').click();
    await tab.locator(".predictions-pair").waitFor();
    const [asks, brings] = [await boxOf(tab, "#what-if-card"), await boxOf(tab, "#compare-card")];
    assert.ok(asks.y >= 0 && asks.y < brings.y && brings.y < 900, `${asks.y} and ${brings.y}`);
    const gone = tab.locator('.half[data-side="second"] .absent');
    assert.match(await gone.evaluate((one) => getComputedStyle(one).textDecoration), /through/);
  });
});

test("options are reached with the keyboard, and a number's field takes no letters", async () => {
  await serve({}, async (tab) => {
    await task(tab, "generation");
    await tab.locator("#sampling-button").focus();
    await tab.keyboard.press("Enter");
    const reached = new Set();
    for (let k = 0; k < 12; ++k) {
      await tab.keyboard.press("Tab");
      reached.add(await tab.evaluate(() => document.activeElement.id || document.activeElement.value));
    }
    for (const id of ["ask-tokens", "raw", "rollout", "flow", "ask-layers", "ask-mask-first", "ask-temperature"])
      assert.ok(reached.has(id), id);
    if (!(await tab.locator("#ask-tokens").isVisible())) await tab.locator("#sampling-button").click();
    await tab.locator("#ask-tokens").fill("7");
    for (const key of ["Backspace", "e", "Tab"]) await tab.locator("#ask-tokens").press(key);
    assert.equal(await tab.locator("#ask-tokens").inputValue(), "7");
  });
});

test("a question has its place in the history; the way back asks it again, once, and leaves the way forward", async () => {
  const entries = (tab) => tab.evaluate(() => [history.length, window.navigation.canGoForward]);
  const fragment = `#v=1&ask=${encodeURIComponent(JSON.stringify({ text: "The key" }))}&m=raw`;
  await serve(
    {},
    async (tab, server) => {
      await tab.locator("#strip").waitFor();
      const [first] = await entries(tab);
      await unfold(tab);
      await tab.locator("#ask-text").fill("Another");
      await press(tab, "#explain");
      await hashHas(tab, "Another");
      await tab.locator("#strip").waitFor();
      assert.deepEqual(await entries(tab), [first + 1, false]);
      await tab.goBack();
      await tab.waitForFunction(() => document.querySelector("#ask-text").value === "The key");
      await tab.waitForFunction(() => !document.getElementById("status-text"));
      await tab.waitForTimeout(500); // a choice would stand in the address by now
      assert.deepEqual([await entries(tab), await method(tab)], [[first + 1, true], "raw"]);
      assert.equal(server.asks("explain").length, 3);
    },
    { fragment },
  );
});

test("pictures are shown, and the way back and forward brings them again without asking", async () => {
  await serve({}, async (tab, server) => {
    // The form folds.
    const sent = (name) => tab.locator("#picture-sent").filter({ hasText: name }).waitFor({ state: "attached" });
    const decodes = () => tab.locator("#picture-sent img").evaluate((image) => image.decode().then(() => true));
    await task(tab, "image");
    const button = tab.locator("#picture-examples button img");
    assert.equal(await button.evaluate((image) => image.decode().then(() => true)), true);
    for (const [name, chosen] of [
      ["a.png", "raw"],
      ["b.png", "flow"],
    ]) {
      await unfold(tab);
      await tab.locator("#picture-file").setInputFiles({ name, mimeType: "image/png", buffer: PNG });
      await sent(name);
      await hashHas(tab, name);
      await choose(tab, chosen);
      await hashHas(tab, `m=${chosen}`);
      await tab.waitForTimeout(500); // choices that follow each other share an entry
    }
    assert.equal(await decodes(), true);
    assert.ok(server.asks("image").every(({ body }) => body.equals(PNG)));
    await tab.goBack();
    await tab.goBack();
    await sent("a.png");
    assert.deepEqual([await decodes(), await method(tab)], [true, "raw"]);
    // From another task as well.
    await task(tab, "text");
    await tab.evaluate(() => history.go(2));
    await sent("b.png");
    assert.deepEqual([await method(tab), server.asks("image").length], ["flow", 2]);
    // The tab keeps the last one; of the other the page asks for the picture in a line.
    await tab.reload();
    await sent("b.png");
    await tab.evaluate(() => history.go(-2));
    await tab.locator("#picture-wanted").filter({ hasText: "a.png" }).waitFor({ state: "attached" });
    assert.equal(await tab.locator("#page").count(), 1);
    await tab.goForward();
    await tab.goForward();
    await tab.locator("#picture-wanted").waitFor({ state: "detached" });
  });
});

test("nothing moves when the report of a generation takes over", async () => {
  const { report, steps } = stream();
  let go;
  const hold = (said) => (said === steps.length ? new Promise((done) => (go = done)) : undefined);
  await serve({ steps, hold, document: () => report }, async (tab) => {
    await task(tab, "generation");
    await press(tab, "#continue");
    await tab
      .locator("#generated .token")
      .nth(steps.length - 2)
      .click();
    // In the folded form the line that says what is done takes room, and leaves it.
    await unfold(tab);
    const places = () =>
      tab.evaluate(() =>
        ["#heading", "#controls", "#text-card", "#prompt", "#generated", "#rank-card", "#choices-card"].map((id) => {
          const { x, y, width } = document.querySelector(id).getBoundingClientRect();
          return [id, Math.round(x), Math.round(y), Math.round(width)];
        }),
      );
    const before = await places();
    go();
    await tab.locator("#heat-card").waitFor();
    assert.deepEqual(await places(), before);
  });
});

test("a connection that breaks says so, and what came stays", async () => {
  let go;
  const read = new Promise((done) => (go = done));
  const { steps } = stream();
  // It takes with it what the page has not read yet.
  const hold = (said) => (said === 4 ? read : undefined);
  await serve(
    { steps, hold, breaks: { after: 4 } },
    async (tab) => {
      await task(tab, "generation");
      await press(tab, "#continue");
      await tab.locator("#generated .token").nth(2).waitFor();
      go();
      await tab.locator("#failure").filter({ hasText: "broke before its answer was complete" }).waitFor();
      assert.equal(await tab.locator("#generated .token").count(), 3);
    },
    { allowed: [/ERR_|network error/i] },
  );
});

test("a page that is left or cancels lets the server know", async () => {
  await serve({ wait: () => new Promise(() => {}) }, async (tab, server) => {
    await press(tab, "#explain");
    await tab.locator("#cancel").click();
    await tab.locator("#status-text").waitFor({ state: "detached" });
    while (!server.asks("explain")[0].left) await tab.waitForTimeout(10);
  });
});
