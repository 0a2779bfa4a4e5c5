// Paper: A4 pages, upright and across. Other pages are printed in every_page.test.js.

import assert from "node:assert/strict";
import { test } from "node:test";
import { largeReport, withHeads } from "./large_report.js";
import { assertFitsPaper, skipped } from "./print.js";
import { pageOf, samplePage, short, usual, withPage } from "./viewer_pages.js";

const options = { viewport: { width: 1600, height: 900 }, colorScheme: "dark" };

for (const [name, file, click] of [
  ["a short text, compared", short, "#compare-button"],
  ["a continuation", usual],
  ["a picture", () => samplePage("image", "around").html],
  ["heads", () => pageOf(withHeads(largeReport({ n: 64, layers: 6, most: 64 }), 12))],
]) {
  test(`${name} fits an A4 page, upright and across, with every card`, async () => {
    await withPage(file(), options, async (page) => {
      if (click) await page.locator(click).click();
      assert.deepEqual(await skipped(page), []);
      await assertFitsPaper(page);
    });
  });
}

test("a printed page has A4 pages, as many as there is to show", async () => {
  await withPage(short(), {}, async (page) => {
    const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
    const pages = pdf.match(/\/Type ?\/Page\b/g).length;
    assert.ok(pages >= 2 && pages <= 8, `${pages} pages`);
    // The next picture on the screen is the screen's.
    assert.equal(await page.evaluate(() => matchMedia("print").matches), false);
    assert.ok(await page.locator("#strip-card .card-tools").isVisible());
  });
});
