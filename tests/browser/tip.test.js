// The tip beside what is pointed at, by the pointer and by the keyboard; zooming and dragging in the matrix.

import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOf, drawn, violations } from "./browser.js";
import { fixture, pageOf, samplePage, short, usual, withPage } from "./viewer_pages.js";

const tips = (page) =>
  page.$$eval(".tip:popover-open", (all) =>
    all.map((tip) => ({ text: tip.textContent, ...tip.getBoundingClientRect().toJSON() })),
  );

for (const [name, file, targets] of [
  ["text", short, ['#strip [data-token="3"]', "#heat svg", "#matrix svg", "#graph svg"]],
  ["picture", () => samplePage("image", "small").html, [".stage-box"]],
  ["continuation", usual, ['#prompt [data-token="1"]']],
]) {
  test(`the tip stands beside the pointer: ${name}`, async () => {
    await withPage(file(), {}, async (page) => {
      for (const target of targets) {
        await page.locator(target).first().scrollIntoViewIfNeeded();
        const box = await boxOf(page, target);
        const [x, y] = [box.x + box.width * 0.6, box.y + box.height * 0.5];
        await page.mouse.move(x - 2, y);
        await page.mouse.move(x, y);
        await drawn(page);
        const [tip, ...others] = await tips(page);
        assert.equal(others.length, 0);
        assert.match(tip.text, /%/u);
        const { width, height } = page.viewportSize();
        assert.ok(tip.left >= 0 && tip.right <= width && tip.bottom <= height, JSON.stringify(tip));
        assert.ok(Math.abs(tip.top - y) < 40 || Math.abs(tip.bottom - y) < 40, "near the pointer");
        if (target === targets[0]) assert.deepEqual(await violations(page), []);
        await page.keyboard.press("Escape");
        assert.equal((await tips(page)).length, 0, "Escape takes it away");
      }
    });
  });
}

test("the tip comes with the keyboard, in a text and in a matrix, and goes with the focus", async () => {
  await withPage(short(), {}, async (page) => {
    await page.locator("#strip [tabindex='0']").focus();
    await page.keyboard.press("ArrowRight");
    await drawn(page);
    assert.equal((await tips(page)).length, 1);
    await page.locator("#matrix svg").focus();
    await page.keyboard.press("ArrowRight");
    await drawn(page);
    const [tip, ...others] = await tips(page);
    assert.equal(others.length, 0);
    const cell = await boxOf(page, "#matrix .pointing .cell");
    assert.ok(Math.abs(tip.left - cell.x) < 300 && Math.abs(tip.top - cell.y) < 120, "beside the cell");
  });
});

test("a drag moves a zoomed matrix and chooses nothing; a click in a picture chooses what is there", async () => {
  const { report } = fixture("text");
  const n = report.input.tokens.length;
  await withPage(pageOf(report), {}, async (page) => {
    const chosen = () => page.locator("#output-token").inputValue();
    await page.locator("#output-token").selectOption("2");
    await page.locator("#matrix svg").focus();
    await page.keyboard.press("+");
    assert.equal(await page.locator("#matrix-whole").isEnabled(), true);
    await page.keyboard.press("0");
    assert.equal(await page.locator("#matrix-whole").isEnabled(), false);
    await page.locator("#matrix-closer").click();
    const box = await boxOf(page, "#matrix svg");
    await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.7);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5, { steps: 4 });
    await page.mouse.up();
    assert.equal(await chosen(), "2");
    await page.locator("#matrix-whole").click();
    await page.mouse.click(box.x + box.width * 0.6, box.y + box.height - 8); // the last row
    assert.equal(await chosen(), String(n - 1));
    const layers = report.model.layers;
    const cells = page.locator("#heat .cells rect");
    await cells.nth((layers - 1) * n).click(); // the first layer's first cell
    assert.match(await page.locator("#layer-name").textContent(), /^1 of/);
    await page.locator("#heat .label").nth(3).click();
    assert.equal(await chosen(), "3");
    await page.locator("#heads svg").scrollIntoViewIfNeeded();
    const frame = await boxOf(page, "#heads svg .frame");
    const right = frame.x + frame.width * 1.5;
    await page.mouse.click(right, frame.y + frame.height / 2);
    assert.match(await page.locator("#head-heading").textContent(), /head 1$/u);
  });
});

test("the matrix, zoomed, names no row that is cut off, and keeps the ring of focus within", async () => {
  await withPage(samplePage("", "long").html, { viewport: { width: 360, height: 800 } }, async (page) => {
    await page.waitForFunction(() => document.querySelector("#matrix svg")?.getBoundingClientRect().width < 360);
    await page.locator("#matrix svg").focus();
    for (const key of ["End", "ArrowDown", ..."+++++++"]) await page.keyboard.press(key);
    await page.waitForFunction(() => document.querySelectorAll("#matrix svg > text.label").length > 1);
    const { top, height, rows, offset } = await page.$eval("#matrix svg", (svg) => {
      const first = svg.querySelector("clipPath rect");
      const [top, height] = ["y", "height"].map((name) => Number(first.getAttribute(name)));
      const labels = [...svg.querySelectorAll('text.label[text-anchor="end"][x]')];
      const rows = labels.map((one) => Number(one.getAttribute("y")));
      return { top, height, rows, offset: parseFloat(getComputedStyle(svg).outlineOffset) };
    });
    assert.ok(rows.length > 0);
    for (const y of rows) assert.ok(y > top && y < top + height + 8, `${y} is outside`);
    // No strip that is as high as names need.
    assert.ok(top < 45 && offset < 0, `${top} above the cells`);
  });
});
