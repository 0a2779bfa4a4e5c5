// Opens the page of every picture in $ATTNFLOW_HTML/image and compares its numbers with the report in full precision.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { assertSaid, numberOf, open, overlaps, startBrowser, unnamed, violations } from "./browser.js";
import { relativeError, samplePages } from "./viewer_pages.js";

const pages = samplePages("image");

/** A report, with `row(method, layerIndex, token)`: the values of all tokens, or null. */
function readReport(json) {
  const report = JSON.parse(readFileSync(json, "utf8"));
  const arrays = {};
  for (const [key, { data, dtype }] of Object.entries(report.arrays)) {
    if (dtype === "f64") arrays[key] = new Float64Array(new Uint8Array(Buffer.from(data, "base64")).buffer);
  }
  const n = report.input.tokens.length;
  const { rows, columns, first_patch: first } = report.input.image;
  const rowsOf = (method) => (method === "flow" ? report.flow_output_tokens : report.output_tokens);
  const row = (method, layerIndex, token) => {
    const at = rowsOf(method).indexOf(token);
    if (at < 0) return null;
    const begin = (layerIndex * rowsOf(method).length + at) * n;
    return [...arrays[method].subarray(begin, begin + n)];
  };
  const methods = ["raw", "rollout", "flow"].filter((method) => arrays[method]);
  const patches = [...Array(rows * columns).keys()].map((p) => first + p);
  const specials = [...Array(n).keys()].filter((i) => !patches.includes(i));
  return { ...report, n, rows, columns, first, patches, specials, methods, row, rowsOf };
}

const cellValues = (page) =>
  page.$$eval("#stages .cell", (cells) =>
    cells.map(({ dataset }) => (dataset.value === "" ? null : Number(dataset.value))),
  );
const selected = (page) =>
  page.$$eval('#stages .cell[aria-selected="true"]', (all) => all.map((cell) => Number(cell.dataset.token)));
const pressed = (page) =>
  page.$$eval('#specials [aria-pressed="true"]', (all) => all.map((button) => Number(button.dataset.token)));
const focused = (page) => page.evaluate(() => Number(document.activeElement.dataset.token));
const choose = (page, method) => page.locator(`#methods input[value="${method}"]`).check({ force: true });
const setRange = (page, id, value) =>
  page.$eval(
    id,
    (input, to) => {
      input.value = String(to);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    },
    value,
  );
const cell = (page, token) => page.locator(`#stages .cell[data-token="${token}"]`);
/** Chooses an output token as a reader would. */
const chooseToken = (page, report, token) =>
  report.specials.includes(token)
    ? page.locator(`#specials button[data-token="${token}"]`).click()
    : cell(page, token).click();

/** @param relative the relative error of the page's numbers */
function assertClose(actual, expected, relative, what) {
  assert.equal(actual.length, expected.length, what);
  for (const [i, value] of expected.entries()) {
    const error = Math.abs(actual[i] - value);
    const bound = relative * Math.abs(value) + 2 ** -24;
    assert.ok(error <= bound, `${what}, patch ${i}: ${actual[i]} is not ${value}`);
  }
}

/** "37%" as the page prints a share. */
function assertShare(text, share, what) {
  const printed = text === "under 1%" ? 0.0025 : text === "over 99%" ? 0.9975 : Number(text.replace("%", "")) / 100;
  assert.ok(Math.abs(printed - share) <= 0.0061, `${what}: printed ${text}, expected ${share}`);
}

/**
 * What is drawn on a canvas: its size, the least and the largest sum of a pixel's colours, how many colours there are,
 * and the pixels [r, g, b, a] at the places asked for (all of a small canvas when none are named). Read from a copy: the
 * page's own canvas stays as it is.
 */
const pixelsOf = (page, selector, places = []) =>
  page.$eval(
    selector,
    (canvas, points) => {
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      const at = (x, y) => [...data.slice(4 * (y * copy.width + x), 4 * (y * copy.width + x) + 4)];
      const seen = { width: copy.width, height: copy.height, least: 765, largest: 0, colours: 0, pixels: [] };
      const colours = new Set();
      for (let i = 0; i < data.length; i += 4) {
        const light = data[i] + data[i + 1] + data[i + 2];
        seen.least = Math.min(seen.least, light);
        seen.largest = Math.max(seen.largest, light);
        colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      }
      seen.colours = colours.size;
      const isSmall = copy.width * copy.height <= 1000;
      if (points.length > 0) seen.pixels = points.map(([x, y]) => at(x, y));
      else if (isSmall) for (let i = 0; i < data.length; i += 4) seen.pixels.push([...data.slice(i, i + 4)]);
      return seen;
    },
    places,
  );

describe("pictures", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  for (const { name, json, html: path } of pages) {
    describe(name, () => {
      const report = readReport(json);
      const precision = relativeError(path);
      const last = report.settings.layers.length - 1;
      const first = report.methods.includes("rollout") ? "rollout" : report.methods[0];
      const mapOf = (method, layerIndex, token) =>
        report.row(method, layerIndex, token).slice(report.first, report.first + report.patches.length);
      let page, watch, close;
      const openPage = async (options) => {
        const opened = await open(browser, path, options);
        await opened.page.locator("#picture-card[data-ready]").waitFor(); // the picture is decoded
        return opened;
      };
      before(async () => {
        ({ page, watch, close } = await openPage());
      });
      after(() => close());

      test("asks for nothing and reports nothing", async () => {
        assert.equal(await page.locator("#page").isVisible(), true);
        assert.equal(await page.locator("#failure").isVisible(), false);
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("says what the model was given of the picture", async () => {
        const { width, height, rows, columns } = report.input.image;
        const given = `${4 * columns} × ${4 * rows} pixels, gray`;
        assert.match(await page.locator("#model").textContent(), new RegExp(` · ${given} · `, "u"));
        const settings = await page.locator("#settings").textContent();
        assert.ok(settings.includes(`${width} × ${height} pixels; given to the model as ${given}`), settings);
      });

      test("cannot ask for anything even when it tries", async () => {
        const blocked = await page.evaluate(() => {
          const image = new Image();
          const loaded = new Promise((done) =>
            Object.assign(image, { onload: () => done(false), onerror: () => done(true) }),
          );
          image.src = "https://example.org/picture.png";
          const fetched = fetch("https://example.org/").then(
            () => false,
            () => true,
          );
          return Promise.all([loaded, fetched]);
        });
        assert.deepEqual(blocked, [true, true]);
        assert.deepEqual(watch.requests, []); // stopped by the page's own policy, before any request
        watch.messages.length = 0; // Chromium says so on the console
      });

      test("shows the picture where the grid says it is", async () => {
        const { image } = report.input;
        const boxes = await page.evaluate(() => {
          const box = (selector) => {
            const { left, top, width, height } = document.querySelector(selector).getBoundingClientRect();
            return { left, top, width, height };
          };
          const stage = "#stages figure";
          return { photo: box(`${stage} .photo`), map: box(`${stage} .map`), grid: box("#stages .grid") };
        });
        const scale = boxes.photo.width / image.width;
        assert.ok(scale > 0);
        assert.ok(Math.abs(boxes.photo.height / image.height - scale) < 0.01 * scale + 1 / image.height);
        const [left, top, right, bottom] = image.seen;
        for (const part of [boxes.map, boxes.grid]) {
          assert.ok(Math.abs(part.left - (boxes.photo.left + scale * left)) < 1);
          assert.ok(Math.abs(part.top - (boxes.photo.top + scale * top)) < 1);
          assert.ok(Math.abs(part.width - scale * (right - left)) < 1);
          assert.ok(Math.abs(part.height - scale * (bottom - top)) < 1);
        }
        const photo = await pixelsOf(page, "#stages figure .photo");
        assert.equal(photo.width, image.picture.width);
        assert.equal(photo.height, image.picture.height);
        assert.ok(photo.colours > 3, "the picture is blank");
      });

      test("its numbers are those of the report, for every method and layer", async () => {
        for (const method of report.methods) {
          await choose(page, method);
          const token = report.rowsOf(method).at(-1);
          await chooseToken(page, report, token);
          for (const index of new Set([0, Math.floor(last / 2), last])) {
            await setRange(page, "#layer", index);
            assertClose(await cellValues(page), mapOf(method, index, token), precision, `${method}, layer ${index}`);
          }
        }
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("the map has the colours of its legend", async () => {
        await page.locator('#overlay input[value="colour"]').check({ force: true });
        await choose(page, "raw");
        await setRange(page, "#layer", last);
        const token = report.output_token;
        await chooseToken(page, report, token);
        const values = mapOf("raw", last, token);
        const map = await pixelsOf(page, '#stages figure[data-method="raw"] .map');
        assert.equal(map.width, report.columns);
        assert.equal(map.height, report.rows);
        // Nobody sees itself: it may lie above the scale. All others darken (or, in the dark, lighten) with the value.
        const order = [...values.keys()]
          .filter((p) => report.first + p !== token)
          .sort((a, b) => values[a] - values[b]);
        const light = order.map((p) => map.pixels[p][0] + map.pixels[p][1] + map.pixels[p][2]);
        for (let k = 1; k < light.length; ++k) assert.ok(light[k] <= light[k - 1] + 2, `${k}: ${light[k]}`);
        const [low, , top] = await page.$$eval('figure[data-method="raw"] > .legend span', (all) =>
          all.map((part) => part.textContent),
        );
        assert.equal(low, "0");
        const largest = Math.max(...values);
        const rest = Math.max(...order.map((p) => values[p]));
        const expected = largest > 2 * rest && rest > 0 ? rest : largest;
        assert.ok(Math.abs(numberOf(top) - expected) <= 0.00006 + 0.06 * (expected < 0.001 ? expected : 0), top);
        // From the least value: the palest patch has the first colour.
        await page.locator("#least").check();
        const stretched = await page.$eval('figure[data-method="raw"] > .legend', (all) => all.firstChild.textContent);
        const least = Math.min(...values);
        if (least < expected) assert.ok(Math.abs(numberOf(stretched) - least) <= 0.00006 + 0.06 * least, stretched);
        await page.locator("#least").uncheck();
        await page.locator('#overlay input[value="opacity"]').check({ force: true });
      });

      test("a smooth map keeps the range of the values and has more pixels", async () => {
        await choose(page, "raw");
        const exact = await pixelsOf(page, '#stages figure[data-method="raw"] .map');
        await page.locator("#smooth").check();
        const smooth = await pixelsOf(page, '#stages figure[data-method="raw"] .map');
        await page.locator("#smooth").uncheck();
        assert.ok(smooth.width >= 3 * exact.width);
        assert.ok(smooth.least >= exact.least - 1 && smooth.largest <= exact.largest + 1);
        assert.ok(exact.colours === 1 || smooth.colours > exact.colours);
      });

      test("a patch is chosen with the pointer and from the keyboard", async () => {
        await choose(page, first);
        const middle = report.patches[Math.floor(report.patches.length / 2)];
        await cell(page, middle).click();
        assert.deepEqual(await selected(page), [middle]);
        assert.deepEqual(await pressed(page), []);
        assert.equal(await focused(page), middle);
        const row = Math.floor((middle - report.first) / report.columns);
        const column = (middle - report.first) % report.columns;
        const at = (r, c) => report.first + r * report.columns + c;
        const steps = [
          ["Home", at(row, 0)],
          ["End", at(row, report.columns - 1)],
          ["ArrowLeft", at(row, Math.max(0, report.columns - 2))],
          ["ArrowUp", at(Math.max(0, row - 1), Math.max(0, report.columns - 2))],
          ["PageDown", at(report.rows - 1, Math.max(0, report.columns - 2))],
          ["ArrowDown", at(report.rows - 1, Math.max(0, report.columns - 2))],
          ["PageUp", at(0, Math.max(0, report.columns - 2))],
          ["ArrowRight", at(0, report.columns - 1)],
          ["ArrowRight", at(0, report.columns - 1)],
        ];
        assert.ok(column >= 0);
        for (const [key, token] of steps) {
          await page.keyboard.press(key);
          assert.deepEqual(await selected(page), [token], key);
          assert.equal(await focused(page), token, key);
        }
        assert.equal(await page.$$eval('#stages .cell[tabindex="0"]', (all) => all.length), 1);
        const box = await page.locator("#stages figure .picked").boundingBox();
        const chosen = await cell(page, steps.at(-1)[1]).boundingBox();
        assert.ok(Math.abs(box.x - chosen.x) < 1.5 && Math.abs(box.y - chosen.y) < 1.5);
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("special tokens are buttons", async () => {
        const buttons = await page.$$eval("#specials button", (all) =>
          // A long name is shortened; its title has all of it.
          all.map((b) => [b.dataset.token, b.querySelector("[title]")?.title ?? b.textContent]),
        );
        assert.deepEqual(
          buttons,
          report.specials.map((token) => [String(token), report.input.tokens[token].text]),
        );
        for (const token of report.specials) {
          await page.locator(`#specials button[data-token="${token}"]`).click();
          assert.deepEqual(await pressed(page), [token]);
          assert.deepEqual(await selected(page), []);
          assert.equal(await page.locator("#stages figure .picked").isVisible(), false);
        }
      });

      test("says which share lies on special tokens", async () => {
        for (const method of report.methods) {
          await choose(page, method);
          const token = report.rowsOf(method)[0];
          await chooseToken(page, report, token);
          await setRange(page, "#layer", last);
          const row = report.row(method, last, token);
          const all = row.reduce((a, b) => a + b, 0);
          const shares = await page.$$eval("#shares li", (items) => items.map((item) => item.lastChild.textContent));
          assert.equal(shares.length, 1 + report.specials.length);
          const patches = report.patches.reduce((sum, j) => sum + row[j], 0);
          assertShare(shares[0], patches / all, `${method}, patches`);
          for (const [k, j] of report.specials.entries()) assertShare(shares[k + 1], row[j] / all, `${method}, ${j}`);
          await page.mouse.move(0, 0); // what is pointed at is read instead
          assert.match(await page.locator("#picture-readout").textContent(), / of the total of .* falls on patches/u);
        }
      });

      test("ranks the patches, with thumbnails", async () => {
        await choose(page, first);
        await chooseToken(page, report, report.output_token);
        await setRange(page, "#layer", last);
        if (await page.locator("#rank-all").isVisible()) await page.locator("#rank-all").click();
        const values = report.row(first, last, report.output_token);
        const shown = await page.$$eval("#rank tbody tr", (lines) =>
          lines.map((line) => [Number(line.dataset.token), Number(line.querySelector("[data-value]").dataset.value)]),
        );
        assert.deepEqual(
          shown.map(([token]) => token).sort((a, b) => a - b),
          report.patches,
        );
        for (const [k, [token, value]] of shown.entries()) {
          assertClose([value], [values[token]], precision, `patch ${token}`);
          if (k > 0) assert.ok(value <= shown[k - 1][1]);
        }
        assert.equal(await page.locator("#rank .thumbnail").count(), report.patches.length);
        if (report.patches.length > report.settings.top_k) await page.locator("#rank-all").click();
        // A click goes to the patch.
        const token = shown[Math.min(2, shown.length - 1)][0];
        await page.locator(`#rank tr[data-token="${token}"] button`).click();
        assert.deepEqual(await selected(page), [token]);
      });

      test("thumbnails are cut from where the patch is", async () => {
        const { image } = report.input;
        const [left, top, right, bottom] = image.seen;
        /** The middle of a patch, in pixels of the picture that the page holds. */
        const middleOf = (token) => {
          const p = token - report.first;
          const x = left + ((p % report.columns) + 0.5) * ((right - left) / report.columns);
          const y = top + (Math.floor(p / report.columns) + 0.5) * ((bottom - top) / report.rows);
          return [(x * image.picture.width) / image.width, (y * image.picture.height) / image.height];
        };
        const inside = ([x, y]) => x > 1 && y > 1 && x < image.picture.width - 2 && y < image.picture.height - 2;
        const tokens = report.patches.filter((token) => inside(middleOf(token)));
        assert.ok(tokens.length > 1);
        await choose(page, first);
        await chooseToken(page, report, report.output_token);
        const all = page.locator("#rank-all");
        if (await all.isVisible()) await all.click();
        for (const token of [tokens[0], tokens[Math.floor(tokens.length / 2)], tokens.at(-1)]) {
          const cut = await pixelsOf(page, `#rank tr[data-token="${token}"] .thumbnail`, [[20, 20]]);
          const [x, y] = middleOf(token).map(Math.floor);
          // The middle of the patch may fall on the border of two pixels.
          const around = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => [x + dx, y + dy]));
          const { pixels } = await pixelsOf(page, "#stages figure .photo", around);
          for (const c of [0, 1, 2]) {
            const near = pixels.map((pixel) => pixel[c]);
            const value = cut.pixels[0][c];
            assert.ok(value >= Math.min(...near) - 3 && value <= Math.max(...near) + 3, `${value} in ${near}`);
          }
        }
        if (await all.isVisible()) await all.click();
      });

      test("a layer is chosen in the strip, by click and by key", async () => {
        assert.equal(await page.locator("#layers-card").isVisible(), last > 0);
        if (last === 0) return;
        await choose(page, first);
        await chooseToken(page, report, report.output_token);
        const strip = page.locator(`#strips figure[data-method="${first}"]`);
        assert.equal(await strip.locator(".layer").count(), last + 1);
        await strip.locator(".layer").first().click();
        const values = (index) => mapOf(first, index, report.output_token);
        assertClose(await cellValues(page), values(0), precision, "the first layer");
        await page.keyboard.press("ArrowRight");
        assertClose(await cellValues(page), values(1), precision, "the second layer");
        await page.keyboard.press("End");
        assertClose(await cellValues(page), values(last), precision, "the last layer");
        assert.equal(await strip.locator('[aria-selected="true"]').count(), 1);
        assert.equal(await strip.locator('[tabindex="0"]').count(), 1);
        await page.locator("#own-scale").check();
        await page.locator("#own-scale").uncheck();
      });

      test("methods stand side by side", async () => {
        assert.equal(await page.locator("#side-control").isVisible(), report.methods.length > 1);
        if (report.methods.length < 2) return;
        await page.locator("#side").check();
        assert.equal(await page.locator("#stages figure:visible").count(), report.methods.length);
        const tops = await page.$$eval("#stages figure", (all) => all.map((one) => one.getBoundingClientRect().top));
        assert.equal(new Set(tops.map(Math.round)).size, 1);
        // A click on another method's map chooses the patch there too.
        const other = report.methods.find((method) => method !== first);
        const stage = page.locator(`#stages figure[data-method="${other}"] .stage`);
        const [box, map] = [await stage.boundingBox(), await stage.locator(".map").boundingBox()];
        const x = map.x - box.x + (0.5 * map.width) / report.columns;
        const y = map.y - box.y + (0.5 * map.height) / report.rows;
        await stage.click({ position: { x, y } });
        assert.deepEqual(await selected(page), [report.first]);
        await page.locator("#side").uncheck();
        assert.equal(await page.locator("#stages figure:visible").count(), 1);
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("flow of a token that the report does not hold is computed in the page", async () => {
        const missing = report.patches.find((token) => !report.flow_output_tokens.includes(token));
        if (!report.methods.includes("flow") || missing === undefined) return;
        await choose(page, "flow");
        await cell(page, missing).click();
        await page.waitForFunction(() => document.querySelector("#recipe-source").textContent.startsWith("Recomputed"));
        assert.equal(await page.locator('#stages figure[data-method="flow"] .missing').isVisible(), false);
        assert.ok((await cellValues(page)).every((value) => value !== null));
        assert.ok((await page.locator("#rank tbody tr").count()) > 0);
        await choose(page, first);
      });

      test("pointing at a patch shows it everywhere", async () => {
        await choose(page, first);
        await chooseToken(page, report, report.output_token);
        await setRange(page, "#layer", last);
        const patch = report.patches.at(-1);
        await cell(page, patch).hover();
        const value = report.row(first, last, report.output_token)[patch];
        assertSaid(await page.locator("#picture-readout b").textContent(), value);
        const [box, mark] = [await cell(page, patch).boundingBox(), await page.locator(".pointed-patch").boundingBox()];
        assert.ok(Math.abs(box.x - mark.x) < 1.5 && Math.abs(box.y - mark.y) < 1.5);
        // From the table to the picture.
        const line = page.locator("#rank tbody tr").first();
        await line.hover();
        const token = Number(await line.getAttribute("data-token"));
        const [there, marked] = [
          await cell(page, token).boundingBox(),
          await page.locator(".pointed-patch").boundingBox(),
        ];
        assert.ok(Math.abs(there.x - marked.x) < 1.5 && Math.abs(there.y - marked.y) < 1.5);
        await page.mouse.move(0, 0);
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
        await chooseToken(page, report, report.output_token);
        await setRange(page, "#layer", last);
        const expected = mapOf(first, last, report.output_token);
        const lines = (await save("picture", "csv")).trimEnd().split("\r\n").slice(1);
        assertClose(
          lines.map((line) => Number(line.slice(line.lastIndexOf(",") + 1))),
          expected,
          precision,
          "csv",
        );
        const parsed = await page.evaluate(
          (text) => {
            const picture = new DOMParser().parseFromString(text, "image/svg+xml");
            const cells = [...picture.querySelectorAll("rect[data-value]")].map((cell) => Number(cell.dataset.value));
            const part = (name) => picture.querySelector(`[data-part="${name}"]`)?.textContent ?? "";
            return {
              caption: [part("title"), part("facts")],
              root: picture.documentElement.nodeName,
              errors: picture.querySelectorAll("parsererror").length,
              images: picture.querySelectorAll("image").length,
              cells,
            };
          },
          await save("picture", "svg"),
        );
        assert.deepEqual([parsed.root, parsed.errors, parsed.images], ["svg", 0, 1]);
        assert.equal(parsed.caption[0], "Over the picture");
        // A patch says where it is; its number among the tokens means nothing to readers.
        assert.match(parsed.caption[1], new RegExp(`^Method ${first}; Output token “[^”]*”; Layers`));
        assertClose(parsed.cells, expected, precision, "svg");
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("the address keeps what is chosen", async () => {
        await chooseToken(page, report, report.patches[0]);
        await page.locator("#smooth").check();
        await setRange(page, "#opacity", 40);
        await page.waitForFunction(() => /io=0.4/u.test(location.hash));
        const again = await openPage();
        await again.page.evaluate((hash) => (location.hash = hash), new URL(page.url()).hash);
        await again.page.locator("#smooth:checked").waitFor();
        assert.deepEqual(await selected(again.page), [report.patches[0]]);
        assert.equal(await again.page.locator("#opacity").inputValue(), "40");
        assert.deepEqual(again.watch, { requests: [], messages: [] });
        await again.close();
        await page.locator("#smooth").uncheck();
      });

      test("the map can be made transparent", async () => {
        for (const value of [0, 100, 65]) {
          await setRange(page, "#opacity", value);
          const opacity = await page.$eval("#stages figure .map", (map) => getComputedStyle(map).opacity);
          assert.equal(Number(opacity), value / 100);
        }
      });

      test("a map lies over the picture in four ways, and its legend is what is drawn", async () => {
        await choose(page, first);
        await chooseToken(page, report, report.output_token);
        await setRange(page, "#layer", last);
        const values = mapOf(first, last, report.output_token);
        const figure = `#stages figure[data-method="${first}"]`;
        const radio = (kind) => page.locator(`#overlay input[value="${kind}"]`);
        const opacityOf = (selector) => page.$eval(selector, (one) => Number(getComputedStyle(one).opacity));
        /** The legend's colours, each [r, g, b, opacity], from its low end to its top. */
        const bar = () =>
          page.$eval(`${figure} > .legend .ramp`, (ramp) => {
            const [, stops] = getComputedStyle(ramp).backgroundImage.split("linear-gradient");
            return [...stops.matchAll(/rgba?\(([^)]*)\)/gu)].map(([, text]) => {
              const [r, g, b, alpha = 1] = text.split(",").map(Number);
              return [r, g, b, alpha];
            });
          });
        // The scale's top is that of the others where the chosen patch towers.
        const strongest = values.indexOf(Math.max(...values));
        const mapPixel = async () => (await pixelsOf(page, `${figure} .map`)).pixels[strongest];

        await radio("colour").check({ force: true });
        let [r, g, b, alpha] = (await bar()).at(-1);
        assert.deepEqual((await mapPixel()).slice(0, 3), [r, g, b]);
        assert.ok(Math.abs(alpha - (await opacityOf(`${figure} .map`))) < 0.01);
        assert.ok((await bar()).every(([, , , one]) => one === alpha));

        // With the arrow keys, as one goes through radio buttons.
        await radio("colour").focus();
        await page.keyboard.press("ArrowRight");
        assert.equal(await page.locator("#overlay input:checked").inputValue(), "opacity");
        const marks = await bar();
        [r, g, b, alpha] = marks.at(-1);
        assert.ok(marks.every((one) => one[3] === 0 || (one[0] === r && one[1] === g && one[2] === b)));
        assert.ok(marks.every((one, k) => k === 0 || one[3] >= marks[k - 1][3]));
        assert.ok(marks[0][3] === 0 && Math.abs(alpha - (await opacityOf(`${figure} .map`))) < 0.01);
        const pixel = await mapPixel();
        assert.equal(pixel[3], 255);
        for (const [k, one] of [r, g, b].entries()) assert.ok(Math.abs(pixel[k] - one) <= 1);
        assert.match(await page.$eval(`${figure} .photo`, (one) => getComputedStyle(one).filter), /grayscale\(1\)/u);
        assert.ok((await page.locator("#grey").isDisabled()) && (await page.locator("#grey").isChecked()));

        await page.keyboard.press("ArrowRight");
        assert.equal(await page.locator(`${figure} .map`).count(), 0);
        const order = [...values].sort((a, b) => b - a);
        const sum = order.reduce((all, value) => all + value, 0);
        const outlined = await page.$$eval(`${figure} .contours g`, (all) =>
          all.map(({ dataset }) => [Number(dataset.share), Number(dataset.patches)]).sort((a, b) => a[0] - b[0]),
        );
        assert.deepEqual(
          outlined.map(([share]) => share),
          [0.5, 0.8, 0.95],
        );
        for (const [share, patches] of outlined) {
          const held = (count) => order.slice(0, count).reduce((all, value) => all + value, 0);
          assert.ok(held(patches) >= share * sum * (1 - 1e-3), `${patches} patches hold less than ${share}`);
          // As many fewer as are as large as the last, and one less, hold less.
          const fewer = order.findIndex((value) => value <= order[patches - 1] * (1 + 1e-3));
          assert.ok(held(fewer) < share * sum * (1 + 1e-3), `${fewer} patches hold ${share} already`);
          const said = await page.locator(`${figure} > .legend [data-share="${share}"]`).textContent();
          assert.equal(said.trim(), `${100 * share}%: ${patches} ${patches === 1 ? "patch" : "patches"}`);
        }
        assert.ok((await page.locator("#opacity").isDisabled()) && (await page.locator("#smooth").isDisabled()));
        await page.locator("#picture-card .export > button").click();
        const [file] = await Promise.all([
          page.waitForEvent("download"),
          page.locator('#picture-card [data-kind="svg"]').click(),
        ]);
        const saved = readFileSync(await file.path(), "utf8");
        for (const [share, patches] of outlined) {
          assert.ok(saved.includes(`data-share="${share}" data-patches="${patches}"`));
          assert.ok(saved.includes(`>${100 * share}% on ${patches} `));
        }
        await page.waitForFunction(() => /iv=outline/u.test(location.hash));
        const again = await openPage();
        await again.page.evaluate((hash) => (location.hash = hash), new URL(page.url()).hash);
        await again.page.locator('#overlay input[value="outline"]:checked').waitFor();
        await again.close();

        await radio("outline").focus();
        await page.keyboard.press("ArrowRight");
        assert.equal(await page.locator("#overlay input:checked").inputValue(), "beside");
        const [photo, map] = await page.$$eval(`${figure} .stage-box`, (all) =>
          all.map((one) => {
            const { left, right, top, bottom } = one.getBoundingClientRect();
            return { left, right, top, bottom, layers: [...one.querySelectorAll("canvas")].map((c) => c.className) };
          }),
        );
        assert.ok(photo.right <= map.left || photo.bottom <= map.top, "they overlap");
        assert.match(photo.layers.join(), /^photo[^,]*$/u);
        assert.match(map.layers.join(), /^map[^,]*$/u);
        assert.equal(await opacityOf(`${figure} .map`), 1);
        assert.deepEqual((await bar()).at(-1), [...(await mapPixel()).slice(0, 3), 1]);
        // The picture is clicked as the map is.
        const grid = await page.locator(`${figure} .map`).boundingBox();
        const shift = photo.left - map.left;
        await page.mouse.click(
          grid.x + shift + (0.5 * grid.width) / report.columns,
          grid.y + (photo.top - map.top) + (0.5 * grid.height) / report.rows,
        );
        assert.deepEqual(await selected(page), [report.first]);
        await chooseToken(page, report, report.output_token);
        await radio("colour").check({ force: true });
        await page.mouse.move(0, 0);
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("says what the model predicted", async () => {
        const bars = await page.$$eval("#predictions li", (all) =>
          all.map(({ firstChild, lastChild }) => [firstChild.title || firstChild.textContent, lastChild.textContent]),
        );
        assert.deepEqual(
          bars.map(([label]) => label),
          report.predictions[0].choices.map(({ label }) => label),
        );
        for (const [k, [, shown]] of bars.entries()) {
          const { probability } = report.predictions[0].choices[k];
          const [, bound, number] = /^(over |under |)([\d.]+)%$/u.exec(shown);
          const apart = 100 * probability - Number(number);
          if (bound) assert.ok(bound === "over " ? apart > 0 : apart < 0, shown);
          else assert.ok(Math.abs(apart) < Math.min(0.0501, 0.0501 * Number(number)), `${shown} of ${probability}`);
        }
      });

      test("nothing of the texts runs or becomes an element", async () => {
        assert.notEqual(await page.title(), "run");
        const foreign = await page.$$eval("#page img, #page script, #page iframe", (all) =>
          all.map((element) => element.outerHTML),
        );
        assert.deepEqual(foreign, []);
      });

      test("fits a narrow screen, light and dark", async () => {
        for (const colorScheme of ["light", "dark"]) {
          const narrow = await openPage({ viewport: { width: 360, height: 740 }, colorScheme });
          for (const side of [false, true]) {
            if (side && report.methods.length > 1) await narrow.page.locator("#side").check();
            const width = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(width <= 360, `${width} pixels wide`);
          }
          for (const kind of ["opacity", "outline", "beside"]) {
            await narrow.page.locator(`#overlay input[value="${kind}"]`).check({ force: true });
            const width = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(width <= 360, `${kind}: ${width} pixels wide`);
          }
          assert.deepEqual(narrow.watch, { requests: [], messages: [] });
          await narrow.close();
        }
      });

      test("axe finds nothing, light and dark", async () => {
        for (const colorScheme of ["light", "dark"]) {
          const opened = await openPage({ colorScheme });
          assert.deepEqual(await violations(opened.page), []);
          await opened.page.locator('#overlay input[value="outline"]').check({ force: true });
          assert.deepEqual(await violations(opened.page), []);
          await opened.close();
        }
      });

      test("no two controls overlap", async () => {
        const found = await overlaps(
          page,
          "#controls button, #controls select, #controls label, #controls input[type=range], #specials button, #overlay label, #picture-card .foot label",
        );
        assert.deepEqual(found, []);
      });

      test("names what can be operated", async () => {
        const found = await unnamed(
          page,
          "button, input, select, [role=listbox], [role=option], [role=grid], [role=gridcell], [role=img], [role=region]",
        );
        assert.deepEqual(found, []);
      });
    });
  }

  test("a picture that cannot be read is said to be, and the numbers stay", async () => {
    const folderOfOne = mkdtempSync(join(tmpdir(), "attnflow-picture-"));
    const broken = join(folderOfOne, "broken.html");
    const whole = readFileSync(pages[0].html, "utf8");
    const changed = whole.replace(/("data":")iVBORw0KGgo/u, "$1AAAAAAAAAAA");
    assert.notEqual(changed, whole);
    writeFileSync(broken, changed);
    const { page, close } = await open(browser, broken);
    try {
      await page.locator("#failure").waitFor();
      assert.match(await page.locator("#failure").textContent(), /could not be read/u);
      assert.ok((await cellValues(page)).length > 0);
    } finally {
      await close();
      rmSync(folderOfOne, { recursive: true });
    }
  });
});
