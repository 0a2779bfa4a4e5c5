// What a page says before anybody touches it: a sentence, the coloured text, and how far to believe it, on the first
// screen of a desk and of a phone.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { drawn, open, startBrowser } from "./browser.js";
import { samplePages } from "./viewer_pages.js";

const SCREENS = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

/** Kinds of pages: the sample that is opened, its text or picture, and what is chosen first. */
const KINDS = [
  { kind: "", name: "short", shows: "#strip", says: /: rollout ranks “.+”.* first$/u },
  {
    kind: "",
    name: "long",
    shows: "#strip",
    method: "flow",
    says: /: flow cannot tell \d+ tokens apart, “.+” among them$/u,
  },
  { kind: "generation", name: "usual", shows: "#prompt", says: /^“.+”, .*%: rollout ranks “.+”.* first$/u },
  {
    kind: "image",
    name: "large",
    shows: "#stages",
    says: /: rollout ranks the patch in row \d+, column \d+.* first$/u,
  },
];

describe("the first screen", () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  for (const { kind, name, shows, method, says } of KINDS) {
    for (const viewport of SCREENS) {
      test(`${kind || "text"} ${name}, ${method ?? "rollout"}, ${viewport.width} pixels wide`, async () => {
        const { html } = samplePages(kind).find((one) => one.name === name);
        const { page, close } = await open(browser, html, { viewport });
        // As it opens.
        if (await page.locator("#skip-special").isVisible()) await page.locator("#skip-special").check();
        await page.evaluate(() => document.querySelector("#recompute")?.removeAttribute("open"));
        if (method) await page.locator(`#methods input[value="${method}"]`).check({ force: true });
        await drawn(page);
        await page.evaluate(() => scrollTo(0, 0));
        assert.match(await page.locator("h1").textContent(), says);
        const heading = await page.locator("h1").boundingBox();
        assert.ok(heading.y + heading.height < viewport.height / 2, "the headline");
        const { y } = await page.locator(shows).boundingBox();
        assert.ok(y + 80 < viewport.height, `${shows} begins at ${y}`);
        if (kind === "image") {
          const { y: top, height } = await page.locator("#stages .stage").boundingBox();
          assert.ok(top + height <= viewport.height, `the picture ends at ${top + height}`);
        }
        if (method === "flow") assert.match(await page.locator("#flow-belief").textContent(), /^Flow says little/u);
        await close();
      });
    }
  }

  for (const [kind, name, first] of [
    ["", "short", ["strip-card", "rank-card", "graph-card"]],
    ["generation", "usual", ["text-card", "rank-card", "choices-card"]],
    ["image", "small", ["picture-card", "rank-card", "share-card"]],
  ]) {
    test(`in one column cards that say most come first: ${kind || "text"}`, async () => {
      const { html } = samplePages(kind).find((one) => one.name === name);
      const { page, watch, close } = await open(browser, html, { viewport: SCREENS[1] });
      const cards = await page.$$eval("main section.card", (all) =>
        all.map((card) => [card.id, card.getBoundingClientRect().top]),
      );
      assert.deepEqual(
        cards.slice(0, 3).map(([id]) => id),
        first,
      );
      // In the order of the keyboard, too.
      for (const [k, [id, top]] of cards.entries()) assert.ok(k === 0 || top >= cards[k - 1][1], id);
      const { y: controls } = await page.locator("#controls").boundingBox();
      assert.ok(cards[0][1] < controls && controls < cards[1][1], "the controls stand after the first card");
      const tools = await page.$$eval(".toolbar .tools > *", (all) =>
        all.map((one) => one.getBoundingClientRect().top),
      );
      assert.ok(Math.max(...tools) - Math.min(...tools) < 12, "the tools stand in one line");
      await page.setViewportSize(SCREENS[0]);
      await drawn(page);
      assert.deepEqual(watch, { requests: [], messages: [] });
      await close();
    });
  }

  test("settings that change the numbers are folded until one is changed", async () => {
    const { html } = samplePages("").find(({ name }) => name === "short");
    const { page, close } = await open(browser, `${html}`);
    await page.evaluate(() => document.querySelector("#recompute").removeAttribute("open"));
    assert.equal(await page.locator("#residual").isVisible(), false);
    await page.evaluate(() => (location.hash = "#v=1&r=0.3"));
    await page.locator("#residual").waitFor();
    await page.locator("#recipe-reset").click();
    assert.equal(await page.locator("#residual").inputValue(), "0.5");
    await close();
  });
});
