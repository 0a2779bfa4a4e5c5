// The page in a frame of another one, as notebooks show it: sandboxed, without an origin, as high as what it shows.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { open, startBrowser, violations } from "./browser.js";
import { samplePages } from "./viewer_pages.js";

// As report_html() makes it (attnflow/draw/viewer_page.cc).
const embeddedPage = (html) => readFileSync(html, "utf8").replace("<html", "<html data-embed");
const pageNamed = (kind, wanted) => embeddedPage(samplePages(kind).find(({ name }) => name === wanted).html);
const escaped = (page) => page.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
// As python/attnflow/notebook.py does.
const hostOf = (page) => `<!doctype html><title>host</title><p>before</p>
<iframe title="attnflow" srcdoc="${escaped(page)}" sandbox="allow-scripts allow-downloads" style="width: 100%; height: 100px"></iframe>
<script>
  const frame = document.querySelector("iframe");
  window.keys = [];
  addEventListener("keydown", ({ key }) => window.keys.push(key));
  addEventListener("message", ({ source, data }) => {
    if (source === frame.contentWindow) frame.style.height = data.attnflow.height + "px";
  });
</script>`;

/** The page of a host with that page in its frame. */
async function inFrame(browser, folder, page) {
  const host = await browser.newPage({ viewport: { width: 1000, height: 900 } });
  writeFileSync(join(folder, "host.html"), hostOf(page));
  await host.goto(`file://${join(folder, "host.html")}`);
  return { page: host, frame: host.frames()[1] };
}

const embedded = pageNamed("", "short");

describe("in a frame of another page", () => {
  let browser, folder, page, frame, finish;
  const height = () => page.locator("iframe").evaluate((element) => element.clientHeight);
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "attnflow-embedded-"));
    writeFileSync(join(folder, "embedded.html"), embedded);
    ({ page, frame } = await inFrame(browser, folder, embedded));
    finish = () => page.close();
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

describe("a generation in a frame of another page", () => {
  let browser, folder, page, frame;
  const height = () => page.locator("iframe").evaluate((element) => element.clientHeight);
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "attnflow-embedded-"));
    ({ page, frame } = await inFrame(browser, folder, pageNamed("generation", "usual")));
    await frame.locator("#generated").waitFor();
  });
  after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  test("is one card with a slim bar, and as high as it", async () => {
    await page.waitForFunction(() => document.querySelector("iframe").clientHeight !== 100);
    assert.equal(await frame.locator(".card").count(), 1);
    const bar = await frame.locator("#controls").boundingBox();
    assert.ok(bar.height < 60, `${bar.height} pixels of controls`);
    const all = await height();
    assert.ok(all > 200 && all < 480, `${all} pixels for a prompt and a few tokens`);
    const scrolls = await frame.evaluate(() => document.documentElement.scrollHeight > window.innerHeight);
    assert.equal(scrolls, false);
  });

  test("steps through its tokens by buttons and clicks, not by keys of the whole page", async () => {
    const step = () => frame.locator("#step").innerText();
    assert.match(await step(), /^1 of /u);
    await frame.locator("h2").first().click();
    for (const key of ["ArrowRight", "End", " "]) await page.keyboard.press(key);
    assert.match(await step(), /^1 of /u);
    assert.equal(await frame.locator('#play[aria-pressed="true"]').count(), 0);
    await frame.click("#next");
    assert.match(await step(), /^2 of /u);
    await frame.locator("#generated [data-token]").first().click();
    assert.match(await step(), /^1 of /u);
  });

  test("shows every view", async () => {
    const headings = new Set();
    for (const view of await frame.locator("#view option").allInnerTexts()) {
      await frame.selectOption("#view", view);
      assert.equal(await frame.locator(".card").count(), 1, view);
      headings.add(await frame.locator(".card h2").first().innerText());
    }
    assert.equal(headings.size, 5, [...headings].join(", "));
    await frame.selectOption("#view", "Text");
  });

  test("is free of what axe finds", async () => {
    writeFileSync(join(folder, "embedded.html"), pageNamed("generation", "usual"));
    const alone = await browser.newPage();
    await alone.goto(`file://${join(folder, "embedded.html")}`);
    await alone.locator("#generated").waitFor();
    assert.deepEqual(await violations(alone), []);
    await alone.close();
  });
});
