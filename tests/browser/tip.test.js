// The tip beside what is pointed at: in every view, by the pointer and by the keyboard.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { drawn, open, startBrowser, violations } from "./browser.js";
import { samplePages } from "./viewer_pages.js";

describe("the tip", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  const opened = (name, kind = "", options = {}) =>
    open(browser, samplePages(kind).find((one) => one.name === name).html, options);
  const tips = (page) =>
    page.$$eval(".tip:popover-open", (all) =>
      all.map((tip) => ({ text: tip.textContent, ...tip.getBoundingClientRect().toJSON() })),
    );

  for (const [kind, name, target] of [
    ["", "short", '#strip [data-token="3"]'],
    ["", "short", "#heat svg"],
    ["", "short", "#matrix svg"],
    ["", "short", "#graph svg"],
    ["image", "large", ".stage-box"],
    ["generation", "usual", '#prompt [data-token="1"]'],
  ]) {
    test(`stands beside the pointer: ${kind || name}, ${target}`, async () => {
      const { page, watch, close } = await opened(name, kind);
      const place = page.locator(target).first();
      await place.scrollIntoViewIfNeeded();
      const box = await place.boundingBox();
      const [x, y] = [box.x + box.width * 0.6, box.y + box.height * 0.5];
      await page.mouse.move(x - 2, y);
      await page.mouse.move(x, y);
      await drawn(page);
      const all = await tips(page);
      assert.equal(all.length, 1);
      assert.match(all[0].text, /%/u);
      const { width, height } = page.viewportSize();
      assert.ok(all[0].left >= 0 && all[0].right <= width && all[0].bottom <= height, JSON.stringify(all[0]));
      assert.ok(Math.abs(all[0].top - y) < 40 || Math.abs(all[0].bottom - y) < 40, "near the pointer");
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      assert.equal((await tips(page)).length, 0, "Escape takes it away");
      assert.deepEqual(watch.messages, []);
      await close();
    });
  }

  test("says value, rank and the other methods", async () => {
    const { page, close } = await opened("short");
    await page.locator('#strip [data-token="3"]').hover();
    const [{ text }] = await tips(page);
    assert.match(text, /^.+ ← .+: [\d.]+% \(rollout, layer \d+\)rank \d+ of \d+ · raw [\d.]+% · flow [\d.]+/u);
    await page.locator("h1").hover();
    assert.equal((await tips(page)).length, 0);
    await close();
  });

  test("comes with the keyboard, in a text and in a matrix, and goes with the focus", async () => {
    const { page, close } = await opened("short");
    await page.locator("#output-token").focus();
    await page.locator("#strip [tabindex='0']").focus();
    await page.keyboard.press("ArrowRight");
    await drawn(page);
    assert.equal((await tips(page)).length, 1);
    await page.locator("#matrix svg").focus();
    await page.keyboard.press("ArrowRight");
    await drawn(page);
    const all = await tips(page);
    assert.equal(all.length, 1);
    const cell = await page.locator("#matrix .pointing .cell").boundingBox();
    assert.ok(Math.abs(all[0].left - cell.x) < 300 && Math.abs(all[0].top - cell.y) < 120, "beside the cell");
    await close();
  });
});
