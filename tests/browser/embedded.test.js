// The page in a frame of another one, as notebooks show it: sandboxed, without an origin, as high as what it shows.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { violations } from "./browser.js";
import { browser, pageOf, reportOf } from "./viewer_pages.js";

// As notebook_cell() makes it (attnflow/draw/notebook_cell.cc).
const embedded = (folder, name) => readFileSync(pageOf(reportOf(folder, name), "--cell"), "utf8");
const escaped = (page) => page.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
// Its script does the same.
const hostOf = (page) => `<!doctype html><title>host</title><p>before</p>
<iframe title="attnflow" srcdoc="${escaped(page)}" sandbox="allow-scripts allow-downloads" style="width: 100%; height: 100px"></iframe>
<script>
  const frame = document.querySelector("iframe");
  addEventListener("message", ({ source, data }) => {
    if (source === frame.contentWindow) frame.style.height = data.attnflow.height + "px";
  });
</script>`;

for (const { kind, of, text, most, views, keys } of [
  { kind: "a text", of: ["", "short"], text: ".card", most: 400, views: 5, keys: ["1", "2", "3", "d", "?"] },
  {
    kind: "a generation",
    of: ["generation", "usual"],
    text: "#generated",
    most: 480,
    views: 5,
    keys: ["ArrowRight", "End", " "],
  },
]) {
  test(`${kind} in a frame is one card with a slim bar, as high as it, in every view`, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "attnflow-embedded-"));
    const host = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    context.after(() => Promise.all([host.close(), rmSync(folder, { recursive: true })]));
    for (const [name, page] of [
      ["host.html", hostOf(embedded(...of))],
      ["alone.html", embedded(...of)],
    ])
      writeFileSync(join(folder, name), page);
    await host.goto(pathToFileURL(join(folder, "host.html")).href);
    const frame = host.frames()[1];
    await frame.locator(text).waitFor();
    await host.waitForFunction(() => document.querySelector("iframe").clientHeight !== 100);
    const height = await host.locator("iframe").evaluate((element) => element.clientHeight);
    assert.ok(height < most, `${height} pixels`);
    const scrolls = await frame.evaluate(() => document.documentElement.scrollHeight > window.innerHeight);
    assert.equal(scrolls, false);
    const bar = await frame.locator("#controls").boundingBox();
    assert.ok(bar.height < 60, `${bar.height} pixels of controls`);
    for (const id of ["link-button", "help-button", "compare-button", "filters-button"]) {
      assert.equal(await frame.locator(`#${id}`).count(), 0, id);
    }
    // Keys of the whole page are the host's; buttons and clicks step.
    const state = () => frame.locator("#methods input:checked, #step").allInnerTexts();
    const before = await state();
    await frame.locator("h2").first().click();
    for (const key of keys) await host.keyboard.press(key);
    assert.deepEqual(await state(), before);
    assert.equal(await frame.locator('dialog[open], #play[aria-pressed="true"]').count(), 0);
    if (kind === "a generation") {
      await frame.click("#next");
      assert.match(await frame.locator("#step").innerText(), /^2 of /u);
    }
    const headings = new Set();
    for (const view of await frame.locator("#view option").allInnerTexts()) {
      await frame.selectOption("#view", view);
      assert.equal(await frame.locator(".card").count(), 1, view);
      headings.add(await frame.locator(".card h2").first().innerText());
    }
    assert.ok(headings.size >= views, [...headings].join(", "));
    await host.goto(pathToFileURL(join(folder, "alone.html")).href);
    await host.locator(text).waitFor();
    assert.deepEqual(await violations(host), []);
  });
}
