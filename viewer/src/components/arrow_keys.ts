// Keyboard navigation over a picture of columns and rows.

export interface Cell {
  column: number;
  row: number;
}

/** Step of each key; Home and End move farther than any picture extends. */
const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  Home: [-Infinity, 0],
  End: [Infinity, 0],
};

/** The same along a line of `count` items. @param forward direction of the right arrow */
export const movesAlong = (count: number, forward = 1): Readonly<Record<string, number>> => ({
  ArrowRight: forward,
  ArrowLeft: -forward,
  ArrowDown: 1,
  ArrowUp: -1,
  Home: -count,
  End: count,
});

const within = (value: number, from: number, to: number): number => Math.max(from, Math.min(to, value));

const PAGES: typeof STEPS = { PageUp: [0, Infinity], PageDown: [0, -Infinity] };

interface Walk {
  columns: number;
  /** the lowest and the highest row; up leads to the highest */
  rows: readonly [number, number];
  at: () => Cell;
  move: (to: Cell) => void;
  choose?: (at: Cell, key: "Enter" | " ") => void;
  /** steps at once with Shift */
  leap?: number;
  /** Page Up and Page Down go to the rows at the ends */
  pages?: boolean;
}

/** Moves or chooses. Keys with Ctrl, Alt or Meta stay the page's. Returns whether it handled the key. */
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
