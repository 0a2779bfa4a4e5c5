// Files that pages save as pictures: well-formed, alone, as on the screen, in the sizes of papers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { choose, saved } from "./browser.js";
import { fixture, pageOf, reportOf, samplePage, short, usual, withPage } from "./viewer_pages.js";

/** Reads a saved picture with the browser's XML parser: its marks, its words, or its mistake. */
const parsed = (page, svg) =>
  page.evaluate((source) => {
    const document = new DOMParser().parseFromString(source, "image/svg+xml");
    const root = document.documentElement;
    if (root.nodeName !== "svg" || document.querySelector("parsererror")) return { problem: root.textContent };
    const picture = root.querySelector('[data-part="picture"]');
    const part = (name) => [...root.querySelectorAll(`[data-part="${name}"] text`)].map((text) => text.textContent);
    const marks = {};
    for (const { dataset } of picture.querySelectorAll("[data-mark]"))
      marks[dataset.mark] = (marks[dataset.mark] ?? 0) + 1;
    const known = (id) => document.getElementById(id);
    return {
      texts: [...picture.querySelectorAll("text")].map((text) => text.textContent),
      // The user's text is isolated from the words around it.
      caption: ["title", "subject", "facts"].map((name) =>
        part(name)
          .join(" ")
          .replace(/[\u2068\u2069]/gu, ""),
      ),
      notes: part("note"),
      subject: part("subject"),
      legend: part("legend"),
      ramps: root.querySelectorAll('[data-part="legend"] [data-mark="ramp"]').length,
      marks,
      dangling: [...source.matchAll(/url\(["']?(?:&quot;)?#([^)"'&]*)/g)]
        .map(([, id]) => id)
        .filter((id) => id !== "top" && !known(id)).length,
      size: [root.getAttribute("width"), root.getAttribute("height")].map(Number),
      scripts: root.querySelectorAll("script, foreignObject").length,
    };
  }, svg);

const savedSvg = async (page, card) => {
  const { name, bytes } = await saved(page, card, "svg");
  const text = bytes.toString();
  const found = await parsed(page, text);
  assert.equal(found.problem, undefined, card);
  assert.equal(found.scripts, 0, card);
  assert.equal(found.dangling, 0, `${card} refers to what is not there`);
  assert.doesNotMatch(text, /(href|src)="(?!data:image\/png|#)|var\(--/, card);
  return { name, text, ...found };
};

test("every card's SVG stands alone and says what it shows; its PNG is as large", async () => {
  await withPage(short(), {}, async (page) => {
    await page.locator("#compare-button").click();
    const names = {
      strip: /^short-text-rollout-layer6-token6\.svg$/,
      heat: /^short-by-layer-rollout-token6\.svg$/,
      matrix: /^short-full-matrix-output-input-rollout-layer6\.svg$/,
      settings: /^short-settings\.svg$/,
      compare: /^short-compared-rollout-layer6-and-flow-layer6-token6\.svg$/,
    };
    const token = "Output token “\\[MASK\\]” \\(position 6\\)";
    const facts = {
      methods: `^Method raw, rollout, flow; ${token}; Layers 6 of 6, down to the input; `,
      compare: `^Method rollout, layer 6, and flow, layer 6; ${token};`,
      heat: `^Method rollout; ${token}; Layers 1 to 6, each layer down to the input; `,
      matrix: "^Method rollout; Output token all, a row each; Layers 6 of 6",
      graph: `^Method strongest paths of rollout; ${token}; Layers 6 of 6, down to the input; `,
      settings: "",
    };
    const usually = `^Method rollout; ${token}; Layers 6 of 6, down to the input; Heads mean over heads; Residual weight 0\\.5 in every layer\\.$`;
    for (const card of ["strip", "rank", "compare", "settings", "methods", "heat", "matrix", "graph"]) {
      const svg = await savedSvg(page, card);
      assert.match(svg.name, names[card] ?? /^short-[a-z-]+-layer6-token6\.svg$/, card);
      assert.ok(svg.size[0] > 100 && svg.size[1] > 20 && svg.texts.length > 0, `${card}: ${svg.size}`);
      // Invisible marks of direction are there only where something is to be directed.
      assert.doesNotMatch(svg.text, /[\u2066-\u2069]/u, card);
      const title = { methods: "Methods side by side", compare: "Compared" }[card];
      assert.ok(svg.caption[0].startsWith(title ?? (await page.locator(`#${card}-heading`).textContent())), card);
      assert.match(svg.caption[1], /^“The key to the cabinets \[MASK\]” · /, card);
      assert.match(svg.caption[2], new RegExp(facts[card] ?? usually), card);
      const shown = await page.locator(`#${card}-card :is(.about, .foot) .legend`).allTextContents();
      assert.equal(svg.legend.join(""), shown.join(""), card);
      if (["strip", "heat", "matrix"].includes(card)) assert.equal(svg.ramps, 1, card);
      if (!["strip", "matrix", "graph"].includes(card)) continue;
      const { bytes } = await saved(page, card, "png");
      assert.equal(bytes.subarray(1, 4).toString(), "PNG", card);
      for (const [k, at] of [16, 20].entries())
        assert.ok(Math.abs(bytes.readUInt32BE(at) - 2 * svg.size[k]) <= 2, card);
    }
  });
});

test("what is excluded is hatched and line ends are marked, as on the screen; the caption says so", async () => {
  await withPage(samplePage("", "emoji").html, {}, async (page) => {
    const before = await savedSvg(page, "strip");
    assert.deepEqual([before.marks.excluded, before.marks.frame], [undefined, 1]);
    assert.equal(before.texts.filter((text) => text === "⏎").length, 1);
    await page.locator("#skip-special").check();
    await page.locator('#strip [data-token="2"]').click({ modifiers: ["Control"] });
    await page.locator("#residual").fill("0.3");
    const after = await savedSvg(page, "strip");
    assert.equal(after.marks.excluded, await page.locator("#strip .excluded").count());
    assert.match(after.caption[2], /Residual weight 0\.3 in/);
    assert.match(after.caption[2], /Excluded from rankings and colors special tokens, “[^”]+” \(position 2\)\.$/);
  });
});

test("words of any script and markup survive", async () => {
  for (const name of ["arabic", "emoji", "markup"]) {
    await withPage(samplePage("", name).html, {}, async (page) => {
      const { texts } = await savedSvg(page, "strip");
      // Marks of line ends are the page's, not the text's.
      const letters = (text) => [...text.replace(/\s+|⏎/g, "")].sort().join("");
      assert.equal(letters(texts.join("")), letters(await page.locator("#strip").textContent()), name);
      // Pieces of an Arabic word are one text, so that their letters join; words keep their places.
      const rtl = texts.filter((text) => /[\u0600-\u06ff]/u.test(text));
      if (name === "arabic") assert.deepEqual(rtl, ["المفتاح", "على", "طاولة", "المطبخ"]);
    });
  }
});

test("what XML cannot hold, and what looks like a mark of ours, is well-formed, and no text runs over", async () => {
  const odd = ["\u0001a\u0008\u000b", "d\ud83d", '<a id="x">', "url(#top)", "°"];
  const { report } = fixture("text");
  for (const [i, text] of odd.entries()) Object.assign(report.input.tokens[i], { text, begin: 0, end: 0 });
  report.input.text += ` ${"字".repeat(119)}`;
  await withPage(pageOf(report), {}, async (page) => {
    for (const card of ["strip", "rank", "heat", "matrix", "graph"]) {
      const { text, texts, notes, subject } = await savedSvg(page, card);
      for (const label of odd.slice(2)) assert.ok(texts.join("|").includes(label), `${label} in ${card}`);
      for (const letter of ["\u0001", "\u0008", "\u000b"]) assert.ok(!text.includes(letter));
      // The ranking marks degenerate flow; the others have no more than a token of that look.
      const marks = await page.locator(`#${card}-card .mark`).count();
      assert.equal(marks > 0, card === "rank");
      assert.equal(notes.filter((note) => note.startsWith("°")).length, marks > 0 ? 1 : 0);
      assert.ok(subject.length > 1, "the text is broken over lines");
      // Away from the page's style sheet.
      const blank = await page.context().newPage();
      const beyond = await blank.evaluate((source) => {
        document.body.append(
          document.importNode(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, true),
        );
        const width = Number(document.body.lastElementChild.getAttribute("width"));
        return [...document.querySelectorAll('[data-part]:not([data-part="picture"]) > text')].filter((one) => {
          const { x, width: own } = one.getBBox();
          return x + own > width;
        }).length;
      }, text);
      await blank.close();
      assert.equal(beyond, 0, card);
      if (card === "graph") assert.equal((await saved(page, card, "png")).bytes.subarray(1, 4).toString(), "PNG");
    }
  });
});

test("a continuation's text has the marks of the screen, once for each line that a token stands on", async () => {
  await withPage(usual(), {}, async (page) => {
    await page.locator("#generated .token").last().click();
    const heat = await savedSvg(page, "heat");
    assert.equal(heat.caption[0], "By layer");
    assert.match(heat.caption[2], /^Method rollout; Generated token 12 of 12 “/u);
    for (const method of ["flow", "rollout"]) {
      await choose(page, method);
      const { marks } = await savedSvg(page, "text");
      const shown = await page.$eval("#text-strips", (strips) =>
        [".above", ".degenerate", ".excluded", '[aria-selected="true"]'].map((found) =>
          [...strips.querySelectorAll(`.token${found}`)].reduce((sum, one) => sum + one.getClientRects().length, 0),
        ),
      );
      const drawn = ["above", "degenerate", "excluded", "frame"].map((mark) => marks[mark] ?? 0);
      assert.deepEqual(drawn, shown, method);
    }
  });
});

test("pictures for papers: cropped, without a caption, as wide as a column, on the clipboard", async () => {
  const options = { viewport: { width: 2200, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] };
  await withPage(short(), options, async (page) => {
    const head = async (card) => {
      const svg = (await saved(page, card, "svg")).bytes.toString();
      const [, width, viewed] = svg.match(/^<svg[^>]* width="([^"]*)"[^>]* viewBox="0 0 ([\d.]+) /);
      const letters = Math.max(...[...svg.matchAll(/ font-size="([\d.]+)/g)].map(([, size]) => Number(size)));
      return { width, viewed: Number(viewed), letters, titled: svg.includes('data-part="title"') };
    };
    const pick = async (card, name) => {
      await page.locator(`#${card}-card .export button`).first().click();
      await page.locator(`#${card}-card .menu`).getByText(name, { exact: true }).click();
    };
    const room = await page.locator("#strip").evaluate((strip) => strip.clientWidth);
    await pick("strip", "Title and caption");
    await page.keyboard.press("Escape");
    const shown = await head("strip");
    assert.ok(shown.viewed < room / 2 && !shown.titled, `${shown.viewed} of ${room} pixels for one short line`);
    for (const [name, inches] of [
      ["One column (3.3 in)", 3.3],
      ["Two columns (6.8 in)", 6.8],
    ]) {
      await pick("heat", name);
      await page.keyboard.press("Escape");
      for (const card of ["strip", "rank", "heat", "matrix", "graph"]) {
        const { width, viewed, letters } = await head(card);
        assert.equal(width, `${inches}in`);
        // In points. A small matrix fills a column and no more.
        const size = (letters * 72 * inches) / viewed;
        const most = card === "matrix" && inches > 3.3 ? Infinity : 8.6;
        assert.ok(size > 5.5 && size < most, `${card}: letters of ${size.toFixed(1)} points at ${inches} inches`);
        assert.equal(await page.locator(`#${card}-card`).evaluate(({ style }) => style.width), "");
      }
    }
    const live = (text) => page.waitForFunction((said) => document.querySelector("#live").textContent === said, text);
    await pick("heat", "Copy PNG");
    await live("Copied the picture");
    const types = await page.evaluate(async () => (await navigator.clipboard.read()).flatMap(({ types }) => types));
    assert.deepEqual(types, ["image/png"]);
    await pick("rank", "Copy LaTeX table");
    await live("Copied the table");
    const table = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(table, /\\begin\{tabular\}\{rrlrrr\}\n {2}\\toprule\n {2}rank & input\\_token & token & raw/);
  });
});

test("a card's menu works from the keyboard, and offers what the browser can do", async () => {
  await withPage(pageOf(reportOf("", "short")), {}, async (page) => {
    const focused = () =>
      page.evaluate(() => {
        const { dataset, title, textContent } = document.activeElement;
        return dataset.kind ?? (title || textContent);
      });
    await page.evaluate(() => delete globalThis.ClipboardItem);
    await page.locator("#rank-card .export button").focus();
    for (const [key, at] of [
      ["Enter", "svg"],
      ["ArrowUp", "Two columns (6.8 in)"],
      ["ArrowDown", "svg"],
    ]) {
      await page.keyboard.press(key);
      assert.equal(await focused(), at);
    }
    assert.equal(await page.getByText("Copy PNG").count(), 0);
    assert.equal(await page.getByText("Copy LaTeX table").count(), 1);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".menu").count(), 0);
    assert.equal(await focused(), "Save as a file");
  });
});
