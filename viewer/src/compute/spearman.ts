// Spearman's rank correlation: whether two orders agree, independent of the values' scales.

/** Ranks from 1; equal values share the mean of their ranks. */
function ranksOf(values: readonly number[]): number[] {
  const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
  const ranks = new Array<number>(values.length);
  for (let from = 0; from < order.length;) {
    let to = from + 1;
    while (to < order.length && values[order[to]] === values[order[from]]) ++to;
    for (let k = from; k < to; ++k) ranks[order[k]] = (from + 1 + to) / 2;
    from = to;
  }
  return ranks;
}

/** From -1 to 1; null if there are fewer than three values, or all on one side are equal. */
export function spearman(a: readonly number[], b: readonly number[]): number | null {
  const n = a.length;
  if (n < 3) return null;
  const [x, y] = [ranksOf(a), ranksOf(b)];
  const mean = (n + 1) / 2;
  let [xy, xx, yy] = [0, 0, 0];
  for (let i = 0; i < n; ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) ** 2;
    yy += (y[i] - mean) ** 2;
  }
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : null;
}
