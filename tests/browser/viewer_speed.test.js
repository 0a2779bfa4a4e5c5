// How quick the page is, in the milliseconds that pass and in those of the main thread's own time on the processor. Times
// are printed, and what is to be looked at is marked; a machine that is busy or slow takes longer, so a time fails nothing.
//
// How soon a page is there: 128 tokens are to paint within a second, and 512 tokens by 12 layers with all heads (7 MB) to
// have all cards drawn within two. The text is coloured before the last card is drawn.
//
// 2,048 tokens and 30 layers work: pointing, choosing tokens and layers, zooming, another residual. A change should be
// painted within 75 ms at the median (with what it begins afterwards in slices).

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { largeGeneration, largeReport, withHeads } from "./large_report.js";
import { browser, pageOf, samplePage, withPage } from "./viewer_pages.js";

const MOST_MS = 75;
const median = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];

/** Milliseconds that a page's main thread has worked, whenever it is asked. */
async function workOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
}

/** Milliseconds from the start of the navigation until the text is painted and until all is drawn, and the work. */
async function opened(html) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  const page = await context.newPage();
  const worked = await workOf(page);
  const before = await worked();
  await page.goto(pathToFileURL(html).href);
  const painted = await page.waitForFunction(() => {
    if (![...document.querySelectorAll("#strip .token")].some((token) => token.style.backgroundColor)) return 0;
    const { startTime } = performance.getEntriesByName("first-contentful-paint")[0] ?? {};
    return startTime ? { first: startTime, waiting: document.querySelectorAll('[aria-busy="true"]').length } : 0;
  });
  const drawn = await page.waitForFunction(() =>
    document.querySelector("#graph-card") && !document.querySelector('[aria-busy="true"]') ? performance.now() : 0,
  );
  const [{ first, waiting }, all] = [await painted.jsonValue(), await drawn.jsonValue()];
  const work = (await worked()) - before;
  const cards = await page.locator("main .card").count();
  await context.close();
  return { first, all, work, cards, waiting };
}

for (const [name, file, busy] of [
  ["128 tokens", () => samplePage("", "long").html, 0],
  ["512 tokens by 12 layers with heads", () => pageOf(withHeads(largeReport({ n: 512, layers: 12, most: 32 }), 12)), 1],
]) {
  test(`${name}: every card is drawn, long ones after the text is coloured`, async () => {
    const [html, found] = [file(), []];
    for (let k = 0; k < 3; ++k) found.push(await opened(html));
    // Other processes only add.
    const [first, all, work] = ["first", "all", "work"].map((of) =>
      Math.min(...found.map((one) => one[of])).toFixed(0),
    );
    console.log(`${name}: first paint ${first} ms, all drawn ${all} ms, main thread ${work} ms`);
    assert.ok(found[0].cards >= 7, `${found[0].cards} cards`);
    assert.ok(Math.max(...found.map(({ waiting }) => waiting)) >= busy, "no card was left to draw");
  });
}

/**
 * For each action, milliseconds until what it changed is painted: those that pass (`wall`), and those that the page's
 * main thread works (`work`). `act` runs in the page, with k, the number of the time.
 */
async function measure(page, act, times) {
  const worked = await workOf(page);
  const found = { wall: [], work: [] };
  for (let k = 0; k < times; ++k) {
    // Work of the time before does not count here: it has its own turn.
    await idle(page);
    const before = await worked();
    found.wall.push(
      await page.evaluate(
        ([source, at]) =>
          new Promise((done) => {
            const begin = performance.now();
            new Function("k", source)(at);
            requestAnimationFrame(() => {
              const { port1, port2 } = new MessageChannel();
              port1.onmessage = () => done(performance.now() - begin);
              port2.postMessage(null);
            });
          }),
        [act, k],
      ),
    );
    found.work.push((await worked()) - before);
  }
  return found;
}

const idle = (page) => page.waitForFunction(() => document.querySelectorAll('[aria-busy="true"]').length === 0);

/** Opens a page, does one thing after the other, each several times, and prints how long that took. */
async function measured(title, report, ready, actions) {
  const numbers = [];
  await withPage(pageOf(report), {}, async (page) => {
    for (const selector of ready) await page.locator(selector).first().waitFor({ state: "attached" });
    await idle(page);
    for (const [name, act, times, changed] of actions) {
      const { wall, work } = await measure(page, act, times);
      const text = (all) => `${median(all).toFixed(0)} ms (at most ${Math.max(...all).toFixed(0)})`;
      const slow = Math.min(median(work), median(wall)) < MOST_MS ? "" : `: more than ${MOST_MS} ms`;
      numbers.push(`${title}: ${name}: ${text(work)} of work, painted after ${text(wall)}${slow}`);
      await idle(page);
      await changed?.(page);
    }
  });
  console.log(numbers.join("\n"));
}

const over = (selector) => `document.querySelector('${selector} [data-token="' + (7 + 13 * k) + '"]')
  .dispatchEvent(new PointerEvent("pointerover", { bubbles: true }))`;
const move = (selector) => `
  const picture = document.querySelector("${selector}");
  const box = picture.getBoundingClientRect();
  picture.dispatchEvent(new PointerEvent("pointermove", {
    bubbles: true, clientX: box.left + box.width * (0.3 + 0.02 * k), clientY: box.top + box.height * (0.5 + 0.01 * k),
  }))`;
const set = (selector, value, event) => `const field = document.querySelector("${selector}");
  field.value = ${value};
  field.dispatchEvent(new Event("${event}", { bubbles: true }))`;
const click = (selector) => `document.querySelector(${selector}).click()`;

/** An action has changed an element's text, or which token is chosen. */
const says = (selector, pattern) => async (page) =>
  assert.match(await page.locator(selector).first().textContent(), pattern);
const chose = (strip, token) => async (page) =>
  assert.equal(await page.locator(`${strip} [aria-selected=true]`).getAttribute("data-token"), String(token));

test("2,048 tokens by 30 layers", () =>
  measured(
    "text",
    largeReport(),
    ["#matrix canvas", "#graph .lines line"],
    [
      ["point in the text", over("#strip"), 15, says("#strip-readout", / ← /)],
      ["point in the matrix", move("#matrix svg"), 15, says("#matrix-readout", /rollout, layer 30/)],
      ["point in the layer map", move("#heat svg"), 15, says("#heat-readout", / ← /)],
      ["point in the graph", move("#graph svg"), 15, says("#graph-tip", /passes/)],
      ["choose a token", click(`'#strip [data-token="' + (40 + 97 * k) + '"]'`), 15, chose("#strip", 40 + 97 * 14)],
      ["choose a layer", set("#layer", "String(28 - k)", "input"), 15, says("#layer-name", /15 of 30/)],
      ["zoom", click(`"#matrix-closer"`), 10, (page) => page.locator("#matrix-whole:enabled").click()],
      [
        "another residual",
        set("#residual", "String(0.3 + 0.02 * k)", "input"),
        9,
        says("#recipe-source", /Recomputed/),
      ],
    ],
  ));

test("a continuation of 2,048 + 200 tokens by 30 layers", () =>
  measured(
    "continuation",
    largeGeneration(),
    ["#map canvas"],
    [
      ["the next token", click(`"#next"`), 15, chose("#generated", 15)],
      [
        "choose a token",
        click(`'#generated [data-token="' + (30 + 9 * k) + '"]'`),
        15,
        chose("#generated", 30 + 9 * 14),
      ],
      ["point in the prompt", over("#prompt"), 15, says("#text-readout", / ← /)],
      ["choose layers", set("#layers", `k % 2 ? "all" : "last"`, "change"), 8],
      ["choose a method", `document.querySelectorAll("#methods input")[k % 2].click()`, 8],
    ],
  ));
