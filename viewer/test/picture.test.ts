import { describe, expect, test } from "vitest";
import { tokenOptions } from "../src/components/fields";
import { namedToken, undirected } from "../src/export/name";
import { edgeNumbers } from "../src/views/patch_edges";
import { tokenTicks } from "../src/views/picture";
import { Picture, smoothMap } from "../src/report/picture";
import { Report } from "../src/report/report";
import { pixelWords } from "../src/report/setting_words";
import type { Viewer } from "../src/context";
import { documentOf } from "./arrays";
import { KeptPictures, MOST_KEPT, problemOf } from "../src/server/pictures";

test("pixels in words", () => {
  expect(pixelWords({ width: 28, height: 21, channels: 1 })).toBe("28 × 21 pixels, gray");
  expect(pixelWords({ width: 224, height: 224, channels: 3 })).toBe("224 × 224 pixels");
});

test("rows and columns are numbered from 1; of many, every fifth or tenth is", () => {
  expect(edgeNumbers(3)).toEqual([1, 2, 3]);
  expect(edgeNumbers(16).length).toBe(16);
  expect(edgeNumbers(24)).toEqual([1, 5, 10, 15, 20]);
  expect(edgeNumbers(50)).toEqual([1, 10, 20, 30, 40, 50]);
});

/** [CLS] and 2 x 3 patches over columns 10 to 70 of a picture of 80 x 30 pixels, five rows of black below. */
async function sample(changes: Record<string, unknown> = {}) {
  const image = {
    ...{ name: "a.png", width: 80, height: 30, rows: 2, columns: 3, first_patch: 1, seen: [10, 0, 70, 35] },
    picture: { width: 80, height: 30, encoding: "png+base64", data: "" },
    ...changes,
  };
  const patches = [0, 1, 2, 3, 4, 5].map((p) => ({ text: `${Math.floor(p / 3)},${p % 3}`, role: "patch" }));
  const tokens = [{ text: "[CLS]", special: true, role: "class" }, ...patches];
  return Report.read(documentOf({ input: { kind: "image", tokens, image } }));
}

test("patches are named by row and column, in lists, on axes and in sentences", async () => {
  const report = await sample();
  expect(tokenOptions(report.tokens, report.pictured).slice(0, 2)).toEqual([
    [0, "[CLS]"],
    [1, "row 1, column 1"],
  ]);
  expect(report.nameOf(5)).toEqual({ label: "row 2, column 2" });
  expect(undirected(namedToken(report, 5))).toBe("“row 2, column 2”");
  // The first patch of a row, of as many rows as there is room for.
  expect(tokenTicks(report, [0, 7], 10, 30)).toEqual([
    { at: 1, words: "1,1" },
    { at: 4, words: "2,1" },
  ]);
  expect(tokenTicks(report, [2, 7], 10, 30)).toEqual([{ at: 4, words: "2,1" }]);
  expect(tokenTicks(report, [0, 7], 10, 31)).toEqual([{ at: 1, words: "1,1" }]);
});

describe("patches", () => {
  test("lie where the grid says", async () => {
    const picture = new Picture(await sample());
    expect(picture.specials).toEqual([0]);
    expect(picture.patchOf(6)).toEqual({ row: 1, column: 2 });
    expect(picture.tokenOf(1, 2)).toBe(6);
    expect(picture.placeOf(6)).toEqual({ left: 50, top: 17.5, right: 70, bottom: 35 });
    expect(picture.shown).toEqual({ left: 0, top: 0, right: 80, bottom: 35 });
  });

  test("are found again by a point, and nothing is found beside them", async () => {
    const picture = new Picture(await sample());
    for (let token = 1; token <= 6; ++token) {
      const { left, top, right, bottom } = picture.placeOf(token);
      expect(picture.patchAt((left + right) / 2 / 80, (top + bottom) / 2 / 35)).toBe(token);
    }
    expect(picture.patchAt(9 / 80, 0.5)).toBeNull();
    expect(picture.patchAt(71 / 80, 0.5)).toBeNull();
  });

  test("that are not there are refused", async () => {
    const report = await sample({ rows: 3 });
    expect(() => new Picture(report)).toThrow(/expected a token for each of 3 x 3 patches, found 7 tokens/);
  });

  test("the scale leaves out the patch itself when it towers", async () => {
    const picture = new Picture(await sample());
    const map = Float64Array.of(0.1, 0.9, 0.2, 0.05, NaN, 0.1);
    expect(picture.scale([map], 2, false)).toEqual({ low: 0, top: 0.2, above: 0.9 });
    expect(picture.scale([map], 0, false)).toEqual({ low: 0, top: 0.9, above: 0.9 });
    expect(picture.scale([map], 2, true)).toEqual({ low: 0.05, top: 0.2, above: 0.9 });
    expect(picture.scale([null], 2, true)).toEqual({ low: 0, top: 0, above: 0 });
  });

  test("sums leave out what is not defined", async () => {
    const picture = new Picture(await sample());
    expect(picture.sums(Float64Array.of(0.5, 0.25, NaN, 0, 0, 0, 0.25))).toEqual({ all: 1, patches: 0.5 });
    expect(picture.mapOf(Float64Array.of(9, 1, 2, 3, 4, 5, 6))).toEqual(Float64Array.of(1, 2, 3, 4, 5, 6));
  });
});

describe("a smooth map", () => {
  test("is linear between the centres of patches and constant beyond them", () => {
    // One row of two patches, four values each: centres at 1.5 and 5.5.
    const map = smoothMap(Float64Array.of(0, 4), 1, 2, 4);
    expect([...map.slice(0, 8)]).toEqual([0, 0, 0.5, 1.5, 2.5, 3.5, 4, 4]);
    expect([...map.slice(24, 32)]).toEqual([...map.slice(0, 8)]);
  });

  test("with one value a patch is the map", () => {
    const map = Float32Array.of(1, 2, 3, 4, 5, 6);
    expect(smoothMap(map, 2, 3, 1)).toEqual(map);
  });

  test("keeps within the values around it", () => {
    const map = Float64Array.of(0.1, 0.7, 0.3, 0.9, 0.2, 0.4);
    const smooth = smoothMap(map, 2, 3, 7);
    expect(Math.max(...smooth)).toBeLessThanOrEqual(Math.fround(0.9));
    expect(Math.min(...smooth)).toBeGreaterThanOrEqual(Math.fround(0.1));
  });
});

describe("pictures that were sent", () => {
  const viewerOf = (ask?: string) => ({ state: { address: ask ? { ask } : {} } }) as unknown as Viewer;
  const asked = { picture: new File([], "a.png"), example: false, options: {} };

  test("are kept by what asked for them, the last few", () => {
    const kept = new KeptPictures();
    const names = Array.from({ length: MOST_KEPT }, (_, k) => `ask ${k}`);
    for (const name of names) kept.keep(viewerOf(name), asked);
    // Shown again, and the newest of its name.
    const again = viewerOf(names[0]);
    kept.keep(again, asked);
    kept.keep(viewerOf("one more"), asked);
    kept.keep(viewerOf(), asked);
    expect(kept.get(names[0])?.viewer).toBe(again);
    expect(kept.get(names[1])).toBeUndefined();
    for (const name of [...names.slice(2), "one more"]) expect(kept.get(name), name).toBeDefined();
    expect(kept.get("")).toBeUndefined();
  });

  test("are of a kind that the server reads", () => {
    for (const type of ["image/png", "image/jpeg", "image/webp"])
      expect(problemOf(new File([], "a", { type }))).toBe("");
    expect(problemOf(new File([], "a.gif", { type: "image/gif" }))).toMatch(/found a\.gif \(image\/gif\)$/);
    const large = { size: 64 * 2 ** 20 + 1, type: "image/png", name: "b.png" } as File;
    expect(problemOf(large)).toMatch(/at most 64 MB, found b\.png$/);
  });
});
