// Starts Chromium and opens pages from files, watching that they behave.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

// The same engine without the windows around it, which takes half the processor time.
const CHROMIUM = process.env.ATTNFLOW_CHROMIUM ?? "/usr/bin/chromium-headless-shell";

const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Waits until what was chosen is drawn and has the focus. */
export const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

export async function startBrowser() {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`expected Chromium at ${CHROMIUM}, found nothing; install it or set ATTNFLOW_CHROMIUM`);
  }
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
}

/**
 * Opens a file. The returned `watch` collects what a page must not do: requests for anything but the file itself (they
 * are blocked), messages on the console, uncaught errors.
 * @param {import("playwright-core").Browser} browser
 * @param {string} file
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const url = pathToFileURL(file).href;
  const watch = { requests: [], messages: [] };
  await context.route("**/*", (route) => {
    if (route.request().url() === url) return route.continue();
    watch.requests.push(route.request().url());
    return route.abort();
  });
  page.on("websocket", (socket) => watch.requests.push(socket.url()));
  page.on("console", (message) => watch.messages.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => watch.messages.push(`error: ${error.message}`));
  await page.goto(url);
  // The viewer decodes its report before it draws.
  await page.locator("#page, #failure").first().waitFor();
  // Tests read every token's numbers; leaving special tokens out, the page's own choice, has its own test.
  if (await page.locator("#skip-special:checked").isVisible()) await page.locator("#skip-special").uncheck();
  await unfold(page);
  return { page, watch, close: () => context.close() };
}

/** Opens every view and setting that is folded at first. */
export async function unfold(page) {
  await page.evaluate(() => {
    for (const heading of document.querySelectorAll('.fold[aria-expanded="false"]')) heading.click();
    for (const id of ["recompute", "picture-options"]) document.getElementById(id)?.setAttribute("open", "");
  });
  await drawn(page);
}

/** Folds them again, as a page opens. */
export async function fold(page) {
  await page.evaluate(() => {
    for (const heading of document.querySelectorAll('.fold[aria-expanded="true"]')) heading.click();
    for (const id of ["recompute", "picture-options"]) document.getElementById(id)?.removeAttribute("open");
  });
  await drawn(page);
}

export const choose = (page, method) => page.locator(`#methods input[value="${method}"]`).check({ force: true });
export const boxOf = (page, selector) => page.locator(selector).first().boundingBox();
export const pageWidth = (page) => page.evaluate(() => document.documentElement.scrollWidth);

/** Opens the menu of a card and saves a file of it. */
export async function saved(page, card, kind) {
  await page.locator(`#${card}-card .export button`).first().click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(`#${card}-card [data-kind="${kind}"]`).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

let axe = "";

/** Lists what axe finds wrong with a page's accessibility, a line each. @param {import("playwright-core").Page} page */
export async function violations(page) {
  axe ||= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
  );
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary}`),
  );
}

/** Pairs of elements that are in sight and overlap, by their names. @param {import("playwright-core").Page} page */
export async function overlaps(page, selector) {
  const boxes = await page.$$eval(selector, (all) =>
    all
      .filter((element) => element.checkVisibility())
      .map((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect();
        return { left, right, top, bottom, name: element.id || element.textContent };
      }),
  );
  const apart = (a, b) =>
    a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  return boxes.flatMap((a, i) =>
    boxes
      .slice(i + 1)
      .filter((b) => !apart(a, b))
      .map((b) => `${a.name} and ${b.name}`),
  );
}

/** The beginnings of elements that are in sight and have no name. @param {import("playwright-core").Page} page */
export const unnamed = (page, selector) =>
  page.$$eval(selector, (all) =>
    all
      .filter((element) => element.checkVisibility())
      .filter(
        (element) =>
          !element.getAttribute("aria-label") &&
          !element.getAttribute("aria-labelledby") &&
          !element.labels?.length &&
          !element.textContent.trim(),
      )
      .map((element) => element.outerHTML.slice(0, 80)),
  );
