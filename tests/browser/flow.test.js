// Flow that a page without a server computes by itself: with other settings, of whole words, of another output token of a
// long text; and the command where it is too much.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { open, startBrowser, violations } from "./browser.js";
import { largeReport } from "./large_report.js";
import { pageOf, samplePages, withWords } from "./viewer_pages.js";

const pages = new Map(samplePages("").map((page) => [page.name, page]));
const source = "#recipe-source";

describe("flow computed in the page", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  /** Values of the text's tokens, null where there are none. */
  const valuesOf = (page) =>
    page.evaluate(() =>
      [...document.querySelectorAll("#strip .token")].map(({ dataset: { value } }) => (value ? Number(value) : null)),
    );
  const painted = (page) =>
    page.waitForFunction(() => {
      const tokens = [...document.querySelectorAll("#strip .token")];
      return tokens.length > 0 && tokens.every(({ dataset }) => dataset.value);
    });
  const idle = (page) => page.locator("#flow-progress").waitFor({ state: "detached" });

  test("with another residual it is that of the graph's pairs, after every layer", async () => {
    const { page, watch, close } = await open(browser, pages.get("short").html);
    await page.evaluate(() => (location.hash = "#v=1&m=flow&r=0.3&g=flow&i=3"));
    await painted(page);
    await idle(page);
    const values = await valuesOf(page);
    for (const token of [0, 3, 6]) {
      await page.evaluate((i) => (location.hash = `#v=1&m=flow&r=0.3&g=flow&i=${i}`), token);
      await page.waitForFunction(
        ([i, value]) =>
          Math.abs(Number(document.querySelector("#graph-readout").dataset.value) - value) < 1e-9 &&
          document.querySelector("#graph-readout").textContent.includes(String(i)),
        [token, values[token]],
      );
    }
    assert.match(await page.locator(source).textContent(), /^Recomputed in the browser/);
    // Numbers in every cell, those of the last layer on top.
    assert.equal(await page.locator("#heat .cells rect").count(), 6 * values.length);
    await page
      .locator("#heat .cells rect")
      .nth(values.length + 3)
      .hover();
    assert.match(await page.locator("#heat-readout").textContent(), /flow, layer 5/);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
  });

  test("of whole words: the key and the button choose it", async () => {
    const { html, remove } = pageOf(withWords(pages.get("arabic").json));
    const { page, watch, close } = await open(browser, html);
    await page.locator("#words").check();
    await page.keyboard.press("3");
    await painted(page);
    assert.equal(await page.locator('#methods input[value="flow"]').isChecked(), true);
    assert.match(await page.locator("#heading").textContent(), /flow cannot tell 6 words apart/);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });

  test("that cannot be had is said to be missing beside the methods, with the command", async () => {
    const report = JSON.parse(readFileSync(pages.get("short").json, "utf8"));
    report.settings.method = ["rollout"];
    report.arrays = { rollout: report.arrays.rollout };
    report.flow_output_tokens = [];
    const { html, remove } = pageOf(report);
    const { page, watch, close } = await open(browser, html);
    const missing = page.locator("#methods-missing");
    assert.match(await missing.textContent(), /^No raw or flow here\./u);
    assert.equal(await page.locator("#missing-panel").isVisible(), false);
    await page.locator("#missing-button").click();
    assert.match(
      await page.locator("#missing-panel").textContent(),
      /without flow\. This command.*--method rollout,flow/u,
    );
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });

  test("of another output token of a long text, while pointing stays smooth", async () => {
    const { html, remove } = pageOf(largeReport({ n: 400, layers: 6 }));
    const { page, watch, close } = await open(browser, html);
    await page.evaluate(() => (location.hash = "#v=1&m=flow&t=390"));
    await page.locator("#flow-progress progress").waitFor();
    assert.match(await page.locator(source).textContent(), /^Computing flow in the browser …/);
    // Frames while it computes.
    const longest = await page.evaluate(async () => {
      let [longest, last] = [0, performance.now()];
      for (let k = 0; k < 60 && document.querySelector("#flow-progress"); ++k) {
        const now = await new Promise(requestAnimationFrame);
        longest = Math.max(longest, now - last);
        last = now;
      }
      return longest;
    });
    console.log(`# longest time between two frames: ${longest.toFixed(0)} ms`);
    page.setDefaultTimeout(60_000);
    await painted(page);
    // Another choice ends what is under way.
    await page.keyboard.press("2");
    await idle(page);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });

  test("of too large a text it says the limit and the command, which can be copied", async () => {
    const { html, remove } = pageOf(largeReport({ n: 400, layers: 30 }));
    const { page, watch, close } = await open(browser, html, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.evaluate(() => (location.hash = "#v=1&m=flow&r=0.3"));
    await page.locator(`${source} code`).waitFor();
    assert.match(
      await page.locator(source).textContent(),
      /Through 30 layers the page computes flow for up to 365 tokens; this text has 400\. This command computes it: attnflow explain/,
    );
    await page.locator(`${source} .copy-command`).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#live").textContent === "The command was copied");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await page.locator(`${source} code`).textContent());
    assert.match(copied, /--model 'path\/to\/synthetic' --method raw,rollout,flow .*--residual 0\.3/);
    // What is not computed here is not chosen: each control goes back, and the command is that of what was asked.
    for (const [choose, asked] of [
      [() => page.locator("#residual").fill("0.7"), "--residual 0.7"],
      [() => page.locator("#normalize").selectOption("row"), "--residual 0.3 --normalize row"],
      [() => page.locator("#normalize").selectOption("row"), "--residual 0.3 --normalize row"],
    ]) {
      await choose();
      await page.locator(`${source} code`).filter({ hasText: asked }).waitFor();
      assert.equal(await page.locator("#residual").inputValue(), "0.3");
      assert.equal(await page.locator("#normalize").inputValue(), "none");
    }
    await page.locator(source).getByText("Close", { exact: true }).click();
    await page.locator(`${source} code`).filter({ hasNotText: "--normalize" }).waitFor();
    // A file cannot be asked for another mixing: the list says what it holds.
    for (const again of [1, 2]) {
      await page.locator("#mixing").selectOption("alti");
      assert.match(await page.locator("#mixing-command code").textContent(), /--mixing alti/, `${again}`);
      assert.equal(await page.locator("#mixing").inputValue(), "attention");
    }
    await page.locator("#mixing-command").getByText("Close", { exact: true }).click();
    await page.locator("#mixing-command").waitFor({ state: "detached" });
    // Of fewer layers it is there.
    await page.evaluate(() => (location.hash = "#v=1&m=flow&r=0.3&l=8"));
    page.setDefaultTimeout(60_000);
    await painted(page);
    await page.waitForFunction(() => document.querySelector("#heat-card").textContent.includes("Gray rows are still"));
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });
});
