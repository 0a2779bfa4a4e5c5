// Maps over pictures: colors, color bar, outlines.
import { describe, expect, test } from "vitest";
import { barCss, barStops, mapOpacity, MARK, OVERLAYS, pixelOf } from "../src/color/overlay";
import { Scale } from "../src/color/scale";
import { bordersOf, heldBy, lineLook, pathOf, SHARES } from "../src/report/contours";
import { cutOf } from "../src/report/picture";

const colours = new Scale(false);

describe("the bar", () => {
  test("has the colour and the opacity of what is drawn, at every value", () => {
    for (const overlay of OVERLAYS) {
      for (const opacity of [0.3, 1]) {
        for (const { at, rgb, alpha } of barStops({ overlay, colours, opacity }, 0)) {
          const drawn = pixelOf(at, overlay, colours);
          expect(rgb).toEqual(drawn.rgb);
          expect(alpha).toBeCloseTo(drawn.alpha * mapOpacity({ overlay, opacity }), 12);
        }
      }
    }
  });

  test("is empty where values are not drawn", () => {
    const stops = barStops({ overlay: "colour", colours, opacity: 0.5 }, 0.3);
    expect(stops.slice(0, 3)).toMatchObject([
      { at: 0, alpha: 0 },
      { at: 0.3, alpha: 0 },
      { at: 0.3, alpha: 0.5 },
    ]);
    expect(stops.slice(2).every(({ at, alpha }) => at >= 0.3 && alpha === 0.5)).toBe(true);
    expect(stops.at(-1)?.at).toBe(1);
    expect(cutOf({ low: 0, top: 2, above: 2 }, 0.3)).toBeCloseTo(0.3, 12);
    expect(cutOf({ low: 1, top: 2, above: 2 }, 0.75)).toBeCloseTo(0.5, 12);
    expect(cutOf({ low: 1, top: 2, above: 2 }, 0)).toBe(0);
    expect(barCss(stops)).toMatch(/^linear-gradient\(to right, rgb\(.* \/ 0\) 0%, .* 30%, /);
  });

  test("of opacity is one colour, of a map beside the picture the scale's own", () => {
    expect(pixelOf(0, "opacity", colours)).toEqual({ rgb: MARK, alpha: 0 });
    expect(pixelOf(0.25, "opacity", colours)).toEqual({ rgb: MARK, alpha: 0.25 });
    expect(pixelOf(7, "opacity", colours).alpha).toBe(1);
    expect(pixelOf(1, "beside", colours)).toEqual({ rgb: colours.ramp[255], alpha: 1 });
    expect(mapOpacity({ overlay: "beside", opacity: 0.2 })).toBe(1);
    expect(mapOpacity({ overlay: "colour", opacity: 0.2 })).toBe(0.2);
  });
});

describe("patches that hold a share", () => {
  test("are the fewest, largest first, with all that are as large as the last", () => {
    const map = Float64Array.from([1, 4, 2, 0, 2, 1, 0, 0]);
    // 4 of 10, then 8 with both twos, then all.
    expect(heldBy(map, [0.4, 0.5, 0.8, 0.95]).map(({ patches }) => patches)).toEqual([1, 3, 3, 5]);
    expect([...heldBy(map, [0.5])[0].inside]).toEqual([0, 1, 1, 0, 1, 0, 0, 0]);
  });

  test("hold it, and fewer do not, in any map", () => {
    let seed = 1;
    const random = () => ((seed = (seed * 16807) % 2147483647) / 2147483647) ** 3;
    for (let round = 0; round < 50; ++round) {
      const map = Float64Array.from({ length: 49 }, random);
      const sum = map.reduce((a, b) => a + b, 0);
      const order = [...map].sort((a, b) => b - a);
      for (const { share, inside, patches } of heldBy(map)) {
        const held = map.reduce((all, value, p) => all + (inside[p] ? value : 0), 0);
        expect(held).toBeGreaterThanOrEqual(share * sum * (1 - 1e-9));
        expect(patches).toBe(inside.reduce((a, b) => a + b, 0));
        expect(order.slice(0, patches - 1).reduce((a, b) => a + b, 0)).toBeLessThan(share * sum);
      }
    }
  });

  test("are none of nothing, and what is no number is not among them", () => {
    expect(heldBy(new Float64Array(4)).map(({ patches }) => patches)).toEqual([0, 0, 0]);
    const [{ inside }] = heldBy(Float64Array.from([NaN, 1, Infinity, 0]));
    expect([...inside]).toEqual([0, 1, 0, 0]);
    expect(heldBy(Float64Array.from([1, 1, 1, 1])).map(({ patches }) => patches)).toEqual([4, 4, 4]);
  });
});

describe("outlines", () => {
  type Corners = [number, number][];
  const sides = (corners: Corners) => corners.map((corner, k) => [corner, corners[(k + 1) % corners.length]] as const);
  const length = (borders: Corners[]) =>
    borders.flatMap(sides).reduce((sum, [[x1, y1], [x2, y2]]) => sum + Math.abs(x2 - x1) + Math.abs(y2 - y1), 0);
  /** Its own, less that of holes. */
  const area = (borders: Corners[]) =>
    Math.abs(borders.flatMap(sides).reduce((sum, [[x1, y1], [x2, y2]]) => sum + (x1 * y2 - x2 * y1) / 2, 0));
  const shape = (...lines: string[]) => ({
    inside: Uint8Array.from([...lines.join("")].map((mark) => (mark === "#" ? 1 : 0))),
    rows: lines.length,
    columns: lines[0].length,
  });

  test("close around every shape, inside it", () => {
    const shapes = [
      shape("#"),
      shape("##", "#."),
      shape("###", "#.#", "###"),
      shape("#.", ".#"),
      shape(".#.", "###", ".#."),
    ];
    // Around an outer corner a line is shorter by two insets, around an inner one longer.
    const corners = [4, 5 - 1, 4 - 4, 8, 8 - 4];
    const around = [4, 8, 16, 8, 12];
    for (const [k, { inside, rows, columns }] of shapes.entries()) {
      for (const inset of [0, 0.05, 0.3]) {
        const borders = bordersOf(inside, rows, columns, inset);
        const said = `shape ${k}, ${inset}`;
        expect(length(borders), said).toBeCloseTo(around[k] - 2 * inset * corners[k], 9);
        if (inset === 0) expect(area(borders), said).toBe(inside.reduce((a, b) => a + b));
        for (const [[x1, y1], [x2, y2]] of borders.flatMap(sides)) {
          expect((x1 === x2) !== (y1 === y2), said).toBe(true);
          expect(Math.min(x1, y1)).toBeGreaterThanOrEqual(inset - 1e-12);
          expect(x1).toBeLessThanOrEqual(columns - inset + 1e-12);
          expect(y1).toBeLessThanOrEqual(rows - inset + 1e-12);
        }
      }
    }
  });

  test("of sets within each other do not cover each other, whatever a patch takes", () => {
    for (const pixels of [4, 10, 20, 36, 80]) {
      const insets = SHARES.map((_, k) => lineLook(k, pixels).inset);
      expect(insets[0]).toBeGreaterThan(insets[1]);
      expect(insets[1]).toBeGreaterThan(insets[2]);
      expect(insets[0]).toBeLessThan(0.5);
      const widths = SHARES.map((_, k) => lineLook(k, pixels).width);
      expect(widths[0]).toBeGreaterThan(widths[1]);
      expect(widths[1]).toBeGreaterThan(widths[2]);
    }
  });

  test("stay inside patches, whatever they are", () => {
    let seed = 7;
    const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    for (let round = 0; round < 50; ++round) {
      const [rows, columns] = [1 + (round % 7), 1 + ((3 * round) % 5)];
      const inside = Uint8Array.from({ length: rows * columns }, () => (random() < 0.5 ? 1 : 0));
      expect(area(bordersOf(inside, rows, columns, 0))).toBe(inside.reduce((a, b) => a + b, 0));
      for (const [x, y] of bordersOf(inside, rows, columns, 0.2).flat()) {
        expect(inside[Math.floor(y) * columns + Math.floor(x)], `round ${round}: ${x}, ${y}`).toBe(1);
      }
    }
  });

  test("are closed paths", () => {
    expect(pathOf(bordersOf(Uint8Array.of(1), 1, 1, 0))).toMatch(/^M\d \d(L\d \d){3}Z$/);
    const { inside, rows, columns } = shape("###", "#.#", "###");
    const moved = pathOf(bordersOf(inside, rows, columns, 0), (x, y) => `${10 * x},${y}`);
    expect(moved.match(/[MZ]/g)).toEqual(["M", "Z", "M", "Z"]);
    expect(moved).toContain("30,0");
    expect(pathOf(bordersOf(new Uint8Array(4), 2, 2, 0.1))).toBe("");
  });
});
