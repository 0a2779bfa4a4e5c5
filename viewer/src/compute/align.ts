// Finds the tokens that two reports share, to compare their values.
import type { Report, Token } from "../report/report";

const MOST_CELLS = 4_000_000;

/** Tokens that cover the same characters where the two tokenizers split a text differently. */
export interface Span {
  ours: readonly number[];
  theirs: readonly number[];
}

export interface Alignment {
  /** the (first) counterpart in the second report of each token of the first, or -1 */
  match: Int32Array;
  /** groups of tokens that cover the same characters; their sums are compared */
  spans: readonly Span[];
}

/**
 * Aligns the tokens of two reports.
 *
 * If both have the same text, tokens are matched by the characters that they cover, and special tokens by their kind
 * and their side of the text. Other inputs of equal length that share at least half of their tokens are matched by
 * position; the rest by a longest common subsequence, O(n m).
 */
export function alignTokens(a: Report, b: Report): Alignment {
  if (sameText(a, b)) return byCharacters(a, b);
  return { match: byPieces(a, b), spans: [] };
}

function sameText({ document: { input: ours } }: Report, { document: { input: theirs } }: Report): boolean {
  const pair = (input: typeof ours) => input.text_pair ?? "";
  return (
    ours.kind === "text" &&
    theirs.kind === "text" &&
    ours.text !== "" &&
    ours.text === theirs.text &&
    pair(ours) === pair(theirs)
  );
}

interface Piece {
  index: number;
  segment: number;
  begin: number;
  end: number;
  own: boolean;
}

/** Tokens with characters of their own, in text order, without surrounding white space. */
function piecesOf(report: Report, own: boolean): Piece[] {
  const length = (text: string) => new TextEncoder().encode(text).length;
  return report.tokens
    .filter(({ begin, end }) => begin < end)
    .map(({ index, segment, begin, end }) => {
      const text = report.slice(segment, begin, end);
      if (text.trim() !== "") {
        begin += length(text) - length(text.trimStart());
        end -= length(text) - length(text.trimEnd());
      }
      return { index, segment, begin, end, own };
    });
}

function byCharacters(a: Report, b: Report): Alignment {
  const match = new Int32Array(a.n).fill(-1);
  const spans: Span[] = [];
  const pieces = [...piecesOf(a, true), ...piecesOf(b, false)];
  pieces.sort((one, other) => one.segment - other.segment || one.begin - other.begin || one.index - other.index);
  const take = (group: readonly Piece[]) => {
    const of = (own: boolean) => group.filter((piece) => piece.own === own).map(({ index }) => index);
    const [ours, theirs] = [of(true), of(false)];
    if (ours.length === 0 || theirs.length === 0) return;
    // Possibly bytes of one character that both tokenizers split alike.
    const alike =
      ours.length === theirs.length && ours.every((i, k) => a.tokens[i].piece === b.tokens[theirs[k]].piece);
    for (const [k, i] of ours.entries()) match[i] = theirs[alike ? k : 0];
    if (!alike && ours.length + theirs.length > 2) spans.push({ ours, theirs });
  };
  let group: Piece[] = [];
  let end = 0;
  for (const piece of pieces) {
    if (group.length > 0 && (piece.segment !== group[0].segment || piece.begin >= end)) {
      take(group);
      group = [];
    }
    end = group.length > 0 ? Math.max(end, piece.end) : piece.end;
    group.push(piece);
  }
  take(group);
  matchSpecial(a, b, match);
  return { match, spans };
}

/** Names that tokenizers give to the token that begins a text, and to those that end or separate texts. */
const BEGINS = "cls bos bostoken s beginoftext startoftext beginofsentence".split(" ");
const ENDS = "sep eos eostoken /s eod endoftext endofsentence".split(" ");

/**
 * Kinds of tokens without characters, whatever a tokenizer calls them: "[CLS]" and "<s>" begin a text, "[SEP]" and
 * "</s>" end it. Some models begin a text with an end token or with padding. "" for tokens with characters.
 */
function kindsOf({ tokens }: Report): string[] {
  const firsts = new Map<number, number>();
  for (const { index, segment, begin, end } of tokens) {
    if (begin < end && !firsts.has(segment)) firsts.set(segment, index);
  }
  return tokens.map(({ index, segment, begin, end, piece }) => {
    if (begin < end) return "";
    const [, inside] = /^[[<](.+)[\]>]$/u.exec(piece) ?? [];
    if (inside === undefined) return piece;
    const name = inside.toLowerCase().replace(/[^\p{L}\p{N}/]/gu, "");
    const leads = index < (firsts.get(segment) ?? 0);
    const kind = BEGINS.includes(name) ? "begin" : ENDS.includes(name) ? "end" : name;
    return `<${leads && (kind === "end" || kind === "pad") ? "begin" : kind}>`;
  });
}

/** Matches special tokens before, between and after texts: identical ones first, then those of one kind. */
function matchSpecial(a: Report, b: Report, match: Int32Array) {
  const places = (report: Report) => {
    const own = report.tokens.map(({ begin, end }) => begin < end);
    const [first, last] = [own.indexOf(true), own.lastIndexOf(true)];
    const found: number[][] = [[], [], []];
    for (const { index } of report.tokens) {
      if (!own[index]) found[index < first ? 0 : index > last ? 2 : 1].push(index);
    }
    return found;
  };
  const [kinds, otherKinds] = [kindsOf(a), kindsOf(b)];
  const theirs = places(b);
  for (const [place, ours] of places(a).entries()) {
    const others = theirs[place];
    const alike = (i: number, j: number) =>
      kinds[ours[i]] !== otherKinds[others[j]] ? 0 : a.tokens[ours[i]].piece === b.tokens[others[j]].piece ? 2 : 1;
    for (const [i, j] of inOrder(ours.length, others.length, alike)) match[ours[i]] = others[j];
  }
}

/**
 * The best order-preserving pairing of two lists, O(n m); beyond MOST_CELLS, pairs of equal index.
 * @param alike similarity: at most 2, and 0 if they do not match
 */
function inOrder(n: number, m: number, alike: (i: number, j: number) => number): [number, number][] {
  const pairs: [number, number][] = [];
  if (n * m > MOST_CELLS) {
    for (let i = 0; i < Math.min(n, m); ++i) if (alike(i, i) > 0) pairs.push([i, i]);
    return pairs;
  }
  // best[i][j]: for the suffixes [i..] and [j..].
  const width = m + 1;
  const best = new Uint16Array((n + 1) * width);
  const paired = (i: number, j: number) => (alike(i, j) > 0 ? alike(i, j) + best[(i + 1) * width + j + 1] : 0);
  for (let i = n - 1; i >= 0; --i) {
    for (let j = m - 1; j >= 0; --j) {
      best[i * width + j] = Math.max(paired(i, j), best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < n && j < m;) {
    const most = best[i * width + j];
    if (paired(i, j) === most && most > 0) pairs.push([i++, j++]);
    else if (best[(i + 1) * width + j] === most) ++i;
    else ++j;
  }
  return pairs;
}

function byPieces(a: Report, b: Report): Int32Array {
  const [n, m] = [a.n, b.n];
  const match = new Int32Array(n).fill(-1);
  // Two models' tokenizers spell and split words differently: compare the text the tokens stand for.
  const foreign = a.model.name !== b.model.name || (a.ofWords && b.ofWords);
  const names = (report: Report) => {
    const kinds = foreign ? kindsOf(report) : [];
    return report.tokens.map(({ index, segment, begin, end, piece, label }) =>
      foreign && begin < end ? report.slice(segment, begin, end).trim() : kinds[index] || piece || label,
    );
  };
  const [ours, theirs] = [names(a), names(b)];
  const same = (i: number, j: number) => ours[i] === theirs[j];
  if (n === m) {
    let kept = 0;
    const counts = ({ special }: Token) => !foreign || !special; // every model has special tokens
    for (let i = 0; i < n; ++i) if (same(i, i) && counts(a.tokens[i])) ++kept;
    if (2 * kept >= n) return match.map((_, i) => i);
  }
  for (const [i, j] of inOrder(n, m, (i, j) => Number(same(i, j)))) match[i] = j;
  return match;
}

/**
 * A row in which each token of a group has the group's sum or, for flow, its largest value: flows to several tokens may
 * use the same paths, so that their sum is not a flow.
 */
export function overSpans(row: Float64Array, groups: readonly (readonly number[])[], flow: boolean): Float64Array {
  const merged = Float64Array.from(row);
  for (const group of groups) {
    const values = group.map((i) => row[i]);
    const value = flow ? Math.max(...values) : values.reduce((sum, one) => sum + one, 0);
    for (const i of group) merged[i] = value;
  }
  return merged;
}

export function spanText(report: Report, group: readonly number[]): string {
  const tokens = group.map((index) => report.tokens[index]);
  const [begin, end] = [Math.min(...tokens.map((one) => one.begin)), Math.max(...tokens.map((one) => one.end))];
  return report.slice(tokens[0].segment, begin, end).trim();
}

/** The layer of the other model at the same distance from its last one. */
export function layerBeside(a: Report, b: Report, layer: number): number {
  const [ours, theirs] = [a.model.layers, b.model.layers];
  if (ours === theirs || ours === 0 || theirs === 0) return layer;
  return theirs - (ours - layer);
}

/** The same, among the layers that the other report holds. */
export function heldLayerBeside(a: Report, b: Report, layer: number): number {
  const wanted = layerBeside(a, b, layer);
  return b.layers.findLast((one) => one <= wanted) ?? b.layers[0] ?? 1;
}
