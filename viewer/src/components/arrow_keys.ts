// The keys that walk over a picture of columns and rows.

export interface Cell {
  column: number;
  row: number;
}

/** By how much a key goes on; Home and End by more than there is. */
const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  Home: [-Infinity, 0],
  End: [Infinity, 0],
};

const within = (value: number, from: number, to: number): number => Math.max(from, Math.min(to, value));

interface Walk {
  columns: number;
  /** the lowest row and the highest, which up leads to */
  rows: readonly [number, number];
  at: () => Cell;
  move: (to: Cell) => void;
  /** Enter, or the space bar */
  choose: (at: Cell, key: "Enter" | " ") => void;
}

/** Walks, or chooses; other keys, and those with Ctrl, Alt or Meta, are left to the page. */
export function walkWithKeys(event: KeyboardEvent, { columns, rows: [lowest, highest], at, move, choose }: Walk) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const step = STEPS[event.key];
  if (step) {
    const { column, row } = at();
    move({ column: within(column + step[0], 0, columns - 1), row: within(row + step[1], lowest, highest) });
  } else if (event.key === "Enter" || event.key === " ") choose(at(), event.key);
  else return;
  event.preventDefault();
}
