// Which tokens of two reports are the same, to set their values against each other.
import type { Report } from "../report/report";

const MOST_CELLS = 4_000_000;

/**
 * For each token of `a` the position of its counterpart in `b`, or -1.
 *
 * Inputs of one length that share at least half of their pieces (one token was changed or blanked) are matched by
 * position; others by a longest common subsequence of their pieces (of words: of their text), O(n m).
 */
export function alignTokens(a: Report, b: Report): Int32Array {
  const [n, m] = [a.n, b.n];
  const match = new Int32Array(n).fill(-1);
  // Two tokenizers cut a word into other pieces, and it is the same word.
  const words = a.ofWords && b.ofWords;
  const names = (report: Report) =>
    report.tokens.map(({ segment, begin, end, piece, label }) =>
      words && begin < end ? report.slice(segment, begin, end) : piece || label,
    );
  const [ours, theirs] = [names(a), names(b)];
  const same = (i: number, j: number) => ours[i] === theirs[j];
  if (n === m) {
    let kept = 0;
    for (let i = 0; i < n; ++i) if (same(i, i)) ++kept;
    if (2 * kept >= n) return match.map((_, i) => i);
  }
  if (n * m > MOST_CELLS) return match.map((_, i) => (i < m && same(i, i) ? i : -1));
  // longest[i][j]: of the ends a[i..] and b[j..].
  const width = m + 1;
  const longest = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; --i) {
    for (let j = m - 1; j >= 0; --j) {
      longest[i * width + j] = same(i, j)
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < n && j < m;) {
    if (same(i, j)) match[i++] = j++;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) ++i;
    else ++j;
  }
  return match;
}
