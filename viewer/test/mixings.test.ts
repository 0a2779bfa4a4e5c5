// The table of mixings.
import { expect, test } from "vitest";
import { MIXING_NAMES, MIXINGS } from "../src/report/mixings";

test("each mixing has a name of its own, and attention is the first", () => {
  expect(new Set(MIXING_NAMES).size).toBe(MIXINGS.length);
  expect(MIXING_NAMES[0]).toBe("attention");
  expect(MIXING_NAMES).not.toContain("auto");
});
