// The page's shell: filters, the link, counterparts of tokens, tables, and the server's events.
import { lab, rgb } from "d3-color";
import { describe, expect, test, vi } from "vitest";
import { fragmentParts, LONGEST_ASK } from "../src/address";
import { barOf, DivergingScale, PALETTES, Scale } from "../src/color/scale";
import { alignTokens } from "../src/compute/align";
import { toCsv, toJson } from "../src/export/tables";
import { excludedOf, isPunctuation, isStopWord, LONGEST_PATTERN, readPattern, wholeOf } from "../src/filters";
import { misreadOf, readLink, writeLink } from "../src/link";
import { Report } from "../src/report/report";
import { WordReport } from "../src/report/words";
import { readEvents } from "../src/server/events";
import type { Client } from "../src/server/client";
import { readAsk, writeTextAsk } from "../src/server/ask";
import { ServerState } from "../src/server/server_state";
import { initialChoices, State } from "../src/state";
import { unlikeWords } from "../src/views/compare_difference";
import { explanationOf, inUnitsOf, otherSide, unitsDiffer } from "../src/views/compare_sides";
import { documentOf, f64 } from "./arrays";

const report = (pieces: string[], layers = [1, 2, 3]) =>
  Report.read(
    documentOf({
      settings: { method: ["raw", "rollout"], layers },
      model: { layers: 3, heads: 4 },
      input: { tokens: pieces.map((text) => ({ text })) },
    }),
  );

const massExcluded = (values: number[], counts: boolean[]) => {
  const reasons = counts.map((count) => (count ? "" : "by hand"));
  return excludedOf({ values, whole: wholeOf(values), among: values.length }, reasons).all.share;
};

describe("filters", () => {
  test("stop words, punctuation, and what is neither", () => {
    for (const word of ["the", "The", " of"])
      expect([isStopWord(word), isPunctuation(word)], word).toEqual([true, false]);
    for (const mark of [".", "…", "—", "⏎", "?!", "$", "。"]) {
      expect([isStopWord(mark), isPunctuation(mark)], mark).toEqual([false, true]);
    }
    for (const word of ["key", "x", "5", "鍵", "😀", "😀x"]) {
      expect([isStopWord(word), isPunctuation(word)], word).toEqual([false, false]);
    }
  });

  test("the excluded share is of what is finite and positive", () => {
    expect(massExcluded([1, 2, NaN, Infinity, 1], [true, false, false, false, true])).toBe(0.5);
    expect(massExcluded([0, 0], [true, false])).toBeNull();
  });

  test("expressions that could take for ever are refused", () => {
    for (const slow of ["(a+)+$", "(a|aa)*b", "(.*){9}", "a*a*a*a*a*b", "x".repeat(101)]) {
      expect(readPattern(slow).expression, slow).toBeNull();
      expect(readPattern(slow).problem).not.toBe("");
    }
    const many = [".?".repeat(48) + "\\b\\B", "a??b??c??d??e??", "a?b*c+d{2}e?", "(a|)".repeat(5), "(|)".repeat(30)];
    for (const slow of [...many, "((|)(|)|)(|)(|)", "(?:a?|b)c?d?e?"]) {
      expect(readPattern(slow), slow).toEqual({
        expression: null,
        problem: "at most four repetitions or groups of alternatives",
      });
    }
    const few = [
      "a?b??c{1,2}?d+?",
      "(?:a)(?=b)(?<!c)(?<name>d)(?!e)",
      "[*+?{}|]".repeat(6),
      "a|b|c|d|e|f",
      "\\p{L}".repeat(6),
    ];
    for (const plain of [
      "^the$",
      "(he|she)",
      "\\(a\\)+",
      "[a-z]+ed$",
      "\\p{Lu}",
      "\\?\\*\\+\\{\\|".repeat(2),
      ...few,
    ]) {
      expect(readPattern(plain).problem, plain).toBe("");
    }
  });
});

describe("the link", () => {
  test("says every choice back", async () => {
    const of = await report(["a", "b", "c", "d"]);
    const initial = initialChoices(of);
    expect(writeLink(initial, initial)).toBe("");
    // Pictures open with the map that anybody can read.
    expect(initial.overlay).toBe("opacity");
    const all = {
      ...initial,
      ...{ method: "raw" as const, layer: 2, start_layer: 1, token: 3, heads: "2", residual: 0.25 },
      ...{ mask_columns: "0,2", discard: 0.5, normalize: "row" as const, skipPunctuation: true, skipStopWords: true },
      ...{ pattern: "^a&b=c#$", byHand: new Map([1, 2].map((token) => [token, true])), words: true, ownScale: true },
      ...{ palette: "cividis" as const, overlay: "outline" as const, threshold: 0.1, input: 2, head: 3 },
      comparison: { method: "flow" as const, layer: 1, shares: true },
    };
    expect(readLink(`#${writeLink(all, initial)}`, of, initial)).toEqual(all);
  });

  test("of another report, or of nobody, changes nothing that does not fit", async () => {
    const of = await report(["a", "b"]);
    const initial = initialChoices(of);
    for (const text of [
      "t=1",
      "v=9&t=1",
      "v=1&t=2&l=4&h=9&x=0.1.0&r=1e400&d=3&b=raw.0&g=__proto__",
      "v=1&t=1.5&t=%00",
    ]) {
      expect(readLink(text, of, initial), text).toEqual(initial);
    }
    const said = (text: string) => misreadOf(text, new State(of));
    expect(said("#v=9&t=1")).toBe("The link does not fit this page; left out: “v=9”.");
    expect(said("#v=1&t=2&l=4&zz=1&yy=2")).toBe(
      "The link does not fit this page; left out: “l=4”, “t=2”, “zz=1” and 1 more.",
    );
    for (const text of ["", "#heat-card", "#v=1", "#v=1&t=1&ask=x"]) expect(said(text), text).toBe("");
  });

  test("keeps the choices behind the longest text in any script", async () => {
    const of = await report(["a", "b"]);
    const initial = initialChoices(of);
    const chosen = { ...initial, method: "raw" as const, token: 0, pattern: "漢".repeat(LONGEST_PATTERN) };
    for (const letter of ["漢", "\u{1f469}\u{1f3fd}\u200d\u{1f680}", '"', "\ud800", "é", "a "]) {
      const room = LONGEST_ASK - writeTextAsk({ text: "" }).length;
      const count = Math.floor(room / (JSON.stringify(letter).length - 2));
      expect(writeTextAsk({ text: letter.repeat(count + 1) }), letter).toBe("");
      const ask = writeTextAsk({ text: letter.repeat(count) });
      expect(ask, letter).not.toBe("");
      const link = `#${writeLink(chosen, initial, { ask })}`;
      expect(fragmentParts(link).get("ask") === ask, letter).toBe(true);
      expect(readLink(link, of, initial), letter).toEqual(chosen);
    }
  });

  test("asks are texts of known names only", () => {
    expect(readAsk('{"text":"a","model":"m","method":["x"],"evil":"e"}')).toEqual({ text: "a", model: "m" });
    for (const text of ["", "[]", "null", '{"model":"m"}', '{"text":{}}']) expect(readAsk(text), text).toBeNull();
  });
});

describe("counterparts", () => {
  test("by position where one token was changed, else by the pieces in common", async () => {
    const [a, changed, longer] = await Promise.all([
      report(["[CLS]", "the", "key", "is", "[SEP]"]),
      report(["[CLS]", "the", "[UNK]", "is", "[SEP]"]),
      report(["[CLS]", "the", "old", "key", "to", "it", "is", "[SEP]"]),
    ]);
    expect([...alignTokens(a, changed).match]).toEqual([0, 1, 2, 3, 4]);
    expect([...alignTokens(a, longer).match]).toEqual([0, 1, 3, 6, 7]);
    expect([...alignTokens(longer, a).match]).toEqual([0, 1, -1, 2, -1, -1, 3, 4]);
    const other = await report(["x", "y", "z", "u", "v"]);
    expect([...alignTokens(a, other).match]).toEqual([-1, -1, -1, -1, -1]);
  });
});

describe("tables", () => {
  const table = {
    columns: ["token", "value"],
    rows: [
      ['a "quoted", word', 0.1],
      ["two\nlines", null],
      [" space", NaN],
    ],
  } as const;

  test("CSV quotes what it must", () => {
    expect(toCsv(table)).toBe('token,value\r\n"a ""quoted"", word",0.1\r\n"two\nlines",\r\n" space",\r\n');
  });

  test("JSON parses, and NaN is null", () => {
    expect(JSON.parse(toJson(table, { view: "v" }))).toEqual({
      view: "v",
      columns: ["token", "value"],
      rows: [
        ['a "quoted", word', 0.1],
        ["two\nlines", null],
        [" space", null],
      ],
    });
  });
});

describe("events", () => {
  const text = ': hello\r\nevent: a\ndata: {"x":1}\n\nevent: b\rdata: one\rdata:two €\r\rdata: bare\n\nevent: none\n\n';

  test("however the bytes are cut", async () => {
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 2, 3, 7, 1000]) {
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
          controller.close();
        },
      });
      const found = [];
      for await (const event of readEvents(stream)) found.push(event);
      expect(found, `${size} bytes at a time`).toEqual([
        { name: "a", data: '{"x":1}' },
        { name: "b", data: "one\ntwo €" },
        { name: "message", data: "bare" },
      ]);
    }
  });

  test("line breaks across chunks, and chunks of nothing", async () => {
    const encoder = new TextEncoder();
    const read = async (chunks: string[]) => {
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
          controller.close();
        },
      });
      const found = [];
      for await (const event of readEvents(stream)) found.push(event);
      return found;
    };
    const one = { name: "message", data: "one" };
    expect(await read(["data: o", "ne\r", "\n", "\r", "", "\ndata: two\r\n\r", "\n"])).toEqual([
      one,
      { ...one, data: "two" },
    ]);
    expect(await read(["data: one\r", "\r"])).toEqual([one]);
    expect(await read(["data: one\n", "\n", "data: lost\n"])).toEqual([one]);
    expect(await read(["da", "ta", ":", " ", "on", "e\r", "data: more\r\n", "\r\n"])).toEqual([
      { ...one, data: "one\nmore" },
    ]);
  });

  test("a line of 20 MB", async () => {
    const [size, chunk] = [20 * 2 ** 20, 64 * 2 ** 10];
    const bytes = new TextEncoder().encode(`data: ${"x".repeat(size)}\n\n`);
    let at = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(bytes.subarray(at, (at += chunk)));
        if (at >= bytes.length) controller.close();
      },
    });
    const lengths = [];
    const begun = performance.now();
    for await (const { data } of readEvents(stream)) lengths.push(data.length);
    console.info(`20 MB of events read in ${(performance.now() - begun).toFixed(0)} ms`);
    expect(lengths).toEqual([size]);
  });
});

describe("colours", () => {
  const GROUNDS = [false, true];
  const linear = (channel: number) =>
    channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = (css: string) => {
    const { r, g, b } = rgb(css);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  /** By CIE 1976; 2 or 3 is just noticeable side by side. */
  const apart = (one: string, other: string) => {
    const [a, b] = [lab(one), lab(other)];
    return Math.hypot(a.l - b.l, a.a - b.a, a.b - b.b);
  };
  const hex = (css: string) => rgb(css.replaceAll(" ", ",")).formatHex();
  const scales = GROUNDS.flatMap((dark) => {
    const differences = new DivergingScale(dark);
    const side = (name: string, sign: number) => ({
      name: `${name}, ${dark}`,
      dark,
      colour: (t: number) => hex(differences.css(sign * t, 1)),
      ink: (t: number) => differences.ink(sign * t, 1),
    });
    return [
      ...PALETTES.map((palette) => {
        const scale = new Scale(dark, palette);
        const colour = (t: number) => hex(scale.css(t, 1));
        return { name: `${palette}, ${dark}`, dark, colour, ink: (t: number) => scale.ink(t, 1) };
      }),
      side("less", -1),
      side("more", 1),
    ];
  });
  const steps = Array.from({ length: 256 }, (_, k) => k / 255);

  test("lightness runs one way, and words on every colour contrast by 4.5", () => {
    for (const { name, dark, colour, ink } of scales) {
      const lights = steps.map((t) => lab(colour(t)).l * (dark ? 1 : -1));
      for (let k = 1; k < lights.length; ++k) expect(lights[k] - lights[k - 1], `${name} ${k}`).toBeGreaterThan(-0.4);
      expect(lights[255] - lights[0], name).toBeGreaterThan(55);
      for (const t of steps) {
        const [word, ground] = [luminance(ink(t)), luminance(colour(t))];
        expect((Math.max(word, ground) + 0.05) / (Math.min(word, ground) + 0.05), name).toBeGreaterThan(4.5);
      }
    }
  });

  test("next to nothing is hardly seen on the page, a tenth is", () => {
    for (const { name, dark, colour } of scales) {
      const paper = dark ? "#191c23" : "#ffffff";
      expect(apart(colour(0), paper), name).toBeLessThan(13);
      expect(apart(colour(0.1), paper), name).toBeGreaterThan(7.5);
      expect(apart(colour(0.1), colour(0)), name).toBeGreaterThan(5);
      for (let k = 1; k < 16; ++k)
        expect(apart(colour(k / 16), colour((k - 1) / 16)), `${name} ${k}`).toBeGreaterThan(3);
    }
  });

  test("differences of either sign are told apart with red-green blindness, and are as strong as each other", () => {
    // Machado, Oliveira and Fernandes (2009), severity 1: in linear light.
    const protan = [
      [0.152286, 1.052583, -0.204868],
      [0.114503, 0.786281, 0.099216],
      [-0.003882, -0.048116, 1.051998],
    ];
    const deutan = [
      [0.367322, 0.860646, -0.227968],
      [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881],
    ];
    const seen = (css: string, by: number[][]) => {
      const { r, g, b } = rgb(css);
      const light = [linear(r), linear(g), linear(b)];
      const [x, y, z] = by.map((row) => {
        const c = Math.min(1, Math.max(0, row[0] * light[0] + row[1] * light[1] + row[2] * light[2]));
        return 255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);
      });
      return rgb(x, y, z).formatHex();
    };
    for (const dark of GROUNDS) {
      const scale = new DivergingScale(dark);
      for (const t of [0.2, 0.4, 0.6, 0.8, 1]) {
        const [less, more] = [hex(scale.css(-t, 1)), hex(scale.css(t, 1))];
        expect(Math.abs(lab(less).l - lab(more).l), `${dark} ${t}`).toBeLessThan(6);
        for (const by of [protan, deutan])
          expect(apart(seen(less, by), seen(more, by)), `${dark} ${t}`).toBeGreaterThan(15);
      }
      expect(scale.css(0, 1)).toBe(scale.css(-0, 1));
      expect(scale.css(-7, 1)).toBe(scale.css(-1, 1));
    }
  });

  test("blue on a light page is that of figures", () => {
    // From scale_color (attnflow/report/color_scale.cc); d3's white differs a little.
    const figures: [number, string][] = [
      [0, "#f7fbff"],
      [16, "#eaf3fb"],
      [64, "#c6dbef"],
      [100, "#97c6e0"],
      [150, "#4f9acb"],
      [200, "#1c68ae"],
      [240, "#093f82"],
      [255, "#08306b"],
    ];
    const { ramp } = new Scale(false);
    for (const [step, css] of figures) {
      const { r, g, b } = rgb(css);
      for (const [k, channel] of [r, g, b].entries()) expect(Math.abs(ramp[step][k] - channel)).toBeLessThanOrEqual(1);
    }
  });

  test("a bar has the colours of what it explains", () => {
    const scale = new Scale(true, "cividis");
    const bar = barOf((t) => scale.css(t, 1));
    expect(bar.match(/rgb\([^)]*\)/g)).toEqual(Array.from({ length: 17 }, (_, k) => scale.css(k / 16, 1)));
  });
});

describe("what is asked of the server", () => {
  test("both sides of a comparison are made by the recipe that is chosen", async () => {
    vi.stubGlobal("requestAnimationFrame", () => 0);
    const { document } = await report(["a", "b", "c"]);
    const asked: Record<string, unknown>[] = [];
    const post = (_: string, body: Record<string, unknown>) => {
      asked.push(body);
      const { heads, residual, start_layer, discard, normalize, mask_columns } = body;
      const given = { heads, residual, start_layer, discard, normalize, mask_columns };
      const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      return Promise.resolve({ ...document, settings: { ...document.settings, ...settings } });
    };
    const state = new ServerState({ post, locked: { value: false } } as unknown as Client);
    state.question.text.value = "a b c";
    expect(await state.explanations.explainText()).toBe(true);
    const shown = state.results.shown.value;
    if (!shown || !("viewer" in shown)) throw new Error(state.work.problem.value);
    const { viewer } = shown;
    const recipe = {
      ...{ heads: "max", residual: 0.25, start_layer: 1 },
      ...{ normalize: "row" as const, mask_columns: "first", discard: 0.5 },
    };
    viewer.state.restore({ ...viewer.state.snapshot(), ...recipe });
    await state.variants.blank(viewer, [1]);
    expect(asked.at(-1)).toMatchObject({ text: "a b c", blank: [1], ...recipe });
    expect(viewer.other.value?.settings).toMatchObject(recipe);
    state.question.text.value = "d e";
    await state.variants.compareText();
    expect(asked.at(-1)).toMatchObject({ text: "d e", ...recipe });
    state.question.mixing.value = "gradient";
    await state.variants.compareText();
    expect(asked.at(-1)).toMatchObject({ mixing: "gradient", start_layer: 1, mask_columns: "first" });
    expect(asked.at(-1)).not.toHaveProperty("residual");
    expect(asked.at(-1)).not.toHaveProperty("heads");
    const { recipe: now } = viewer.explanation.value;
    expect(unlikeWords(now, { ...now })).toBe("");
    expect(unlikeWords(now, { ...now, residual: 0.5, heads: "mean" })).toBe(
      "residual 0.25 and 0.5, heads max and mean",
    );
    vi.unstubAllGlobals();
  });
});

describe("two reports beside each other", () => {
  /** Rollout of three pieces, of which two are a word. */
  const made = async (pieces: string[], words: (number | null)[], text: string, more: Record<string, unknown> = {}) => {
    const { document } = await report(pieces);
    const n = pieces.length;
    const row = pieces.map((_, i) => (i + 1) / 10);
    let begin = 0;
    const tokens = pieces.map((piece, i) => {
      const length = piece.replace("##", "").length;
      const at = text.indexOf(piece.replace("##", ""), begin);
      begin = at + length;
      return { text: piece, word: words[i], begin: at, end: begin };
    });
    return Report.read({
      ...document,
      input: { ...document.input, text, tokens },
      output_token: 0,
      output_tokens: tokens.map((_, i) => i),
      arrays: { rollout: f64(Array.from({ length: 3 * n }, () => row).flat(), [3, n, n]) },
      ...more,
    });
  };

  test("whole words stand beside whole words, whatever their pieces", async () => {
    const first = await made(["ab", "##cd", "e"], [0, 0, 1], "abcd e");
    const second = await made(["a", "##bc", "##d", "e"], [0, 0, 0, 1], "abcd e");
    const words = WordReport.of(first);
    if (!words) throw new Error("no word has several pieces");
    const other = inUnitsOf(words, second);
    expect(other).toBeInstanceOf(WordReport);
    expect(unitsDiffer(words, other)).toBe(false);
    const { match } = alignTokens(words, other);
    expect([...match]).toEqual([0, 1]);
    const theirs = explanationOf(other);
    const side = otherSide(theirs, match, 1, { method: "rollout", layer: 3, shares: false }, false);
    expect(side.token).toBe(1);
    expect([...(side.row(3) ?? [])].map((value) => value.toFixed(4))).toEqual(["0.6000", "0.4000"]);
    // Pieces beside pieces, as long as words are not merged.
    expect(inUnitsOf(first, second)).toBe(second);
    expect(unitsDiffer(first, second)).toBe(false);
  });

  test("that cannot be brought to the same units are said not to be", async () => {
    const first = await made(["ab", "##cd", "e"], [0, 0, 1], "abcd e");
    const merged = await made(["abcd", "e"], [0, 1], "abcd e", { settings: { ...first.settings, words: true } });
    expect(inUnitsOf(first, merged)).toBe(merged);
    expect(unitsDiffer(first, merged)).toBe(true);
    const words = WordReport.of(first) as WordReport;
    expect(unitsDiffer(words, inUnitsOf(words, merged))).toBe(false);
    expect([...alignTokens(words, merged).match]).toEqual([0, 1]);
  });

  test("of which one knows nothing of the output token shows another one's, and says so", async () => {
    const first = await made(["ab", "##cd", "e"], [0, 0, 1], "abcd e");
    const { document } = first;
    const second = await Report.read({
      ...document,
      output_token: 2,
      output_tokens: [2],
      arrays: { rollout: f64([0.1, 0.2, 0.7, 0.1, 0.2, 0.7, 0.1, 0.2, 0.7], [3, 1, 3]) },
    });
    const side = otherSide(
      explanationOf(second),
      alignTokens(first, second).match,
      0,
      { method: "rollout", layer: 3, shares: false },
      false,
    );
    expect(side).toMatchObject({ token: 2, instead: 0, missing: "" });
  });
});
