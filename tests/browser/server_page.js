// The page that `attnflow serve` sends, from a server that answers from files (viewer/test/dom/served.js), on a port.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { served } from "../../viewer/test/dom/served.js";
import { unfold as unfoldViews } from "./browser.js";
import { browser, samplePage } from "./viewer_pages.js";

export { PIXEL, stream } from "../../viewer/test/dom/served.js";

/** A report's page without its report, which may talk to where it comes from. */
const html = readFileSync(samplePage("", "short").html, "utf8")
  .replace(/(<script type="application\/json" id="report">)[^]*?(<\/script>)/u, "$1null$2")
  .replace("default-src 'none';", "default-src 'none'; connect-src 'self';");

async function listen(options) {
  const answers = served(options);
  const server = createServer(async (request, response) => {
    if (request.url === "/") {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
      return response.end(html);
    }
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const { method, headers } = request;
    const asked = { method, headers, body: Buffer.concat(chunks), signal: gone.signal };
    const { status, headers: said, body, json } = await answers.fetch(`http://localhost${request.url}`, asked);
    response.writeHead(status, Object.fromEntries(said));
    if (!body) return response.end(JSON.stringify(await json()));
    try {
      for await (const chunk of body) response.write(chunk);
      response.end();
    } catch {
      response.destroy();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const close = () => new Promise((done) => server.close(done).closeAllConnections());
  return { ...answers, url: `http://127.0.0.1:${server.address().port}/`, close };
}

/** Opens the page of a fresh server in a tab of its own; it must not report anything but what `allowed` matches. */
export async function serve(options, run, { fragment = "", allowed = [], context: more = {} } = {}) {
  const server = await listen(options);
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...more });
  const tab = await context.newPage();
  tab.setDefaultTimeout(10_000);
  const unexpected = [];
  const say = (text) => allowed.some((pattern) => pattern.test(text)) || unexpected.push(text);
  tab.on("console", (message) => say(message.text()));
  tab.on("pageerror", (error) => say(error.message));
  tab.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(server.url)) say(request.url());
  });
  try {
    await tab.goto(server.url + fragment);
    await tab.locator("#tasks input:enabled").first().waitFor({ state: "attached" });
    await run(tab, server);
    assert.deepEqual(unexpected, []);
  } finally {
    await context.close();
    await server.close();
  }
}

/** The form folds with each answer: what is in it is pressed whatever it shows. */
export const press = (tab, selector) => tab.locator(selector).evaluate((button) => button.click());

export const unfold = (tab) => tab.evaluate(() => document.querySelector("#edit")?.click());

export async function explain(tab) {
  await unfold(tab);
  await press(tab, "#explain");
  await tab.locator("#strip").waitFor();
  await unfoldViews(tab);
  await tab.locator("#all-methods").waitFor();
}

export async function task(tab, name) {
  await unfold(tab);
  await press(tab, `#tasks input[value="${name}"]`);
}
