// The ends of the scales of a comparison, of a decoder's text.
import { expect, test } from "vitest";
import { signal } from "@preact/signals";
import { BEYOND_STEP, DivergingScale, Scale } from "../src/color/scale";
import { Shades } from "../src/color/shades";
import type { ReportDocument } from "../src/report/document";
import { Report } from "../src/report/report";
import { differenceColours, endsOfSides, sideColours } from "../src/views/compare_colours";
import type { Side } from "../src/views/compare_sides";
import causal from "./fixtures/causal.json?raw";

const document = (JSON.parse(causal) as { report: ReportDocument }).report;
const report = await Report.read(document);
const counts = Array<boolean>(report.n).fill(true);
const side = { report, token: 3, counts } as unknown as Side;
const same = Int32Array.from(counts, (_, i) => i);
const first = Float64Array.of(0.9, 0.06, 0.02, 0.02, 0, 0);
const second = Float64Array.of(0.8, 0.12, 0.05, 0.03, 0, 0);

test("both sides end below the first token, together where they mean the same", () => {
  const apart = endsOfSides([side, side], [[first], [second]], false);
  expect(apart.map(({ top, above }) => [top, above])).toEqual([
    [0.06, 0.9],
    [0.12, 0.8],
  ]);
  const [a, b] = endsOfSides([side, side], [[first], [second]], true);
  expect(a).toEqual(b);
  expect([a.top, a.above]).toEqual([0.12, 0.9]);
  // Rows that are not there set nothing.
  expect(endsOfSides([side, side], [[first], [null]], false)[1].top).toBe(0);
});

const scale = signal(new Scale(false));
const scales = { scale, differenceScale: signal(new DivergingScale(false)) };
const beyond = scale.value.look(BEYOND_STEP).css;

test("what lies beyond a scale has a colour that is not on it", () => {
  const ends = endsOfSides([side, side], [[first], [first]], false)[0];
  const { shades } = sideColours(new Shades({ scale: scale.value, low: 0, top: ends.top, threshold: 0 }), ends);
  expect(shades.css(0.9)).toBe(beyond);
  expect(shades.css(0.06)).not.toBe(beyond);
  expect([0.9, 0.06, 0].map((value) => shades.beyond(value))).toEqual([true, false, false]);
});

test("the first token sets no end of the difference either", () => {
  const difference = Float64Array.of(-0.4, 0.06, 0.03, NaN, 0, Infinity);
  const { shades, least, most } = differenceColours(scales, [side, side], same, [difference, null]);
  expect([shades.top, least, most]).toEqual([0.06, -0.4, 0.06]);
  expect([-0.4, 0.06, -0.06].map((value) => shades.beyond(value))).toEqual([true, false, false]);
  expect(shades.css(-0.4)).toBe(beyond);
  const tokens = report.tokens.map((token) => ({ ...token, special: false }));
  const encoder = {
    ...side,
    report: { ...report, tokens, model: { ...report.model, causal: false } },
  } as unknown as Side;
  const topOf = (sides: [Side, Side], match: Int32Array) =>
    differenceColours(scales, sides, match, [difference]).shades.top;
  expect(topOf([encoder, encoder], same)).toBe(0.4);
  // Nor where only one of the two has a sink there, in its own place.
  expect(topOf([encoder, side], same)).toBe(0.06);
  expect(topOf([side, encoder], same)).toBe(0.06);
  expect(topOf([encoder, side], Int32Array.of(1, 2, -1, -1, -1, -1))).toBe(0.4);
  // Nor an output token of its own where layers share the scale.
  const rows = [difference, null];
  const own = [encoder, { ...encoder, token: 1 }] as [Side, Side];
  expect(differenceColours(scales, own, Int32Array.of(1, 2, -1, -1, -1, -1), rows).shades.top).toBe(0.06);
});
