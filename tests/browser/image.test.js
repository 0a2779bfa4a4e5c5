// The page of a picture paints the picture, maps over it, their legends and thumbnails in the right places.

import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOf, choose, saved } from "./browser.js";
import { Numbers, reportOf, samplePage, withPage } from "./viewer_pages.js";

/** A canvas's size and pixels [r, g, b, a], read from a copy; of many pixels one in `every`. */
const pixelsOf = (page, selector, every = 1) =>
  page.$eval(
    selector,
    (canvas, step) => {
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      const pixels = [];
      for (let i = 0; i < data.length; i += 4 * step) pixels.push([...data.slice(i, i + 4)]);
      return { width: copy.width, height: copy.height, pixels };
    },
    every,
  );
const light = ([red, green, blue]) => red + green + blue;
const overlay = (page, kind) => page.locator(`#overlay input[value="${kind}"]`).check({ force: true });
const near = (a, b, most = 1) => Math.abs(a - b) < most;

function readSample(name) {
  const report = reportOf("image", name);
  const { image } = report.input;
  const { rows, columns, first_patch: first } = image;
  const patches = Array.from({ length: rows * columns }, (_, p) => first + p);
  const numbers = new Numbers(report);
  const [layer] = report.settings.layers.slice(-1);
  const map = (method) => numbers.row(method, report.output_token, [layer]).slice(first, first + patches.length);
  return { report, image, rows, columns, first, patches, map };
}

const withPicture = (name, run) =>
  withPage(samplePage("image", name).html, {}, async (page) => {
    await page.locator("#picture-card[data-ready]").waitFor();
    await run(page, readSample(name));
  });

test("the picture stands where the grid says it is, thumbnails are cut there, and marks lie on their patches", async () => {
  await withPicture("around", async (page, { report, image, rows, columns, first, patches }) => {
    const [photo, map, grid] = await Promise.all(
      ["figure .photo", "figure .map", ".grid"].map((part) => boxOf(page, `#stages ${part}`)),
    );
    const scale = photo.width / image.width;
    assert.ok(near(photo.height / image.height, scale, 0.01 * scale + 1 / image.height));
    const [left, top, right, bottom] = image.seen;
    for (const part of [map, grid]) {
      assert.ok(near(part.x, photo.x + scale * left) && near(part.y, photo.y + scale * top));
      assert.ok(near(part.width, scale * (right - left)) && near(part.height, scale * (bottom - top)));
    }
    const drawn = await pixelsOf(page, "#stages figure .photo");
    assert.deepEqual([drawn.width, drawn.height], [image.picture.width, image.picture.height]);
    assert.ok(new Set(drawn.pixels.map(String)).size > 3, "the picture is blank");
    // A thumbnail's middle is that of its patch.
    await page.locator("#specials button").first().click();
    if (await page.locator("#rank-all").isVisible()) await page.locator("#rank-all").click();
    let looked = 0;
    for (const token of [patches[0], patches[Math.floor(patches.length / 2)], patches.at(-1)]) {
      const p = token - first;
      const [x, y] = [
        ((left + ((p % columns) + 0.5) * ((right - left) / columns)) * drawn.width) / image.width,
        ((top + (Math.floor(p / columns) + 0.5) * ((bottom - top) / rows)) * drawn.height) / image.height,
      ].map(Math.floor);
      if (x < 1 || y < 1 || x > drawn.width - 2 || y > drawn.height - 2) continue;
      const cut = await pixelsOf(page, `#rank tr[data-token="${token}"] .thumbnail`);
      const pixel = cut.pixels[20 * cut.width + 20];
      // The middle may fall on the border of two pixels.
      const around = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => drawn.pixels[(y + dy) * drawn.width + x + dx]));
      for (const c of [0, 1, 2]) {
        const shades = around.map((one) => one[c]);
        assert.ok(pixel[c] >= Math.min(...shades) - 3 && pixel[c] <= Math.max(...shades) + 3, `${pixel} of ${token}`);
      }
      ++looked;
    }
    assert.ok(looked > 0);
    const chosen = `#stages .cell[data-token="${report.first ?? patches[0]}"]`;
    await page.locator(chosen).click();
    for (const [mark, of] of [
      ["#stages figure .picked", chosen],
      [".pointed-patch", "#stages .cell[data-token]"],
    ]) {
      await page.locator(of).first().hover();
      const [box, place] = [await boxOf(page, mark), await boxOf(page, of)];
      assert.ok(near(box.x, place.x, 1.5) && near(box.y, place.y, 1.5), mark);
    }
  });
});

test("the map has the colours of its legend; smooth, it keeps their range", async () => {
  await withPicture("small", async (page, { report, first, rows, columns, patches, map }) => {
    await overlay(page, "colour");
    await choose(page, "raw");
    const values = map("raw");
    const exact = await pixelsOf(page, '#stages figure[data-method="raw"] .map');
    assert.deepEqual([exact.width, exact.height], [columns, rows]);
    // Nobody sees itself: it may lie above the scale. All others darken with the value.
    const order = [...values.keys()]
      .filter((p) => patches[p] !== report.output_token)
      .sort((a, b) => values[a] - values[b]);
    const shades = order.map((p) => light(exact.pixels[p]));
    for (let k = 1; k < shades.length; ++k) assert.ok(shades[k] <= shades[k - 1] + 2, `${k + first}: ${shades[k]}`);
    await page.locator("#smooth").check();
    const smooth = await pixelsOf(page, '#stages figure[data-method="raw"] .map', 101);
    const range = ({ pixels }) => {
      const sorted = pixels.map(light).sort((a, b) => a - b);
      return [sorted[0], sorted.at(-1)];
    };
    assert.ok(smooth.width >= 3 * exact.width);
    assert.ok(range(smooth)[0] >= range(exact)[0] - 1 && range(smooth)[1] <= range(exact)[1] + 1);
    assert.ok(new Set(smooth.pixels.map(String)).size > new Set(exact.pixels.map(String)).size);
  });
});

test("a map lies over the picture in four ways, and its legend is what is drawn", async () => {
  await withPicture("small", async (page, { rows, columns, first, map }) => {
    const figure = '#stages figure[data-method="rollout"]';
    const values = map("rollout");
    const strongest = values.indexOf(Math.max(...values));
    const pixel = async () => (await pixelsOf(page, `${figure} .map`)).pixels[strongest];
    const opacity = () => page.$eval(`${figure} .map`, (one) => Number(getComputedStyle(one).opacity));
    /** The legend's colours, each [r, g, b, opacity], from its low end to its top. */
    const bar = () =>
      page.$eval(`${figure} > .legend .ramp`, (ramp) => {
        const [, stops] = getComputedStyle(ramp).backgroundImage.split("linear-gradient");
        return [...stops.matchAll(/rgba?\(([^)]*)\)/gu)].map(([, text]) => {
          const [r, g, b, alpha = 1] = text.split(",").map(Number);
          return [r, g, b, alpha];
        });
      });
    await overlay(page, "colour");
    let [r, g, b, alpha] = (await bar()).at(-1);
    assert.deepEqual((await pixel()).slice(0, 3), [r, g, b]);
    assert.ok(near(alpha, await opacity(), 0.01));
    for (const percent of ["0", "100", "65"]) {
      await page.locator("#opacity").fill(percent);
      assert.equal(await opacity(), Number(percent) / 100);
    }
    // With the arrow keys, as one goes through radio buttons.
    await page.locator('#overlay input[value="colour"]').focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.locator("#overlay input:checked").inputValue(), "opacity");
    const marks = await bar();
    [r, g, b, alpha] = marks.at(-1);
    assert.ok(marks.every((one) => one[3] === 0 || (one[0] === r && one[1] === g && one[2] === b)));
    assert.ok(marks[0][3] === 0 && near(alpha, await opacity(), 0.01));
    assert.ok(marks.every((one, k) => k === 0 || one[3] >= marks[k - 1][3]));
    const one = await pixel();
    assert.ok(one[3] === 255 && [r, g, b].every((shade, k) => Math.abs(one[k] - shade) <= 1));
    assert.match(await page.$eval(`${figure} .photo`, (photo) => getComputedStyle(photo).filter), /grayscale\(1\)/u);
    assert.ok((await page.locator("#grey").isDisabled()) && (await page.locator("#grey").isChecked()));

    await page.keyboard.press("ArrowRight");
    const outlines = await page.$$eval(`${figure} .contours g`, (all) => all.map(({ dataset }) => ({ ...dataset })));
    assert.equal(outlines.length, 3);
    const svg = (await saved(page, "picture", "svg")).bytes.toString();
    for (const { share, patches } of outlines) {
      assert.ok(svg.includes(`data-share="${share}" data-patches="${patches}"`));
      assert.ok(svg.includes(`>${100 * share}% on ${patches} `));
    }

    await page.locator('#overlay input[value="outline"]').focus();
    await page.keyboard.press("ArrowRight");
    const [photo, beside] = await page.$$eval(`${figure} .stage-box`, (all) =>
      all.map((box) => {
        const { left, right, top, bottom } = box.getBoundingClientRect();
        return { left, right, top, bottom, layers: [...box.querySelectorAll("canvas")].map((c) => c.className) };
      }),
    );
    assert.ok(photo.right <= beside.left || photo.bottom <= beside.top, "they overlap");
    assert.match(photo.layers.join(), /^photo[^,]*$/u);
    assert.match(beside.layers.join(), /^map[^,]*$/u);
    assert.deepEqual([await opacity(), (await bar()).at(-1)], [1, [...(await pixel()).slice(0, 3), 1]]);
    // The picture is clicked as the map is.
    const grid = await boxOf(page, `${figure} .map`);
    await page.mouse.click(
      grid.x + photo.left - beside.left + (0.5 * grid.width) / columns,
      grid.y + photo.top - beside.top + (0.5 * grid.height) / rows,
    );
    const selected = page.locator('#stages .cell[aria-selected="true"]');
    assert.equal(await selected.getAttribute("data-token"), String(first));
  });
});

test("methods stand side by side, and a click on another's map chooses the patch there too; files have pictures", async () => {
  await withPicture("small", async (page, { columns, rows, patches, map }) => {
    await page.locator("#side").check();
    const tops = await page.$$eval("#stages figure", (all) => all.map((one) => one.getBoundingClientRect().top));
    assert.deepEqual([tops.length, new Set(tops.map(Math.round)).size], [3, 1]);
    const grid = await boxOf(page, '#stages figure[data-method="raw"] .map');
    await page.mouse.click(grid.x + (1.5 * grid.width) / columns, grid.y + (0.5 * grid.height) / rows);
    const selected = page.locator('#stages .cell[aria-selected="true"]');
    assert.equal(await selected.getAttribute("data-token"), String(patches[1]));
    await page.locator("#side").uncheck();
    await page.locator("#specials button").first().click();
    const svg = (await saved(page, "picture", "svg")).bytes.toString();
    const found = await page.evaluate((text) => {
      const root = new DOMParser().parseFromString(text, "image/svg+xml");
      const part = (name) => root.querySelector(`[data-part="${name}"]`)?.textContent;
      return {
        about: [root.documentElement.nodeName, root.querySelectorAll("image").length, part("title")],
        facts: part("facts"),
        cells: [...root.querySelectorAll("rect[data-value]")].map((cell) => Number(cell.dataset.value)),
      };
    }, svg);
    assert.deepEqual(found.about, ["svg", 1, "Over the picture"]);
    // A patch says where it is; its number among the tokens means nothing to readers.
    assert.match(found.facts, /^Method rollout; Output token “[^”]*”; Layers/u);
    for (const [k, value] of map("rollout").entries()) assert.ok(near(found.cells[k], value, 1e-3 * value + 1e-6));
  });
});
