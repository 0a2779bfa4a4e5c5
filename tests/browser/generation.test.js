// Opens the page of every generation in $ATTNFLOW_HTML/generation and compares its numbers with the report in full
// precision.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { assertSaid, drawn, numberOf, open, overlaps, startBrowser, unnamed, violations } from "./browser.js";
import { relativeError, samplePages } from "./viewer_pages.js";

const pages = samplePages("generation");

/**
 * A report, with `values(array, token, layers)`: the mean over layers of a row, of prompt tokens or (arrays named
 * `*_generated`) of generated ones.
 */
function readReport(json) {
  const report = JSON.parse(readFileSync(json, "utf8"));
  const arrays = {};
  for (const [key, { data, dtype }] of Object.entries(report.arrays)) {
    const bytes = new Uint8Array(Buffer.from(data, "base64"));
    arrays[key] = dtype === "f64" ? new Float64Array(bytes.buffer) : bytes;
  }
  const m = report.input.tokens.length;
  const n = report.generation.tokens.length;
  const isFlow = (array) => array.startsWith("flow");
  // Reports of versions 1 and 2 have other names, and arrays of [token, column, layer].
  const old = report.version < 3;
  const { excluded = report.generation.dropped } = report.generation;
  const flowLayers = old ? report.generation.flow_layers : (report.flow_layers ?? report.settings.layers);
  const flowTokens = old ? report.generation.flow_tokens : report.flow_output_tokens?.map((at) => at - (m - 1));
  const layersOf = (array) => (isFlow(array) ? flowLayers : report.settings.layers);
  const rowsOf = (array) => (isFlow(array) ? flowTokens : [...Array(n).keys()]);
  const values = (array, token, layers = layersOf(array)) => {
    const row = rowsOf(array).indexOf(token);
    if (row < 0) return null;
    const all = layersOf(array);
    const columns = array.endsWith("_generated") ? n : m;
    return [...Array(columns).keys()].map((j) => {
      const rows = rowsOf(array).length;
      const at = (l) => (old ? (row * columns + j) * all.length + l : (l * rows + row) * columns + j);
      const sum = layers.reduce((s, l) => s + arrays[array][at(all.indexOf(l))], 0);
      return sum / layers.length;
    });
  };
  const methods = ["raw", "rollout", "flow"].filter((method) => arrays[method]);
  const dropped = new Set(excluded.flatMap((rule) => rule.tokens));
  const has = (array) => array in arrays;
  /** Of the prompt and, where the report tells of them, of the generated tokens. */
  const allValues = (method, token) => [
    ...values(method, token),
    ...(has(`${method}_generated`) ? values(`${method}_generated`, token) : []),
  ];
  return { ...report, m, n, methods, values, allValues, layersOf, rowsOf, rules: excluded, dropped, has };
}

const promptValues = (page) =>
  page.$$eval("#prompt .token", (tokens) => {
    const values = [];
    for (const token of tokens) values[Number(token.dataset.token)] = token.dataset.value;
    return values.map((value) => (value === "" ? null : Number(value)));
  });
const asideTokens = (page) =>
  page.$$eval("#prompt .token", (tokens) =>
    tokens.filter((token) => token.classList.contains("excluded")).map((token) => Number(token.dataset.token)),
  );
const ranked = (page) =>
  page.$$eval("#rank tbody tr", (rows) => rows.map((row) => Number(row.getAttribute("data-token"))));
const selected = (page) =>
  page.$$eval('#generated [aria-selected="true"]', (tokens) => tokens.map((token) => Number(token.dataset.token)));
const promptToken = (page, j) => page.locator(`#prompt [data-token="${j}"]`);
const saidToken = (page, t) => page.locator(`#generated [data-token="${t}"]`);
/** Excludes no token. */
async function countAll(page) {
  await page.locator("#filters-button").click();
  if (await page.locator("#reset").isEnabled()) await page.locator("#reset").click();
  await page.keyboard.press("Escape");
}
const choose = (page, method) => page.locator(`#methods input[value="${method}"]`).check({ force: true });

/** @param relative the relative error of the page's numbers */
function assertClose(actual, expected, relative, what) {
  assert.equal(actual.length, expected.length, what);
  for (const [i, value] of expected.entries()) {
    const error = Math.abs(actual[i] - value);
    const bound = relative * Math.abs(value) + 2 ** -24;
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

  for (const { name, json, html: path } of pages) {
    describe(name, () => {
      const report = readReport(json);
      const precision = relativeError(path);
      const exact = precision < 2 ** -20;
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
          assertClose(await promptValues(page), report.values(method, token), precision, `${method}, all layers`);
          if (layers.length < 2) {
            // There is nothing to choose, and the list says what is shown.
            assert.equal(await page.locator("#layers").isDisabled(), true);
            assert.equal(await page.locator("#layers").textContent(), `${layers[0]} alone`);
            continue;
          }
          await page.locator("#layers").selectOption("last");
          assertClose(await promptValues(page), report.values(method, token, [last]), precision, `${method}, last`);
          await page.locator("#layers").selectOption("one");
          await page.locator("#from-layer").selectOption(String(layers[0]));
          assertClose(await promptValues(page), report.values(method, token, [layers[0]]), precision, `${method}, one`);
          await page.locator("#layers").selectOption("range");
          await page.locator("#from-layer").selectOption(String(layers[1]));
          await page.locator("#to-layer").selectOption(String(last));
          const range = layers.slice(1);
          assertClose(await promptValues(page), report.values(method, token, range), precision, `${method}, range`);
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
        assertClose(await promptValues(page), report.values(`${first}_normalized`, 0), precision, "normalised");
        await box.uncheck();
        assertClose(await promptValues(page), report.values(first, 0), precision, "plain");
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

      test("excludes tokens and says which share they hold", async () => {
        await choose(page, first);
        await saidToken(page, report.n - 1).click();
        const values = report.values(first, report.n - 1);
        const mass = values.reduce((a, b) => a + b, 0);
        // What the prompt's part leaves over lies on generated tokens.
        const whole = report.n === 1 ? mass : Math.max(1, mass);
        const check = async (aside, what) => {
          assert.deepEqual(
            await asideTokens(page),
            [...aside].sort((a, b) => a - b),
            what,
          );
          const held = [...aside].reduce((sum, j) => sum + values[j], 0);
          assertShare(await page.locator("#excluded-share").textContent(), held / whole, what);
          for (const j of await ranked(page)) assert.ok(!aside.has(j), `${what}: ${j} is ranked`);
        };
        // A first token that takes most is left out from the start.
        const most = values[0] > 2 * Math.max(0, ...values.slice(1)) && values.slice(1).some((value) => value > 0);
        const unspecial = report.rules.filter(({ rule }) => rule !== "special tokens");
        await check(
          new Set([...unspecial.flatMap(({ tokens }) => tokens), ...(most ? [0] : [])]),
          "the report's rules",
        );
        await countAll(page);
        await check(new Set(), "nothing");
        const all = report.allValues(first, report.n - 1);
        const order = [...all.keys()].filter((j) => all[j] > 0).sort((a, b) => all[b] - all[a] || a - b);
        if (exact) assert.deepEqual(await ranked(page), order.slice(0, report.settings.top_k));
        // A plain click on the prompt only points at a token.
        await promptToken(page, 0).click({ position: { x: 3, y: 8 } });
        await check(new Set(), "a plain click");
        assert.deepEqual(await selected(page), [report.n - 1]);
        // A click with Ctrl on a token, and another.
        await promptToken(page, 0).click({ modifiers: ["Control"], position: { x: 3, y: 8 } });
        await check(new Set([0]), "a click");
        await promptToken(page, 0).click({ modifiers: ["Control"], position: { x: 3, y: 8 } });
        await check(new Set(), "two clicks");
        // The key x, in the text.
        await promptToken(page, 0).focus();
        await page.keyboard.press("x");
        await check(new Set([0]), "the key x");
        await page.keyboard.press("x");
        await check(new Set(), "the key x, twice");
        // An expression; the clicks have closed the panel.
        await page.locator("#filters-button").click();
        await page.locator("#pattern").fill("^(?:it|user|hello|<b>)$");
        const named = new Set();
        for (const [j, token] of report.input.tokens.entries()) {
          if (/^(?:it|user|hello|<b>)$/iu.test(token.text.trim())) named.add(j);
        }
        assert.ok(named.size > 0);
        await check(named, "an expression");
        await page.locator("#pattern").fill("(");
        assert.match(await page.locator("#pattern-problem").textContent(), /^Invalid regular expression: /u);
        await check(new Set(), "an expression that is none");
        await page.locator("#reset").click();
        assert.equal(await page.locator("#pattern").inputValue(), "");
        await page.keyboard.press("Escape");
        const rule = report.rules.find((one) => one.rule === "special tokens");
        const special = new Set([
          ...report.input.tokens.flatMap((token, j) => (token.special ? [j] : [])),
          ...(rule?.tokens ?? []),
        ]);
        const box = page.locator("#skip-special");
        if (special.size > 0) {
          await box.check();
          await check(special, "special tokens");
          const note = page.locator("#special-note");
          assert.match(await note.textContent(), /^\d+ special tokens? excluded/u);
          const held = [...special].reduce((sum, j) => sum + values[j], 0);
          if (special.size === (await asideTokens(page)).length && !report.generation.tokens.some((t) => t.special)) {
            const share = /\((\S+|under 1%|over 99%) of the total\)/u.exec(await note.textContent())[1];
            assertShare(share, held / whole, "the note");
          }
          await page.locator("#special-toggle").click();
          await check(new Set(), "special tokens, counted by the note's button");
          assert.match(await note.textContent(), /^\d+ special tokens? included/u);
          assert.equal(await box.isChecked(), false);
          await page.evaluate(() => document.activeElement.blur());
          await page.keyboard.press("s");
          assert.equal(await box.isChecked(), true);
          await page.keyboard.press("s");
        }
        // A key opens the filters; stop words are one of them.
        await page.keyboard.press("f");
        await page.locator("#skip-stop-words").check();
        const words = await page.$$eval("#prompt .token", (all) =>
          all.filter((one) => one.classList.contains("excluded")).map((one) => one.textContent.trim().toLowerCase()),
        );
        for (const word of words) assert.ok(/^(?:[a-z]+|[^a-z0-9]*)$/u.test(word), word);
        await page.locator("#skip-stop-words").uncheck();
        await page.keyboard.press("Escape");
        await check(new Set(), "nothing again");
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
        await drawn(page);
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
        // In the prompt x excludes; the space bar and Enter change nothing, nor do they play.
        await page.locator('#prompt [tabindex="0"]').focus();
        await page.keyboard.press("Home");
        const before = await asideTokens(page);
        await page.keyboard.press("x");
        assert.notDeepEqual(await asideTokens(page), before);
        await page.keyboard.press("x");
        for (const key of [" ", "Enter"]) {
          await page.keyboard.press(key);
          assert.deepEqual(await asideTokens(page), before);
          assert.equal(await page.locator("#play").getAttribute("aria-pressed"), "false");
        }
        assert.equal(await page.$$eval('#generated [tabindex="0"]', (all) => all.length), 1);
        // Elsewhere the keys mean the same, and the space bar plays.
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press("End");
        assert.deepEqual(await selected(page), [report.n - 1]);
        await page.keyboard.press("Home");
        assert.deepEqual(await selected(page), [0]);
        if (report.n > 1) {
          await page.keyboard.press(" ");
          assert.equal(await page.locator("#play").getAttribute("aria-pressed"), "true");
          await page.keyboard.press(" ");
          assert.equal(await page.locator("#play").getAttribute("aria-pressed"), "false");
        }
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("shows what was drawn on generated tokens, in the text and in the table", async () => {
        if (!report.has(`${first}_generated`)) return;
        await choose(page, first);
        const token = report.n - 1;
        await saidToken(page, token).click();
        await countAll(page);
        const expected = report.values(`${first}_generated`, token).slice(0, token);
        const shown = await page.$$eval("#generated .token", (all) => all.map((one) => one.dataset.value));
        assertClose(shown.slice(0, token).map(Number), expected, precision, "generated");
        assert.ok(shown.slice(token).every((value) => value === ""));
        if (await page.locator("#rank-all").isVisible()) await page.locator("#rank-all").click();
        const lines = await page.$$eval("#rank tbody tr", (rows) =>
          rows.map((row) => [
            Number(row.dataset.token),
            row.children[1].textContent,
            Number(row.children[3].dataset.value),
          ]),
        );
        const all = report.allValues(first, token);
        assert.equal(lines.length, all.filter((value) => value > 0).length);
        for (const [column, position, value] of lines) {
          assert.equal(position, column < report.m ? String(column) : `generated ${column - report.m + 1}`);
          assertClose([value], [all[column]], precision, `column ${column}`);
        }
        // They can be excluded, too.
        await page.locator("#filters-button").click();
        await page.getByRole("checkbox", { name: /^generated tokens/u }).check();
        assert.ok((await ranked(page)).every((column) => column < report.m));
        await page.getByRole("checkbox", { name: /^generated tokens/u }).uncheck();
        await page.keyboard.press("Escape");
        if (await page.locator("#rank-all").isVisible()) await page.locator("#rank-all").click();
      });

      test("all methods stand side by side, with the numbers of the report", async () => {
        await choose(page, first);
        const token = report.methods.includes("flow") ? report.rowsOf("flow")[0] : report.n - 1;
        await saidToken(page, token).click();
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press("c");
        assert.equal(await page.locator("#methods-card").count(), report.methods.length > 1 ? 1 : 0);
        assert.equal(await page.locator("#compare-button").isDisabled(), report.methods.length < 2);
        if (report.methods.length < 2) return;
        for (const method of report.methods) {
          const shown = await page.$$eval(`#all-methods [data-strip="${method}"] .token`, (all) =>
            all.map((one) => [Number(one.dataset.token), one.dataset.value]),
          );
          const values = shown.filter(([column]) => column < report.m).map(([, value]) => Number(value));
          assertClose(values, report.values(method, token), precision, method);
          assert.ok(shown.filter(([column]) => column >= report.m + token).every(([, value]) => !value));
        }
        await page.locator("#compare-button").click();
        assert.equal(await page.locator("#methods-card").count(), 0);
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("the scale may begin at the least value, and small values may stay blank", async () => {
        await choose(page, first);
        await saidToken(page, report.n - 1).click();
        const colours = () =>
          page.$$eval("#prompt .token", (all) =>
            all.map((one) => [
              Number(one.dataset.value),
              one.style.backgroundColor,
              one.classList.contains("excluded"),
            ]),
          );
        const weakest = await page.evaluate(() => {
          const ramp = document.querySelector("#text-card .legend .ramp");
          return getComputedStyle(ramp).backgroundImage.match(/rgb\([^)]*\)/u)[0];
        });
        await page.locator("#look-button").click();
        await page.locator("#threshold").fill("0.5");
        const counted = (await colours()).filter(([, , aside]) => !aside);
        const top = numberOf(await page.locator("#text-card .legend span").nth(2).textContent());
        for (const [value, colour] of counted) if (value < 0.4 * top) assert.equal(colour, weakest);
        await page.locator("#threshold").fill("0");
        await page.locator("#from-least").check();
        const [low] = (await page.locator("#text-card .legend span").first().textContent()).split(" ");
        const all = report
          .allValues(first, report.n - 1)
          .filter((_, j) => j < report.m + report.n - 1)
          .filter((_, j) => j >= report.m || counted.length === report.m);
        if (counted.length === report.m) {
          // A scale has two ends: where all values are the same it begins at 0.
          const least = Math.min(...all) < top ? Math.min(...all) : 0;
          assert.ok(Math.abs(numberOf(low) - least) <= 0.0001 + 0.06 * least, `${low}: ${least}`);
        }
        await page.locator("#from-least").uncheck();
        await page.keyboard.press("Escape");
      });

      test("normalised values stand beside the plain ones", async () => {
        if (!report.has(`${first}_normalized`)) return;
        await choose(page, first);
        await saidToken(page, 0).click();
        const lines = await page.$$eval("#rank tbody tr", (rows) =>
          rows.map((row) => [Number(row.dataset.token), Number(row.querySelector("[data-beside]").dataset.beside)]),
        );
        const normalized = report.values(`${first}_normalized`, 0);
        for (const [column, value] of lines) assertClose([value], [normalized[column]], precision, `column ${column}`);
      });

      test("flow values are no shares, and degenerate ones are marked", async () => {
        if (!report.methods.includes("flow")) return;
        await choose(page, "flow");
        const token = report.rowsOf("flow")[0];
        await saidToken(page, token).click();
        assert.equal(await page.locator("#excluded-share").count(), 0);
        assert.match(await page.locator("#shares").textContent(), /do not add up/u);
        assert.equal(await page.locator("#rank thead th", { hasText: "of the prompt" }).count(), 0);
        assert.doesNotMatch(await page.locator("#filters").textContent(), /%/u);
        const flags = report.values("flow_degenerate", token);
        const values = report.values("flow", token);
        const expected = [...flags.keys()].filter((j) => flags[j] > 0 && values[j] > 0);
        assert.deepEqual(
          await page.$$eval("#prompt .token.degenerate", (all) => all.map((one) => Number(one.dataset.token))),
          expected,
        );
        assert.equal((await page.locator("#text-help").textContent()).includes("°"), expected.length > 0);
        if (await page.locator("#rank-all").isVisible()) await page.locator("#rank-all").click();
        const marked = await page.$$eval("#rank tr:has(.mark)", (rows) => rows.map((row) => Number(row.dataset.token)));
        const rankedNow = new Set(await ranked(page));
        assert.deepEqual(
          marked.sort((a, b) => a - b),
          expected.filter((j) => rankedNow.has(j)),
        );
        if (await page.locator("#rank-all").isVisible()) await page.locator("#rank-all").click();
        await choose(page, first);
      });

      test("pieces that begin with a space carry a sign in tips; lists name words", async () => {
        await choose(page, first);
        assert.equal(await page.locator("#rank .piece .space").count(), 0);
        for (const [column, { text }] of [...report.input.tokens.entries()].slice(0, 3)) {
          await promptToken(page, column).hover({ position: { x: 3, y: 8 } });
          const tip = page.locator("#text-readout");
          await tip.waitFor();
          const signs = await tip.locator(".token-name").last().locator(".piece .space").count();
          if (/^[ \u0120\u2581]\S/u.test(text)) assert.ok(signs > 0, JSON.stringify(text));
        }
      });

      test("pointing at a token shows it everywhere", async () => {
        await choose(page, first);
        await saidToken(page, report.n - 1).click();
        await promptToken(page, 0).hover({ position: { x: 3, y: 8 } });
        assert.equal(await page.locator("#map .pointing .column").count(), 1);
        assert.match(await page.locator("#text-readout").textContent(), / ← /u);
        // From a picture to the text. The page scrolls: a resting pointer would be over something else.
        await page.mouse.move(0, 0);
        await page.locator("#map-cells").focus();
        await page.keyboard.press("Home");
        await page.keyboard.press("PageDown");
        assert.deepEqual(
          await page.$$eval("#prompt .token.pointed", (all) => all.map((one) => Number(one.dataset.token))),
          [0],
        );
        const value = report.values(first, report.n - 1)[0];
        assertSaid(await page.locator("#map-readout b").textContent(), value);
        await page.keyboard.press("Enter");
        assert.deepEqual(await selected(page), [report.n - 1]);
        await page.keyboard.press("Escape");
        assert.equal(await page.locator("#map .pointing").count(), 0);
      });

      test("the address keeps what is chosen", async () => {
        await choose(page, first);
        await countAll(page);
        await saidToken(page, report.n - 1).click();
        await promptToken(page, 0).click({ modifiers: ["Control"], position: { x: 3, y: 8 } });
        if (report.layersOf(first).length > 1) {
          await page.locator("#layers").selectOption("one");
          await page.locator("#from-layer").selectOption(String(last));
        }
        await page.waitForFunction(() => location.hash.startsWith("#v="));
        await page.waitForTimeout(600);
        const [values, aside, hash] = [await promptValues(page), await asideTokens(page), new URL(page.url()).hash];
        const again = await open(browser, path);
        await again.page.evaluate((fragment) => (location.hash = fragment), hash);
        await again.page.waitForFunction(
          (t) => document.querySelector(`#generated [data-token="${t}"]`).ariaSelected === "true",
          report.n - 1,
        );
        assert.deepEqual(await promptValues(again.page), values);
        assert.deepEqual(await asideTokens(again.page), aside);
        assert.deepEqual(await selected(again.page), [report.n - 1]);
        // Back, just after something plays, is back: it plays no more.
        if (report.n > 2) {
          const before = await selected(again.page);
          await again.page.waitForTimeout(500);
          await saidToken(again.page, 0).click();
          await again.page.locator("#play").click();
          await again.page.goBack();
          await again.page.waitForTimeout(1200);
          assert.deepEqual(await selected(again.page), before);
          assert.equal(await again.page.locator("#play").getAttribute("aria-pressed"), "false");
          assert.equal(new URL(again.page.url()).hash, hash);
        }
        // A fragment from anyone changes nothing that it may not.
        await again.page.evaluate(() => (location.hash = "#v=1&m=nothing&t=99999&l=7-x&f=2&x=-&re=%28"));
        await again.page.waitForTimeout(100);
        assert.deepEqual(await selected(again.page), [0]);
        assert.deepEqual(again.watch, { requests: [], messages: [] });
        await again.close();
        await page.locator("#layers").selectOption("all", { force: true });
        await promptToken(page, 0).click({ modifiers: ["Control"], position: { x: 3, y: 8 } });
      });

      test("saves what it shows", async () => {
        const save = async (card, kind) => {
          await page.locator(`#${card}-card .export > button`).click();
          const [file] = await Promise.all([
            page.waitForEvent("download"),
            page.locator(`#${card}-card [data-kind="${kind}"]`).click(),
          ]);
          return readFileSync(await file.path(), "utf8");
        };
        await choose(page, first);
        await saidToken(page, report.n - 1).click();
        const csv = await save("map", "csv");
        const [head, ...lines] = csv.trimEnd().split("\r\n");
        assert.equal(head, "output_token,output_text,part,input_token,input_text,value");
        const numbers = lines.filter((line) => line.startsWith("0,") && line.includes(",prompt,"));
        assertClose(
          numbers.map((line) => Number(line.slice(line.lastIndexOf(",") + 1))),
          report.values(first, 0),
          precision,
          "csv",
        );
        const svg = await save("heat", "svg");
        const parsed = await page.evaluate((text) => {
          const picture = new DOMParser().parseFromString(text, "image/svg+xml");
          const cells = [...picture.querySelectorAll("rect[data-value]")].map((cell) => Number(cell.dataset.value));
          const { length: images } = picture.querySelectorAll("image");
          const part = (name) => picture.querySelector(`[data-part="${name}"]`)?.textContent ?? "";
          return {
            caption: [part("title"), part("facts")],
            legend: part("legend").replace(/\n/g, ""),
            root: picture.documentElement.nodeName,
            errors: picture.querySelectorAll("parsererror").length,
            cells,
            images,
          };
        }, svg);
        assert.equal(parsed.root, "svg");
        assert.equal(parsed.errors, 0);
        assert.equal(parsed.caption[0], "By layer");
        assert.match(parsed.caption[1], new RegExp(`^Method ${first}; Generated token ${report.n} of ${report.n} “`));
        assert.equal(parsed.legend, (await page.locator("#heat-card .legend").textContent()).trim());
        // Marks of the text are those of the screen, once for each line that a token stands on.
        const marksOf = async () =>
          page.evaluate(
            (text) => {
              const picture = new DOMParser().parseFromString(text, "image/svg+xml");
              return [
                ["above", ".above"],
                ["degenerate", ".degenerate"],
                ["excluded", ".excluded"],
                ["frame", '[aria-selected="true"]'],
              ].map(([mark, found]) => [
                picture.querySelectorAll(`[data-part="picture"] [data-mark="${mark}"]`).length,
                [...document.querySelectorAll(`#text-strips .token${found}`)].reduce(
                  (sum, token) => sum + token.getClientRects().length,
                  0,
                ),
              ]);
            },
            await save("text", "svg"),
          );
        const methods = await page.$$eval("#methods input:not(:disabled)", (all) => all.map((input) => input.value));
        for (const method of methods.reverse()) {
          await choose(page, method);
          for (const [drawn, onScreen] of await marksOf()) assert.equal(drawn, onScreen, method);
        }
        await choose(page, first);
        if (parsed.images === 0) {
          const shown = await page.$$eval(
            "#prompt .token",
            (all) => all.filter((one) => !one.classList.contains("excluded")).length,
          );
          const said = report.has(`${first}_generated`) ? report.n - 1 : 0;
          assert.equal(parsed.cells.length, report.layersOf(first).length * (shown + said));
          // The first row of the picture is the last layer.
          const values = report.values(first, report.n - 1, [last]);
          const aside = new Set(await asideTokens(page));
          const j = values.findIndex((_, token) => !aside.has(token));
          assertClose([parsed.cells[0]], [values[j]], precision, "svg");
        }
        // What is excluded, in the numbers of the panel and of the line below the text.
        const facts = async (svg) =>
          page.evaluate((text) => {
            const picture = new DOMParser().parseFromString(text, "image/svg+xml");
            const lines = [...picture.querySelectorAll('[data-part="facts"] text')];
            return lines.map((line) => line.textContent).join(" ");
          }, svg);
        await saidToken(page, 0).click();
        await promptToken(page, 0).click({ modifiers: ["Control"], position: { x: 3, y: 8 } });
        const [, count, share] = /Excluded from ranking and scale (\d+ of \d+ tokens), ((?:under |over )?\d+%):/u.exec(
          await facts(await save("text", "svg")),
        );
        assert.equal(await page.locator("#excluded-share").textContent(), share);
        await page.locator("#filters-button").click();
        assert.equal(
          await page.locator("#excluded-of-all").textContent(),
          `${count} are excluded, ${share} of the total.`,
        );
        await page.keyboard.press("Escape");
        await promptToken(page, 0).click({ modifiers: ["Control"], position: { x: 3, y: 8 } });
        // A picture of every method is captioned with them all.
        if (methods.length > 1) {
          await saidToken(page, report.rowsOf("flow")[0] ?? 0).click();
          await page.locator("#compare-button").click();
          const drawn = await page.$$eval("#methods-card [data-strip]", (all) =>
            all.filter((one) => one.querySelector(".legend")).map((one) => one.dataset.strip),
          );
          assert.ok(drawn.length > 1);
          assert.match(await facts(await save("methods", "svg")), new RegExp(`^Method ${drawn.join(", ")};`, "u"));
          await page.locator("#compare-button").click();
        }
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("plays to the end", async () => {
        assert.equal(await page.locator("#play").isDisabled(), report.n === 1);
        if (report.n === 1) return;
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
        assertClose(await promptValues(page), report.values(first, report.n - 1, [last]), precision, "the last layer");
        await page.locator("#layers").selectOption("all");
      });

      test("says how likely the token was", async () => {
        const token = report.generation.tokens[report.n - 1];
        const bars = await page.$$eval("#choices li", (all) => all.map((bar) => bar.lastChild.textContent));
        assert.ok(bars.length >= token.choices.length);
        for (const [i, { probability }] of token.choices.entries()) {
          if (!/^(under|over) /u.test(bars[i])) assertSaid(bars[i], probability);
        }
        assert.equal(await page.locator('#choices [aria-current="true"]').count(), 1);
      });

      test("nothing of the texts runs or becomes an element", async () => {
        assert.notEqual(await page.title(), "run");
        const foreign = await page.$$eval("main img, main script, main iframe, main b:not(#excluded-share)", (all) =>
          all.filter((element) => element.closest(".readout, .tip") === null).map((element) => element.outerHTML),
        );
        assert.deepEqual(foreign, []);
      });

      test("fits a narrow screen, light and dark", async () => {
        for (const colorScheme of ["light", "dark"]) {
          const narrow = await open(browser, path, { viewport: { width: 360, height: 740 }, colorScheme });
          for (const method of report.methods) {
            await choose(narrow.page, method);
            await saidToken(narrow.page, report.rowsOf(method)[0]).click();
            const width = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(width <= 360, `${width} pixels wide with ${method}`);
          }
          // The widest ranking has a column beside the shown one, and one of shares.
          await choose(narrow.page, "rollout");
          await narrow.page.setViewportSize({ width: 390, height: 740 });
          await drawn(narrow.page);
          const cut = await narrow.page.$eval("#rank", (box) => box.scrollWidth - box.clientWidth);
          assert.equal(cut, 0, "columns of the ranking are out of sight");
          assert.deepEqual(narrow.watch, { requests: [], messages: [] });
          await narrow.close();
        }
      });

      test("axe finds nothing, light and dark", async () => {
        for (const colorScheme of ["light", "dark"]) {
          const opened = await open(browser, path, { colorScheme });
          assert.deepEqual(await violations(opened.page), []);
          await opened.close();
        }
      });

      test("no two controls overlap", async () => {
        const found = await overlaps(page, "#controls button, #controls select, #controls label, #controls output");
        assert.deepEqual(found, []);
      });

      test("names what can be operated", async () => {
        const found = await unnamed(
          page,
          "button, input, select, [role=listbox], [role=option], [role=button], [role=img], [role=application]",
        );
        assert.deepEqual(found, []);
      });
    });
  }
});
