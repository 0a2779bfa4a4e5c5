// A page fits paper if nothing is wider, controls are left out, legends stay, and all is light, whatever the screen is.

import assert from "node:assert/strict";

/** CSS pixels of an A4 page's longer and shorter side, without its margins of 12 mm. */
const [SHORT, LONG] = [210, 297].map((mm) => Math.floor(((mm - 24) / 25.4) * 96));
const SIZES = [
  { width: SHORT, height: LONG },
  { width: LONG, height: SHORT },
  { width: 794, height: 1123 },
];

const onPaper = (page) =>
  page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const shown = (element) => element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
    const boxes = [...document.querySelectorAll("main *, header *")].filter(
      (element) => shown(element) && !element.closest(".visually-hidden, .stage, defs, clipPath, pattern"),
    );
    const name = (element) => `${element.closest("[id]")?.id} ${element.nodeName}.${element.getAttribute("class")}`;
    const html = boxes.filter((element) => element instanceof HTMLElement);
    return {
      // Arcs and frames of a zoomed picture are cut by its border: they are no content.
      wide: boxes
        .filter((element) => element instanceof HTMLElement || element.nodeName === "svg")
        .filter((element) => {
          const { left, right } = element.getBoundingClientRect();
          return right > width + 1 || left < -1;
        })
        .map(name),
      cut: html
        .filter((element) => getComputedStyle(element).overflowX !== "visible")
        .filter((element) => element.scrollWidth > element.clientWidth + 1)
        .map(name),
      scroll: Math.max(0, document.documentElement.scrollWidth - width),
      controls: boxes.filter((one) => one.matches("button:not(#rank button), input, select, .card-tools")).map(name),
      legends: boxes.filter((element) => element.matches(".ramp")).length,
      pictures: boxes.filter((element) => element.matches("canvas, .picture svg, .cells-picture svg:not(.stuck)"))
        .length,
      facts: document.getElementById("print-facts")?.innerText ?? "",
      ground: getComputedStyle(document.querySelector(".card")).backgroundColor,
    };
  });

export async function assertFitsPaper(page) {
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
  const screen = await onPaper(page);
  assert.ok(screen.controls.length > 5, "the screen has controls");
  const viewport = page.viewportSize();
  await page.emulateMedia({ media: "print" });
  const white = "rgb(255, 255, 255)";
  await page.waitForFunction(
    (ground) => getComputedStyle(document.querySelector(".card")).backgroundColor === ground,
    white,
  );
  for (const size of SIZES) {
    await page.setViewportSize(size);
    const { wide, cut, scroll, controls, legends, ground, pictures, facts } = await onPaper(page);
    assert.deepEqual(
      { wide, cut, scroll, controls, legends, ground },
      { wide: [], cut: [], scroll: 0, controls: [], legends: screen.legends, ground: white },
      `${size.width} pixels`,
    );
    assert.ok(pictures >= screen.pictures, `${size.width} pixels`);
    assert.match(facts, /^Method \w+; .*Heads /);
  }
  // Pictures on canvas are painted anew in light colours: the weakest values of a dark scale are nearly black.
  const dark = await page.$$eval(".compare .layer-map canvas, #compare .layer-map canvas", (all) =>
    all.filter((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let [sum, count] = [0, 0];
      for (let p = 0; p < data.length; p += 4) {
        if (data[p + 3] === 0) continue;
        sum += Math.max(data[p], data[p + 1], data[p + 2]);
        ++count;
      }
      return count > 0 && sum / count < 120;
    }),
  );
  assert.equal(dark.length, 0);
  await page.emulateMedia({ media: "screen" });
  await page.setViewportSize(viewport);
  assert.equal((await onPaper(page)).controls.length, screen.controls.length);
}

/** Cards that are not laid out because they are out of sight. */
export const skipped = (page) =>
  page.$$eval(".card-body > :first-child", (all) =>
    all.filter((one) => !one.checkVisibility({ contentVisibilityAuto: true })).map((one) => one.closest(".card").id),
  );
