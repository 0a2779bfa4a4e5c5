// Every sample page, of texts, pictures and generations: quiet, accessible, and as wide as its screen and its paper.

import assert from "node:assert/strict";
import { test } from "node:test";
import { choose, drawn, pageWidth, violations } from "./browser.js";
import { assertFitsPaper } from "./print.js";
import { NARROW, samplePages, withPage } from "./viewer_pages.js";

for (const kind of ["", "generation", "image"]) {
  for (const { name, html } of samplePages(kind)) {
    test(`${kind || "text"} ${name}`, async () => {
      await withPage(html, { viewport: { width: 1600, height: 900 }, colorScheme: "light" }, async (page) => {
        if (kind === "" && (await page.locator("#compare-button").isEnabled()))
          await page.locator("#compare-button").click();
        assert.deepEqual(await violations(page), []);
        await page.locator("#theme-button").click();
        await drawn(page);
        assert.deepEqual(await violations(page), []);
        await assertFitsPaper(page);
        await page.setViewportSize(NARROW);
        for (const method of await page.$$eval("#methods input:enabled", (all) => all.map(({ value }) => value))) {
          await choose(page, method);
          assert.ok((await pageWidth(page)) <= NARROW.width, method);
        }
      });
    });
  }
}
