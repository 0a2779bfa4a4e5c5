// Contents wider than their card scroll in it, say so at their sides, and are reached with the keyboard. Labels of
// pictures are cut neither there nor by their pictures.

import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOf, choose, drawn, violations } from "./browser.js";
import { fixture, NARROW, pageOf, reportOf, samplePage, usual, WIDE, withPage } from "./viewer_pages.js";

/** The page of a report whose tokens have long names. */
function longLabels(report) {
  const tokens = [...report.input.tokens, ...(report.generation?.tokens ?? [])];
  for (const [k, token] of tokens.entries()) token.text = (k % 2 ? " " : "") + "WM".repeat(3 + (k % 7));
  return pageOf(report);
}

/** Until the signs have faded in and out. */
const settled = async (page) => {
  await drawn(page);
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((one) => one.finished)));
};

/** Says of each box how much it hides at its sides, and at which of them signs can be seen within it. */
async function boxes(page) {
  await settled(page);
  const found = await page.$$eval(".scroller", (all) =>
    all.map((frame) => {
      const box = frame.firstElementChild;
      const area = box.getBoundingClientRect();
      const seen = [...frame.querySelectorAll(":scope > .more")].filter((sign) => getComputedStyle(sign).opacity > 0.9);
      const sides = seen.map((sign) => {
        const { left, right, top, bottom } = sign.getBoundingClientRect();
        const inside = left >= area.left && right <= area.right && top >= area.top && bottom <= area.bottom + 0.5;
        return inside ? (left - area.left < 1 ? "left" : "right") : "outside";
      });
      return { id: box.id, hidden: [box.scrollLeft, box.scrollWidth - box.clientWidth - box.scrollLeft], signs: sides };
    }),
  );
  for (const { id, hidden, signs } of found) {
    const expected = ["left", "right"].filter((_, side) => hidden[side] > 1.5);
    assert.deepEqual(signs, expected, `${id} hides ${hidden}`);
  }
  return found;
}

/** Labels of pictures that their picture cuts off. */
const cutLabels = (page, selector) =>
  page.$$eval(selector, (pictures) =>
    pictures.flatMap((picture) => {
      const area = picture.getBoundingClientRect();
      return [...picture.querySelectorAll("text")]
        .filter((text) => {
          const { left, right, top, bottom } = text.getBoundingClientRect();
          return left < area.left || right > area.right || top < area.top || bottom > area.bottom;
        })
        .map((text) => text.textContent);
    }),
  );

test("labels have room in the matrices, and pictures of layers one size", async () => {
  await withPage(longLabels(fixture("text").report), { viewport: NARROW }, async (page) => {
    for (const viewport of [NARROW, WIDE]) {
      await page.setViewportSize(viewport);
      await settled(page);
      assert.ok((await page.locator("#head svg text.label").count()) > 0);
      assert.deepEqual(await cutLabels(page, "#matrix svg, #head svg"), []);
      const labels = await page.locator("#matrix svg text.label").allTextContents();
      assert.ok(
        labels.some((label) => /^WM(WMWM|.*…)$/u.test(label)),
        labels.join(),
      );
    }
  });
  await withPage(samplePage("image", "small").html, { viewport: NARROW }, async (page) => {
    for (const width of [360, 420, 1200]) {
      await page.setViewportSize({ width, height: 900 });
      await settled(page);
      const sizes = await page.$$eval("#strips .layer", (all) => all.map((one) => one.getBoundingClientRect().width));
      assert.ok(sizes.length > 1 && sizes.every((size) => Math.abs(size - sizes[0]) < 0.5), sizes.join());
    }
  });
});

test("labels have room in a continuation's maps, and stay there while rows scroll", async () => {
  await withPage(longLabels(reportOf("generation", "usual")), { viewport: NARROW }, async (page) => {
    await settled(page);
    assert.ok((await page.locator("#map svg text").count()) > 0);
    assert.deepEqual(await cutLabels(page, "#map .cells-picture > svg, #heat .cells-picture > svg"), []);
    await page.$eval("#map", (box) => (box.style.maxHeight = "16rem"));
    for (const to of [0, 40, 1e6]) {
      const found = await page.$eval(
        "#map",
        (element, top) => {
          element.scrollTop = top;
          const use = element.querySelector(".stuck use");
          const columns = element.querySelector("#map-columns");
          const end = element.getBoundingClientRect().top + element.clientHeight;
          const font = ({ fontSize, fontFamily, fill }) => [fontSize, fontFamily, fill].join();
          return {
            heights: use.getBBox().height - columns.getBBox().height,
            ends: use.parentElement.getBoundingClientRect().bottom - end,
            fonts: [use, columns.querySelector("text")].map((text) => font(getComputedStyle(text))),
          };
        },
        to,
      );
      assert.ok(Math.abs(found.heights) < 0.5 && Math.abs(found.ends) < 1, JSON.stringify(found));
      assert.equal(found.fonts[0], found.fonts[1]);
    }
    // The last row is in sight above them.
    await page.locator("#map-cells").focus();
    for (const key of ["Home", "PageUp", "PageDown"]) await page.keyboard.press(key);
    const [cell, stuck] = [await boxOf(page, "#map .pointing .cell"), await boxOf(page, "#map .stuck")];
    assert.ok(cell.y + cell.height <= stuck.y + 1, `${cell.y} is below ${stuck.y}`);
    // A click on them does not reach what they hide.
    await page.$eval("#map", (box) => (box.scrollTop = 0));
    const before = await page.locator("#step").textContent();
    await page.locator("#map .stuck").click({ position: { x: 100, y: 30 } });
    assert.equal(await page.locator("#step").textContent(), before);
  });
});

test("boxes that scroll sideways show at which side there is more, in the system's colours, too", async () => {
  await withPage(samplePage("", "deep").html, { viewport: NARROW }, async (page) => {
    const wide = (await boxes(page)).filter(({ hidden }) => hidden[1] > 100).map(({ id }) => id);
    assert.deepEqual(wide, ["heat", "graph"]);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    for (const to of [200, 1e6, 0]) {
      for (const id of wide) await page.$eval(`#${id}.scroll`, (box, left) => (box.scrollLeft = left), to);
      const { signs } = (await boxes(page)).find(({ id }) => id === wide[0]);
      assert.deepEqual(signs, { 200: ["left", "right"], 1e6: ["left"], 0: ["right"] }[to]);
    }
    assert.equal(await page.evaluate(() => document.documentElement.scrollHeight), height);
    await page.emulateMedia({ forcedColors: "active" });
    await boxes(page);
    const line = await page.$eval(`#${wide[0]} + .before + .after`, (sign) => getComputedStyle(sign).borderRightWidth);
    assert.equal(line, "3px");
  });
});

test("boxes show nothing where all can be seen, follow the window, and print as nothing", async () => {
  await withPage(samplePage("", "referents").html, { viewport: WIDE }, async (page) => {
    for (const { id, hidden } of await boxes(page)) assert.deepEqual(hidden, [0, 0], id);
    await page.setViewportSize(NARROW);
    assert.deepEqual((await boxes(page)).find(({ id }) => id === "referents").signs, ["right"]);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".more:visible").count(), 0);
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize(WIDE);
    for (const { id, hidden } of await boxes(page)) assert.deepEqual(hidden, [0, 0], id);
  });
});

for (const [name, file] of [
  ["a text", () => samplePage("", "referents").html],
  ["a continuation", usual],
]) {
  test(`whatever scrolls is reached and moved with the keyboard: ${name}`, async () => {
    await withPage(file(), { viewport: NARROW }, async (page) => {
      await page.locator("#compare-button").click();
      await boxes(page);
      // It is a stop of the keyboard, or has one in it.
      const lost = await page.$$eval("main *", (all) =>
        all
          .filter((box) => {
            const { overflowX, overflowY } = getComputedStyle(box);
            const scrolls =
              (/auto|scroll/u.test(overflowX) && box.scrollWidth > box.clientWidth + 1) ||
              (/auto|scroll/u.test(overflowY) && box.scrollHeight > box.clientHeight + 1);
            return scrolls && box.tabIndex < 0 && !box.querySelector('[tabindex="0"], button, input, select');
          })
          .map((box) => box.outerHTML.slice(0, 100)),
      );
      assert.deepEqual(lost, []);
      assert.deepEqual(await violations(page), []);
      if (name !== "a text") return;
      const table = page.locator('#referents.scroll[role="group"]');
      await table.focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction((box) => box.scrollLeft > 0, await table.elementHandle());
    });
  });
}

test("a head that is chosen with a key is brought into sight", async () => {
  await withPage(pageOf(fixture("text").report), { viewport: { width: 240, height: 900 } }, async (page) => {
    const signs = async () => (await boxes(page)).find(({ id }) => id === "heads").signs;
    assert.deepEqual(await signs(), ["right"]);
    await page.locator("#heads svg").focus();
    await page.keyboard.press("End");
    assert.deepEqual(await signs(), ["left"]);
    for (const place of ["#head-heading", "#live"]) {
      assert.match(await page.locator(place).textContent(), /head 7$/u);
    }
    const [frame, box] = [await boxOf(page, "#heads svg .frame"), await boxOf(page, "#heads.scroll")];
    assert.ok(frame.x >= box.x && frame.x + frame.width <= box.x + box.width + 3);
  });
});

test("a text that scrolls beside another is a stop of the keyboard, and keeps the keys that scroll it", async () => {
  await withPage(usual(), { viewport: WIDE }, async (page) => {
    await page.locator("#compare-button").click();
    const text = page.locator("#all-methods .half-text").first();
    await text.waitFor();
    const stop = () => text.evaluate((box) => [box.getAttribute("tabindex"), box.role]);
    await settled(page);
    assert.deepEqual(await stop(), [null, null]);
    await text.evaluate((box) => (box.style.maxHeight = "2rem"));
    await settled(page);
    assert.deepEqual(await stop(), ["0", "group"]);
    assert.match(await text.getAttribute("aria-label"), /^The text of \w+, which scrolls$/u);
    assert.deepEqual(await violations(page), []);
    const step = () => page.locator("#step").textContent();
    const before = await step();
    await text.focus();
    await page.keyboard.press("End");
    await page.waitForFunction((box) => box.scrollTop > 0, await text.elementHandle());
    for (const key of ["Home", "ArrowRight", " "]) await page.keyboard.press(key);
    await drawn(page);
    assert.equal(await step(), before);
    assert.equal(await page.locator("#play").getAttribute("aria-pressed"), "false");
    // Its name follows what is compared.
    await choose(page, "raw");
    await settled(page);
    assert.match(await text.getAttribute("aria-label"), /^The text of raw, /u);
  });
});
