// Saved pictures' frames and captions.
import { beforeAll, describe, expect, test, vi } from "vitest";
import { Viewer } from "../src/context";
import type { Caption } from "../src/export/exporter";
import { framed, linesOf, nested, wordsOf } from "../src/export/frame";
import { aboutOf, captionOf, quoted } from "../src/export/name";
import { xmlCharacters, xmlText } from "../src/export/picture";
import { Report } from "../src/report/report";
import { documentOf } from "./arrays";

// Without a canvas, every UTF-16 unit is seven pixels wide.
beforeAll(() => {
  vi.stubGlobal("document", { createElement: () => ({ getContext: () => null }), documentElement: {} });
  vi.stubGlobal("getComputedStyle", () => ({ fontSize: "16px", getPropertyValue: () => "" }));
});

const caption = (changes: Partial<Caption> = {}): Caption => ({
  title: "T",
  subject: ["s"],
  facts: [],
  notes: [],
  ...changes,
});
const picture = (inside: string) => `<svg xmlns="http://www.w3.org/2000/svg" width="500" height="20">${inside}</svg>`;

describe("a picture within another", () => {
  test("has names of its own, and its texts stay as they are", () => {
    const text = '&lt;a id="x"&gt; url(#top) &lt;b fill="url(#top)"&gt;';
    const label = 'aria-label="url(#top)"';
    const inside =
      `<clipPath id="top"/><g clip-path="url(#top)" fill="url(&quot;#top&quot;)" stroke="url(&#34;#top&#34;)" ${label}>` +
      `<text data-id="x">${text}</text></g>`;
    expect(nested(picture(inside), 1, 2, "v", "picture")).toBe(
      '<svg data-part="picture" x="1" y="2" xmlns="http://www.w3.org/2000/svg" width="500" height="20">' +
        `<clipPath id="v-top"/><g clip-path="url(#v-top)" fill="url(#v-top)" stroke="url(#v-top)" ${label}>` +
        `<text data-id="x">${text}</text></g></svg>`,
    );
  });
});

describe("characters of XML", () => {
  test("are all that a document holds; what cannot be one is replaced", () => {
    const text = "a\u0000\u0001\u0008\u000b\u000c\u001f\ufffe\uffffb\t\n\r\u{1f600}";
    expect(xmlCharacters(text)).toBe(`a${"\ufffd".repeat(8)}b\t\n\r\u{1f600}`);
    for (const half of ["\ud83d", "\ude00"]) {
      expect(xmlCharacters(`a${half}b`)).toBe("a\ufffdb");
      expect(() => encodeURIComponent(xmlText(`<${half}>`))).not.toThrow();
    }
    expect(xmlCharacters('<a b="&amp;">')).toBe('<a b="&amp;">');
    expect(xmlText('<a b="&\u0001">')).toBe("&#60;a b=&#34;&#38;\ufffd&#34;&#62;");
  });
});

describe("lines of a caption", () => {
  const type = { size: 13, line: 19, weight: 400 };
  const lines = (text: string, room = 280) =>
    linesOf(wordsOf(text), room, type).map((line) => line.map((run) => run.text).join(""));
  const plain = (text: string) => text.replace(/[\u2066-\u2069]/g, "");
  /** Every isolate that a line begins ends in it. */
  const balanced = (line: string) =>
    expect([...line.matchAll(/[\u2066-\u2068]/g)].length).toBe([...line.matchAll(/\u2069/g)].length);

  test("are no wider than there is room, long texts broken between words", () => {
    const text = "The author talked to Sara about her book, and although it was late she asked how it would end";
    const found = lines(`${quoted(text)} · m`);
    expect(found.length).toBeGreaterThan(2);
    expect(found.map(plain).join(" ")).toBe(`“${text}” · m`);
    for (const line of found) {
      // Isolates are of no width.
      expect(plain(line).length).toBeLessThanOrEqual(40);
      balanced(line);
    }
  });

  test("texts without spaces are broken between characters as people see them", () => {
    for (const text of ["注意力流說明輸出取自哪些輸入詞元".repeat(5), "👩‍👩‍👧".repeat(40), "x".repeat(119)]) {
      const found = lines(quoted(text));
      expect(found.map(plain).join("")).toBe(`“${text}”`);
      for (const line of found) {
        expect(plain(line).length).toBeLessThanOrEqual(40);
        expect(line).not.toMatch(/^\u200d|\u200d$/);
        balanced(line);
      }
    }
  });

  test("tokens in quotes stay together", () => {
    const found = lines(`Some words before a token of two words, ${quoted("New York", 30)} that stays`, 7 * 46);
    expect(found.some((line) => line.includes("“\u2068New York\u2069”"))).toBe(true);
  });

  test("every line of a text keeps its direction", () => {
    const text = "المفتاح على طاولة المطبخ ABC قرب النافذة الكبيرة في البيت القديم";
    const found = lines(`${quoted(text)} · m`);
    expect(found.length).toBeGreaterThan(1);
    expect(found[0]).toMatch(/^“\u2067/);
    for (const line of found.slice(1)) expect(line).toMatch(/^\u2067/);
    for (const line of lines(quoted("some words of English that are about as long as that")).slice(1)) {
      expect(line).toMatch(/^\u2066/);
    }
  });
});

describe("the note on degenerate flow", () => {
  const noted = (inside: string, notes: string[] = []) => framed(picture(inside), caption({ notes }), null);

  test("stands where the mark stands, once", () => {
    expect(noted('<tspan data-mark="degenerate" fill="red">°</tspan>')).toContain('data-part="note"');
    expect(noted('<circle r="1" data-mark="degenerate"/>')).toContain('data-part="note"');
    const own = noted('<circle r="1" data-mark="degenerate"/>', ["° means this."]);
    expect(own.match(/data-part="note"/g)).toHaveLength(1);
  });

  test("does not stand for tokens of the same look", () => {
    expect(noted("<text><tspan>°</tspan></text>")).not.toContain('data-part="note"');
    expect(noted('<text> data-mark="degenerate"</text>')).not.toContain('data-part="note"');
  });
});

describe("the caption of an explanation", () => {
  const made = async (special = false) => {
    const tokens = [{ text: "a", special }, { text: "b" }];
    const viewer = new Viewer(await Report.read(documentOf({ input: { text: "a b", tokens } })));
    return { state: viewer.state, viewer };
  };
  const factOf = (viewer: Viewer, term: string) =>
    Object.fromEntries(captionOf(viewer, "T", {}).facts)[term] as string | undefined;

  test("names an expression that excludes tokens, and none that is refused", async () => {
    const { state, viewer } = await made();
    const term = "Excluded from rankings and colors";
    state.choices.pattern.value = "^a$";
    expect(factOf(viewer, term)).toBe("tokens that match /\u2068^a$\u2069/");
    for (const refused of ["(a+)+", "(", "a?a?a?a?a?"]) {
      state.choices.pattern.value = refused;
      expect(factOf(viewer, term), refused).toBeUndefined();
    }
  });

  test("does not say that tokens are excluded which are included by hand", async () => {
    const { state, viewer } = await made(true);
    const term = "Excluded from rankings and colors";
    expect(factOf(viewer, term)).toBe("special tokens");
    state.toggle(0);
    expect(factOf(viewer, term)).toBe("special tokens, but not “\u2068a\u2069” (position 0)");
    state.choices.skipSpecial.value = false;
    expect(factOf(viewer, term)).toBeUndefined();
  });

  test("stands beside numbers as the choices that its page has, tokens excluded by hand among them", async () => {
    const { state, viewer } = await made(true);
    const chosen = () => aboutOf(viewer, "strip").choices as Record<string, unknown>;
    state.toggle(1);
    expect(chosen()).toMatchObject({ method: "raw", layer: 1, skipSpecial: true, excluded: [1] });
    for (const name of ["reasons", "byHand", "span", "normalized", "generated", "rules", "comparing", "included"]) {
      expect(chosen(), name).not.toHaveProperty(name);
    }
    state.toggle(0);
    expect(chosen()).toMatchObject({ excluded: [1], included: [0] });
  });

  test("says from which value on is drawn", async () => {
    const { state, viewer } = await made();
    expect(factOf(viewer, "Drawn")).toBeUndefined();
    state.choices.threshold.value = 0.25;
    expect(factOf(viewer, "Drawn")).toBe("values from 25% of the largest");
  });
});
