// Opens every page of a generation in $ATTNFLOW_HTML/generation. Beside NAME.html lies NAME.json, the same generation in
// full precision, with which the page's numbers are compared.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { open, startBrowser } from "./browser.js";

const root = process.env.ATTNFLOW_HTML;
if (!root) throw new Error("expected ATTNFLOW_HTML to name a folder of pages; see tests/browser/run");
const folder = join(root, "generation");
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".html"))
  .map((file) => file.replace(/\.html$/u, ""));
if (names.length === 0) throw new Error(`expected pages in ${folder}, found none`);

/** The report beside a page, with `values(array, token, layers)`: the mean over layers of a row. */
function readReport(name) {
  const report = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const arrays = {};
  for (const [key, { data, dtype }] of Object.entries(report.arrays)) {
    if (dtype === "f64") arrays[key] = new Float64Array(new Uint8Array(Buffer.from(data, "base64")).buffer);
  }
  const m = report.input.tokens.length;
  const n = report.generation.tokens.length;
  const isFlow = (array) => array.startsWith("flow");
  const layersOf = (array) => (isFlow(array) ? report.generation.flow_layers : report.settings.layers);
  const rowsOf = (array) => (isFlow(array) ? report.generation.flow_tokens : [...Array(n).keys()]);
  const values = (array, token, layers = layersOf(array)) => {
    const row = rowsOf(array).indexOf(token);
    if (row < 0) return null;
    const all = layersOf(array);
    return [...Array(m).keys()].map((j) => {
      const sum = layers.reduce((s, l) => s + arrays[array][(row * m + j) * all.length + all.indexOf(l)], 0);
      return sum / layers.length;
    });
  };
  const methods = ["raw", "rollout", "flow"].filter((method) => arrays[method]);
  const dropped = new Set(report.generation.dropped.flatMap((rule) => rule.tokens));
  return { ...report, m, n, methods, values, layersOf, rowsOf, dropped, has: (array) => array in arrays };
}

const promptValues = (page) =>
  page.$$eval("#prompt .token", (tokens) => {
    const values = [];
    for (const token of tokens) values[Number(token.dataset.token)] = token.dataset.value;
    return values.map((value) => (value === "" ? null : Number(value)));
  });
const asideTokens = (page) =>
  page.$$eval("#prompt .token", (tokens) =>
    tokens.filter((token) => token.ariaPressed === "true").map((token) => Number(token.dataset.token)),
  );
const ranked = (page) =>
  page.$$eval("#rank tbody tr", (rows) => rows.map((row) => Number(row.getAttribute("data-token"))));
const selected = (page) =>
  page.$$eval('#generated [aria-selected="true"]', (tokens) => tokens.map((token) => Number(token.dataset.token)));
const promptToken = (page, j) => page.locator(`#prompt [data-token="${j}"]`);
const saidToken = (page, t) => page.locator(`#generated [data-token="${t}"]`);
const choose = (page, method) => page.locator(`#methods input[value="${method}"]`).check({ force: true });

function assertClose(actual, expected, half, what) {
  assert.equal(actual.length, expected.length, what);
  for (const [i, value] of expected.entries()) {
    const error = Math.abs(actual[i] - value);
    const bound = (half ? 2 ** -11 : 2 ** -23) * Math.abs(value) + 2 ** -24;
    assert.ok(error <= bound, `${what}, token ${i}: ${actual[i]} is not ${value}`);
  }
}

/** "37%" as the page prints a share. */
function assertShare(text, share, what) {
  const printed = text === "under 1%" ? 0.0025 : text === "over 99%" ? 0.9975 : Number(text.replace("%", "")) / 100;
  assert.ok(Math.abs(printed - share) <= 0.0061, `${what}: printed ${text}, expected ${share}`);
}

describe("generations", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  for (const name of names) {
    describe(name, () => {
      const path = join(folder, `${name}.html`);
      const report = readReport(name);
      const half = readFileSync(path, "utf8").includes('"dtype":"f16"');
      const last = report.settings.layers.at(-1);
      const first = report.methods.includes("rollout") ? "rollout" : report.methods[0];
      let page, watch, close;
      before(async () => {
        ({ page, watch, close } = await open(browser, path));
      });
      after(() => close());

      test("asks for nothing and reports nothing", async () => {
        assert.equal(await page.locator("#page").isVisible(), true);
        assert.equal(await page.locator("#failure").isVisible(), false);
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("cannot ask for anything even when it tries", async () => {
        const blocked = await page.evaluate(() =>
          fetch("https://example.org/").then(
            () => false,
            () => true,
          ),
        );
        assert.equal(blocked, true);
        assert.deepEqual(watch.requests, []); // stopped by the page's own policy, before any request
        watch.messages.length = 0; // Chromium says so on the console
      });

      test("shows both texts, every token once", async () => {
        for (const [id, tokens, text] of [
          ["prompt", report.input.tokens, report.input.text],
          ["generated", report.generation.tokens, report.generation.text],
        ]) {
          const shown = await page.$$eval(`#${id} .token`, (all) =>
            all.map((token) => [Number(token.dataset.token), token.textContent]),
          );
          assert.deepEqual(
            shown.map(([i]) => i),
            [...tokens.keys()],
          );
          for (const [i, characters] of shown) assert.ok(characters.length > 0, `${id} ${i} is empty`);
          const line = await page.$eval(`#${id} .line`, (all) =>
            [...all.childNodes]
              .filter((node) => !node.classList?.contains("chip"))
              .map((node) => node.textContent)
              .join(""),
          );
          assert.equal(line, text);
        }
      });

      test("its numbers are those of the report, for every method and span of layers", async () => {
        for (const method of report.methods) {
          await choose(page, method);
          const token = report.rowsOf(method).at(-1);
          await saidToken(page, token).click();
          const layers = report.layersOf(method);
          assertClose(await promptValues(page), report.values(method, token), half, `${method}, all layers`);
          if (layers.length < 2) continue;
          await page.locator("#layers").selectOption("last");
          assertClose(await promptValues(page), report.values(method, token, [last]), half, `${method}, last`);
          await page.locator("#layers").selectOption("one");
          await page.locator("#from-layer").selectOption(String(layers[0]));
          assertClose(await promptValues(page), report.values(method, token, [layers[0]]), half, `${method}, one`);
          await page.locator("#layers").selectOption("range");
          await page.locator("#from-layer").selectOption(String(layers[1]));
          await page.locator("#to-layer").selectOption(String(last));
          const range = layers.slice(1);
          assertClose(await promptValues(page), report.values(method, token, range), half, `${method}, range`);
          await page.locator("#layers").selectOption("all");
        }
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("shows normalised values where there are some", async () => {
        await choose(page, first);
        await saidToken(page, 0).click();
        const box = page.locator("#normalized");
        assert.equal(await box.isVisible(), report.has(`${first}_normalized`));
        if (!report.has(`${first}_normalized`)) return;
        await box.check();
        assertClose(await promptValues(page), report.values(`${first}_normalized`, 0), half, "normalised");
        await box.uncheck();
        assertClose(await promptValues(page), report.values(first, 0), half, "plain");
      });

      test("a row that was not computed is said to be missing", async () => {
        const missing = [...Array(report.n).keys()].find((t) => !report.rowsOf("flow").includes(t));
        if (!report.methods.includes("flow") || missing === undefined) return;
        await choose(page, "flow");
        await saidToken(page, missing).click();
        assert.match(await page.locator("#text-readout").textContent(), /No flow values/u);
        assert.ok((await promptValues(page)).every((value) => value === null));
        await choose(page, first);
      });

      test("sets tokens aside and says which share they hold", async () => {
        await choose(page, first);
        await saidToken(page, report.n - 1).click();
        const values = report.values(first, report.n - 1);
        const mass = values.reduce((a, b) => a + b, 0);
        const check = async (aside, what) => {
          assert.deepEqual(
            await asideTokens(page),
            [...aside].sort((a, b) => a - b),
            what,
          );
          const held = [...aside].reduce((sum, j) => sum + values[j], 0);
          assertShare(await page.locator("#aside-share").textContent(), held / mass, what);
          for (const j of await ranked(page)) assert.ok(!aside.has(j), `${what}: ${j} is ranked`);
        };
        await check(report.dropped, "the report's rules");
        // Off.
        if (report.dropped.size > 0) await page.locator("#reset").click();
        await check(new Set(), "nothing");
        const order = [...values.keys()].filter((j) => values[j] > 0).sort((a, b) => values[b] - values[a] || a - b);
        if (!half) assert.deepEqual(await ranked(page), order.slice(0, report.settings.top_k));
        // A click on a token, and another.
        await promptToken(page, 0).click({ position: { x: 3, y: 8 } });
        await check(new Set([0]), "a click");
        await promptToken(page, 0).click({ position: { x: 3, y: 8 } });
        await check(new Set(), "two clicks");
        // An expression.
        await page.locator("#pattern").fill("^(?:it|user|hello|<b>)$");
        const named = new Set();
        for (const [j, token] of report.input.tokens.entries()) {
          if (/^(?:it|user|hello|<b>)$/iu.test(token.text.trim())) named.add(j);
        }
        assert.ok(named.size > 0);
        await check(named, "an expression");
        await page.locator("#pattern").fill("(");
        assert.match(await page.locator("#pattern-problem").textContent(), /regular expression/u);
        await check(new Set(), "an expression that is none");
        await page.locator("#reset").click({ force: true });
        await page.locator("#pattern").fill("");
        const special = new Set(report.input.tokens.flatMap((token, j) => (token.special ? [j] : [])));
        const box = page.getByRole("checkbox", { name: "special tokens" });
        assert.equal(await box.isVisible(), special.size > 0);
        if (special.size > 0) {
          await box.check();
          await check(special, "special tokens");
          await box.uncheck();
        }
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("steps with the mouse and from the keyboard", async () => {
        await saidToken(page, 0).click();
        assert.deepEqual(await selected(page), [0]);
        await page.keyboard.press("End");
        assert.deepEqual(await selected(page), [report.n - 1]);
        await page.keyboard.press("Home");
        assert.deepEqual(await selected(page), [0]);
        const direction = await page.$eval("#generated .line", (line) => getComputedStyle(line).direction);
        const second = Math.min(1, report.n - 1);
        await page.keyboard.press(direction === "rtl" ? "ArrowLeft" : "ArrowRight");
        assert.deepEqual(await selected(page), [second]);
        const focused = await page.evaluate(() => document.activeElement.getAttribute("data-token"));
        assert.equal(focused, String(second));
        await page.keyboard.press("Home");
        // Anywhere on the page right is the next token.
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press("ArrowRight");
        assert.deepEqual(await selected(page), [second]);
        assert.match(await page.locator("#step").textContent(), new RegExp(`^${second + 1} of ${report.n}$`, "u"));
        if (report.n > 1) {
          await page.locator("#previous").click();
          assert.deepEqual(await selected(page), [0]);
          await page.locator("#next").click();
          assert.deepEqual(await selected(page), [1]);
        }
        // A token of the prompt with the space bar.
        await page.locator('#prompt [tabindex="0"]').focus();
        await page.keyboard.press("Home");
        const before = await asideTokens(page);
        await page.keyboard.press(" ");
        assert.notDeepEqual(await asideTokens(page), before);
        await page.keyboard.press("Enter");
        assert.deepEqual(await asideTokens(page), before);
        assert.equal(await page.$$eval('#generated [tabindex="0"]', (all) => all.length), 1);
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("plays to the end", async () => {
        await saidToken(page, Math.max(0, report.n - 2)).click();
        await page.locator("#play").click();
        await page.waitForFunction(() => document.getElementById("play").ariaPressed === "false");
        assert.deepEqual(await selected(page), [report.n - 1]);
      });

      test("a click in the maps chooses a token or a layer", async () => {
        await choose(page, first);
        await saidToken(page, 0).click();
        const map = page.locator("#map svg");
        const label = map.locator("text.label").last();
        await label.click();
        assert.deepEqual(await selected(page), [report.n - 1]);
        if (report.layersOf(first).length < 2) return;
        await page.locator("#heat text.label").first().click();
        assert.equal(await page.locator("#layers").inputValue(), "one");
        assertClose(await promptValues(page), report.values(first, report.n - 1, [last]), half, "the last layer");
        await page.locator("#layers").selectOption("all");
      });

      test("says how likely the token was", async () => {
        const token = report.generation.tokens[report.n - 1];
        const bars = await page.$$eval("#choices li", (all) => all.map((bar) => bar.lastChild.textContent));
        assert.ok(bars.length >= token.choices.length);
        for (const [i, { probability }] of token.choices.entries()) {
          assert.ok(Math.abs(Number(bars[i]) - probability) <= 0.0000501 + 0.06 * probability, bars[i]);
        }
        assert.equal(await page.locator('#choices [aria-current="true"]').count(), 1);
      });

      test("nothing of the texts runs or becomes an element", async () => {
        assert.notEqual(await page.title(), "run");
        const foreign = await page.$$eval("main img, main script, main iframe, main b:not(#aside-share)", (all) =>
          all.filter((element) => element.closest(".readout") === null).map((element) => element.outerHTML),
        );
        assert.deepEqual(foreign, []);
      });

      test("fits a narrow screen, light and dark", async () => {
        for (const colorScheme of ["light", "dark"]) {
          const narrow = await open(browser, path, { viewport: { width: 360, height: 740 }, colorScheme });
          for (const method of report.methods) {
            await choose(narrow.page, method);
            const width = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(width <= 360, `${width} pixels wide with ${method}`);
          }
          assert.deepEqual(narrow.watch, { requests: [], messages: [] });
          await narrow.close();
        }
      });

      test("no two controls overlap", async () => {
        const boxes = await page.$$eval("#controls button, #controls select, #controls label", (all) =>
          all
            .filter((element) => element.checkVisibility())
            .map((element) => {
              const { left, right, top, bottom } = element.getBoundingClientRect();
              return { left, right, top, bottom, name: element.id || element.textContent };
            }),
        );
        for (const [i, a] of boxes.entries()) {
          for (const b of boxes.slice(i + 1)) {
            const apart =
              a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
            assert.ok(apart, `${a.name} and ${b.name}`);
          }
        }
      });

      test("names what can be operated", async () => {
        const unnamed = await page.$$eval(
          "button, input, select, [role=listbox], [role=option], [role=button], [role=img]",
          (all) =>
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
        assert.deepEqual(unnamed, []);
      });
    });
  }
});
