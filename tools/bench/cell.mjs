// Opens the cells of cell.py in Chromium, each in its own page, and prints as JSON how long each takes until its first
// picture, in ms from the start of navigation: {NAME: [time of each run]}. The cell of a report begins with static HTML;
// its picture is that of the views below, which are opened as soon as they are there.
//
//   node cell.mjs FOLDER     NAME.html of each cell, and the scripts that they load from the web: scripts/HOST/PATH
//
// Scripts and pages come from a server in this process, so the numbers contain no network time.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, extname, join } from "node:path";
import { startBrowser } from "../../tests/browser/browser.js";

const RUNS = 7;
const TOKENS = 30;
// Elements that are present once there is a picture: the view of all layers, lines between tokens of head_view.
const PICTURES = { attnflow: ["#page .card svg text", TOKENS], bertviz: ["svg #attention line", TOKENS * TOKENS] };

const [folder] = process.argv.slice(2);
const names = readdirSync(folder)
  .filter((file) => extname(file) === ".html")
  .map((file) => basename(file, ".html"));

const server = createServer(({ url }, response) => {
  const file = join(folder, decodeURIComponent(url));
  if (!existsSync(file)) return response.writeHead(404).end();
  const type = extname(file) === ".html" ? "text/html" : "text/javascript";
  const text = readFileSync(file, "utf8").replaceAll(/https:\/\/(?=[\w.]+\/ajax\/libs\/)/gu, `${origin}/scripts/`);
  return response.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(text);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;

/** Runs in every frame: when it shows that many elements, and the browser has drawn them. */
function watchFor([selector, count]) {
  const look = () => {
    if (window.drawn || document.querySelectorAll(selector).length < count) return;
    window.drawn = -1;
    observer.disconnect();
    requestAnimationFrame(() =>
      requestAnimationFrame(() => (window.drawn = performance.timeOrigin + performance.now())),
    );
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true });
}

/** Milliseconds until the first picture. */
async function opened(browser, name) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 } });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("requestfailed", (request) => problems.push(request.url()));
  await page.addInitScript(watchFor, PICTURES[name.split("-")[0]]);
  await page.goto(`${origin}/${name}.html`);
  const section = page.locator("details");
  if (await section.count()) {
    await section.evaluate((element) => (element.open = true));
    await page.locator("iframe").waitFor();
  }
  const frame = page.frames().at(-1);
  try {
    await frame.waitForFunction(() => window.drawn > 0, null, { timeout: 30_000 });
  } catch (error) {
    throw new Error(`${name}: no picture was drawn (${problems.join("; ") || error.message})`, { cause: error });
  }
  const time = (await frame.evaluate(() => window.drawn)) - (await page.evaluate(() => performance.timeOrigin));
  if (process.env.ATTNFLOW_SCREENSHOTS) {
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(process.env.ATTNFLOW_SCREENSHOTS, `${name}.png`) });
  }
  if (problems.length > 0) throw new Error(`${name}: ${problems.join("; ")}`);
  await context.close();
  return time;
}

const browser = await startBrowser();
const times = Object.fromEntries(names.map((name) => [name, []]));
for (const name of names) await opened(browser, name); // that both draw; and to warm up the browser
for (let run = 0; run < RUNS; ++run) {
  for (const name of names) times[name].push(await opened(browser, name));
}
console.log(JSON.stringify(times));
await browser.close();
server.close();
