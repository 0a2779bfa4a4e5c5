// Long texts: flow that the page computes while it stays smooth, or says why it does not; cards that are laid out where
// they are looked at.

import assert from "node:assert/strict";
import { test } from "node:test";
import { violations } from "./browser.js";
import { largeReport } from "./large_report.js";
import { skipped } from "./print.js";
import { open, pageOf, withPage } from "./viewer_pages.js";

const source = "#recipe-source";
const painted = (page) =>
  page.waitForFunction(
    () => [...document.querySelectorAll("#strip .token")].every(({ dataset }) => dataset.value),
    null,
    { timeout: 60_000 },
  );

test("flow of another output token is computed while pointing stays smooth", async () => {
  await withPage(pageOf(largeReport({ n: 400, layers: 6 })), {}, async (page) => {
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
    await painted(page);
    // Another choice ends what is under way.
    await page.keyboard.press("2");
    await page.locator("#flow-progress").waitFor({ state: "detached" });
  });
});

test("of too large a text the page says the limit and the command, which can be copied", async () => {
  const options = { permissions: ["clipboard-read", "clipboard-write"] };
  await withPage(pageOf(largeReport({ n: 400, layers: 30 })), options, async (page) => {
    const command = page.locator(`${source} code`);
    await page.evaluate(() => (location.hash = "#v=1&m=flow&r=0.3"));
    await command.waitFor();
    assert.match(
      await page.locator(source).textContent(),
      /Through 30 layers the page computes flow for up to 365 tokens; this text has 400\. This command computes it: attnflow explain/,
    );
    await page.locator(`${source} .copy-command`).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#live").textContent === "The command was copied");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await command.textContent());
    assert.match(copied, /--model 'path\/to\/synthetic' --method raw,rollout,flow .*--residual 0\.3/);
    // Each control goes back, because its choice is not computed here; the command is for what was asked.
    const row = () => page.locator("#normalize").selectOption("row");
    for (const [choose, asked] of [
      [() => page.locator("#residual").fill("0.7"), "--residual 0.7"],
      [row, "--residual 0.3 --normalize row"],
      [row, "--residual 0.3 --normalize row"],
    ]) {
      await choose();
      await command.filter({ hasText: asked }).waitFor();
      assert.equal(await page.locator("#residual").inputValue(), "0.3");
      assert.equal(await page.locator("#normalize").inputValue(), "none");
    }
    await page.locator(source).getByText("Close", { exact: true }).click();
    await command.filter({ hasNotText: "--normalize" }).waitFor();
    // The flow of fewer layers is there.
    await page.evaluate(() => (location.hash = "#v=1&m=flow&r=0.3&l=8"));
    await painted(page);
    await page.waitForFunction(() => document.querySelector("#heat-card").textContent.includes("Gray rows are still"));
    assert.deepEqual(await violations(page), []);
  });
});

test("2,048 tokens draw what is near, and have the room that the rest needs; paper has all", async () => {
  const html = pageOf(largeReport());
  await withPage(html, {}, async (page) => {
    await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
    assert.ok((await skipped(page)).length > 0);
    const rooms = () =>
      page.$$eval(".card-body", (all) => all.map((one) => Math.round(one.getBoundingClientRect().height)));
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".card-body")].every((one) => "measured" in one.dataset),
    );
    const before = await rooms();
    await page.$$eval(".card-body", (all) => all.forEach((one) => (one.style.contentVisibility = "visible")));
    for (const [k, height] of (await rooms()).entries()) {
      assert.ok(Math.abs(before[k] - height) < 40, `card ${k}: room for ${before[k]}, needs ${height}`);
    }
  });
  const { page, close } = await open(html);
  await page.emulateMedia({ media: "print" });
  assert.deepEqual(await skipped(page), []);
  await close();
});
