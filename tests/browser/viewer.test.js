// What the page of an explanation can do besides showing numbers (page.test.js): the link, filters, comparison, files,
// keys, and whom it serves.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { open, still, startBrowser, violations } from "./browser.js";
import { makePage, pageOf, samplePages, withWords } from "./viewer_pages.js";

const pages = new Map(samplePages("").map((page) => [page.name, page]));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

function readReport(name) {
  const report = JSON.parse(readFileSync(pages.get(name).json, "utf8"));
  const n = report.input.tokens.length;
  const arrays = Object.fromEntries(
    Object.entries(report.arrays).map(([key, { data, dtype }]) => {
      const bytes = new Uint8Array(Buffer.from(data, "base64"));
      return [key, dtype === "f64" ? new Float64Array(bytes.buffer) : bytes];
    }),
  );
  const values = (method, layer, token) => {
    const rows = method === "flow" ? report.flow_output_tokens : report.output_tokens;
    const begin = ((layer - 1) * rows.length + rows.indexOf(token)) * n;
    return [...arrays[method].subarray(begin, begin + n)];
  };
  return { ...report, n, values };
}

const close = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));
const fragment = (page) => page.evaluate(() => location.hash);
const settled = (page) => page.waitForTimeout(600); // the link follows what rests
const sum = (values) => values.reduce((a, b) => a + b, 0);

/** Opens the menu of a card and saves a file of it. */
async function saved(page, card, kind) {
  await page.locator(`#${card}-card .export button`).first().click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(`#${card}-card .menu [data-kind="${kind}"]`).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

const csvRows = (bytes) => {
  const [head, ...lines] = bytes.toString().trimEnd().split("\r\n");
  const cells = (line) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
      .slice(0, head.split(",").length)
      .map(([, cell]) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell));
  const columns = cells(head);
  return lines.map((line) => Object.fromEntries(cells(line).map((cell, k) => [columns[k], cell])));
};

/** What a browser's XML parser says of a document: the numbers of its marks, its words, or its mistake. */
const parsed = (page, svg) =>
  page.evaluate((source) => {
    const document = new DOMParser().parseFromString(source, "image/svg+xml");
    const root = document.documentElement;
    if (root.nodeName !== "svg" || document.querySelector("parsererror")) return { problem: root.textContent };
    const picture = root.querySelector('[data-part="picture"]');
    const part = (name) => [...root.querySelectorAll(`[data-part="${name}"] text`)].map((text) => text.textContent);
    const marks = {};
    for (const mark of picture.querySelectorAll("[data-mark]")) {
      const name = mark.getAttribute("data-mark");
      marks[name] = (marks[name] ?? 0) + 1;
    }
    return {
      values: [...root.querySelectorAll("[data-value]")].map((mark) => Number(mark.getAttribute("data-value"))),
      titles: [...root.querySelectorAll("title")].map((title) => title.textContent),
      texts: [...picture.querySelectorAll("text")].map((text) => text.textContent),
      // The user's text is isolated from the words around it.
      caption: ["title", "subject", "facts", "note"].map((name) =>
        part(name)
          .join(" ")
          .replace(/[\u2068\u2069]/gu, ""),
      ),
      legend: part("legend"),
      ramps: root.querySelectorAll('[data-part="legend"] [data-mark="ramp"]').length,
      panels: [...picture.querySelectorAll("rect > title")].map((title) => title.textContent),
      marks,
      dangling: [...source.matchAll(/url\(["']?(?:&quot;)?#([^)"'&]*)/g)].filter(
        ([, id]) => !document.getElementById(id),
      ).length,
      size: [root.getAttribute("width"), root.getAttribute("height")].map(Number),
      scripts: root.querySelectorAll("script, foreignObject").length,
    };
  }, svg);

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.close());

/** A page for one test: closed after it, and it must have behaved. */
function withPage(name, options, run) {
  return async () => {
    const page = await open(browser, pages.get(name).html, options);
    try {
      await run(page.page, readReport(name), page);
      assert.deepEqual(page.watch, { requests: [], messages: [] });
    } finally {
      await page.close();
    }
  };
}

describe("on a phone", () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

  test(
    "the method stays in sight, with the way back to the other controls",
    withPage("short", phone, async (page) => {
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
    }),
  );

  test("a token of one letter is as large as a finger", async () => {
    const report = withWords(pages.get("long").json);
    const { html, remove } = pageOf(report);
    const { page, watch, close } = await open(browser, html, phone);
    const place = await page.evaluate(() => {
      const one = document.querySelector("#strip .token.narrow");
      one.scrollIntoView({ block: "center" });
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return { token: one.dataset.token, left, right, top, bottom, width: right - left };
    });
    assert.ok(place.width < 12, String(place.width));
    const at = ([x, y]) =>
      page.evaluate(([h, v]) => document.elementFromPoint(h, v)?.closest(".token")?.dataset.token, [x, y]);
    const middle = [(place.left + place.right) / 2, (place.top + place.bottom) / 2];
    for (const point of [
      [place.left - 7, middle[1]],
      [place.right + 7, middle[1]],
      [middle[0], place.top - 4],
    ]) {
      assert.equal(await at(point), place.token, String(point));
    }
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });
});

describe("a word of several tokens", () => {
  test("has a bar between them, in files, too, and the help says so", async () => {
    const report = withWords(pages.get("long").json);
    const { html, remove } = pageOf(report);
    const { page, watch, close } = await open(browser, html);
    const pieces = report.input.tokens.flatMap(({ text }, i) => (text.startsWith("##") ? [String(i)] : []));
    assert.ok(pieces.length > 0);
    assert.deepEqual(await page.$$eval("#strip .continues", (all) => all.map((one) => one.dataset.token)), pieces);
    assert.match(
      await page.locator("#strip-help").textContent(),
      /A tick below a word shows where it is split into tokens/,
    );
    const svg = (await saved(page, "strip", "svg")).bytes.toString();
    assert.equal(svg.match(/data-mark="continues"/gu)?.length, pieces.length);
    await page.locator("#words").check();
    await page.waitForFunction(() => !document.querySelector("#strip .continues"));
    assert.doesNotMatch(await page.locator("#strip-help").textContent(), /A tick below a word/);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });
});

describe("all pairs, zoomed", () => {
  test(
    "names no row that is cut off, and keeps the ring of focus within",
    withPage("long", {}, async (page) => {
      await page.setViewportSize({ width: 360, height: 800 });
      // Drawn anew for the width, which would end a zoom.
      await page.waitForFunction(() => document.querySelector("#matrix svg").getBoundingClientRect().width < 360);
      await page.locator("#matrix svg").focus();
      for (const key of ["End", "ArrowDown", "+", "+", "+", "+", "+", "+", "+"]) await page.keyboard.press(key);
      await page.waitForFunction(() => document.querySelectorAll("#matrix svg > text.label").length > 1);
      const found = await page.evaluate(() => {
        const svg = document.querySelector("#matrix svg");
        const first = svg.querySelector("clipPath rect");
        const [top, height] = ["y", "height"].map((name) => Number(first.getAttribute(name)));
        const rows = [...svg.querySelectorAll('text.label[text-anchor="end"][x]')].map((one) =>
          Number(one.getAttribute("y")),
        );
        return { top, height, rows, offset: parseFloat(getComputedStyle(svg).outlineOffset) };
      });
      assert.ok(found.rows.length > 0);
      for (const y of found.rows) assert.ok(y > found.top && y < found.top + found.height + 8, `${y} is outside`);
      // No strip that is as high as names need.
      assert.ok(found.top < 45, `${found.top} above the cells`);
      assert.ok(found.offset < 0);
    }),
  );
});

describe("the link", () => {
  test(
    "keeps what is chosen, and back and forward step through it",
    withPage("short", {}, async (page) => {
      await page.evaluate(() => history.replaceState(null, "", location.pathname)); // what is chosen goes
      await page.reload();
      assert.equal(await fragment(page), "");
      await page.locator('#methods input[value="flow"]').check({ force: true });
      await page.locator("#layer").fill("2");
      await settled(page);
      assert.equal(await fragment(page), "#v=1&m=flow&l=3");
      await page.locator("#output-token").selectOption("4");
      await settled(page);
      assert.equal(await fragment(page), "#v=1&m=flow&l=3&t=4");
      await page.reload();
      assert.equal(await page.locator("#methods input:checked").inputValue(), "flow");
      assert.match(await page.locator("#layer-name").textContent(), /^3 of/);
      assert.equal(await page.locator("#output-token").inputValue(), "4");
      await page.goBack();
      assert.equal(await page.locator("#output-token").inputValue(), "6");
      assert.equal(await page.locator("#methods input:checked").inputValue(), "flow");
      await page.goForward();
      assert.equal(await page.locator("#output-token").inputValue(), "4");
    }),
  );

  test("takes nothing that does not fit the report", async () => {
    const hostile = [
      "v=1&m=constructor&l=99&t=-1&h=%3Cscript%3E&r=2&p=red&x=1.2.99999&b=flow.7&c=Infinity&i=8&hd=12",
      "v=2&m=flow&l=1",
      "v=1&m=__proto__&toString=1&re=" + "a".repeat(200),
      "v=1&re=" + encodeURIComponent("(a+)+$") + "&t=" + "9".repeat(400),
      "%E0%A4%A&v=1&&&=&==",
      "v=1&d=99&x=" + "1.".repeat(5000),
    ];
    for (const text of hostile) {
      const { page, watch, close: end } = await open(browser, pages.get("short").html);
      await settled(page);
      await page.evaluate(() => history.replaceState(null, "", location.pathname)); // what is chosen goes
      await page.reload();
      const before = await still(page, "#strip");
      await page.evaluate((hash) => (location.hash = hash), text);
      await page.waitForTimeout(100);
      assert.equal(await page.locator("#strip").innerHTML(), before, text);
      assert.equal(await page.locator("#failure").count(), 0, text);
      if (/^v=/u.test(text)) {
        assert.match(
          await page.locator("#link-misread").textContent(),
          /^The link does not fit this page; left out: “/,
        );
        await page.keyboard.press("1");
        await page.locator("#link-misread").waitFor({ state: "detached" });
      }
      assert.deepEqual(watch, { requests: [], messages: [] }, text);
      await end();
    }
  });

  test(
    "is copied by its button",
    withPage("short", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
      await page.locator("#output-token").selectOption("2");
      await page.locator("#link-button").click();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(link, /short\.html#v=1&.*t=2/);
      assert.match(await page.locator("#live").textContent(), /copied/);
    }),
  );
});

describe("selection", () => {
  test(
    "pointing at a token in one view points at it in the others",
    withPage("short", {}, async (page) => {
      const pointed = () =>
        page.$$eval(".pointed[data-token]", (all) =>
          all.map((one) => `${one.closest("section").id || "half"}:${one.dataset.token}`),
        );
      await page.locator('#strip [data-token="3"]').hover();
      const here = await pointed();
      assert.ok(here.includes("strip-card:3") && here.includes("rank-card:3"), String(here));
      assert.equal(here.filter((one) => one === "half:3").length, 3, String(here)); // one for each method
      assert.match(await page.locator("#strip-readout").textContent(), / ← “to”/);
      await page.locator('#rank tr[data-token="5"]').hover();
      assert.ok((await pointed()).includes("strip-card:5"));
      await page.locator("#heading").hover();
      assert.deepEqual(await pointed(), []);
    }),
  );

  test(
    "clicks mean the same in text and ranking: plain explains, with shift compares, with control excludes",
    withPage("short", {}, async (page, report) => {
      const chosen = () => page.locator("#output-token").inputValue();
      for (const [at, token, other, third] of [
        ["#strip", 2, 3, 4],
        ["#rank tbody", 5, 1, 6],
      ]) {
        const place = (k) => page.locator(`${at} [data-token="${k}"]`);
        await place(token).click();
        assert.equal(await chosen(), String(token));
        await place(other).click({ modifiers: ["Shift"] });
        assert.equal(await chosen(), String(token));
        assert.equal(await page.locator("#compare-token").inputValue(), String(other));
        const values = await page.$$eval('#compare [data-side="second"] .token', (all) =>
          all.map(({ dataset }) => Number(dataset.value)),
        );
        const expected = report.values("rollout", 6, other);
        for (const [k, value] of values.entries()) assert.ok(close(value, expected[k]), `${k}: ${value}`);
        await place(third).click({ modifiers: ["Control"] });
        assert.equal(await chosen(), String(token));
        assert.equal(await page.locator(`#rank [data-token="${third}"]`).count(), 0);
        await settled(page);
        assert.match(await fragment(page), new RegExp(`b=rollout.6.t${other}`, "u"));
      }
      // The link has it, and its list goes back to the same token.
      const hash = await fragment(page);
      await page.locator("#compare-close").click();
      await page.evaluate((to) => (location.hash = to), hash);
      await page.locator("#compare-token").selectOption("5");
      assert.equal(await page.locator('#compare [data-side="first"] h3').textContent(), "rollout, layer 6");
      assert.equal(await page.evaluate(() => String(window.getSelection())), "");
    }),
  );

  test(
    "is announced",
    withPage("short", {}, async (page, report) => {
      await page.locator("#output-token").selectOption("1");
      const values = report.values("rollout", 6, 1);
      const best = values.indexOf(Math.max(...values));
      await page.waitForFunction(
        (start) => document.getElementById("live").textContent.startsWith(start),
        `Output token “The” (position 1), rollout, layer 6: “${report.input.tokens[best].text}” (position ${best}) `,
      );
    }),
  );
});

describe("filters", () => {
  test(
    "count the same values below the headline and below the ranking",
    withPage("long", {}, async (page) => {
      await page.locator("#methods").getByText("flow", { exact: true }).click();
      const counts = async (id) =>
        /(\d+ of \d+) (?:ranked values|values)/u.exec(await page.locator(id).textContent())[1];
      const all = await counts("#flow-belief");
      assert.equal(await counts("#rank-help"), all);
      await page.locator("#skip-special").check();
      const some = await counts("#flow-belief");
      assert.notEqual(some, all);
      assert.equal(await counts("#rank-help"), some);
    }),
  );

  test(
    "that leave little to rank are said below the headline",
    withPage("short", {}, async (page, report) => {
      const values = report.values("rollout", 6, report.output_token);
      const least = values.indexOf(Math.min(...values));
      for (let token = 0; token < report.n; ++token) {
        if (token !== least) await page.locator(`#strip [data-token="${token}"]`).click({ modifiers: ["Control"] });
      }
      const text = await page.locator("#little-ranked").textContent();
      const said = /^Only (\d+)% of the total lies on the tokens that are ranked\.$/u.exec(text);
      assert.ok(Math.abs(Number(said[1]) - (100 * values[least]) / sum(values)) <= 0.5, text);
      await page.locator("#methods").getByText("flow", { exact: true }).click();
      await page.locator("#little-ranked").waitFor({ state: "detached" });
    }),
  );

  test("a full stop ranked first leaves the first word named, and can be excluded", async () => {
    const report = withWords(pages.get("short").json);
    // The token that rollout ranks first, of those that are no special ones, becomes a mark.
    const values = readReport("short").values("rollout", 6, report.output_token);
    const order = [1, 2, 3, 4, 5].sort((a, b) => values[b] - values[a]);
    const words = report.input.tokens.map(({ text }, i) => (i === order[0] ? "." : text));
    report.input.text = words.slice(1, 7).join(" ");
    for (const [i, token] of report.input.tokens.entries()) {
      if (i === 0 || i === 7) continue;
      token.begin = words.slice(1, i).join(" ").length + (i > 1 ? 1 : 0);
      token.end = token.begin + words[i].length;
    }
    const { html, remove } = pageOf(report);
    const { page, watch, close } = await open(browser, html);
    await page.locator('#strip [data-token="6"]').click({ modifiers: ["Control"] });
    await page.locator("#skip-special").check();
    const heading = page.locator("#heading");
    assert.match(await heading.textContent(), new RegExp(`ranks “\\.” first and, among words, “${words[order[1]]}”$`));
    await page.locator("#filters-button").click();
    await page.locator("#skip-punctuation").check();
    await page.waitForFunction(() => location.hash.includes("pu=1"));
    assert.match(await heading.textContent(), new RegExp(`ranks “${words[order[1]]}” first$`));
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });

  test(
    "exclude tokens and say which share of the mass that is",
    withPage("short", {}, async (page, report) => {
      const ranked = () =>
        page.$$eval("#rank tbody tr", (rows) => rows.map((row) => Number(row.dataset.token)).sort((a, b) => a - b));
      const values = report.values("rollout", 6, 6);
      const said = async (left) => {
        const share = sum(left.map((i) => values[i])) / sum(values);
        assert.match(
          await page.locator("#excluded-of-all").textContent(),
          new RegExp(`^${left.length} of 8 tokens are excluded: ${(100 * share).toFixed(0)}% of the total`),
        );
        assert.deepEqual(
          await ranked(),
          [...Array(8).keys()].filter((i) => !left.includes(i)),
        );
        // Special tokens set no top that they lie far above.
        const largest = (aside) =>
          Math.max(0, ...values.filter((_, i) => !left.includes(i) && report.input.tokens[i].special === aside));
        const [rest, aside] = [largest(false), largest(true)];
        const top = rest > 0 && aside > 2 * rest ? Math.max(rest, aside / 100) : Math.max(rest, aside);
        const printed = (await page.locator("#strip-card .legend span").allTextContents()).map(Number);
        assert.ok(
          printed.some((number) => Math.abs(number - top) < 6e-5),
          `the scale ends at one of ${printed}, not ${top}`,
        );
      };
      await page.locator("#filters-button").click();
      assert.equal(await page.locator("#excluded-of-all").textContent(), "No token is excluded.");
      await page.locator("#skip-stop-words").check();
      await said([1, 3, 4]);
      await page.locator("#pattern").fill("^cab|key$");
      await said([1, 2, 3, 4, 5]);
      await page.locator("#skip-special").check();
      await page.locator("#filters-button").click(); // a press elsewhere has closed the panel
      await page.locator("#skip-stop-words").uncheck();
      await said([0, 2, 5, 6, 7].filter((i) => report.input.tokens[i].special || i === 2 || i === 5));
      await page.locator("#skip-special").uncheck();
      await page.locator("#filters-button").click();
      for (const [pattern, why] of [
        ["(", /unterminated/],
        ["(a|aa)+$", /may not be repeated/],
        ["[a-z", /class|unterminated/],
      ]) {
        await page.locator("#pattern").fill(pattern);
        assert.match(await page.locator("#pattern-problem").textContent(), why);
        assert.equal(await page.locator("#excluded-of-all").textContent(), "No token is excluded.");
      }
      await page.locator("#pattern").fill("");
      await page.locator('#strip [data-token="4"]').click({ modifiers: ["Control"] });
      assert.equal(await page.locator("#output-token").inputValue(), "6"); // it chose nothing
      await page.locator('#strip [data-token="6"]').focus();
      await page.keyboard.press("x");
      assert.deepEqual(await ranked(), [0, 1, 2, 3, 5, 7]);
      await page.locator("#filters-button").click();
      await page.locator("#excluded-chips button").first().click();
      assert.deepEqual(await ranked(), [0, 1, 2, 3, 4, 5, 7]);
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("#filters-panel").isVisible(), false);
    }),
  );
});

describe("looks", () => {
  test(
    "palettes differ, and each grows evenly from the page's ground",
    withPage("short", {}, async (page) => {
      const colours = () =>
        page.$$eval("#strip .token", (all) => all.map((token) => getComputedStyle(token).backgroundColor));
      const seen = new Set();
      for (const palette of ["blue", "cividis", "grey"]) {
        await page.locator("#look-button").click();
        await page.locator(`#palettes input[value="${palette}"]`).check();
        await page.locator("#look-button").click();
        seen.add((await colours()).join());
      }
      assert.equal(seen.size, 3);
      const beyond = await page.$$eval("#strip .token", (all) => all.map((token) => token.classList.contains("above")));
      const grey = (await colours()).map((colour) => colour.match(/\d+/g).map(Number));
      for (const [r, g, b] of grey.filter((_, k) => !beyond[k])) assert.ok(Math.max(r, g, b) - Math.min(r, g, b) <= 1);
    }),
  );

  test(
    "the theme's button turns the page dark, and it stays so",
    withPage("short", { colorScheme: "light" }, async (page) => {
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await ground();
      await page.locator("#theme-button").click();
      assert.notEqual(await ground(), light);
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
      await page.keyboard.press("d");
      assert.equal(await ground(), light);
    }),
  );

  test("keys choose, and the list of them opens", async () => {
    await withPage("short", {}, async (page) => {
      const method = () => page.locator("#methods input:checked").inputValue();
      await page.keyboard.press("1");
      assert.equal(await method(), "raw");
      await page.keyboard.press("3");
      assert.equal(await method(), "flow");
      await page.keyboard.press("[");
      assert.match(await page.locator("#layer-name").textContent(), /^5 of/);
      await page.keyboard.press("k");
      assert.equal(await page.locator("#output-token").inputValue(), "5");
      await page.keyboard.press("s");
      assert.ok(await page.locator("#skip-special").isChecked());
      await page.keyboard.press("?");
      assert.ok(await page.locator("#help").isVisible());
      await page.keyboard.press("1"); // the dialog has the keys
      assert.equal(await method(), "flow");
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("#help").isVisible(), false);
      // Letters in a field are text.
      await page.keyboard.press("f");
      await page.locator("#pattern").focus();
      await page.keyboard.type("1c");
      assert.equal(await method(), "flow");
      assert.equal(await page.locator("#compare-card").count(), 0);
    })();
  });

  test("nothing moves while the page is used", async () => {
    await withPage("long", {}, async (page) => {
      await page.evaluate(() => {
        window.shifts = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) window.shifts += entry.value;
        }).observe({ type: "layout-shift", buffered: false });
      });
      for (const token of [3, 40, 90]) {
        await page.locator(`#strip [data-token="${token}"]`).hover();
        await page.waitForTimeout(100);
      }
      await page.locator("#layer").fill("1");
      await page.locator("#layer").fill("4");
      await page.locator("#output-token").selectOption("7");
      await page.waitForTimeout(300);
      const shifts = await page.evaluate(() => window.shifts);
      assert.ok(shifts < 0.02, `the layout shifted by ${shifts}`);
    })();
  });
});

describe("comparison", () => {
  test(
    "of two methods: the difference is that of the values",
    withPage("short", {}, async (page, report) => {
      await page.locator("#compare-button").click();
      const side = (name) =>
        page.$$eval(`#compare [data-side="${name}"] .token`, (all) => {
          const values = [];
          for (const token of all) values[Number(token.dataset.token)] = Number(token.dataset.value);
          return values;
        });
      const check = async (first, second) => {
        const shares = await page.locator("#compare-shares").isChecked();
        const hides = await page.locator("#skip-special").isChecked();
        const visible = (values) => values.filter((_, i) => !(hides && report.input.tokens[i].special));
        const part = (values) => (shares ? values.map((value) => value / sum(visible(values))) : values);
        const [a, b] = [part(first), part(second)];
        for (const [name, expected] of [
          ["first", a],
          ["second", b],
          ["difference", b.map((value, i) => value - a[i])],
        ]) {
          const found = await side(name);
          assert.equal(found.length, expected.length);
          for (const [i, value] of expected.entries()) {
            assert.ok(close(found[i], value), `${name}, token ${i}: ${found[i]} is not ${value}`);
          }
        }
      };
      assert.ok(await page.locator("#compare-shares").isChecked()); // flow does not sum to 1
      await check(report.values("rollout", 6, 6), report.values("flow", 6, 6));
      await page.locator("#compare-method").selectOption("rollout");
      await page.locator("#compare-layer").selectOption("2");
      assert.equal(await page.locator("#compare-shares").isChecked(), false);
      await check(report.values("rollout", 6, 6), report.values("rollout", 2, 6));
      await page.locator('#strip [data-token="2"]').click();
      await check(report.values("rollout", 6, 2), report.values("rollout", 2, 2));
      await settled(page);
      assert.match(await fragment(page), /b=rollout\.2/);
      await page.reload();
      assert.equal(await page.locator("#compare-layer").inputValue(), "2");
      // More is blue, less is red.
      const differences = await side("difference");
      const colours = await page.$$eval('#compare [data-side="difference"] .token', (all) =>
        all.map((token) => [Number(token.dataset.token), getComputedStyle(token).backgroundColor]),
      );
      const most = Math.max(...differences.map(Math.abs));
      for (const [i, colour] of colours) {
        if (Math.abs(differences[i]) < 0.3 * most) continue;
        const [red, , blue] = colour.match(/\d+/g).map(Number);
        assert.equal(differences[i] > 0, blue > red, `token ${i}: ${differences[i]} is ${colour}`);
      }
      await page.locator("#compare-close").click();
      assert.equal(await page.locator("#compare-card").count(), 0);
    }),
  );

  test(
    "with another report: tokens find their counterparts, predictions stand side by side",
    withPage("short", {}, async (page, report) => {
      const folder = mkdtempSync(join(tmpdir(), "attnflow-compare-"));
      const other = JSON.parse(readFileSync(pages.get("short").json, "utf8"));
      // One token more in front of the last: the one before keep their numbers' places, the last does not.
      other.predictions[0].choices[0].label = "isn't";
      other.input.tokens[2].text = "lock";
      const [json, html] = [join(folder, "other.json"), join(folder, "other.html")];
      writeFileSync(json, JSON.stringify(other));
      makePage(json, html);
      try {
        await page.locator("#compare-button").click();
        await page.locator("#compare-method").selectOption("rollout");
        for (const file of [json, html]) {
          await page.locator("#compare-file").setInputFiles(file);
          await page.locator(".predictions-pair").waitFor();
          assert.match(await page.locator(".predictions-pair").textContent(), /isn't/);
          const differences = await page.$$eval('#compare [data-side="difference"] .token', (all) =>
            all.map((token) => Number(token.dataset.value)),
          );
          assert.equal(differences.length, report.n);
          for (const value of differences) assert.ok(Math.abs(value) < 1e-6);
          assert.match(await page.locator("#compare-readout").textContent(), /the same/);
          await page.locator("#compare-drop").click();
          assert.equal(await page.locator(".predictions-pair").count(), 0);
        }
        const unlike = join(folder, "unlike.json");
        for (const [k, token] of other.input.tokens.entries()) token.text = `w${k}`;
        other.input.text = other.input.text.replace(/[a-z]/gu, "x");
        writeFileSync(unlike, JSON.stringify(other));
        await page.locator("#compare-file").setInputFiles(unlike);
        await page
          .locator("#compare-readout")
          .filter({ hasText: "No token that is ranked has a counterpart" })
          .waitFor();
        await page.locator("#compare-drop").click();
        const longer = join(folder, "longer.json");
        writeFileSync(longer, readFileSync(pages.get("referents").json));
        await page.locator("#compare-file").setInputFiles(longer);
        await page.locator(".predictions-pair").waitFor();
        // [CLS], the, the, [MASK] and [SEP] are in both.
        const matched = await page.$$eval('#compare [data-side="difference"] .token[data-value]', (all) =>
          all.map((token) => Number(token.dataset.token)),
        );
        assert.deepEqual(matched, [0, 1, 4, 6, 7]);
        const broken = join(folder, "broken.json");
        for (const [text, why] of [
          ["{", /not a report/],
          ['{"format":"attnflow-report","version":99}', /version 99/],
          ["<html></html>", /found none/],
        ]) {
          writeFileSync(broken, text);
          await page.locator("#compare-file").setInputFiles(broken);
          await page.locator("#compare-problem").filter({ hasText: why }).waitFor();
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    }),
  );

  test("says which side has no values, and of which method", async () => {
    // Neither flow nor what the page would compute it of.
    const report = JSON.parse(readFileSync(pages.get("short").json, "utf8"));
    report.arrays = { rollout: report.arrays.rollout };
    const { html, remove } = pageOf(report);
    const { page, watch, close } = await open(browser, html);
    await page.evaluate(() => (location.hash = "#v=1&b=flow.5"));
    const half = (name) => page.locator(`#compare [data-side="${name}"]`);
    await half("second").locator(".missing-values").waitFor();
    assert.match(
      await half("second").textContent(),
      /No flow values for “\[MASK\]” \(position 6\) at layer 5\..*does not hold/,
    );
    assert.match(await half("difference").textContent(), /B has no flow values at layer 5/);
    assert.match(await page.locator("#compare-readout").textContent(), /B has no flow values at layer 5/);
    assert.equal(await half("first").locator(".token[data-value]").count(), 8);
    assert.equal(await page.locator("#compare-method").inputValue(), "flow");
    await page.evaluate(() => (location.hash = "#v=1&m=flow&b=rollout.6"));
    await half("first").locator(".missing-values").waitFor();
    assert.match(await half("difference").textContent(), /A has no flow values at layer 6/);
    assert.equal(await half("second").locator(".token[data-value]").count(), 8);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await close();
    remove();
  });

  test("with whole words sets words beside words", async () => {
    const folder = mkdtempSync(join(tmpdir(), "attnflow-words-"));
    const [json, html] = [join(folder, "words.json"), join(folder, "words.html")];
    writeFileSync(json, JSON.stringify(withWords(pages.get("arabic").json)));
    makePage(json, html);
    const { page, watch, close: end } = await open(browser, html);
    try {
      await page.locator("#words").check();
      await page.locator("#compare-button").click();
      await page.locator("#compare-method").selectOption("rollout");
      await page.locator("#compare-file").setInputFiles(json);
      await page.locator(".predictions-pair, #compare-drop").first().waitFor();
      for (const side of ["first", "second", "difference"]) {
        const tokens = await page.$$eval(`#compare [data-side="${side}"] .token[data-value]`, (all) => all.length);
        assert.equal(tokens, 11, side);
      }
      const second = await page.locator('#compare [data-side="second"]').textContent();
      assert.ok(second.includes("المفتاح"), second);
      assert.match(await page.locator("#compare-readout").textContent(), /the same/);
      assert.equal(await page.locator("#compare-unlike").count(), 0);
      assert.deepEqual(watch, { requests: [], messages: [] });
    } finally {
      await end();
      rmSync(folder, { recursive: true });
    }
  });
});

describe("what is shown", () => {
  const said = (page, term) => page.locator(`#settings [data-setting="${term}"]`).textContent();

  test(
    "is what the settings say, and what is not the report's leads back to it",
    withPage("short", {}, async (page) => {
      assert.match(await said(page, "Residual"), /^weight 0\.5/);
      assert.equal(await page.locator("#recomputed").count(), 0);
      await page.locator("#residual").fill("0.2");
      await page.locator("#to-layer").selectOption("2");
      assert.match(await said(page, "Residual"), /^weight 0\.2.*In the report: 0\.5/);
      assert.match(await said(page, "Layers"), /^6 down to layer 2/);
      assert.match(await said(page, "Numbers"), /in the browser/);
      assert.match(
        await page.locator("#recomputed").textContent(),
        /2 settings differ from the report: residual, layers/,
      );
      const rows = csvRows((await saved(page, "settings", "csv")).bytes);
      const residual = rows.find(({ setting }) => setting === "Residual");
      assert.match(residual.value, /^weight 0\.2/);
      assert.equal(residual.in_the_report, "0.5");
      await page.locator('[data-setting="Residual"] button').focus();
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.activeElement.id === "settings");
      assert.match(await said(page, "Residual"), /^weight 0\.5/);
      assert.equal(await page.locator("#residual").inputValue(), "0.5");
      await page.locator("#settings-reset").click();
      assert.equal(await page.locator("#recomputed").count(), 0);
      assert.match(await said(page, "Numbers"), /from the report/);
      await page.locator('#methods input[value="raw"]').check({ force: true });
      assert.equal(await said(page, "Layers"), "6 alone");
    }),
  );

  test(
    "has the notes that apply to it",
    withPage("long", {}, async (page) => {
      assert.equal(await page.locator("#notes").count(), 0);
      await page.locator('#methods input[value="flow"]').check({ force: true });
      assert.match(await page.locator("#notes").textContent(), /At layer 6, \d+% of the flow values/);
      await page.locator("#residual").fill("0.2");
      assert.equal(await page.locator("#notes").count(), 0);
    }),
  );

  test("keeps the place of all pairs that the report does not hold", async () => {
    const { html } = samplePages("image").find(({ name }) => name === "tokens");
    const { page, watch, close: end } = await open(browser, html);
    await page.locator("#matrix svg").waitFor();
    await page.locator('#methods input[value="flow"]').check({ force: true });
    await page.locator("#matrix-missing").waitFor();
    assert.equal(await page.locator("#matrix-heading").textContent(), "Full matrix (output × input)");
    assert.match(
      await page.locator("#matrix-missing").textContent(),
      /flow was computed for the output token “\[CLS\]” only/,
    );
    assert.match(await page.locator("#matrix-missing code").textContent(), /--output-token all/);
    await page.locator('#methods input[value="raw"]').check({ force: true });
    await page.locator("#matrix svg").waitFor();
    assert.deepEqual(watch, { requests: [], messages: [] });
    await end();
  });
});

describe("files", () => {
  test(
    "every card's SVG parses and stands alone; its CSV and JSON hold the same rows; its PNG is a picture",
    withPage("short", {}, async (page) => {
      await page.locator("#compare-button").click();
      const names = {
        strip: /^short-text-rollout-layer6-token6\.svg$/,
        heat: /^short-by-layer-rollout-token6\.svg$/,
        matrix: /^short-full-matrix-output-input-rollout-layer6\.svg$/,
        settings: /^short-settings\.svg$/,
        compare: /^short-compared-rollout-layer6-and-flow-layer6-token6\.svg$/,
      };
      const titles = { methods: "Methods side by side", compare: "Compared" };
      const captions = {
        methods:
          /^Method raw, rollout, flow; Output token “\[MASK\]” \(position 6\); Layers 6 of 6, down to the input; /,
        compare: /^Method rollout, layer 6, and flow, layer 6; Output token “\[MASK\]” \(position 6\);/,
        heat: /^Method rollout; Output token “\[MASK\]” \(position 6\); Layers 1 to 6, each layer down to the input; /,
        matrix: /^Method rollout; Output token all, a row each; Layers 6 of 6/,
      };
      const usual =
        /^Method rollout; Output token “\[MASK\]” \(position 6\); Layers 6 of 6, down to the input; Heads mean over heads; Residual weight 0\.5 in every layer\.$/;
      const cards = await page.$$eval(".card .export", (all) =>
        all.map((menu) => menu.closest(".card").id.replace(/-card$/, "")),
      );
      for (const card of ["strip", "rank", "compare", "settings", "methods", "heat", "matrix", "graph"]) {
        assert.ok(cards.includes(card), `${card} cannot be saved; ${cards} can`);
      }
      for (const card of cards) {
        const svg = await saved(page, card, "svg");
        assert.match(svg.name, names[card] ?? /^short-[a-z-]+-layer6-token6\.svg$/, card);
        const text = svg.bytes.toString();
        const found = await parsed(page, text);
        assert.equal(found.problem, undefined, card);
        assert.equal(found.scripts, 0, card);
        assert.ok(found.size[0] > 100 && found.size[1] > 20, `${card}: ${found.size}`);
        assert.ok(found.texts.length > 0, `${card} has no words`);
        // Invisible marks of direction are there only where something is to be directed.
        assert.doesNotMatch(text, /[\u2066-\u2069]/u, card);
        assert.equal(found.dangling, 0, `${card} refers to what is not there`);
        const title = await page.locator(`#${card}-heading`).textContent();
        assert.ok(found.caption[0].startsWith(titles[card] ?? title), `${card} is called ${found.caption[0]}`);
        assert.match(found.caption[1], /^“The key to the cabinets \[MASK\]” · /, card);
        if (card !== "settings") assert.match(found.caption[2], captions[card] ?? usual, card);
        const shown = await page.locator(`#${card}-card .foot .legend`).allTextContents();
        assert.equal(found.legend.join(""), shown.join(""), card);
        if (["strip", "heat", "matrix"].includes(card)) assert.equal(found.ramps, 1, card);
        assert.doesNotMatch(text, /(href|src)="(?!data:image\/png|#)/, card);
        assert.doesNotMatch(text, /var\(--/, card);
        const png = await saved(page, card, "png");
        assert.equal(png.bytes.subarray(1, 4).toString(), "PNG", card);
        const [width, height] = [png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)];
        assert.ok(Math.abs(width - 2 * found.size[0]) <= 2 && Math.abs(height - 2 * found.size[1]) <= 2, card);
        const csv = csvRows((await saved(page, card, "csv")).bytes);
        const json = JSON.parse((await saved(page, card, "json")).bytes.toString());
        assert.equal(json.view, card === "strip" ? "text" : card);
        assert.equal(json.rows.length, csv.length, card);
        assert.ok(csv.length > 0, card);
        for (const [k, row] of json.rows.entries()) {
          for (const [c, cell] of row.entries()) {
            const other = csv[k][json.columns[c]];
            assert.equal(other, cell === null ? "" : String(cell), `${card}, row ${k}, ${json.columns[c]}`);
          }
        }
      }
    }),
  );

  test(
    "the strip's files hold the report's numbers",
    withPage("short", {}, async (page, report) => {
      const values = report.values("rollout", 6, 6);
      const svg = await parsed(page, (await saved(page, "strip", "svg")).bytes.toString());
      assert.equal(svg.values.length, report.n);
      for (const [i, value] of values.entries()) assert.ok(close(svg.values[i], value), `mark ${i}`);
      assert.equal(svg.texts.join(" ").replace(/\s+/g, " "), "[CLS] The key to the cabinets [MASK] [SEP]");
      const rows = csvRows((await saved(page, "strip", "csv")).bytes);
      assert.deepEqual(
        rows.map(({ token }) => token),
        ["[CLS]", "The", "key", "to", "the", "cabinets", "[MASK]", "[SEP]"],
      );
      for (const [i, value] of values.entries()) assert.ok(close(Number(rows[i].rollout), value), `row ${i}`);
      const ranking = csvRows((await saved(page, "rank", "csv")).bytes);
      assert.equal(ranking.length, report.n);
      for (const { input_token, raw, rollout, flow } of ranking) {
        for (const [method, cell] of Object.entries({ raw, rollout, flow })) {
          assert.ok(close(Number(cell), report.values(method, 6, 6)[input_token]), `${method} of ${input_token}`);
        }
      }
    }),
  );

  test(
    "the caption says what is chosen; what is excluded is hatched, line ends are marked, as on the screen",
    withPage("emoji", {}, async (page, report) => {
      const strip = async () => parsed(page, (await saved(page, "strip", "svg")).bytes.toString());
      const before = await strip();
      assert.equal(before.marks.excluded, undefined);
      assert.equal(before.marks.frame, 1);
      assert.equal(before.texts.filter((text) => text === "⏎").length, 1);
      await page.locator("#skip-special").check();
      await page.locator('#strip [data-token="2"]').click({ modifiers: ["Control"] });
      const residual = page.locator("#residual");
      await residual.evaluate((slider) => {
        slider.value = "0.3";
        slider.dispatchEvent(new Event("input", { bubbles: true }));
      });
      const found = await strip();
      assert.equal(found.problem, undefined);
      assert.equal(found.marks.excluded, await page.locator("#strip .excluded").count());
      assert.equal(found.values.length, report.n);
      assert.match(found.caption[2], /Residual weight 0\.3 in/);
      assert.match(found.caption[2], /Excluded from rankings and colors special tokens, “[^”]+” \(position 2\)\.$/);
      const heat = await parsed(page, (await saved(page, "heat", "svg")).bytes.toString());
      assert.match(heat.caption[2], /Residual weight 0\.3/);
    }),
  );

  test("words of any script and markup survive", async () => {
    for (const name of ["arabic", "emoji", "markup"]) {
      await withPage(name, {}, async (page, report) => {
        const svg = (await saved(page, "strip", "svg")).bytes.toString();
        const found = await parsed(page, svg);
        assert.equal(found.problem, undefined, name);
        assert.equal(found.scripts, 0, name);
        // Marks of line ends are the page's, not the text's.
        const words = found.texts.join("").replace(/\s+|⏎/g, "");
        const expected = await page.locator("#strip").evaluate((strip) => strip.textContent.replace(/\s+/g, ""));
        assert.equal([...words].sort().join(""), [...expected].sort().join(""), name);
        // Pieces of an Arabic word are one text, so that their letters join; words keep their places.
        if (name === "arabic") {
          const rtl = found.texts.filter((text) => /[\u0600-\u06ff]/u.test(text));
          assert.deepEqual(rtl, ["المفتاح", "على", "طاولة", "المطبخ"]);
        }
        const rows = csvRows((await saved(page, "strip", "csv")).bytes);
        assert.equal(rows.length, report.n, name);
      })();
    }
  });

  test("pictures for papers: cropped, without a caption, as wide as a column, on the clipboard", async () => {
    const options = { viewport: { width: 2200, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] };
    const { page, watch, close: end } = await open(browser, pages.get("short").html, options);
    const head = async (card) => {
      const { bytes } = await saved(page, card, "svg");
      const svg = bytes.toString();
      const [, width, viewed] = svg.match(/^<svg[^>]* width="([^"]*)"[^>]* viewBox="0 0 ([\d.]+) /);
      const letters = Math.max(...[...svg.matchAll(/ font-size="([\d.]+)/g)].map(([, size]) => Number(size)));
      return { width, viewed: Number(viewed), letters, titled: svg.includes('data-part="title"') };
    };
    const choose = async (card, name) => {
      await page.locator(`#${card}-card .export button`).first().click();
      await page.locator(`#${card}-card .menu`).getByText(name, { exact: true }).click();
    };
    const room = await page.locator("#strip").evaluate((strip) => strip.clientWidth);
    await choose("strip", "Title and caption");
    await page.keyboard.press("Escape");
    const shown = await head("strip");
    assert.ok(shown.viewed < room / 2, `${shown.viewed} of ${room} pixels for one short line`);
    assert.equal(shown.titled, false);
    for (const [name, inches] of [
      ["One column (3.3 in)", 3.3],
      ["Two columns (6.8 in)", 6.8],
    ]) {
      await choose("heat", name);
      await page.keyboard.press("Escape");
      for (const card of ["strip", "rank", "heat", "matrix", "graph"]) {
        const { width, viewed, letters } = await head(card);
        assert.equal(width, `${inches}in`);
        // In points.
        const size = (letters * 72 * inches) / viewed;
        // A small matrix fills a column and no more.
        const most = card === "matrix" && inches > 3.3 ? Infinity : 8.6;
        assert.ok(size > 5.5 && size < most, `${card}: letters of ${size.toFixed(1)} points at ${inches} inches`);
        assert.equal(await page.locator(`#${card}-card`).evaluate(({ style }) => style.width), "");
      }
    }
    await choose("heat", "Copy PNG");
    await page.waitForFunction(() => document.querySelector("#live").textContent === "Copied the picture");
    const types = await page.evaluate(async () => (await navigator.clipboard.read()).flatMap(({ types }) => types));
    assert.deepEqual(types, ["image/png"]);
    await choose("rank", "Copy LaTeX table");
    await page.waitForFunction(() => document.querySelector("#live").textContent === "Copied the table");
    const table = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(table, /\\begin\{tabular\}\{rrlrrr\}\n {2}\\toprule\n {2}rank & input\\_token & token & raw/);
    assert.deepEqual(watch, { requests: [], messages: [] });
    await end();
  });

  test("what the browser cannot do is not offered", async () => {
    const { page, close: end } = await open(browser, pages.get("short").html);
    await page.evaluate(() => delete globalThis.ClipboardItem);
    await page.locator("#strip-card .export button").first().click();
    assert.equal(await page.getByText("Copy PNG").count(), 0);
    assert.equal(await page.getByText("Copy LaTeX table").count(), 1);
    await end();
  });

  test("a card's menu works from the keyboard", async () => {
    await withPage("short", {}, async (page) => {
      await page.locator("#rank-card .export button").focus();
      await page.keyboard.press("Enter");
      const focused = () =>
        page.evaluate(() => {
          const { dataset, title, textContent } = document.activeElement;
          return dataset.kind ?? (title || textContent);
        });
      assert.equal(await focused(), "svg");
      await page.keyboard.press("ArrowUp");
      assert.equal(await focused(), "Two columns (6.8 in)");
      await page.keyboard.press("ArrowDown");
      assert.equal(await focused(), "svg");
      await page.keyboard.press("Escape");
      assert.equal(await page.locator(".menu").count(), 0);
      assert.equal(await focused(), "Save as a file");
    })();
  });
});

describe("accessibility", () => {
  for (const name of ["short", "referents", "arabic", "array", "long"]) {
    for (const colorScheme of ["light", "dark"]) {
      test(`axe finds nothing in ${name}, ${colorScheme}`, async () => {
        await withPage(name, { colorScheme }, async (page) => {
          await page.locator("#compare-button").click();
          await page.locator("#filters-button").click();
          await page.evaluate(axe);
          const { violations } = await page.evaluate(() =>
            window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
          );
          const said = violations.flatMap(({ id, nodes }) =>
            nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary}`),
          );
          assert.deepEqual(said, []);
        })();
      });
    }
  }
});
