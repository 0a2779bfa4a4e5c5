// What of a box that scrolls is out of sight.
import { expect, test } from "vitest";
import { overflowOf } from "../src/components/overflow";

const box = { scrollLeft: 0, scrollWidth: 300, clientWidth: 300, scrollHeight: 100, clientHeight: 100 };

test("a box says at which side there is more", () => {
  expect(overflowOf(box)).toEqual({ before: false, after: false, any: false });
  const wide = { ...box, scrollWidth: 500 };
  expect(overflowOf(wide)).toEqual({ before: false, after: true, any: true });
  expect(overflowOf({ ...wide, scrollLeft: 90 })).toEqual({ before: true, after: true, any: true });
  expect(overflowOf({ ...wide, scrollLeft: 200 })).toEqual({ before: true, after: false, any: true });
});

test("what is hidden below is at no side, and what rounding makes is nothing", () => {
  expect(overflowOf({ ...box, scrollHeight: 900 })).toEqual({ before: false, after: false, any: true });
  expect(overflowOf({ ...box, scrollWidth: 301 })).toEqual({ before: false, after: false, any: false });
  // Places are fractions where the screen is magnified.
  const end = { ...box, scrollWidth: 500, scrollLeft: 199.33 };
  expect(overflowOf(end)).toEqual({ before: true, after: false, any: true });
  expect(overflowOf({ ...end, scrollLeft: 0.67 })).toEqual({ before: false, after: true, any: true });
});
