// Paper: nothing is wider than an A4 page, upright or across; no controls, but legends; light, whatever the page is; and
// pictures of the whole page have all cards drawn.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { open, startBrowser } from "./browser.js";
import { largeReport, withHeads } from "./large_report.js";
import { makePage, samplePages } from "./viewer_pages.js";

/** CSS pixels of a page's longer and shorter side, without its margins of 12 mm. */
const [SHORT, LONG] = [210, 297].map((mm) => Math.floor(((mm - 24) / 25.4) * 96));

const pageOf = (kind, name) => {
  const all = samplePages(kind);
  return (all.find((page) => page.name === name) ?? all[0]).html;
};

/** What of the page is wider than it, and what of it is for the screen only. */
const onPaper = (page) =>
  page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const shown = (element) => element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
    const boxes = [...document.querySelectorAll("main *, header *")].filter(
      (element) => shown(element) && !element.closest(".visually-hidden, .stage, defs, clipPath, pattern"),
    );
    const name = (element) => `${element.closest("[id]")?.id} ${element.nodeName}.${element.getAttribute("class")}`;
    return {
      wide: boxes
        // What is cut by its picture's border is no content: arcs and frames of a zoomed picture.
        .filter((element) => element instanceof HTMLElement || element.nodeName === "svg")
        .filter((element) => {
          const { left, right } = element.getBoundingClientRect();
          return right > width + 1 || left < -1;
        })
        .map(name),
      cut: boxes
        .filter((element) => element instanceof HTMLElement && getComputedStyle(element).overflowX !== "visible")
        .filter((element) => element.scrollWidth > element.clientWidth + 1)
        .map(name),
      scroll: document.documentElement.scrollWidth - width,
      controls: boxes
        .filter((element) => element.matches("button:not(#rank button), input, select, .card-tools"))
        .map(name),
      legends: boxes.filter((element) => element.matches(".ramp")).length,
      pictures: boxes.filter((element) => element.matches("canvas, .picture svg, .cells-picture svg")).length,
      facts: document.getElementById("print-facts")?.innerText ?? "",
      ground: getComputedStyle(document.querySelector(".card")).backgroundColor,
    };
  });

let browser, folder;
before(async () => {
  browser = await startBrowser();
  folder = mkdtempSync(join(tmpdir(), "attnflow-print-"));
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

describe("on paper", () => {
  const kinds = [
    ["a short text, compared", () => pageOf("", "short"), "#compare-button"],
    ["128 tokens", () => pageOf("", "long"), "#compare-button"],
    ["Arabic", () => pageOf("", "arabic")],
    ["referents", () => pageOf("", "referents")],
    ["a continuation", () => pageOf("generation", "usual")],
    ["a long continuation", () => pageOf("generation", "long")],
    ["a picture", () => pageOf("image", "around")],
    [
      "heads",
      () => {
        const [json, html] = [join(folder, "heads.json"), join(folder, "heads.html")];
        writeFileSync(json, JSON.stringify(withHeads(largeReport({ n: 64, layers: 6, most: 64 }), 12)));
        makePage(json, html);
        return html;
      },
    ],
  ];
  for (const [name, file, click] of kinds) {
    test(`${name} fits an A4 page, upright and across`, async () => {
      const html = file();
      const { page, watch, close } = await open(browser, html, {
        viewport: { width: 1600, height: 900 },
        colorScheme: "dark",
      });
      if (click) await page.locator(click).click();
      await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
      const screen = await onPaper(page);
      assert.ok(screen.controls.length > 5, "the screen has controls");
      await page.emulateMedia({ media: "print" });
      await page.waitForFunction(
        () => getComputedStyle(document.querySelector(".card")).backgroundColor === "rgb(255, 255, 255)",
      );
      for (const size of [
        { width: SHORT, height: LONG },
        { width: LONG, height: SHORT },
        { width: 794, height: 1123 },
      ]) {
        await page.setViewportSize(size);
        const found = await onPaper(page);
        const where = `${size.width} pixels`;
        assert.deepEqual(found.wide, [], where);
        assert.deepEqual(found.cut, [], where);
        assert.ok(found.scroll <= 0, `${found.scroll} too wide in ${where}`);
        assert.deepEqual(found.controls, [], where);
        assert.equal(found.legends, screen.legends, where);
        assert.ok(found.pictures >= screen.pictures, where);
        assert.match(found.facts, /^Method \w+; .*Heads /);
        assert.equal(found.ground, "rgb(255, 255, 255)");
      }
      // Pictures on canvas are painted anew in light colours.
      const dark = await page.$$eval(
        "#compare .layer-map canvas, .compare .layer-map canvas",
        (all) =>
          all.filter((canvas) => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let [sum, count] = [0, 0];
            for (let p = 0; p < data.length; p += 4) {
              if (data[p + 3] === 0) continue;
              sum += Math.max(data[p], data[p + 1], data[p + 2]);
              ++count;
            }
            // The weakest values of a dark scale are nearly black.
            return count > 0 && sum / count < 120;
          }).length,
      );
      assert.equal(dark, 0);
      await page.emulateMedia({ media: "screen" });
      await page.setViewportSize({ width: 1600, height: 900 });
      assert.equal((await onPaper(page)).controls.length, screen.controls.length);
      assert.deepEqual(watch, { requests: [], messages: [] });
      await close();
    });
  }

  test("a printed page has A4 pages, as many as there is to show", async () => {
    const { page, close } = await open(browser, pageOf("", "short"));
    const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
    const pages = pdf.match(/\/Type ?\/Page\b/g).length;
    assert.ok(pages >= 2 && pages <= 8, `${pages} pages`);
    // The next picture on the screen is the screen's.
    assert.equal(await page.evaluate(() => matchMedia("print").matches), false);
    assert.ok(await page.locator("#strip-card .card-tools").isVisible());
    await close();
  });
});

describe("pictures of the whole page", () => {
  const skipped = (page) =>
    page.$$eval(".card-body > :first-child", (all) =>
      all.filter((one) => !one.checkVisibility({ contentVisibilityAuto: true })).map((one) => one.closest(".card").id),
    );

  for (const [kind, name] of [
    ["", "long"],
    ["generation", "usual"],
    ["image", "around"],
  ]) {
    test(`every card of ${name} is drawn, in sight or not`, async () => {
      const { page, close } = await open(browser, pageOf(kind, name));
      assert.deepEqual(await skipped(page), []);
      await close();
    });
  }

  test("2,048 tokens draw what is near, and have the room that the rest needs; paper has all", async () => {
    const [json, html] = [join(folder, "large.json"), join(folder, "large.html")];
    writeFileSync(json, JSON.stringify(largeReport()));
    makePage(json, html);
    const { page, close } = await open(browser, html);
    await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
    assert.ok((await skipped(page)).length > 0);
    const rooms = () =>
      page.$$eval(".card-body", (all) => all.map((one) => Math.round(one.getBoundingClientRect().height)));
    await page.waitForFunction(() =>
      [...document.querySelectorAll(".card-body")].every((one) => "measured" in one.dataset),
    );
    const before = await rooms();
    await page.$$eval(".card-body", (all) => {
      for (const one of all) one.style.contentVisibility = "visible";
    });
    const drawn = await rooms();
    for (const [k, height] of drawn.entries()) {
      assert.ok(Math.abs(before[k] - height) < 40, `card ${k}: room for ${before[k]}, needs ${height}`);
    }
    await close();
    const again = await open(browser, html);
    await again.page.emulateMedia({ media: "print" });
    assert.deepEqual(await skipped(again.page), []);
    await again.close();
  });
});
