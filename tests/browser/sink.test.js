// A decoder's first token takes most of what every token draws on. The small pictures of heads and a comparison still
// show the others: their scales end below it, and their legends say so.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { drawn, numberOf, open, startBrowser, violations } from "./browser.js";
import { makePage } from "./viewer_pages.js";

const fixture = new URL("../../viewer/test/fixtures/causal.json", import.meta.url);
const { report } = JSON.parse(readFileSync(fixture, "utf8"));
const n = report.input.tokens.length;
const L = report.model.layers;
const KEPT = { raw: 0.1, rollout: 0.2, flow: 0.2, attention: 0.1 };

const numbersOf = ({ dtype, data }) => {
  const { buffer } = new Uint8Array(Buffer.from(data, "base64"));
  return dtype === "f64" ? new Float64Array(buffer) : new Float32Array(buffer);
};

// The fixture, of whose values the first token takes most; and that token is none of the special ones.
const values = {};
for (const [name, kept] of Object.entries(KEPT)) {
  const array = report.arrays[name];
  const all = numbersOf(array).map((value, at) => kept * value + (at % n === 0 ? 1 - kept : 0));
  array.data = Buffer.from(all.buffer).toString("base64");
  values[name] = all;
}
for (const token of report.input.tokens) token.special = false;

/** Of the rows of the last token: the largest value of the first token and itself, and of the others. */
function ends(method, layers) {
  const rows = layers.map((layer) => [
    ...values[method].subarray(((layer - 1) * n + n - 1) * n, (layer * n - 1) * n + n),
  ]);
  return {
    parked: Math.max(...rows.map((row) => row[0])),
    rest: Math.max(...rows.flatMap((row) => row.slice(1, n - 1))),
  };
}

const close = (a, b) => Math.abs(a - b) <= 6e-5;

describe("of a decoder whose first token takes most", () => {
  let browser, folder, page, watch, finish;
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "attnflow-sink-"));
    writeFileSync(join(folder, "report.json"), JSON.stringify(report));
    makePage(join(folder, "report.json"), join(folder, "report.html"));
    ({ page, watch, close: finish } = await open(browser, join(folder, "report.html")));
    await page.locator("#methods").getByText("raw", { exact: true }).click();
    await drawn(page);
  });
  after(async () => {
    await finish?.();
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  /** How many pixels of the small pictures' first column have the gray of what lies above, and of others are stronger than the middle of the scale. */
  const strong = () =>
    page.$eval(
      "#heads .sheet",
      (canvas, [layers, tokens]) => {
        const middle = 160; // of red: the blue scale runs from 240 to 40
        const { width, height } = canvas;
        const copy = Object.assign(document.createElement("canvas"), { width, height });
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, width, height);
        const pitch = height / layers;
        const cell = (pitch * (64 / 68)) / tokens;
        let [first, others] = [0, 0];
        for (let l = 0; l < layers; ++l) {
          for (let x = 0; x < width / pitch - 0.5; ++x) {
            for (let q = 0; q < tokens; ++q) {
              for (let k = 0; k <= q; ++k) {
                const at = [x * pitch + (k + 0.5) * cell, l * pitch + (q + 0.5) * cell].map(Math.round);
                const [red, green, blue] = data.slice(4 * (at[1] * width + at[0]));
                if (k === 0 && [red, green, blue].join() === "180,184,190") ++first;
                else if (k > 0 && red <= middle) ++others;
              }
            }
          }
        }
        return [first, others];
      },
      [L, n],
    );

  test("it does not count until somebody asks, and a line says how much it takes", async () => {
    const row = values.raw.subarray(((L - 1) * n + n - 1) * n, L * n * n);
    const note = page.locator("#sink-note");
    assert.match(await note.textContent(), /^Attention sink excluded: .*9\d% of the total/u);
    const first = page.locator('#strip [data-token="0"]');
    assert.equal(await first.evaluate((token) => token.style.backgroundColor), "");
    const top = async () => (await page.locator("#strip-card .legend").textContent()).match(/^0([\d.]+)/u)[1];
    assert.ok(close(numberOf(await top()), Math.max(...row.slice(1, n))), `${await top()}`);
    assert.equal(await page.locator('#rank tr[data-token="0"]').count(), 0);
    assert.equal(await page.locator("#heat .above, #matrix .above").count(), 0);
    await page.locator("#sink-toggle").click();
    await drawn(page);
    assert.match(await note.textContent(), /^Attention sink included: .*Exclude it$/u);
    assert.equal(await page.locator('#rank tr[data-token="0"]').count(), 1);
    await page.waitForFunction(() => location.hash.includes("si=0"));
  });

  test("the small pictures of heads show the other tokens, on one scale and on one each", async () => {
    const heads = report.model.heads;
    const [first, others] = await strong();
    assert.equal(first, L * heads * n);
    assert.ok(others > L * heads, `${others} squares besides the first token's are strong`);
    const legend = page.locator("#heads-card .heads-box > :first-child .legend");
    const said = await legend.textContent();
    let rest = 0;
    values.attention.forEach((value, at) => {
      const [query, key] = [Math.floor(at / n) % n, at % n];
      if (key > 0 && key < query && value > rest) rest = value;
    });
    const [, top, above] = said.match(/^Every head:0([\d.]+)up to ([\d.]+)$/u);
    assert.ok(close(numberOf(top), rest), `the scale ends at ${top}, not ${rest}`);
    assert.equal(numberOf(above), 1);
    // A corner for each square above, of which the first token's are all but a few.
    const corners = async () => (await page.locator("#heads .corners").getAttribute("d")).match(/M/gu).length;
    assert.ok((await corners()) >= L * heads * n);
    await page.locator("#own-scale").check();
    await drawn(page);
    assert.equal(await legend.textContent(), "Every head:0each head's endabove it");
    assert.ok((await strong())[1] >= others);
    assert.equal(await page.locator("#heat-card .legend").textContent(), "0each layer's endabove it");
    await page.locator("#own-scale").uncheck();
    await drawn(page);
  });

  test("squares that are too small for a corner have their colour in the legend", async () => {
    const legends = page.locator("#heads-card .legend");
    assert.equal(await legends.locator(".corner").count(), 2);
    await page.setViewportSize({ width: 240, height: 900 });
    await page.waitForFunction(() => !document.querySelector("#heads .corners"));
    await drawn(page);
    assert.match(await legends.first().textContent(), /^Every head:0[\d.]+up to 1\.0000$/u);
    const large = await page.locator("#head .corners").count();
    assert.equal(await legends.last().locator(".corner").count(), large);
    await page.setViewportSize({ width: 1200, height: 900 });
    await page.waitForFunction(() => document.querySelector("#heads .corners"));
    await drawn(page);
    assert.equal(await legends.locator(".corner").count(), 2);
  });

  test("a comparison shows the other tokens, both sides of a method on one scale", async () => {
    await page.locator("#compare-button").click();
    await page.locator("#compare-method").selectOption("raw");
    await page.locator("#compare-layer").selectOption("2");
    const legends = () => page.locator("#compare .half .legend").allTextContents();
    const both = ends("raw", [2, L]);
    const [first, second, difference] = await legends();
    assert.equal(first, second);
    const [, top, above] = first.match(/^0([\d.]+)up to ([\d.]+)$/u);
    assert.ok(close(numberOf(top), both.rest) && close(numberOf(above), both.parked), first);
    assert.match(difference, /^−[\d.]+\+[\d.]+/u);
    // What lies above has a corner and a colour of its own.
    const above1 = await page
      .locator('#compare [data-side="first"] .above')
      .evaluateAll((all) => all.map((one) => one.dataset.token));
    assert.deepEqual(above1, ["0"]);
    const colour = (token) =>
      page.$eval(
        `#compare [data-side="first"] [data-token="${token}"]`,
        (one) => getComputedStyle(one).backgroundColor,
      );
    assert.equal(
      await colour(0),
      await page.$eval("#compare .half .corner", (one) => getComputedStyle(one).backgroundColor),
    );
    assert.deepEqual(await violations(page), []);
  });

  test("maps of every layer have legends, and say what lies beyond", async () => {
    await page.locator("#compare-method").selectOption("rollout");
    await page.locator("#compare-layer").selectOption(String(L));
    if (await page.locator("#compare-shares").isChecked()) await page.locator("#compare-shares").uncheck();
    await drawn(page);
    const said = await page.locator("#compare-card .layer-map .legend").allTextContents();
    const layers = Array.from({ length: L }, (_, k) => k + 1);
    for (const [k, method] of ["raw", "rollout"].entries()) {
      const { parked, rest } = ends(method, layers);
      const [, top, above] = said[k].match(/^0([\d.]+)up to ([\d.]+)$/u);
      assert.ok(close(numberOf(top), rest) && close(numberOf(above), parked), `${said[k]}: not ${rest}, ${parked}`);
    }
    assert.match(said[2], /^−[\d.]+\+[\d.]+(down to −[\d.]+)?(up to \+[\d.]+)?$/u);
  });

  test("saved pictures have the corners and the legends", async () => {
    for (const [card, legends] of [
      ["compare", 0],
      ["heads", 2],
    ]) {
      await page.locator(`#${card}-card .card-tools`).getByRole("button").last().click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.locator(`#${card}-card`).getByRole("menuitem", { name: /svg/iu }).click(),
      ]);
      const svg = readFileSync(await download.path(), "utf8");
      const found = await page.evaluate((text) => {
        const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
        return {
          name: root.nodeName,
          marks: root.querySelectorAll('[data-mark="above"], .corners').length,
          legends: [...root.querySelectorAll('[data-part="legend"]')].map((one) =>
            one.textContent.replace(/\s+/gu, ""),
          ),
        };
      }, svg);
      assert.equal(found.name, "svg");
      assert.ok(found.marks >= 2, card);
      assert.equal(found.legends.length, legends);
      if (card === "heads") assert.match(found.legends[0], /^Everyhead:0[\d.]+upto1\.0000$/u);
    }
    assert.deepEqual(watch, { requests: [], messages: [] });
  });
});
