// Methods beside the graph: signed numbers of one prediction, on a red-blue scale, in a page that holds nothing else, too.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { drawn, open, startBrowser, violations } from "./browser.js";
import { makePage } from "./viewer_pages.js";

const { report } = JSON.parse(readFileSync(new URL("../../viewer/test/fixtures/text.json", import.meta.url), "utf8"));
const SCORES = [9, -0.5, 2, 0, -2, 0.25];

const array = (values) => ({
  shape: [1, values.length],
  dtype: "f64",
  encoding: "base64",
  data: Buffer.from(Float64Array.from(values).buffer).toString("base64"),
});

/** @param alone without raw, rollout and flow */
function scored(alone) {
  const { attention, graph, ...others } = report.arrays;
  return {
    ...report,
    settings: { ...report.settings, method: [...(alone ? [] : report.settings.method), "attnlrp"] },
    target: {
      ...{ kind: "class", label: "plural", index: 1, logit: 3 },
      against: { label: "singular", logit: 1, index: 0 },
    },
    scores: [{ method: "attnlrp", parts: [{ name: "biases", value: 0.5 }], total: 9.35, error: 0.1 }],
    agreement: {
      ...{ quantity: "logit difference", value: 2, blank: "[UNK]" },
      maps: [{ method: "attnlrp", rank_correlation: 0.8, first_token: 2, blanked_value: -1.25 }],
    },
    ...(alone ? { output_tokens: [], flow_output_tokens: [] } : {}),
    arrays: { ...(alone ? { attention, ...(graph && { graph }) } : { attention, ...others }), attnlrp: array(SCORES) },
  };
}

describe("methods beside the graph", () => {
  let browser, folder;
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "attnflow-methods-"));
  });
  after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });
  const opened = (name, document) => {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(document));
    makePage(join(folder, `${name}.json`), join(folder, `${name}.html`));
    return open(browser, join(folder, `${name}.html`));
  };
  const colour = (page, token) =>
    page.$eval(`#strip [data-token="${token}"]`, (element) => getComputedStyle(element).backgroundColor);

  test("have signs, a legend that names both ends, and no views that need a matrix", async () => {
    const { page, close } = await opened("scored", scored(false));
    assert.equal(await page.locator("#agreement").count(), 0);
    await page.locator("#skip-special").check();
    await page.locator("#methods").getByText("attnlrp", { exact: true }).click();
    await drawn(page);
    assert.equal(
      await page.locator("h1").textContent(),
      "attnlrp of class “plural” against “singular”: “ed” argues for it most",
    );
    assert.match(
      await page.locator("#agreement").textContent(),
      /^Blanking agrees: blanking its top token, “.*”, flips the prediction: it takes the logit difference from 2\.00 to −1\.25\. Agreement of the whole order with blank-out: strong \(0\.80\)\./u,
    );
    assert.equal(await page.locator("#strip-card .legend").textContent(), "argues against −2.0000+2.0000 argues for");
    // ColorBrewer's ends of red to blue, as in figures.
    assert.equal(await colour(page, 2), "rgb(5, 48, 97)");
    assert.equal(await colour(page, 4), "rgb(103, 0, 31)");
    assert.equal(
      await page.locator("#score-parts").textContent(),
      "In addition to the tokens: biases +0.5000. All parts add up to +9.2500 of +9.3500.",
    );
    const numbers = await page.locator('#rank td.by[data-method="attnlrp"]').allTextContents();
    assert.deepEqual(numbers, ["+2.0000", "−2.0000", "−0.5000", "+0.2500", "0"]);
    assert.equal(await page.locator("#layer").isDisabled(), true);
    assert.equal(await page.locator("#output-token").isDisabled(), true);
    for (const id of ["heat", "matrix", "graph", "heads"]) {
      assert.equal(await page.locator(`#${id}-card`).count(), 0, id);
    }
    assert.match(await page.locator("#one-number").textContent(), /^attnlrp gives one number per token/u);
    await page.locator('#strip [data-token="4"]').hover();
    assert.match(await page.locator("#strip-readout").textContent(), /−2\.0000 argues against it/u);
    // A click chooses no output token of other methods.
    await page.locator('#strip [data-token="4"]').click();
    await page.locator("#methods").getByText("rollout", { exact: true }).click();
    await drawn(page);
    assert.equal(await page.locator('#strip [aria-selected="true"]').getAttribute("data-token"), "0");
    await close();
  });

  test("can be all that a report holds, light and dark", async () => {
    const { page, close } = await opened("alone", scored(true));
    assert.equal(await page.locator("#methods input:checked").inputValue(), "attnlrp");
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("d");
    await drawn(page);
    assert.deepEqual(await violations(page), []);
    await close();
  });
});
