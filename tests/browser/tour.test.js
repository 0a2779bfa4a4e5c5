// The tour of the served page, by the program itself: what it says is read from what the program computes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { boxOf, drawn } from "./browser.js";
import { browser } from "./viewer_pages.js";

const PROGRAM = process.env.ATTNFLOW ?? fileURLToPath(new URL("../../build/release/bin/attnflow", import.meta.url));

let server;
let address;

before(async () => {
  server = spawn(PROGRAM, ["serve", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  address = await new Promise((resolve, reject) => {
    let said = "";
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`attnflow serve ended with ${code}`)));
    server.stdout.on("data", (data) => {
      said += data;
      const found = /http:\S+/.exec(said);
      if (found) resolve(found[0]);
    });
  });
});

after(() => server?.kill());

async function words(page, step) {
  await page.waitForFunction(
    (begin) =>
      document.querySelector("#tour h2")?.textContent.startsWith(begin) &&
      !document.querySelector("#tour-words").textContent.includes("running"),
    `${step} of 6`,
  );
  return page.locator("#tour-words").textContent();
}

test("the tour stays in sight on a phone: every step, by keys alone", async () => {
  const viewport = { width: 390, height: 844 };
  const page = await browser.newPage({ viewport, reducedMotion: "reduce" });
  await page.goto(address);
  await page.focus("#tour-begin");
  for (let step = 1; step <= 6; ++step) {
    await page.keyboard.press("Enter");
    await words(page, step);
    const next = step < 6 ? "#tour-next" : "#tour-end";
    await page.waitForFunction((button) => document.activeElement?.matches(button), next);
    await drawn(page);
    await drawn(page);
    for (const part of ["#tour h2", "#tour-words", next]) {
      const { y, height } = await boxOf(page, part);
      assert.ok(y >= 0 && y + height <= viewport.height, `step ${step}: ${part} lies at ${y} to ${y + height}`);
    }
  }
  await page.close();
});

test("the tour finds the token that decides, and which methods miss it", async () => {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.goto(address);
  await page.click("#tour-begin");

  const replaced = await words(page, 1);
  assert.match(replaced, /plural, 99.9%/);
  assert.match(replaced, /It falls most without “s”: the logit difference[^,]*, [\d.]+, falls by [\d.]+\./);
  const expected = [
    ["raw", /ranks “The” first, not the token that decides\./],
    ["rollout", /ranks “s” first, the token that decides\./],
    ["flow", /cannot tell 3 tokens apart, among them “s”, the token that decides\./],
    ["flow", /ranks “s” first, the token that decides\./],
  ];
  for (const [i, [method, said]] of expected.entries()) {
    await page.click("#tour-next");
    assert.match(await words(page, i + 2), said);
    // A new report shows its own choice of method first, for a frame.
    await page.waitForFunction(
      (begin) => new RegExp(begin).test(document.querySelector("#heading")?.textContent),
      `: ${method} (?:ranks “|cannot tell)`,
    );
  }
  // Over relevance, and back over attention.
  assert.equal(await page.locator("#mixing").inputValue(), "relevance");
  await page.click("#tour-back");
  await words(page, 4);
  assert.equal(await page.locator("#mixing").inputValue(), "attention");

  // Another text leaves it, and a click leads back.
  await page.evaluate(() => document.querySelector("#edit").click());
  await page.fill("#ask-text", "The key to the cabinets");
  await page.evaluate(() => document.querySelector("#explain").click());
  await page.locator("#tour-again").waitFor();
  await page.click("#tour-again");
  await words(page, 4);

  await page.click("#tour-next");
  await words(page, 5);
  await page.click("#tour-next");
  const summary = await words(page, 6);
  assert.match(summary, /The model needs “s”\. Raw attention: “The”, wrong\. Rollout over attention: “s”, right\./);
  assert.match(summary, /Flow over relevance: “s”, right\./);
  await page.click("#tour-end");
  assert.equal(await page.locator("#tour").count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
});
