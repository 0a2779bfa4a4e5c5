// The page's words and numbers.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { signal } from "@preact/signals";
import { followAddress } from "../src/address";
import { inOrderOf } from "../src/components/predictions";
import { quoted, tokenWords, undirected } from "../src/export/name";
import { cutBands, cutWords } from "../src/views/flow_cut";

test("a cut's parts are all of it", () => {
  expect(cutWords(new Map([[6, 1]]))).toBe("100% in layer 6");
  expect(
    cutWords(
      new Map([
        [1, 0.1],
        [2, 0.6],
        [3, 0.2],
        [4, 0.1],
      ]),
    ),
  ).toBe("60% in layer 2, 20% in layer 3, 10% in layer 1, 10% in layer 4");
  expect(
    cutWords(
      new Map([
        [1, 0.08],
        [2, 0.02],
        [4, 0.08],
        [5, 0.12],
        [6, 0.7],
      ]),
    ),
  ).toBe("70% in layer 6, 12% in layer 5, 8% in layer 1, 10% in other layers");
});

test("a cut's arcs are a band a layer, which hold all of it", () => {
  const arc = (layer: number, from: number, to: number, capacity: number) => ({ layer, from, to, capacity });
  const cut = [arc(1, 2, 0, 0.1), arc(3, 0, 1, 0.2), arc(3, 0, 4, 0.1)];
  const bands = cutBands({ value: 0.4, error: 0, arcs: [], cut, cutValue: 0.4 });
  expect(bands.map(({ layer, arcs, from, to }) => [layer, arcs, from, to])).toEqual([
    [3, 2, 0.5, 2],
    [1, 1, 1, 1],
  ]);
  expect(bands.map(({ share }) => share)).toEqual([expect.closeTo(0.75), expect.closeTo(0.25)]);
  expect(bands.reduce((sum, { capacity }) => sum + capacity, 0)).toBeCloseTo(0.4);
});

test("tables have no marks of direction", () => {
  expect(quoted("a")).not.toBe("“a”");
  expect(undirected(tokenWords(3, "שלום"))).toBe("“שלום” (position 3)");
});

test("predictions stand in the order of those beside them", () => {
  const choice = (label: string, probability: number) => ({ id: 0, text: label, label, probability });
  const [a, b] = [
    [choice("plural", 0.9), choice("singular", 0.1)],
    [choice("singular", 0.7), choice("dual", 0.2), choice("plural", 0.1)],
  ];
  expect(inOrderOf(b, a).map(({ label }) => label)).toEqual(["plural", "singular", "dual"]);
});

let entries: string[] = [];
const place = { hash: "", pathname: "/", search: "" };
beforeEach(() => {
  entries = [""];
  place.hash = "";
  vi.useFakeTimers();
  vi.stubGlobal("location", place);
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("removeEventListener", () => undefined);
  vi.stubGlobal("history", {
    pushState: (_: unknown, __: string, to: string) => entries.push((place.hash = to)),
    replaceState: (_: unknown, __: string, to: string) => (entries[entries.length - 1] = place.hash = to),
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the address has what is chosen at once, and choices in a row are one entry", () => {
  const chosen = signal("");
  const stop = followAddress({ fragment: () => chosen.value, settled: () => true, onMove: () => undefined });
  vi.advanceTimersByTime(500);
  expect(entries).toEqual([""]);
  chosen.value = "v=1&c=0.1";
  expect(entries).toEqual(["", "#v=1&c=0.1"]);
  for (const share of [2, 3, 4]) {
    vi.advanceTimersByTime(100);
    chosen.value = `v=1&c=0.${share}`;
  }
  vi.advanceTimersByTime(500);
  expect(entries).toEqual(["", "#v=1&c=0.4"]);
  chosen.value = "v=1&m=raw";
  expect(entries).toHaveLength(3);
  stop();
});

test("what was chosen just before something plays stays an entry, and where it ends is another", () => {
  const chosen = signal("");
  const playing = signal(false);
  const stop = followAddress({
    fragment: () => chosen.value,
    settled: () => !playing.value,
    onMove: () => undefined,
  });
  vi.advanceTimersByTime(500);
  chosen.value = "v=1&t=1";
  chosen.value = "v=1&t=2";
  vi.advanceTimersByTime(100);
  playing.value = true;
  expect(entries).toEqual(["", "#v=1&t=2"]);
  for (const token of [3, 4]) chosen.value = `v=1&t=${token}`;
  vi.advanceTimersByTime(500);
  playing.value = false;
  vi.advanceTimersByTime(500);
  expect(entries).toEqual(["", "#v=1&t=2", "#v=1&t=4"]);
  stop();
});
