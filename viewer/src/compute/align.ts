// Which tokens of two reports are the same, to set their values against each other.
import type { Report } from "../report/report";

const MOST_CELLS = 4_000_000;

/**
 * For each token of `a` the position of its counterpart in `b`, or -1.
 *
 * Inputs of one length that share at least half of their pieces (one token was changed or blanked) are matched by
 * position; others by a longest common subsequence of their pieces, O(n m).
 */
export function alignTokens(a: Report, b: Report): Int32Array {
  const [n, m] = [a.n, b.n];
  const match = new Int32Array(n).fill(-1);
  const piece = (report: Report, i: number) => report.tokens[i].piece || report.tokens[i].label;
  if (n === m) {
    let same = 0;
    for (let i = 0; i < n; ++i) if (piece(a, i) === piece(b, i)) ++same;
    if (2 * same >= n) return match.map((_, i) => i);
  }
  if (n * m > MOST_CELLS) return match.map((_, i) => (i < m && piece(a, i) === piece(b, i) ? i : -1));
  // longest[i][j]: of the ends a[i..] and b[j..].
  const width = m + 1;
  const longest = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; --i) {
    for (let j = m - 1; j >= 0; --j) {
      longest[i * width + j] =
        piece(a, i) === piece(b, j)
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < n && j < m;) {
    if (piece(a, i) === piece(b, j)) match[i++] = j++;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) ++i;
    else ++j;
  }
  return match;
}
