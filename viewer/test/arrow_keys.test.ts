// Keys that walk over pictures.
import { expect, test } from "vitest";
import { walkWithKeys, type Cell } from "../src/components/arrow_keys";

function pressed(key: string, at: Cell, held: Partial<KeyboardEvent> = {}) {
  const done: unknown[] = [];
  let taken = false;
  const event = { key, ...held, preventDefault: () => (taken = true) } as KeyboardEvent;
  walkWithKeys(event, {
    columns: 5,
    rows: [2, 4],
    at: () => at,
    move: ({ column, row }) => done.push([column, row]),
    choose: ({ column, row }, name) => done.push([column, row, name]),
  });
  return { done, taken };
}

test("walk by one, to the ends, and never beyond them", () => {
  const middle = { column: 2, row: 3 };
  const cases: [string, Cell, [number, number]][] = [
    ["ArrowRight", middle, [3, 3]],
    ["ArrowLeft", middle, [1, 3]],
    ["ArrowUp", middle, [2, 4]],
    ["ArrowDown", middle, [2, 2]],
    ["Home", middle, [0, 3]],
    ["End", middle, [4, 3]],
    ["ArrowRight", { column: 4, row: 4 }, [4, 4]],
    ["ArrowUp", { column: 4, row: 4 }, [4, 4]],
    ["ArrowLeft", { column: 0, row: 2 }, [0, 2]],
    ["ArrowDown", { column: 0, row: 2 }, [0, 2]],
  ];
  for (const [key, at, to] of cases) expect(pressed(key, at), key).toEqual({ done: [to], taken: true });
});

test("Enter and the space bar choose; other keys and those with Ctrl stay the page's", () => {
  const at = { column: 1, row: 2 };
  expect(pressed("Enter", at)).toEqual({ done: [[1, 2, "Enter"]], taken: true });
  expect(pressed(" ", at)).toEqual({ done: [[1, 2, " "]], taken: true });
  expect(pressed("a", at)).toEqual({ done: [], taken: false });
  for (const name of ["ctrlKey", "altKey", "metaKey"]) {
    expect(pressed("ArrowRight", at, { [name]: true }), name).toEqual({ done: [], taken: false });
  }
});
