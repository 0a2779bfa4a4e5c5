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

/** The same along a line of so many. @param forward where the arrow to the right leads */
export const movesAlong = (count: number, forward = 1): Readonly<Record<string, number>> => ({
  ArrowRight: forward,
  ArrowLeft: -forward,
  ArrowDown: 1,
  ArrowUp: -1,
  Home: -count,
  End: count,
});

const within = (value: number, from: number, to: number): number => Math.max(from, Math.min(to, value));

/** To the row at the top, and at the bottom. */
const PAGES: typeof STEPS = { PageUp: [0, Infinity], PageDown: [0, -Infinity] };

interface Walk {
  columns: number;
  /** the lowest row and the highest, which up leads to */
  rows: readonly [number, number];
  at: () => Cell;
  move: (to: Cell) => void;
  /** Enter, or the space bar */
  choose?: (at: Cell, key: "Enter" | " ") => void;
  /** with Shift so many steps at once */
  leap?: number;
  /** Page up and Page down lead to the rows at the ends */
  pages?: boolean;
}

/** Walks, or chooses; other keys, and those with Ctrl, Alt or Meta, are left to the page. Whether it was one of its keys. */
export function walkWithKeys(
  event: KeyboardEvent,
  { columns, rows, at, move, choose, leap = 1, pages }: Walk,
): boolean {
  if (event.ctrlKey || event.altKey || event.metaKey) return false;
  const step = STEPS[event.key] ?? (pages ? PAGES[event.key] : undefined);
  const [lowest, highest] = rows;
  if (step) {
    const { column, row } = at();
    const by = event.shiftKey ? leap : 1;
    const up = highest < lowest ? -by : by;
    move({
      column: within(column + (step[0] && by * step[0]), 0, columns - 1),
      row: within(row + (step[1] && up * step[1]), Math.min(...rows), Math.max(...rows)),
    });
  } else if (choose && (event.key === "Enter" || event.key === " ")) choose(at(), event.key);
  else return false;
  event.preventDefault();
  return true;
}
