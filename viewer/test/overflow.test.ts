// Hidden parts of a box that scrolls.
import { expect, test } from "vitest";
import { overflowOf } from "../src/components/overflow";
import { revealRow } from "../src/views/cell_picture";

const box = { scrollLeft: 0, scrollTop: 0, scrollWidth: 300, clientWidth: 300, scrollHeight: 100, clientHeight: 100 };

test("a box says at which side there is more", () => {
  expect(overflowOf(box)).toEqual({ before: false, after: false, below: false, any: false });
  const wide = { ...box, scrollWidth: 500 };
  expect(overflowOf(wide)).toEqual({ before: false, after: true, below: false, any: true });
  expect(overflowOf({ ...wide, scrollLeft: 90 })).toEqual({ before: true, after: true, below: false, any: true });
  expect(overflowOf({ ...wide, scrollLeft: 200 })).toEqual({ before: true, after: false, below: false, any: true });
});

test("what is hidden below is at no side, and what rounding makes is nothing", () => {
  const long = { ...box, scrollHeight: 900 };
  expect(overflowOf(long)).toEqual({ before: false, after: false, below: true, any: true });
  expect(overflowOf({ ...long, scrollTop: 800 })).toMatchObject({ below: false, any: true });
  expect(overflowOf({ ...box, scrollWidth: 301 })).toEqual({ before: false, after: false, below: false, any: false });
  // Places are fractions where the screen is magnified.
  const end = { ...box, scrollWidth: 500, scrollLeft: 199.33 };
  expect(overflowOf(end)).toEqual({ before: true, after: false, below: false, any: true });
  expect(overflowOf({ ...end, scrollLeft: 0.67 })).toEqual({ before: false, after: true, below: false, any: true });
});

test("the chosen row of a long picture comes into sight, above what stays at the bottom", () => {
  const shown = { ...box, clientHeight: 300, scrollHeight: 2000 };
  const rowAt = (y: number) => {
    revealRow(shown, { y, height: 14, below: 60 });
    return shown.scrollTop;
  };
  expect(rowAt(100)).toBe(0);
  const far = rowAt(1000);
  expect(1000 - far).toBeGreaterThanOrEqual(0);
  expect(1000 + 14 - far).toBeLessThanOrEqual(300 - 60);
  expect(rowAt(1010)).toBe(far + 10);
  expect(rowAt(400)).toBe(386);
});
