// The page of an encoder-decoder: source and target stand side by side, and layers have names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { open, startBrowser, violations } from "./browser.js";
import { pageOf, samplePages } from "./viewer_pages.js";

/** The report of a decoder, as that of one whose prompt ends with what a target begins with. */
function jointReport() {
  const { json } = samplePages("generation").find(({ name }) => name === "usual");
  const report = JSON.parse(readFileSync(json, "utf8"));
  const { tokens } = report.input;
  tokens[tokens.length - 1].segment = 1;
  delete tokens[tokens.length - 1].begin;
  delete tokens[tokens.length - 1].end;
  const values = { source_tokens: tokens.length - 1, encoder_layers: 0, decoder_layers: 50 };
  report.notes.push({ code: "joint-layers", values, text: "Two in one." });
  return report;
}

describe("an encoder-decoder", () => {
  const report = jointReport();
  const source = report.input.tokens.length - 1;
  let browser;
  let made;
  before(async () => {
    made = pageOf(report);
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    made?.remove();
  });

  const boxes = async (page) => [
    await page.locator("#prompt").boundingBox(),
    await page.locator("#generated").boundingBox(),
  ];

  test("has source and target side by side, below each other where there is no room", async () => {
    const { page, close } = await open(browser, made.html);
    await page.setViewportSize({ width: 1200, height: 900 });
    assert.deepEqual(await page.locator("#text-strips h2").allInnerTexts(), ["Source", "Target"]);
    const [left, right] = await boxes(page);
    assert.ok(left.x + left.width <= right.x && Math.abs(left.y - right.y) < 2);
    await page.setViewportSize({ width: 420, height: 900 });
    const [above, below] = await boxes(page);
    assert.ok(above.x === below.x && above.y + above.height <= below.y);
    assert.deepEqual(await violations(page), []);
    await close();
  });

  test("every token stands in its text, with its value", async () => {
    const { page, close } = await open(browser, made.html);
    const numbers = (id) => page.$$eval(`${id} .token`, (all) => all.map((one) => Number(one.dataset.token)));
    assert.deepEqual(await numbers("#prompt"), [...Array(source).keys()]);
    assert.deepEqual(await numbers("#generated"), [...Array(report.generation.tokens.length + 1).keys()]);
    assert.notEqual(await page.locator('#generated [data-token="0"]').getAttribute("data-value"), "");
    await close();
  });

  test("layers are called by whose they are, and both kinds can be shown by themselves", async () => {
    const { page, close } = await open(browser, made.html);
    const names = await page.locator("#layers option").allInnerTexts();
    assert.deepEqual(names.slice(-2), ["to the source", "to the target"]);
    await page.locator("#layers").selectOption("one");
    for (const name of await page.locator("#from-layer option").allInnerTexts())
      assert.match(name, /^(Self|Cross) \d+$/u);
    await page.locator("#layers").selectOption("target");
    await page.waitForURL(/l=target/u);
    await close();
  });
});
