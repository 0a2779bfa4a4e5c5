// The ends of the colour scale of an explanation.
import { expect, test } from "vitest";
import { collectEnds, endsOf, endsOfEach, EndsOf, isAbove } from "../src/color/ends";
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
  // Position 2 is the output token's own, and what follows it was not seen.
  expect(ends).toEqual({ least: 0, top: 0.02, above: 0.95 });
  expect([...row].map((value) => isAbove(value, ends))).toEqual([true, false, true, false, false, false]);
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
  expect(viewer.shades(ends).step(0.5551, ends.top)).toBe(243);
  state.choices.fromLeast.value = true;
  expect(viewer.shades(ends).step(0.5551, ends.top)).toBe(0);
  expect(viewer.shades(ends).step(0.5818, ends.top)).toBe(255);
  const link = writeLink(state.snapshot(), state.initial);
  expect(link).toBe("v=1&im=1");
  expect(readLink(link, report, state.initial).fromLeast).toBe(true);
});
