// What is wider than its card scrolls in it, says so at its sides, and is reached with the keyboard. Labels of pictures
// are cut neither there nor by their pictures.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { drawn, open, startBrowser, violations } from "./browser.js";
import { makePage, samplePages } from "./viewer_pages.js";

const samples = new Map(
  ["", "generation"].flatMap((kind) => samplePages(kind).map((page) => [join(kind, page.name), page.json])),
);
const NARROW = { width: 360, height: 900 };
const WIDE = { width: 1200, height: 900 };

let browser, folder;
const pages = new Map();
before(async () => {
  browser = await startBrowser();
  folder = mkdtempSync(join(tmpdir(), "attnflow-scroll-"));
  for (const name of ["deep", "referents", "generation/usual"]) {
    pages.set(name, join(folder, `${name.replace("/", "-")}.html`));
    makePage(samples.get(name), pages.get(name));
  }
  // Of eight heads in each layer.
  const fixture = new URL("../../viewer/test/fixtures/text.json", import.meta.url);
  writeFileSync(join(folder, "heads.json"), JSON.stringify(JSON.parse(readFileSync(fixture, "utf8")).report));
  pages.set("heads", join(folder, "heads.html"));
  makePage(join(folder, "heads.json"), pages.get("heads"));
  for (const [name, from] of [
    ["long labels", join(folder, "heads.json")],
    ["generation/long labels", samples.get("generation/usual")],
  ]) {
    const report = JSON.parse(readFileSync(from, "utf8"));
    const tokens = [...report.input.tokens, ...(report.generation?.tokens ?? [])];
    for (const [k, token] of tokens.entries()) token.text = (k % 2 ? " " : "") + "WM".repeat(3 + (k % 7));
    const file = join(folder, name.replace(/\W/gu, "-"));
    writeFileSync(`${file}.json`, JSON.stringify(report));
    pages.set(name, `${file}.html`);
    makePage(`${file}.json`, `${file}.html`);
  }
  pages.set("image", join(folder, "image.html"));
  makePage(samplePages("image").find(({ name }) => name === "small").json, pages.get("image"));
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** A page for one test: closed after it, and it must have behaved. */
function withPage(name, options, run) {
  return async () => {
    const { page, watch, close } = await open(browser, pages.get(name), options);
    try {
      await run(page);
      assert.deepEqual(watch, { requests: [], messages: [] });
    } finally {
      await close();
    }
  };
}

/** Of each box: how much it hides at its sides, and the signs that can be seen, with their place in it. */
const boxes = (page) =>
  page.$$eval(".scroller", (all) =>
    all.map((frame) => {
      const box = frame.firstElementChild;
      const area = box.getBoundingClientRect();
      const signs = [...frame.querySelectorAll(":scope > .more")].filter(
        (sign) => getComputedStyle(sign).opacity > 0.9,
      );
      return {
        id: box.id,
        hidden: [box.scrollLeft, box.scrollWidth - box.clientWidth - box.scrollLeft],
        signs: signs.map((sign) => {
          const { left, right, top, bottom } = sign.getBoundingClientRect();
          const inside = left >= area.left && right <= area.right && top >= area.top && bottom <= area.bottom + 0.5;
          return inside ? (left - area.left < 1 ? "left" : "right") : "outside";
        }),
      };
    }),
  );

/** Until the signs have faded in and out. */
const settled = async (page) => {
  await drawn(page);
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((one) => one.finished)));
};

function assertSigns(found) {
  for (const { id, hidden, signs } of found) {
    const expected = ["left", "right"].filter((_, side) => hidden[side] > 1.5);
    assert.deepEqual(signs, expected, `${id} hides ${hidden}`);
  }
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

describe("labels of pictures", () => {
  for (const viewport of [NARROW, WIDE]) {
    test(
      `have room in the matrices at ${viewport.width} pixels`,
      withPage("long labels", { viewport }, async (page) => {
        await settled(page);
        assert.ok((await page.locator("#matrix svg text.label").count()) > 0);
        assert.ok((await page.locator("#head svg text.label").count()) > 0);
        assert.deepEqual(await cutLabels(page, "#matrix svg, #head svg"), []);
        const labels = await page.locator("#matrix svg text.label").allTextContents();
        assert.ok(labels.includes("WMWMWM") || labels.some((label) => /^WM.*…$/u.test(label)), labels.join());
      }),
    );

    test(
      `have room in a continuation's at ${viewport.width} pixels, and stay there while rows scroll`,
      withPage("generation/long labels", { viewport }, async (page) => {
        await settled(page);
        assert.ok((await page.locator("#map svg text").count()) > 0);
        assert.deepEqual(await cutLabels(page, "#map .cells-picture > svg, #heat .cells-picture > svg"), []);
        await page.$eval("#map", (box) => (box.style.maxHeight = "16rem"));
        for (const to of [0, 40, 1e6]) {
          const [labels, kept, box, font] = await page.$eval(
            "#map",
            (element, top) => {
              element.scrollTop = top;
              const use = element.querySelector(".stuck use");
              const { height } = element.querySelector("#map-columns").getBBox();
              return [
                [use.getBBox().height, height],
                use.parentElement.getBoundingClientRect().bottom,
                element.getBoundingClientRect().top + element.clientHeight,
                [use, element.querySelector("#map-columns text")].map((text) => {
                  const { fontSize, fontFamily, fill } = getComputedStyle(text);
                  return { fontSize, fontFamily, fill };
                }),
              ];
            },
            to,
          );
          assert.ok(Math.abs(labels[0] - labels[1]) < 0.5, labels.join());
          assert.ok(Math.abs(kept - box) < 1, `labels end at ${kept}, the box at ${box}`);
          assert.deepEqual(font[0], font[1]);
        }
        // The last row is in sight above them.
        await page.locator("#map-cells").focus();
        await page.keyboard.press("Home");
        await page.keyboard.press("PageUp");
        await page.keyboard.press("PageDown");
        const [cell, stuck] = await page.$$eval("#map .pointing .cell, #map .stuck", (all) =>
          all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })),
        );
        assert.ok(cell.bottom <= stuck.top + 1, `${cell.bottom} is below ${stuck.top}`);
        // What they hide is not clicked through them.
        await page.$eval("#map", (box) => (box.scrollTop = 0));
        const before = await page.locator("#step").textContent();
        await page.locator("#map .stuck").click({ position: { x: 100, y: 30 } });
        assert.equal(await page.locator("#step").textContent(), before);
      }),
    );
  }

  for (const width of [360, 420, 1200]) {
    test(
      `pictures of layers have one size at ${width} pixels`,
      withPage("image", { viewport: { width, height: 900 } }, async (page) => {
        await settled(page);
        const sizes = await page.$$eval("#strips .layer", (all) => all.map((one) => one.getBoundingClientRect().width));
        assert.ok(sizes.length > 1);
        for (const size of sizes) assert.ok(Math.abs(size - sizes[0]) < 0.5, sizes.join());
      }),
    );
  }
});

describe("boxes that scroll sideways", () => {
  for (const colorScheme of ["light", "dark"]) {
    test(
      `show at which side there is more, ${colorScheme}`,
      withPage("deep", { viewport: NARROW, colorScheme }, async (page) => {
        await settled(page);
        const first = await boxes(page);
        assertSigns(first);
        const wide = first.filter(({ hidden }) => hidden[1] > 100).map(({ id }) => id);
        assert.deepEqual(wide, ["graph", "heat"]);
        const height = await page.evaluate(() => document.documentElement.scrollHeight);
        for (const [to, signs] of [
          [200, ["left", "right"]],
          [1e6, ["left"]],
          [0, ["right"]],
        ]) {
          for (const id of wide) await page.$eval(`#${id}.scroll`, (box, left) => (box.scrollLeft = left), to);
          await settled(page);
          const found = await boxes(page);
          assertSigns(found);
          for (const { id, signs: seen } of found) if (wide.includes(id)) assert.deepEqual(seen, signs, id);
        }
        assert.equal(await page.evaluate(() => document.documentElement.scrollHeight), height);
      }),
    );
  }

  test(
    "show nothing where all can be seen, follow the window, and print as nothing",
    withPage("referents", { viewport: WIDE }, async (page) => {
      await settled(page);
      for (const { id, hidden, signs } of await boxes(page)) assert.deepEqual([...hidden, ...signs], [0, 0], id);
      await page.setViewportSize(NARROW);
      await settled(page);
      const narrow = await boxes(page);
      assertSigns(narrow);
      assert.deepEqual(narrow.find(({ id }) => id === "referents").signs, ["right"]);
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.locator(".more:visible").count(), 0);
      await page.emulateMedia({ media: "screen" });
      await page.setViewportSize(WIDE);
      await settled(page);
      for (const { id, signs } of await boxes(page)) assert.deepEqual(signs, [], id);
    }),
  );

  test(
    "have a sign in the system's colours, too",
    withPage("deep", { viewport: NARROW, forcedColors: "active" }, async (page) => {
      await settled(page);
      assertSigns(await boxes(page));
      const line = await page.$eval("#graph + .before + .after", (sign) => getComputedStyle(sign).borderRightWidth);
      assert.equal(line, "3px");
    }),
  );

  for (const name of ["deep", "referents", "generation/usual"]) {
    test(
      `are reached and moved with the keyboard in ${name}`,
      withPage(name, { viewport: NARROW }, async (page) => {
        if (name === "generation/usual") await page.locator("#compare-button").click();
        await settled(page);
        assertSigns(await boxes(page));
        // Whatever scrolls is a stop of the keyboard, or has one in it.
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
        let tables = 0;
        for (const table of await page.locator('.scroll[role="group"]:has(> table)').all()) {
          if (!(await table.evaluate((box) => box.scrollWidth > box.clientWidth + 60))) continue;
          await table.focus();
          await page.keyboard.press("ArrowRight");
          await page.waitForFunction((box) => box.scrollLeft > 0, await table.elementHandle());
          ++tables;
        }
        assert.ok(tables > 0 || name !== "referents");
      }),
    );
  }

  test(
    "bring a head that is chosen with a key into sight",
    withPage("heads", { viewport: { width: 240, height: 900 } }, async (page) => {
      await settled(page);
      const before = (await boxes(page)).find(({ id }) => id === "heads");
      assert.deepEqual(before.signs, ["right"]);
      await page.locator("#heads svg").focus();
      await page.keyboard.press("End");
      await settled(page);
      assert.match(await page.locator("#head-heading").textContent(), /head 7$/u);
      assert.match(await page.locator("#live").textContent(), /head 7$/u);
      const after = (await boxes(page)).find(({ id }) => id === "heads");
      assert.deepEqual(after.signs, ["left"]);
      const [frame, box] = await Promise.all([
        page.locator("#heads svg .frame").boundingBox(),
        page.locator("#heads.scroll").boundingBox(),
      ]);
      assert.ok(frame.x >= box.x && frame.x + frame.width <= box.x + box.width + 3);
    }),
  );

  test(
    "a text that scrolls beside another keeps the keys that scroll it",
    withPage("generation/usual", { viewport: WIDE }, async (page) => {
      await page.locator("#compare-button").click();
      const text = page.locator("#all-methods .half-text").first();
      await text.waitFor();
      await text.evaluate((box) => (box.style.maxHeight = "2rem"));
      await settled(page);
      assert.match(await text.getAttribute("aria-label"), /^The text of \w+, which scrolls$/u);
      const step = () => page.locator("#step").textContent();
      const before = await step();
      await text.focus();
      await page.keyboard.press("End");
      await page.waitForFunction((box) => box.scrollTop > 0, await text.elementHandle());
      for (const key of ["Home", "ArrowRight", " "]) await page.keyboard.press(key);
      await drawn(page);
      assert.equal(await step(), before);
      assert.equal(await page.locator("#play").getAttribute("aria-pressed"), "false");
    }),
  );

  test(
    "a long text beside another is a stop of the keyboard only while it scrolls",
    withPage("deep", { viewport: WIDE }, async (page) => {
      await page.locator("#compare-button").click();
      const texts = page.locator("#compare .half-text");
      await settled(page);
      const stops = () => texts.evaluateAll((all) => all.map((box) => [box.getAttribute("tabindex"), box.role]));
      assert.deepEqual(await stops(), Array(3).fill([null, null]));
      await texts.evaluateAll((all) => all.forEach((box) => (box.style.maxHeight = "4rem")));
      await settled(page);
      assert.deepEqual(await stops(), Array(3).fill(["0", "group"]));
      // Their names follow what is compared.
      const name = () => texts.first().getAttribute("aria-label");
      for (const method of ["raw", "rollout"]) {
        await page.locator(`#methods input[value="${method}"]`).check({ force: true });
        await settled(page);
        assert.match(await name(), new RegExp(`^The text of first: ${method}, `, "u"));
      }
      assert.deepEqual(await violations(page), []);
    }),
  );
});
