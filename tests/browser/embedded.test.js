// The page in a frame of another one, as notebooks show it: sandboxed, without an origin, as high as what it shows.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { open, startBrowser, violations } from "./browser.js";
import { samplePages } from "./viewer_pages.js";

const { html } = samplePages("").find(({ name }) => name === "short");
// As report_html() makes it (attnflow/draw/viewer_page.cc).
const embedded = readFileSync(html, "utf8").replace("<html", "<html data-embed");
const escaped = embedded.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
// As python/attnflow/notebook.py does.
const host = `<!doctype html><title>host</title><p>before</p>
<iframe title="attnflow" srcdoc="${escaped}" sandbox="allow-scripts allow-downloads" style="width: 100%; height: 100px"></iframe>
<script>
  const frame = document.querySelector("iframe");
  window.keys = [];
  addEventListener("keydown", ({ key }) => window.keys.push(key));
  addEventListener("message", ({ source, data }) => {
    if (source === frame.contentWindow) frame.style.height = data.attnflow.height + "px";
  });
</script>`;

describe("in a frame of another page", () => {
  let browser, folder, page, frame, finish;
  const height = () => page.locator("iframe").evaluate((element) => element.clientHeight);
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "attnflow-embedded-"));
    writeFileSync(join(folder, "host.html"), host);
    writeFileSync(join(folder, "embedded.html"), embedded);
    page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    finish = () => page.close();
    await page.goto(`file://${join(folder, "host.html")}`);
    frame = page.frames()[1];
    await frame.locator("#strip").waitFor();
  });
  after(async () => {
    await finish?.();
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  test("is as high as its card", async () => {
    await page.waitForFunction(() => document.querySelector("iframe").clientHeight !== 100);
    const text = await height();
    assert.ok(text < 320, `${text} pixels for one line of text`);
    const scrolls = await frame.evaluate(() => document.documentElement.scrollHeight > window.innerHeight);
    assert.equal(scrolls, false);
    await frame.selectOption("#view", "Full matrix");
    await frame.locator("#matrix-card").waitFor();
    await page.waitForFunction((before) => document.querySelector("iframe").clientHeight > before, text);
    await frame.selectOption("#view", "Text");
  });

  test("has one card and a slim bar, without what a frame cannot do", async () => {
    assert.equal(await frame.locator(".card").count(), 1);
    for (const id of ["link-button", "help-button", "compare-button", "filters-button"]) {
      assert.equal(await frame.locator(`#${id}`).count(), 0, id);
    }
    const bar = await frame.locator("#controls").boundingBox();
    assert.ok(bar.height < 60, `${bar.height} pixels of controls`);
  });

  test("takes no keys of the whole page", async () => {
    const method = () => frame.locator('#methods input:checked, [name="method"]:checked').first().inputValue();
    const before = await method();
    await frame.locator("h2").first().click();
    for (const key of ["1", "2", "3", "d", "?"]) await page.keyboard.press(key);
    assert.equal(await method(), before);
    assert.equal(await frame.locator("dialog[open]").count(), 0);
  });

  test("shows every view", async () => {
    const headings = new Set();
    for (const view of await frame.locator("#view option").allInnerTexts()) {
      await frame.selectOption("#view", view);
      assert.equal(await frame.locator(".card").count(), 1, view);
      headings.add(await frame.locator(".card h2").innerText());
    }
    assert.ok(headings.size >= 5, [...headings].join(", "));
  });

  test("is free of what axe finds", async () => {
    const { page: alone, close } = await open(browser, join(folder, "embedded.html"));
    assert.deepEqual(await violations(alone), []);
    await close();
  });
});
