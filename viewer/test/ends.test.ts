// The ends of an explanation's color scale.
import { expect, test } from "vitest";
import { collectEnds, endsOf, endsOfEach, EndsOf, isAbove, spansDecades, spreadWords } from "../src/color/ends";
import { BEYOND_STEP, PALETTES, Scale, type Rgb } from "../src/color/scale";
import type { ReportDocument } from "../src/report/document";
import { Report } from "../src/report/report";
import { Viewer } from "../src/context";
import { readLink, writeLink } from "../src/link";
import text from "./fixtures/text.json?raw";

const document = (JSON.parse(text) as { report: ReportDocument }).report;
const read = (causal: boolean) => Report.read({ ...document, model: { ...document.model, causal } });
const all = Array<boolean>(6).fill(true);

test("a decoder's first token does not set the top when it lies far above the rest", async () => {
  const report = await read(true);
  const row = Float64Array.of(0.95, 0.02, 0.03, 0, 0, 0);
  const ends = endsOf(report, [row], 2, all);
  expect(ends).toEqual({ least: 0.02, top: 0.03, above: 0.95 });
  expect([...row].map((value) => isAbove(value, ends))).toEqual([true, false, false, false, false, false]);
  // Position 2 is the output token's own, which sets no top where several layers share the scale; what follows was not seen.
  expect(endsOf(report, [row, row], 2, all)).toMatchObject({ top: 0.02, above: 0.95 });
  expect(endsOf(report, [Float64Array.of(0.5, 0.3, 0.1, 0, 0, 0)], 2, all)).toEqual({
    least: 0.1,
    top: 0.5,
    above: 0.5,
  });
  expect(endsOf(report, [Float64Array.of(1, 0, 0, 0, 0, 0)], 2, all).top).toBe(1);
  // Next to nothing looks like it.
  expect(endsOf(report, [Float64Array.of(1, 2e-7, 0, 0, 0, 0)], 2, all)).toMatchObject({ top: 0.01, above: 1 });
  expect(endsOf(report, [row], 2, [false, ...all.slice(1)]).above).toBe(0.03);
});

test("special tokens of an encoder set no top either, nor values that are not there", async () => {
  const report = await read(false);
  const row = Float64Array.of(0.95, 0.02, NaN, 0.01, 0.01, Infinity);
  expect(endsOf(report, [row, null], 2, all)).toEqual({ least: 0.01, top: 0.02, above: 0.95 });
  expect(new EndsOf().ends).toEqual({ least: 0, top: 0, above: 0 });
});

test("one scale over all ends as if all had been collected together", async () => {
  const report = await read(true);
  const [first, second] = [Float64Array.of(0.9, 0.06, 0, 0.04, 0, 0), Float64Array.of(0.5, 0.3, 0.2, 0, 0, 0)];
  const sum = collectEnds(report, [first], 3, all).include(collectEnds(report, [second], 3, all));
  expect(sum.ends).toEqual(endsOf(report, [first, second], 3, all));
  expect(sum.ends).toEqual({ least: 0, top: 0.3, above: 0.9 });
  const each = [endsOf(report, [first], 3, all), endsOf(report, [second], 3, all)];
  expect(each.map(({ top }) => top)).toEqual([0.06, 0.5]);
  // A scale each: its legend says that something lies above one of them, even where nothing lies above that of all.
  expect(endsOfEach({ least: 0, top: 0.5, above: 0.5 }, each).above).toBe(Infinity);
  expect(endsOfEach({ least: 0, top: 0.5, above: 0.9 }, [each[1]]).above).toBe(0.5);
});

test("the scale from the least value is chosen, and stands in the link", async () => {
  const viewer = new Viewer(await read(false));
  const { state, report } = viewer;
  const ends = { least: 0.5551, top: 0.5818, above: 0.5818 };
  expect(viewer.shades(ends).step(0.5551)).toBe(243);
  state.choices.fromLeast.value = true;
  expect(viewer.shades(ends).step(0.5551)).toBe(0);
  expect(viewer.shades(ends).step(0.5818)).toBe(255);
  const link = writeLink(state.snapshot(), state.initial);
  expect(link).toBe("v=1&im=1");
  expect(readLink(link, report, state.initial).fromLeast).toBe(true);
});

test("flows that lie close together open from the least, and say so when they say nothing", async () => {
  const viewer = new Viewer(await read(false));
  const { choices } = viewer.state;
  const ends = { least: 0.447, top: 0.482, above: 0.482 };
  expect(viewer.shades(ends).low).toBe(0);
  expect(viewer.shades(ends, "flow").low).toBe(0.447);
  expect(viewer.shades({ ...ends, least: 0.2 }, "flow").low).toBe(0);
  choices.fromLeast.value = false;
  expect(viewer.shades(ends, "flow").low).toBe(0);
  expect(writeLink(viewer.state.snapshot(), viewer.state.initial)).toBe("v=1&im=0");
  expect(spreadWords(ends)).toMatch(/^All values are within 7% of each other: flow does not distinguish/u);
  expect(spreadWords({ ...ends, least: 0.4 })).toBe("");
  expect(spreadWords({ ...ends, least: 0 })).toBe("");
});

test("no two values have one colour because one lies beyond the scale, and the scale fits what is left", async () => {
  const viewer = new Viewer(await read(true));
  const row = Float64Array.of(0.904, 0.0231, 0.0547, 0, 0, 0);
  const shown = (counts: boolean[]) => {
    const ends = endsOf(viewer.report, [row], 2, counts);
    return { ends, colours: [0, 1, 2].map((j) => viewer.shades(ends).css(row[j])) };
  };
  const { ends, colours } = shown(all);
  expect(new Set(colours).size).toBe(3);
  expect(viewer.shades(ends).step(0.904)).toBe(BEYOND_STEP);
  expect(shown([false, ...all.slice(1)]).ends).toMatchObject({ top: 0.0547, above: 0.0547 });
  // In every palette what lies beyond is not on the scale.
  for (const palette of PALETTES)
    for (const dark of [false, true]) {
      const { ramp } = new Scale(dark, palette);
      const apart = (a: Rgb, b: Rgb) => Math.hypot(...a.map((channel, k) => channel - b[k]));
      expect(Math.min(...ramp.slice(0, BEYOND_STEP).map((colour) => apart(colour, ramp[BEYOND_STEP])))).toBeGreaterThan(
        18,
      );
    }
});

test("a logarithmic scale is offered across decades, and has room for everything", async () => {
  const viewer = new Viewer(await read(true));
  const ends = { least: 1e-3, top: 0.01, above: 1 };
  expect(spansDecades(ends)).toBe(true);
  expect(spansDecades({ least: 0.1, top: 0.9, above: 0.9 })).toBe(false);
  viewer.state.choices.log.value = true;
  const shades = viewer.shades(ends);
  expect([1e-4, 1e-3, 10 ** -1.5, 1].map((value) => shades.step(value))).toEqual([0, 0, 128, 255]);
  expect(shades.valueAt(0.5)).toBeCloseTo(10 ** -1.5, 12);
  expect(writeLink(viewer.state.snapshot(), viewer.state.initial)).toBe("v=1&lg=1");
});
