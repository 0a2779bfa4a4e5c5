// Opens the page of every report in the folder $ATTNFLOW_HTML in Chromium, and compares its numbers with the report's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { drawn, numberOf, open, startBrowser, unnamed } from "./browser.js";
import { relativeError, samplePages } from "./viewer_pages.js";

const pages = samplePages("");
const pageOf = (name) => {
  const page = pages.find((one) => one.name === name);
  if (!page) throw new Error(`expected a report ${name}, found ${pages.map((one) => one.name).join(", ")}`);
  return page.html;
};

/** A report, with `values(method, layerIndex, outputToken)`. */
function readReport(name) {
  const report = JSON.parse(readFileSync(pages.find((page) => page.name === name).json, "utf8"));
  const arrays = {};
  for (const [name, { data, dtype }] of Object.entries(report.arrays)) {
    const bytes = new Uint8Array(Buffer.from(data, "base64"));
    arrays[name] = dtype === "f64" ? new Float64Array(bytes.buffer) : bytes;
  }
  const n = report.input.tokens.length;
  const methods = ["raw", "rollout", "flow"].filter((method) => arrays[method]);
  const rows = (method) => (method === "flow" ? report.flow_output_tokens : report.output_tokens);
  const values = (method, layerIndex, token) => {
    const row = rows(method).indexOf(token);
    if (row < 0) return null;
    const begin = (layerIndex * rows(method).length + row) * n;
    return arrays[method].subarray(begin, begin + n);
  };
  return { ...report, n, methods, values };
}

const stripValues = async (page) => {
  await drawn(page);
  return page.$$eval("#strip .token", (tokens) => {
    const values = [];
    for (const token of tokens) values[Number(token.dataset.token)] = token.dataset.value;
    return values.map((value) => (value === undefined || value === "" ? null : Number(value)));
  });
};

const tokenAt = (page, i) => page.locator(`#strip [data-token="${i}"]`);
const selected = async (page) => {
  await drawn(page);
  return page.$$eval('#strip [aria-selected="true"]', (tokens) => tokens.map((token) => Number(token.dataset.token)));
};
const focused = async (page) => {
  await drawn(page);
  return page.evaluate(() => document.activeElement.getAttribute("data-token"));
};
const choose = (page, method) => page.locator(`#methods input[value="${method}"]`).check({ force: true });

/** Values of the page equal those of the report, up to the relative error of the page's numbers. */
function assertClose(actual, expected, relative, what) {
  assert.equal(actual.length, expected.length, what);
  for (const [i, value] of expected.entries()) {
    const error = Math.abs(actual[i] - value);
    assert.ok(error <= relative * Math.abs(value) + 2 ** -25, `${what}, token ${i}: ${actual[i]} is not ${value}`);
  }
}

/** A number as the page prints it agrees with the value. */
function assertPrinted(text, value, relative, what) {
  const shown = numberOf(text);
  const digit = value < 0.001 ? 0.06 * Math.abs(value) : 0.00005001;
  const slack = digit + Math.max(1e-7, relative * Math.abs(value));
  assert.ok(Math.abs(shown - value) <= slack, `${what}: printed ${text}, expected ${value}`);
}

describe("pages", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  for (const { name, html: path } of pages) {
    describe(name, () => {
      const report = readReport(name);
      const relative = relativeError(path);
      const last = report.settings.layers.length - 1;
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
        const blocked = await page.evaluate(async () => {
          const tries = [
            fetch("https://example.org/").then(
              () => false,
              () => true,
            ),
          ];
          const image = new Image();
          tries.push(
            new Promise((done) => Object.assign(image, { onload: () => done(false), onerror: () => done(true) })),
          );
          image.src = "https://example.org/picture.png";
          return Promise.all(tries);
        });
        assert.deepEqual(blocked, [true, true]);
        assert.deepEqual(watch.requests, []); // stopped by the page's own policy, before any request
        watch.messages.length = 0; // Chromium says so on the console
      });

      test("shows every token once, and the user's text", async () => {
        const texts = await page.$$eval("#strip .token", (tokens) =>
          tokens.map((token) => [Number(token.dataset.token), token.textContent, token.getBoundingClientRect().width]),
        );
        assert.deepEqual(
          texts.map(([i]) => i),
          [...Array(report.n).keys()],
        );
        for (const [i, text, width] of texts) {
          assert.ok(text.length > 0 && width > 0, `token ${i} is not visible: "${text}", ${width} wide`);
        }
        // The lines without chips are the texts themselves.
        const lines = await page.$$eval("#strip .line", (all) =>
          all.map((line) =>
            [...line.childNodes]
              .filter((node) => !node.classList?.contains("chip"))
              .map((node) => node.textContent)
              .join(""),
          ),
        );
        assert.equal(lines.join("|"), [report.input.text, report.input.text_pair].filter(Boolean).join("|"));
      });

      test("its numbers are those of the report, for every method and layer", async () => {
        for (const method of report.methods) {
          await choose(page, method);
          for (const layerIndex of new Set([0, last])) {
            if (last > 0) await page.locator("#layer").fill(String(layerIndex));
            const token = report.output_token;
            const expected = report.values(method, layerIndex, token);
            const what = `${method}, layer ${report.settings.layers[layerIndex]}`;
            assertClose(await stripValues(page), expected, relative, what);
            const cells = await page.$$eval("#rank tbody td[data-method]", (all) =>
              all.map((cell) => ({
                token: Number(cell.parentElement.dataset.token),
                method: cell.dataset.method,
                text: cell.firstChild.textContent,
              })),
            );
            assert.equal(cells.length, Math.min(report.n, report.settings.top_k) * report.methods.length);
            for (const cell of cells) {
              const value = report.values(cell.method, layerIndex, token)[cell.token];
              assertPrinted(cell.text, value, relative, `${what}, ranking of ${cell.method}`);
            }
            const ranked = cells.filter((cell) => cell.method === method).map((cell) => expected[cell.token]);
            const tolerance = Math.max(1e-7, 2 * relative);
            for (let k = 1; k < ranked.length; ++k) assert.ok(ranked[k] <= ranked[k - 1] * (1 + tolerance), what);
            const largest = Math.max(...expected);
            assert.ok(ranked[0] >= largest * (1 - tolerance), `${what}: the first of the ranking is not the largest`);
          }
        }
      });

      test("another method shows other values", { skip: report.methods.length < 2 || report.n < 2 }, async () => {
        if (last > 0) await page.locator("#layer").fill(String(last));
        const seen = new Set();
        for (const method of report.methods) {
          await choose(page, method);
          seen.add((await stripValues(page)).join());
        }
        // One layer: flow is attention with the residual, as rollout is.
        assert.equal(seen.size, last === 0 ? 2 : report.methods.length);
      });

      test("a click on a token makes it the output token", async () => {
        await choose(page, report.methods[0]);
        const rows = report.output_tokens;
        for (const token of [rows[0], rows[rows.length - 1]]) {
          await tokenAt(page, token).click();
          assert.deepEqual(await selected(page), [token]);
          assert.equal(await page.locator("#output-token").inputValue(), String(token));
          assertClose(
            await stripValues(page),
            report.values(report.methods[0], last, token),
            relative,
            `token ${token}`,
          );
        }
      });

      test("a row that was not computed is said to be missing", async () => {
        const method = report.methods[report.methods.length - 1];
        const rows = method === "flow" ? report.flow_output_tokens : report.output_tokens;
        const missing = [...Array(report.n).keys()].find((i) => !rows.includes(i));
        if (missing === undefined) return; // all rows are there
        await choose(page, method);
        await page.locator("#output-token").selectOption(String(missing));
        await drawn(page);
        assert.match(await page.locator("#strip-readout").textContent(), new RegExp(`No ${method} values`));
        assert.ok((await stripValues(page)).every((value) => value === null));
        await choose(page, report.methods[0]);
      });

      test("works from the keyboard", async () => {
        await page.locator("#output-token").selectOption(String(report.output_tokens[0]));
        await tokenAt(page, report.output_tokens[0]).focus();
        await page.keyboard.press("Home");
        assert.deepEqual(await selected(page), [0]);
        await page.keyboard.press("ArrowDown");
        const second = Math.min(1, report.n - 1);
        assert.deepEqual(await selected(page), [second]);
        assert.equal(await focused(page), String(second));
        // In right-to-left text the next token stands on the left.
        const direction = await tokenAt(page, second).evaluate(
          (token) => getComputedStyle(token.closest(".line")).direction,
        );
        await page.keyboard.press(direction === "rtl" ? "ArrowLeft" : "ArrowRight");
        assert.deepEqual(await selected(page), [Math.min(2, report.n - 1)]);
        await page.keyboard.press("ArrowUp");
        assert.deepEqual(await selected(page), [second]);
        await page.keyboard.press("End");
        assert.deepEqual(await selected(page), [report.n - 1]);
        assert.equal(await page.$$eval('#strip [tabindex="0"]', (all) => all.length), 1);

        await page.locator("#methods input:checked").focus();
        await page.keyboard.press("ArrowRight");
        await drawn(page);
        const checked = await page.locator("#methods input:checked").inputValue();
        assert.equal(checked, report.methods[1 % report.methods.length]);
        if (last > 0) {
          await page.locator("#layer").focus();
          await page.keyboard.press("Home");
          await drawn(page);
          assert.match(await page.locator("#layer-name").textContent(), new RegExp(`^${report.settings.layers[0]} of`));
        }
        assert.deepEqual(watch, { requests: [], messages: [] });
      });

      test("fits a narrow screen", async () => {
        const narrow = await open(browser, path, { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
        for (const method of report.methods) {
          await choose(narrow.page, method);
          const width = await narrow.page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(width <= 360, `${width} pixels wide with ${method}`);
        }
        assert.deepEqual(narrow.watch, { requests: [], messages: [] });
        await narrow.close();
      });

      test("names what can be operated", async () => {
        const found = await unnamed(page, "button, input, select, [role=listbox], [role=option], [role=img]");
        assert.deepEqual(found, []);
      });
    });
  }
});

describe("pictures", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());
  const short = pageOf("short");

  test("the picture by layer has a cell for each layer and token, and chooses layers and tokens", async () => {
    const report = readReport("short");
    const { page, close } = await open(browser, short);
    assert.equal(await page.locator("#heat .cells rect").count(), report.model.layers * report.n);
    const printed = await page.$$eval("#heat .value", (all) => all.map((text) => text.textContent));
    // The last layer is on top.
    const layers = [...report.settings.layers.keys()].reverse();
    const expected = layers.flatMap((l) => [...report.values("rollout", l, report.output_token)]);
    assert.equal(printed.length, expected.length);
    for (const [i, value] of expected.entries()) assertPrinted(printed[i], value, false, `cell ${i}`);
    await page
      .locator("#heat .cells rect")
      .nth((report.model.layers - 1) * report.n)
      .click(); // the first layer's first cell
    assert.match(await page.locator("#layer-name").textContent(), /^1 of 6/);
    assert.match(await page.locator("#heat-readout").textContent(), /rollout, layer 1/);
    await page.locator("#heat .label").nth(3).click();
    assert.deepEqual(await selected(page), [3]);
    await close();
  });

  test("special tokens can be excluded from colours and ranking", async () => {
    const report = readReport("short");
    const { page, close } = await open(browser, short);
    // Left out is how a page opens, without what the address says.
    await page.waitForTimeout(600);
    await page.evaluate(() => history.replaceState(null, "", location.pathname));
    await page.reload();
    assert.ok(await page.locator("#skip-special").isChecked());
    const ordinary = report.input.tokens.flatMap((token, i) => (token.special ? [] : [i]));
    const ranked = await page.$$eval("#rank tbody tr", (rows) => rows.map((row) => Number(row.dataset.token)));
    assert.deepEqual(
      ranked.sort((a, b) => a - b),
      ordinary,
    );
    const values = report.values("rollout", 5, report.output_token);
    const legend = await page.locator("#strip-card .legend span").last().textContent();
    assertPrinted(legend, Math.max(...ordinary.map((i) => values[i])), false, "legend");
    await close();
  });

  test("the graph has a node for each layer and token", async () => {
    const report = readReport("short");
    const { page, close } = await open(browser, short);
    assert.equal(await page.locator("#graph circle").count(), (report.model.layers + 1) * report.n);
    assert.ok((await page.locator("#graph line").count()) > report.model.layers);
    await page.locator("#layer").fill("0");
    assert.equal(await page.locator("#graph circle").count(), 2 * report.n);
    // One layer: the lines leave the chosen token only.
    const sources = await page.$$eval(
      "#graph line",
      (lines) => new Set(lines.map((line) => line.getAttribute("x1"))).size,
    );
    assert.equal(sources, 1);
    await close();
  });

  test("the matrix has the colours of the values", async () => {
    const { page, close } = await open(browser, short);
    const report = readReport("short");
    const strengths = await page.locator("#matrix canvas").evaluate((canvas, n) => {
      const context = canvas.getContext("2d");
      const ink = [];
      for (let row = 0; row < n; ++row) {
        for (let column = 0; column < n; ++column) {
          const [x, y] = [((column + 0.5) * canvas.width) / n, ((row + 0.5) * canvas.height) / n];
          const [red, green, blue] = context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data;
          ink.push(765 - red - green - blue);
        }
      }
      return ink;
    }, report.n);
    const values = [...Array(report.n).keys()].flatMap((token) => [...report.values("rollout", 5, token)]);
    assert.equal(strengths.length, values.length);
    // More of a value is more ink, up to the top of the scale, which the largest value of those that are no sink and no
    // token's own sets: compare every pair that is far enough apart to have steps of its own.
    const rest = values.filter((_, cell) => {
      const [row, column] = [Math.floor(cell / report.n), cell % report.n];
      return row !== column && !report.input.tokens[column].special;
    });
    const top = Math.max(...rest);
    assert.ok(Math.max(...values) > 2 * top);
    const gray = 765 - 180 - 184 - 190;
    for (const [i, a] of values.entries()) {
      if (a > 1.01 * top) assert.equal(strengths[i], gray, `cell ${i} lies above the scale`);
      else {
        for (const [j, b] of values.entries()) {
          if (a > b + 0.02 * top) assert.ok(strengths[i] > strengths[j], `cells ${i} and ${j}`);
        }
      }
    }
    await close();
  });

  test("weights on the referents are those of the report, by layer", async () => {
    for (const name of ["referents", "referents-pieces"]) {
      const report = readReport(name);
      const { page, watch, close } = await open(browser, pageOf(name));
      const check = async (token) => {
        const cells = await page.$$eval("#referents td", (all) =>
          all.map(({ dataset, textContent }) => ({ ...dataset, text: textContent })),
        );
        const methods = name === "referents" ? ["raw", "rollout", "flow"] : ["raw", "rollout"];
        const expected = report.settings.layers.flatMap((_, l) =>
          methods.flatMap((method) => {
            const row = report.values(method, l, token);
            const weights = report.referents.map(({ tokens }) => tokens.reduce((sum, i) => sum + row[i], 0));
            const sum = weights.reduce((a, b) => a + b, 0);
            return weights.map((value, referent) => ({ method, referent, value, share: value / sum }));
          }),
        );
        assert.equal(cells.length, expected.length);
        for (const [i, { method, referent, value, share }] of expected.entries()) {
          const what = `${name}, cell ${i}`;
          assert.equal(cells[i].method, method, what);
          assert.equal(cells[i].referent, String(referent), what);
          assert.ok(Math.abs(Number(cells[i].value) - value) < 1e-6, what);
          assert.ok(Math.abs(Number(cells[i].share) - share) < 1e-6, what);
          assert.match(cells[i].text, new RegExp(`${(100 * share).toFixed(0)}%$`), what);
        }
      };
      await check(report.output_token);
      const help = page.locator("#referents-help");
      assert.match(await help.textContent(), /Among the candidates: he 32\.8%, she 67\.2%\./);
      await tokenAt(page, 0).click();
      await check(0);
      assert.doesNotMatch(await help.textContent(), /candidates/);
      assert.deepEqual(watch, { requests: [], messages: [] });
      await close();
    }
    const { page, close } = await open(browser, pageOf("referents"));
    const names = await page.$$eval("#referents thead bdi", (all) => all.map((name) => name.textContent));
    assert.deepEqual(names.slice(0, 3), ["author (2)", "Brobdingnag", "author (7)"]);
    await close();
    const other = await open(browser, short);
    assert.equal(await other.page.locator("#referents-card").isVisible(), false);
    await other.close();
  });

  test("words that the vocabulary lacks are marked", async () => {
    const { page, close } = await open(browser, pageOf("referents"));
    assert.deepEqual(await page.$$eval("#strip .unknown", (all) => all.map((token) => token.textContent)), [
      "Brobdingnag",
    ]);
    const line = await tokenAt(page, 4).evaluate((token) => getComputedStyle(token).textDecorationStyle);
    assert.equal(line, "wavy");
    const ranked = await page.locator('#rank [data-token="4"] th').textContent();
    assert.match(ranked, /Brobdingnag \[\?\]/);
    assert.match(await page.locator("#notes").textContent(), /not in the model's vocabulary/);
    await close();
    const other = await open(browser, short);
    assert.equal(await other.page.locator("#strip .unknown").count(), 0);
    await other.close();
  });

  test("the text stands in the page's head, on one line", async () => {
    for (const name of ["short", "largest", "arabic", "array"]) {
      const report = readReport(name);
      const { page, close } = await open(browser, pageOf(name));
      const head = page.locator("#input-text");
      const texts = [report.input.text, report.input.text_pair].filter(Boolean);
      assert.equal(await head.isVisible(), texts.length > 0, name);
      assert.deepEqual(await head.locator("bdi").allTextContents(), texts, name);
      if (texts.length > 0) assert.ok((await head.boundingBox()).height < 30 * texts.length, name);
      await close();
    }
  });

  test("markup in the text stays text", async () => {
    const { page, watch, close } = await open(browser, pageOf("markup"));
    assert.notEqual(await page.title(), "run");
    assert.equal(await page.locator("script").count(), 2);
    assert.equal(await page.locator("main b").filter({ hasText: "&" }).count(), 0);
    assert.deepEqual(watch.messages, []);
    await close();
  });

  test("a right-to-left text runs from the right", async () => {
    const { page, close } = await open(browser, pageOf("arabic"));
    const lines = page.locator("#strip .line");
    assert.equal(await lines.count(), 2);
    assert.deepEqual(await lines.evaluateAll((all) => all.map((line) => getComputedStyle(line).direction)), [
      "rtl",
      "ltr",
    ]);
    const first = await tokenAt(page, 1).boundingBox();
    const fourth = await tokenAt(page, 4).boundingBox();
    assert.ok(first.x > fourth.x);
    await close();
  });

  test("the dark page has dark colours, and paper is always light", async () => {
    const { page, close } = await open(browser, short, { colorScheme: "dark" });
    await page.evaluate(() => (location.hash = "#v=1&m=raw"));
    await drawn(page);
    const report = readReport("short");
    const values = [...report.values("raw", 5, report.output_token)];
    const least = values.indexOf(Math.min(...values));
    const weakest = () =>
      page.$eval(`#strip [data-token="${least}"]`, (token) =>
        getComputedStyle(token).backgroundColor.match(/\d+/g).map(Number),
      );
    const sum = (colour) => colour.reduce((a, b) => a + b, 0);
    assert.ok(sum(await weakest()) < 300);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.ok(sum(await weakest()) > 500);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.ok(sum(await weakest()) < 300);
    await close();
  });
});
