// "How to read this": definitions in the page itself, opened at the place that a control asks for.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { open, startBrowser, violations } from "./browser.js";
import { samplePages } from "./viewer_pages.js";

describe("the guide", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  for (const [kind, name] of [
    ["", "short"],
    ["image", "large"],
    ["generation", "usual"],
  ]) {
    test(`is in every page and asks the network for nothing: ${kind || "text"}`, async () => {
      const { page, watch, close } = await open(browser, samplePages(kind).find((one) => one.name === name).html);
      await page.locator("#guide-button").click();
      const text = await page.locator("#guide").textContent();
      for (const term of ["raw", "rollout", "flow", "°", "blank-out", "relevance", "residual weight", "mask columns"]) {
        assert.ok(text.includes(term), term);
      }
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("#guide").isVisible(), false);
      assert.deepEqual(watch, { requests: [], messages: [] });
      await close();
    });
  }

  test("opens at what is asked about", async () => {
    const { page, close } = await open(browser, samplePages("").find(({ name }) => name === "short").html);
    for (const [button, place] of [
      ["#methods .info", "methods"],
      ["#recompute .info", "recompute"],
    ]) {
      await page.locator(button).click();
      assert.equal(await page.evaluate(() => document.activeElement.dataset.place), place);
      const { y } = await page.locator(`#guide [data-place="${place}"]`).boundingBox();
      assert.ok(y >= 0 && y < 500, `${place} is at ${y}`);
      await page.keyboard.press("Escape");
    }
    await close();
  });
});
