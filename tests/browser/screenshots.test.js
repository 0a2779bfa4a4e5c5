// A few fixed states of the page look as they did: screenshots, made small so that the shapes of letters do not matter,
// are compared with those in screenshots/.
//
//   ATTNFLOW_SCREENSHOTS=write tests/browser/run --all FOLDER     writes them anew; look at them before they are committed

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { samplePage, withPage } from "./viewer_pages.js";

const folder = fileURLToPath(new URL("screenshots/", import.meta.url));
const writes = process.env.ATTNFLOW_SCREENSHOTS === "write";

const WIDTH = 240;
// A block of 4 by 4 small pixels that differs by more, of 255, looks different.
const MOST_APART = 28;
// This share of all blocks may look different: other fonts break lines elsewhere.
const MOST_BLOCKS = 0.02;

const STATES = [
  { name: "short-light", page: "short", colorScheme: "light" },
  { name: "short-dark-flow", page: "short", colorScheme: "dark", fragment: "#v=1&m=flow&l=4&p=cividis" },
  { name: "short-compare", page: "short", colorScheme: "light", fragment: "#v=1&b=raw.2", height: 1600 },
  { name: "short-narrow", page: "short", colorScheme: "light", width: 360, height: 900 },
  { name: "arabic-light", page: "arabic", colorScheme: "light" },
];

/** Makes a picture small in the browser: a PNG as base64, and its pixels in grey and colour. */
const shrink = (page, png, width) =>
  page.evaluate(
    async ([data, small]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = small;
      canvas.height = Math.round((image.height * small) / image.width);
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      const { data: pixels } = context.getImageData(0, 0, canvas.width, canvas.height);
      return { png: canvas.toDataURL("image/png").split(",")[1], height: canvas.height, pixels: [...pixels] };
    },
    [png.toString("base64"), width],
  );

/** The share of blocks that look different. */
function apart(a, b) {
  assert.equal(a.height, b.height);
  let [blocks, different] = [0, 0];
  for (let top = 0; top + 4 <= a.height; top += 4) {
    for (let left = 0; left + 4 <= WIDTH; left += 4) {
      const sums = [0, 0, 0];
      for (let y = top; y < top + 4; ++y) {
        for (let x = left; x < left + 4; ++x) {
          for (let c = 0; c < 3; ++c) sums[c] += a.pixels[4 * (y * WIDTH + x) + c] - b.pixels[4 * (y * WIDTH + x) + c];
        }
      }
      ++blocks;
      if (Math.max(...sums.map(Math.abs)) / 16 > MOST_APART) ++different;
    }
  }
  return different / blocks;
}

if (writes) mkdirSync(folder, { recursive: true });

for (const { name, page: report, colorScheme, fragment = "", width = 1000, height = 800 } of STATES) {
  test(name, async () => {
    const options = { viewport: { width, height }, colorScheme, reducedMotion: "reduce" };
    await withPage(samplePage("", report).html, options, async (page) => {
      if (fragment) {
        await page.evaluate((hash) => (location.hash = hash), fragment);
        await page.waitForTimeout(700);
      }
      await page.evaluate(() => scrollTo(0, 0));
      await page.mouse.move(1, 1);
      await page.waitForTimeout(200);
      const found = await shrink(page, await page.screenshot(), WIDTH);
      const file = `${folder}${name}.png`;
      if (writes) writeFileSync(file, Buffer.from(found.png, "base64"));
      assert.ok(existsSync(file), `expected ${file}; write it with ATTNFLOW_SCREENSHOTS=write`);
      const expected = await shrink(page, readFileSync(file), WIDTH);
      const share = apart(found, expected);
      assert.ok(share <= MOST_BLOCKS, `${(100 * share).toFixed(1)}% of the picture looks different`);
      // The comparison sees: another state is different.
      const other = readFileSync(`${folder}${STATES[name === STATES[0].name ? 1 : 0].name}.png`);
      const unlike = await shrink(page, other, WIDTH);
      if (unlike.height === found.height) assert.ok(apart(unlike, found) > MOST_BLOCKS, "all look alike");
    });
  });
}
