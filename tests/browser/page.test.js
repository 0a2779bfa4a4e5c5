// Pages from files in Chromium: requests, accessibility, room, the keyboard's order, painted colors, back and forward.
// Numbers, texts and choices are tested without a browser (viewer/test/dom).

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { boxOf, choose, drawn, fold, overlaps, pageWidth, unnamed, violations } from "./browser.js";
import { fixture, Numbers, open, pageOf, reportOf, samplePage, short, usual, withPage } from "./viewer_pages.js";

const OPERATED =
  "button, input, select, [role=listbox], [role=option], [role=grid], [role=gridcell], [role=button], [role=img], [role=application], [role=region]";
const CONTROLS =
  "#controls button, #controls select, #controls label, #controls input[type=range], #specials button, #overlay label, #picture-card .foot label";

for (const kind of ["", "generation", "image"]) {
  test(`markup stays text, and the page can ask for nothing: ${kind || "text"}`, async () => {
    await withPage(samplePage(kind, "markup").html, {}, async (page, { watch }) => {
      assert.deepEqual(watch, { requests: [], messages: [] });
      assert.notEqual(await page.title(), "run");
      assert.equal(await page.locator("script").count(), 2);
      const blocked = await page.evaluate(() => {
        const failed = (loaded) => loaded.then(() => false).catch(() => true);
        const image = new Image();
        image.src = "https://example.org/picture.png";
        return Promise.all([failed(fetch("https://example.org/")), failed(image.decode())]);
      });
      assert.deepEqual(blocked, [true, true]);
      // Stopped by the page's own policy, before any request. Chromium says so on the console.
      assert.deepEqual(watch.requests, []);
      watch.messages.length = 0;
    });
  });
}

for (const [kind, name, file = samplePage(kind, name).html] of [
  ["", "short"],
  ["", "arabic"],
  ["generation", "usual"],
  ["image", "small"],
  ["image", "checked", checkedPicture()],
]) {
  test(`axe finds nothing, light and dark; controls have names and room: ${kind} ${name}`, async () => {
    await withPage(file, { colorScheme: "light" }, async (page) => {
      assert.deepEqual(await unnamed(page, OPERATED), []);
      assert.deepEqual(await overlaps(page, CONTROLS), []);
      if (kind === "image") await page.locator('#overlay input[value="outline"]').check({ force: true });
      else await page.locator("#compare-button").click();
      if (kind === "") await page.locator("#filters-button").click();
      assert.deepEqual(await violations(page), []);
      await page.locator("#theme-button").click();
      await drawn(page);
      assert.deepEqual(await violations(page), []);
    });
  });
}

for (const [kind, name] of [
  ["", "deep"],
  ["", "referents"],
  ["generation", "usual"],
  ["image", "small"],
]) {
  test(`fits 360 pixels: ${kind} ${name}`, async () => {
    await withPage(samplePage(kind, name).html, { viewport: { width: 360, height: 740 } }, async (page) => {
      for (const method of await page.$$eval("#methods input:enabled", (all) => all.map(({ value }) => value))) {
        await choose(page, method);
        assert.ok((await pageWidth(page)) <= 360, method);
      }
      for (const overlay of kind === "image" ? ["opacity", "outline", "beside"] : []) {
        await page.locator(`#overlay input[value="${overlay}"]`).check({ force: true });
        assert.ok((await pageWidth(page)) <= 360, overlay);
      }
      if (kind !== "generation") return;
      // The widest ranking has a column beside the shown one, and one of shares.
      await choose(page, "rollout");
      await page.setViewportSize({ width: 390, height: 740 });
      await drawn(page);
      assert.equal(await page.$eval("#rank", (box) => box.scrollWidth - box.clientWidth), 0);
    });
  });
}

test("a right-to-left text runs from the right, and the arrow keys as it does", async () => {
  await withPage(samplePage("", "arabic").html, {}, async (page) => {
    const directions = await page.$$eval("#strip .line", (all) => all.map((line) => getComputedStyle(line).direction));
    assert.deepEqual(directions, ["rtl", "ltr"]);
    const token = (k) => `#strip [data-token="${k}"]`;
    assert.ok((await boxOf(page, token(1))).x > (await boxOf(page, token(4))).x);
    await page.locator(token(2)).click();
    for (const [key, chosen] of [
      ["ArrowLeft", 3],
      ["ArrowRight", 2],
      ["ArrowDown", 3],
      ["Home", 0],
    ]) {
      await page.keyboard.press(key);
      await drawn(page);
      const { token, selected } = await page.evaluate(() => ({
        token: document.activeElement.dataset.token,
        selected: document.activeElement.ariaSelected,
      }));
      assert.deepEqual([token, selected], [String(chosen), "true"], key);
    }
    // The methods are one stop, whose arrow keys choose.
    await page.locator("#methods input:checked").focus();
    const before = await page.locator("#methods input:checked").inputValue();
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await page.locator("#methods input:checked").inputValue(), before);
  });
});

test("the matrix has the colours of the values", async () => {
  const report = reportOf("", "short");
  const numbers = new Numbers(report);
  const n = report.input.tokens.length;
  await withPage(short(), {}, async (page) => {
    const strengths = await page.locator("#matrix canvas").evaluate((canvas, count) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      const at = (k, size) => Math.floor(((k + 0.5) * size) / count);
      return Array.from({ length: count * count }, (_, cell) => {
        const [x, y] = [at(cell % count, width), at(Math.floor(cell / count), height)];
        const [red, green, blue] = data.slice(4 * (y * width + x));
        return 765 - red - green - blue;
      });
    }, n);
    const values = report.output_tokens.flatMap((token) => numbers.row("rollout", token, [6]));
    // More of a value is more ink, up to the top of the scale, which the largest value of those that are no sink and no
    // token's own sets: every pair is compared that is far enough apart to have steps of its own.
    const rest = values.filter((_, k) => Math.floor(k / n) !== k % n && !report.input.tokens[k % n].special);
    const top = Math.max(...rest);
    assert.ok(Math.max(...values) > 2 * top);
    const gray = 765 - 180 - 184 - 190;
    for (const [i, a] of values.entries()) {
      if (a > 1.01 * top) assert.equal(strengths[i], gray, `cell ${i} lies above the scale`);
      else for (const [j, b] of values.entries()) if (a > b + 0.02 * top) assert.ok(strengths[i] > strengths[j]);
    }
  });
});

test("small pictures of heads show tokens beside the one that takes most, and mark what lies above", async () => {
  const { report } = fixture("causal");
  const n = report.input.tokens.length;
  // The first token takes nine tenths of the values.
  const array = report.arrays.attention;
  const weights = new Float32Array(new Uint8Array(Buffer.from(array.data, "base64")).buffer);
  const sunk = weights.map((value, at) => 0.1 * value + (at % n === 0 ? 0.9 : 0));
  array.data = Buffer.from(sunk.buffer).toString("base64");
  for (const token of report.input.tokens) token.special = false;
  await withPage(pageOf(report), {}, async (page) => {
    const [first, others] = await page.$eval(
      "#heads .sheet",
      (canvas, [layers, tokens]) => {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
        const pitch = height / layers;
        const cell = (pitch * (64 / 68)) / tokens;
        const found = [0, 0];
        for (let l = 0; l < layers; ++l) {
          for (let x = 0; x < width / pitch - 0.5; ++x) {
            for (let q = 0; q < tokens; ++q) {
              for (let k = 0; k <= q; ++k) {
                const at = [x * pitch + (k + 0.5) * cell, l * pitch + (q + 0.5) * cell].map(Math.round);
                const [red, green, blue] = data.slice(4 * (at[1] * width + at[0]));
                if (k === 0 && [red, green, blue].join() === "180,184,190") ++found[0];
                // The blue scale's red runs from 240 to 40.
                else if (k > 0 && red <= 160) ++found[1];
              }
            }
          }
        }
        return found;
      },
      [report.model.layers, n],
    );
    const heads = report.model.layers * report.model.heads;
    assert.equal(first, heads * n);
    assert.ok(others > heads, `${others} squares besides the first token's are strong`);
    // Squares have corners where they are large enough, and their colour in the legend where not.
    assert.ok((await page.locator("#heads .corners").getAttribute("d")).match(/M/gu).length >= first);
    await page.setViewportSize({ width: 240, height: 900 });
    await page.waitForFunction(() => !document.querySelector("#heads .corners"));
    assert.match(await page.locator("#heads-card .legend").first().textContent(), /up to 1\.0000$/u);
  });
});

test("the dark page has dark colours, and paper is always light", async () => {
  await withPage(short(), { colorScheme: "dark" }, async (page) => {
    const row = new Numbers(reportOf("", "short")).row("rollout", 6, [6]);
    const weakest = `#strip [data-token="${row.indexOf(Math.min(...row))}"]`;
    const light = () =>
      page.$eval(weakest, (token) => {
        const colour = getComputedStyle(token).backgroundColor.match(/\d+/g).map(Number);
        return colour.reduce((a, b) => a + b, 0);
      });
    assert.ok((await light()) < 300);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.ok((await light()) > 500);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.ok((await light()) < 300);
    await page.locator("#theme-button").click();
    assert.ok((await light()) > 500);
  });
});

test("nothing moves while the page is used", async () => {
  await withPage(samplePage("", "long").html, {}, async (page) => {
    await page.evaluate(() => {
      window.shifts = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shifts += entry.value;
      }).observe({ type: "layout-shift", buffered: false });
    });
    for (const token of [3, 40, 90]) await page.locator(`#strip [data-token="${token}"]`).hover();
    await page.locator("#layer").fill("1");
    await page.locator("#layer").fill("4");
    await page.locator("#output-token").selectOption("7");
    await page.waitForTimeout(300);
    const shifts = await page.evaluate(() => window.shifts);
    // The verdicts of one output token go with it.
    assert.ok(shifts < 0.03, `the layout shifted by ${shifts}`);
  });
});

test("the address keeps what is chosen through a reload; back and forward step through it", async () => {
  await withPage(short(), {}, async (page) => {
    const at = (hash) => page.waitForFunction((wanted) => location.hash === wanted, hash);
    const token = () => page.locator("#output-token").inputValue();
    await page.waitForFunction(() => location.hash);
    await page.evaluate(() => history.replaceState(null, "", location.pathname)); // what is chosen goes
    await page.reload();
    await choose(page, "flow");
    await page.locator("#layer").fill("2");
    await at("#v=1&m=flow&l=3");
    await page.waitForTimeout(500); // choices that follow each other share an entry
    await page.locator("#output-token").selectOption("4");
    await at("#v=1&m=flow&l=3&t=4");
    await page.reload();
    assert.equal(await page.locator("#methods input:checked").inputValue(), "flow");
    assert.match(await page.locator("#layer-name").textContent(), /^3 of/);
    assert.equal(await token(), "4");
    await page.goBack();
    assert.equal(await token(), "6");
    await page.goForward();
    assert.equal(await token(), "4");
  });
});

describe("on a phone", () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

  test("the method stays in sight, with the way back to the other controls", async () => {
    await withPage(short(), phone, async (page) => {
      const quick = page.locator(".quick");
      assert.equal(await quick.count(), 0);
      await page.evaluate(() => document.querySelector("#matrix").scrollIntoView());
      await quick.waitFor();
      await quick.getByText("raw", { exact: true }).tap();
      assert.equal(await page.locator("#methods input:checked").inputValue(), "raw");
      assert.deepEqual(await violations(page), []);
      await page.locator("#to-controls").tap();
      await quick.waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => document.activeElement.value), "raw");
    });
  });

  test("a token of one letter is as large as a finger", async () => {
    await withPage(samplePage("", "long").html, phone, async (page) => {
      const found = await page.evaluate(() => {
        const one = document.querySelector("#strip .token.narrow");
        one.scrollIntoView({ block: "center" });
        const { left, right, top, bottom, width } = one.getBoundingClientRect();
        const [x, y] = [(left + right) / 2, (top + bottom) / 2];
        const at = (h, v) => document.elementFromPoint(h, v)?.closest(".token") === one;
        return [width < 12, at(left - 7, y), at(right + 7, y), at(x, top - 4)];
      });
      assert.deepEqual(found, [true, true, true, true]);
    });
  });
});

/** A text that was checked, of sixty tokens: what the check says of it, as attnflow writes it. */
/** A check of all maps in which the first of these tokens matters most. */
function checkOf(report, tokens, unit) {
  const [first] = tokens;
  return {
    ...{ quantity: "logit difference", value: 4, reliability: 0.9 },
    tokens: tokens.map((token, k) => ({ token, drop: 3 / (k + 1), spread: 0.1, replacements: [] })),
    maps: report.settings.method.map((method) => ({
      ...{ method, layer: report.settings.layers.at(-1), rank_correlation: 0.5, compared: tokens.length },
      ...{ first_token: first, decisive_token: first, level: "strong", top_level: "strong", order_level: "weak" },
      effect: `The top-ranked ${unit} is right: without “the”, the logit difference falls from 4.00 to 1.00 ± 0.10.`,
      order: `The order of the ${unit === "patch" ? "patches" : "tokens"} partly agrees with the check (rank correlation 0.50).`,
    })),
  };
}

function checkedPage() {
  const report = reportOf("", "long");
  const tokens = report.input.tokens.slice(0, 60).flatMap(({ special }, token) => (special ? [] : [token]));
  report.check = checkOf(report, tokens, "token");
  return pageOf(report);
}

function checkedPicture() {
  const report = reportOf("image", "large");
  const patches = report.input.tokens.flatMap(({ role }, token) => (role === "patch" ? [token] : []));
  report.check = checkOf(report, patches, "patch");
  const steps = Array.from({ length: 11 }, (_, k) => k / 10);
  report.curve = { order: "rollout", steps, insertion: steps, deletion: steps.map((share) => 1 - share) };
  return pageOf(report);
}

/** Kinds of pages: what is seen first, from top to bottom, the cards that say most, and what a desk has room for, too. */
for (const [file, shows, says, cards, onDesk = []] of [
  [short, ["#strip"], /: rollout ranks “.+”.* first$/u, ["strip-card", "rank-card", "prediction-card"]],
  [
    checkedPage,
    ["#strip", "#check-text", "#check-legend", "#agreement"],
    /: rollout ranks “.+”.* first$/u,
    ["strip-card", "rank-card", "methods-card"],
  ],
  [
    usual,
    ["#prompt", "#generated"],
    /^“.+”, .*%.*: rollout ranks “.+”.* first$/su,
    ["text-card", "rank-card", "choices-card"],
  ],
  [
    () => samplePage("image", "large").html,
    ["#stages .stage", "#belief"],
    /: rollout ranks the patch in row \d+, column \d+.* first$/u,
    ["picture-card", "trust-card", "rank-card"],
  ],
  [
    checkedPicture,
    ["#stages .stage", "#stages .marks-legend", "#agreement"],
    /: rollout ranks the patch in row \d+, column \d+.* first$/u,
    ["picture-card", "trust-card", "check-card"],
    ["#check-card .stage", "#curve-card"],
  ],
]) {
  test(`the first screen of a desk and of a phone holds the answer: ${shows.join(", ")}`, async () => {
    await withPage(file(), { viewport: { width: 1440, height: 900 } }, async (page) => {
      if (await page.locator("#skip-special").isVisible()) await page.locator("#skip-special").check();
      await fold(page);
      const boxesOf = (selector) =>
        page.$$eval(selector, (all) =>
          all
            .filter((one) => one.checkVisibility())
            .map((one) => {
              const { left, top, bottom } = one.getBoundingClientRect();
              return { id: one.id, left, top, bottom };
            }),
        );
      for (const viewport of [
        { width: 1440, height: 900 },
        { width: 390, height: 844 },
      ]) {
        await page.setViewportSize(viewport);
        await page.evaluate(() => dispatchEvent(new Event("resize")));
        await drawn(page);
        await page.evaluate(() => scrollTo(0, 0));
        assert.match(await page.locator("h1").textContent(), says);
        for (const part of ["h1", ...shows, ...(viewport.width > 1000 ? onDesk : [])]) {
          const [{ bottom }] = await boxesOf(part);
          assert.ok(bottom <= viewport.height, `${part} ends at ${bottom} of ${viewport.height}`);
        }
        const [controls] = await boxesOf("#controls");
        const [answer, ...others] = await boxesOf("main section.card");
        assert.ok(answer.bottom <= controls.top, "the controls stand after the answer");
        assert.equal(answer.id, cards[0]);
        // All else is folded, but for what stands beside a picture, or below it.
        const tall = others.filter(({ top, bottom }) => bottom - top > 70).map(({ id }) => id);
        assert.deepEqual(
          tall.filter((id) => !["trust-card", "check-card", "curve-card", "prediction-card"].includes(id)),
          [],
        );
      }
      const stacked = await boxesOf("main section.card");
      assert.deepEqual(
        stacked.slice(0, 3).map(({ id }) => id),
        cards,
      );
      // In the order of the keyboard, too.
      assert.deepEqual(
        stacked,
        stacked.toSorted((a, b) => a.top - b.top),
      );
      const tools = (await boxesOf(".toolbar .tools > *")).map(({ top }) => top);
      assert.ok(Math.max(...tools) - Math.min(...tools) < 12, "the tools stand in one line");
    });
  });
}

test("an encoder-decoder has source and target side by side, below each other where there is no room", async () => {
  const report = reportOf("generation", "usual");
  const { tokens } = report.input;
  Object.assign(tokens.at(-1), { segment: 1, begin: undefined, end: undefined });
  const values = { source_tokens: tokens.length - 1, encoder_layers: 0, decoder_layers: 50 };
  report.notes.push({ code: "joint-layers", values, text: "Two in one." });
  await withPage(pageOf(report), {}, async (page) => {
    const boxes = async () => [await boxOf(page, "#prompt"), await boxOf(page, "#generated")];
    const [left, right] = await boxes();
    assert.ok(left.x + left.width <= right.x && Math.abs(left.y - right.y) < 2);
    await page.setViewportSize({ width: 420, height: 900 });
    const [above, below] = await boxes();
    assert.ok(above.x === below.x && above.y + above.height <= below.y);
    assert.deepEqual(await violations(page), []);
  });
});

test("the guide opens at what is asked about", async () => {
  await withPage(short(), {}, async (page) => {
    for (const [button, place] of [
      ["#methods .info", "methods"],
      ["#recompute .info", "recompute"],
    ]) {
      await page.locator(button).click();
      assert.equal(await page.evaluate(() => document.activeElement.dataset.place), place);
      const { y } = await boxOf(page, `#guide [data-place="${place}"]`);
      assert.ok(y >= 0 && y < 500, `${place} is at ${y}`);
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("#guide").isVisible(), false);
    }
  });
});

test("a picture that cannot be read is said to be, and the numbers stay", async () => {
  const report = reportOf("image", "small");
  const { picture } = report.input.image;
  picture.data = `AAAAAAAAAAA${picture.data.slice(11)}`;
  const { page, close } = await open(pageOf(report));
  await page.locator("#failure").filter({ hasText: "could not be read" }).waitFor();
  assert.ok((await page.locator("#stages .cell[data-value]").count()) > 0);
  await close();
});
