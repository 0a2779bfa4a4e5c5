// Layer map, matrix, graph, heads and the controls of the recipe, over a small report with the attention of all heads
// and what attnflow computed with other settings (viewer/test/fixtures/make.py).

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { assertSaid, open, startBrowser } from "./browser.js";
import { makePage } from "./viewer_pages.js";

const fixture = JSON.parse(readFileSync(new URL("../../viewer/test/fixtures/text.json", import.meta.url), "utf8"));
const { report, cases } = fixture;
const n = report.input.tokens.length;
const L = report.model.layers;

/** Values of an array, [layer][output token][input token]. */
function values({ shape, dtype, data }) {
  const bytes = new Uint8Array(Buffer.from(data, "base64"));
  const numbers = dtype === "f64" ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
  const [, rows, columns] = shape;
  return (layer, output) =>
    numbers.subarray(((layer - 1) * rows + output) * columns, ((layer - 1) * rows + output + 1) * columns);
}

const caseOf = (...given) => cases.find((entry) => entry.arguments.join(" ") === given.join(" "));

const stripValues = (page) =>
  page.$$eval("#strip .token", (tokens) =>
    tokens.map((token) => (token.dataset.value ? Number(token.dataset.value) : null)),
  );

function assertClose(actual, expected, what) {
  assert.equal(actual.length, expected.length, what);
  for (const [i, value] of expected.entries()) {
    assert.ok(Math.abs(actual[i] - value) <= 1e-6, `${what}, token ${i}: ${actual[i]} is not ${value}`);
  }
}

describe("pictures of a report with heads", () => {
  let browser, folder, file, page, watch, close;
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "attnflow-pictures-"));
    const json = join(folder, "report.json");
    file = join(folder, "report.html");
    writeFileSync(json, JSON.stringify(report));
    makePage(json, file);
  });
  after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    ({ page, watch, close } = await open(browser, file));
  });
  const finish = async () => {
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
  };

  const residual = (value) =>
    page.locator("#residual").evaluate((slider, to) => {
      slider.value = String(to);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }, value);

  test("a cell pointed at is marked in every picture", async () => {
    await page.locator('#strip [data-token="3"]').hover();
    assert.equal(await page.locator("#heat .pointing .column").count(), 1);
    assert.equal(await page.locator("#matrix .pointing .column").count(), 1);
    assert.equal(await page.locator("#graph .pointing circle").count(), 1);
    await page
      .locator("#heat .cells rect")
      .nth((L - 1) * n + 2)
      .hover(); // layer 1, token 2
    assert.match(await page.locator("#heat-readout").textContent(), / ← .*: [\d.]+% \(rollout, layer 1\)/);
    assert.equal(await page.locator('#strip [data-token="2"].pointed').count(), 1);
    await finish();
  });

  test("the layer map is read and chosen from with the keyboard", async () => {
    await page.locator("#heat-cells").focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "Enter", " "]) await page.keyboard.press(key);
    assert.match(await page.locator("#layer-name").textContent(), new RegExp(`^${L - 1} of`));
    assert.equal(await page.locator("#output-token").inputValue(), "2");
    await finish();
  });

  test("the matrix is read with the keyboard, chosen from, and zoomed", async () => {
    await page.locator("#matrix svg").focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    const value = values(report.arrays.rollout)(L, 2)[1];
    assertSaid(await page.locator("#matrix-readout b").textContent(), value);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#output-token").inputValue(), "2");
    assert.equal(await page.locator("#matrix-whole").isEnabled(), false);
    const before = await page.locator("#matrix svg .label").count();
    assert.equal(before, n);
    await page.keyboard.press("+");
    assert.equal(await page.locator("#matrix-whole").isEnabled(), true);
    await page.keyboard.press("0");
    assert.equal(await page.locator("#matrix-whole").isEnabled(), false);
    // A drag moves what is zoomed and chooses nothing.
    await page.locator("#matrix-closer").click();
    const box = await page.locator("#matrix svg").boundingBox();
    await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.7);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5, { steps: 4 });
    await page.mouse.up();
    assert.equal(await page.locator("#output-token").inputValue(), "2");
    await page.locator("#matrix-whole").click();
    await page.mouse.click(box.x + box.width * 0.6, box.y + box.height - 8); // the last row
    assert.equal(await page.locator("#output-token").inputValue(), String(n - 1));
    await finish();
  });

  test("the graph draws the maximum flow of a pair with its minimum cut", async () => {
    await page.locator('input[name="graph-kind"][value="flow"]').check({ force: true });
    let cuts = 0;
    for (const { output_token, input_token, layer, flow, minimum_cut } of report.certificates) {
      assert.equal(layer, L);
      await page.locator("#output-token").selectOption(String(output_token));
      await page.locator("#flow-input").selectOption(String(input_token));
      await page.waitForFunction(
        (value) => Math.abs(Number(document.getElementById("graph-readout").dataset.value) - value) < 1e-9,
        flow,
      );
      assert.match(await page.locator("#graph-readout").textContent(), /minimum cut/);
      // A band a layer that the cut crosses, with the capacity of its arcs there.
      const crossed = new Set(minimum_cut.map(([layer]) => layer));
      assert.equal(await page.locator("#graph .cut > g").count(), crossed.size);
      const drawn = await page.$$eval("#graph .cut > g", (bands) => bands.map((band) => Number(band.dataset.value)));
      const sum = drawn.reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - flow) < 1e-9, `the cut holds ${sum}, the flow ${flow}`);
      cuts += drawn.length;
    }
    assert.ok(cuts > 0);
    // The input token is chosen in the picture, too.
    await page.locator("#graph .label").nth(1).click();
    assert.equal(await page.locator("#flow-input").inputValue(), "1");
    await finish();
  });

  test("the graph traces a token or shows the weights on its paths", async () => {
    const lines = () => page.locator("#graph .lines line").count();
    const few = await lines();
    await page.locator("#graph-arcs").fill("16");
    const most = await lines();
    assert.ok(most > few, "all arcs are more than three of each node");
    await page.locator("#graph-own").check();
    const share = await lines();
    assert.ok(share > most, "arcs from a token to itself come in addition");
    await page.locator('input[name="graph-kind"][value="attention"]').check({ force: true });
    assert.ok((await lines()) > share, "the weights of all paths are more lines than one token's strong shares");
    await page.locator('input[name="graph-kind"][value="share"]').check({ force: true });
    // Below the top, a node's mass is what the arcs above bring.
    await page.locator("#graph svg").focus();
    for (let l = L; l > 0; --l) await page.keyboard.press("ArrowDown");
    const mass = values(report.arrays.rollout)(L, report.output_token)[report.output_token];
    assertSaid(await page.locator("#graph-tip b").textContent(), mass);
    await page.locator("#look-button").click();
    await page.locator("#threshold").fill("0.3");
    assert.ok((await lines()) < share, "a threshold leaves lines out");
    assert.match(await page.locator("#graph-help").textContent(), /below 30%/);
    await finish();
  });

  test("numbers of another residual are computed in the page", async () => {
    assert.equal(await page.locator("#recipe-source").textContent(), "");
    await residual(0.2);
    assert.match(await page.locator("#recipe-source").textContent(), /^Recomputed in the browser/);
    const expected = values(caseOf("--residual", "0.2").arrays.rollout);
    assertClose(await stripValues(page), expected(L, report.output_token), "residual 0.2");
    await page.locator('#methods input[value="flow"]').check({ force: true });
    await page.waitForFunction(() => document.querySelector("#recipe-source").textContent.startsWith("Recomputed"));
    const flow = values(caseOf("--residual", "0.2").arrays.flow);
    assertClose(await stripValues(page), flow(L, report.output_token), "flow");
    assert.match(
      await page.locator("#matrix-missing code").textContent(),
      /--method raw,rollout,flow.*--residual 0\.2/,
    );
    await page.locator("#layer").fill("1");
    assertClose(await stripValues(page), flow(2, report.output_token), "flow of two layers");
    await page.locator("#recipe-reset").click();
    assert.equal(await page.locator("#recipe-source").textContent(), "");
    await finish();
  });

  test("heads, masked columns, layers, normalisation and words follow attnflow's numbers", async () => {
    const rollout = (...given) => values(caseOf(...given).arrays.rollout);
    const check = async (expected, what, output = report.output_token) =>
      assertClose(await stripValues(page), expected(L, output), what);
    await page.locator("#head-fusion").selectOption("max");
    await check(rollout("--heads", "max"), "max");
    await page.locator("#mask-columns").selectOption("special");
    await check(rollout("--mask-columns", "special", "--heads", "max"), "special tokens masked");
    await page.locator("#recipe-reset").click();
    await page.locator("#to-layer").selectOption("1");
    await check((layer, output) => rollout("--start-layer", "1")(layer - 1, output), "down to layer 1");
    await page.locator("#recipe-reset").click();
    await page.locator("#normalize").selectOption("receptive-field");
    await check(rollout("--normalize", "receptive-field"), "receptive field");
    await page.locator("#recipe-reset").click();
    await page.locator("#words").check();
    const words = rollout("--words");
    assert.ok(words(L, 0).length < n);
    await check(words, "words");
    await page.locator("#words").uncheck();
    await check(values(report.arrays.rollout), "pieces");
    await finish();
  });

  test("a head is shown large and explained with", async () => {
    await page.locator("#head-heading").scrollIntoViewIfNeeded();
    await page.locator("#heads svg").scrollIntoViewIfNeeded();
    const box = await page.locator("#heads svg .frame").boundingBox();
    await page.mouse.click(box.x + box.width * 1.5, box.y + box.height * 1.5); // one right, one down
    assert.match(await page.locator("#head-heading").textContent(), new RegExp(`Layer ${L - 1}, head 1`));
    await page.locator("#heads svg").focus();
    await page.keyboard.press("ArrowUp");
    assert.match(await page.locator("#head-heading").textContent(), new RegExp(`Layer ${L}, head 1`));
    await page.locator("#head svg").focus();
    await page.keyboard.press("ArrowDown");
    const { shape, data } = report.arrays.attention;
    const attention = new Float32Array(new Uint8Array(Buffer.from(data, "base64")).buffer);
    const weight = attention[(((L - 1) * shape[1] + 1) * n + 1) * n];
    assertSaid(await page.locator("#head-readout b").textContent(), weight);
    await page.locator("#explain-with-head").click();
    const expected = values(caseOf("--heads", "1").arrays.rollout);
    assertClose(await stripValues(page), expected(L, report.output_token), "head 1");
    await finish();
  });

  test("saved pictures hold the numbers", async () => {
    const files = {};
    for (const card of ["heat", "matrix", "graph", "heads"]) {
      for (const kind of ["svg", "csv"]) {
        await page.locator(`#${card}-card .card-tools`).getByRole("button").last().click();
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page
            .locator(`#${card}-card`)
            .getByRole("menuitem", { name: new RegExp(kind, "i") })
            .click(),
        ]);
        files[`${card}.${kind}`] = readFileSync(await download.path(), "utf8");
      }
    }
    const well = await page.evaluate(
      (all) =>
        Object.entries(all).map(([name, text]) => {
          if (!name.endsWith("svg")) return [name, text.split("\n").length];
          const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
          return [name, parsed.querySelector("parsererror") ? 0 : parsed.querySelectorAll("*").length];
        }),
      files,
    );
    for (const [name, size] of well) assert.ok(size > 10, `${name} holds ${size}`);
    const [title, names] = await page.evaluate((svg) => {
      const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
      return [
        parsed.querySelector('[data-part="title"]').textContent,
        [...parsed.querySelectorAll("rect > title")].map((one) => one.textContent),
      ];
    }, files["heads.svg"]);
    assert.match(title, /^Attention of every head: layer \d+, head \d+$/);
    assert.equal(names.length, L * report.arrays.attention.shape[1]);
    assert.ok(names.includes("layer 1, head 1"));
    assert.match(files["matrix.svg"], /<image[^>]*href="data:image\/png/);
    const value = values(report.arrays.rollout)(L, 2)[1];
    assert.ok(files["matrix.csv"].includes(String(value)), "the matrix's numbers are unrounded");
    await finish();
  });

  test("fits 360 pixels", async () => {
    await page.setViewportSize({ width: 360, height: 800 });
    await page.waitForTimeout(100);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    await finish();
  });
});

describe("saved pictures of odd tokens", () => {
  // What XML cannot hold, what looks like a reference or a mark of ours, and a text longer than its picture is wide.
  const odd = ["\u0001a\u0008\u000b", "d\ud83d", '<a id="x">', "url(#top)", "°"];
  const text = "字".repeat(119);
  let browser, folder, page, watch, close;
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "attnflow-odd-"));
    const tokens = report.input.tokens.map((token, i) =>
      odd[i] ? { ...token, text: odd[i], begin: 0, end: 0 } : token,
    );
    assert.ok(tokens.length >= odd.length);
    writeFileSync(
      join(folder, "report.json"),
      JSON.stringify({ ...report, input: { ...report.input, text: `${report.input.text} ${text}`, tokens } }),
    );
    makePage(join(folder, "report.json"), join(folder, "report.html"));
    ({ page, watch, close } = await open(browser, join(folder, "report.html")));
  });
  after(async () => {
    await close?.();
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  for (const card of ["strip", "rank", "heat", "matrix", "graph"]) {
    test(`${card} is well-formed, becomes a PNG, and says what the page says`, async () => {
      const save = async (kind) => {
        await page.locator(`#${card}-card .export > button`).first().click();
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.locator(`#${card}-card [data-kind="${kind}"]`).click(),
        ]);
        return readFileSync(await download.path());
      };
      const svg = (await save("svg")).toString();
      // Away from the page's style sheet.
      const blank = await page.context().newPage();
      const found = await blank.evaluate((source) => {
        const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
        document.body.append(document.importNode(parsed.documentElement, true));
        const drawn = document.body.lastElementChild;
        const width = Number(drawn.getAttribute("width"));
        return {
          problem: parsed.querySelector("parsererror")?.textContent,
          words: [...parsed.querySelectorAll('[data-part="picture"] text')].map((one) => one.textContent).join("|"),
          notes: [...parsed.querySelectorAll('[data-part="note"]')].map((one) => one.textContent),
          subject: [...drawn.querySelectorAll('[data-part="subject"] text')].map((one) => one.textContent),
          beyond: [...drawn.querySelectorAll('[data-part]:not([data-part="picture"]) > text')].flatMap((one) => {
            const { x, width: own } = one.getBBox();
            return x + own > width ? [`${one.textContent} ends at ${x + own} of ${width}`] : [];
          }),
        };
      }, svg);
      await blank.close();
      assert.equal(found.problem, undefined);
      for (const label of ['<a id="x">', "url(#top)", "°"]) {
        assert.ok(found.words.includes(label), `${label} in ${found.words}`);
      }
      for (const letter of ["\u0001", "\u0008", "\u000b"]) assert.ok(!svg.includes(letter));
      // The ranking marks degenerate flow; the others have no more than a token of that look.
      const marks = await page.locator(`#${card}-card .mark`).count();
      assert.equal(marks > 0, card === "rank");
      assert.equal(found.notes.filter((note) => note.startsWith("°")).length, marks > 0 ? 1 : 0);
      assert.ok(found.subject.length > 1, "the text is broken over lines");
      assert.match(
        found.subject.join(" "),
        new RegExp(` · ${report.model.name}$`, "u"),
        "the end of the subject is there",
      );
      assert.deepEqual(found.beyond, []);
      const png = await save("png");
      assert.equal(png.subarray(1, 4).toString(), "PNG");
      assert.deepEqual(watch, { requests: [], messages: [] });
    });
  }
});

describe("pictures of a report without heads", () => {
  test("say so, and show what there is", async () => {
    const browser = await startBrowser();
    const folder = mkdtempSync(join(tmpdir(), "attnflow-pictures-"));
    try {
      const { attention, raw, ...arrays } = report.arrays;
      assert.ok(attention && raw);
      writeFileSync(join(folder, "report.json"), JSON.stringify({ ...report, arrays }));
      makePage(join(folder, "report.json"), join(folder, "report.html"));
      const { page, watch, close } = await open(browser, join(folder, "report.html"));
      assert.equal(await page.locator("#heads-card").count(), 0);
      assert.equal(await page.locator("#graph-card").count(), 0);
      assert.equal(await page.locator("#residual").count(), 0);
      assert.equal(await page.locator("#heat .cells rect").count(), n * L);
      assert.deepEqual(watch, { requests: [], messages: [] });
      await close();
    } finally {
      await browser.close();
      rmSync(folder, { recursive: true });
    }
  });
});
