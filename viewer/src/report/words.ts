// A report with words merged: attention to a word is the sum over its subword tokens (columns), and attention from it
// is their mean (rows), as in attnflow/graph/normalize.h. Flow cannot be merged this way: arcs that two tokens share
// count once, which takes a network with one sink for both.
import { arrayName, SCORE_METHODS, type Method, type ReportDocument, type TokenFields } from "./document";
import { Report } from "./report";
import { denseValues, type Numbers, type Values } from "./values";

/** Positions of each word's subword tokens, in order; a token that belongs to no word is a group of its own. */
function wordGroups(report: Report): number[][] {
  const groups: number[][] = [];
  for (const { index } of report.tokens) {
    if (report.continues(index)) groups.at(-1)?.push(index);
    else groups.push([index]);
  }
  return groups;
}

export function mergedRow(rows: readonly Numbers[], groups: readonly (readonly number[])[]): Float64Array {
  const merged = new Float64Array(groups.length);
  for (const row of rows) {
    for (const [g, group] of groups.entries()) for (const j of group) merged[g] += row[j];
  }
  for (let g = 0; g < merged.length; ++g) merged[g] /= rows.length;
  return merged;
}

/** Merges the rows of an array [.., n, n]; null if rows or columns are missing. */
function mergedValues(values: Values | undefined, groups: number[][], n: number): Values | null {
  if (!values || values.n !== n || values.rows % n !== 0) return null;
  const words = groups.length;
  const shape = [...values.shape.slice(0, -2), words, words];
  const row = (index: number) => {
    const block = Math.floor(index / words) * n;
    return mergedRow(
      groups[index % words].map((piece) => values.row(block + piece)),
      groups,
    );
  };
  const kept = values.kept ? () => ({ count: 0, rest: 0 }) : undefined;
  return { shape, rows: (values.rows / n) * words, n: words, error: values.error, row, kept };
}

export class WordReport extends Report {
  private constructor(
    document: ReportDocument,
    arrays: Map<string, Values>,
    override readonly pieces: Report,
    readonly groups: number[][],
    /** the word of each subword token */
    readonly wordOf: number[],
  ) {
    super(document, arrays);
  }

  override get ofWords(): boolean {
    return true;
  }

  override piecesOf(token: number): readonly number[] {
    return this.groups[token];
  }

  /** Null if no word has several tokens. */
  static of(report: Report): WordReport | null {
    const groups = wordGroups(report);
    if (report.document.generation || report.settings.words || groups.length === report.n) return null;
    const { document, n } = report;
    const wordOf = groups.flatMap((group, word) => group.map(() => word));
    const tokens = groups.map((group): TokenFields => {
      const [first, last] = [document.input.tokens[group[0]], document.input.tokens[group.at(-1) ?? 0]];
      if (group.length === 1) return first;
      const text = group.map((piece) => document.input.tokens[piece].text).join("");
      const unknown = group.some((piece) => report.tokens[piece].unknown);
      return { ...first, end: last.end, text, unknown, shown: undefined }; // a word does not split characters
    });
    const arrays = new Map<string, Values>();
    // Normalized values are not those of the tokens combined.
    const mergeable = report.settings.normalize === "none" ? ["raw", "rollout"] : [];
    const complete = mergeable.filter((name) => report.outputTokens(name as Method).length === n);
    for (const name of [...complete, "graph", "attention"]) {
      const values = name === "graph" ? (report.graphValues() ?? undefined) : report.array(name);
      const merged = mergedValues(values, groups, n);
      if (merged) arrays.set(name, merged);
    }
    // Token scores add up to their word's, but blanking tokens one by one is not blanking them all.
    for (const method of SCORE_METHODS) {
      const pieces = method === "blank-out" ? undefined : report.array(arrayName(method));
      if (pieces) {
        arrays.set(
          arrayName(method),
          denseValues([1, groups.length], mergedRow([pieces.row(0)], groups), pieces.error),
        );
      }
    }
    const merged: ReportDocument = {
      ...document,
      input: { ...document.input, tokens },
      output_token: wordOf[document.output_token ?? 0],
      target:
        typeof document.target?.position === "number"
          ? { ...document.target, position: wordOf[document.target.position] }
          : document.target,
      output_tokens: complete.length > 0 ? groups.map((_, word) => word) : [],
      flow_output_tokens: [],
      predictions: document.predictions
        ?.filter(({ kind, position }, _, all) => {
          // A word's class is that of the token looked at, else of its first one.
          if (kind !== "token-class" || typeof position !== "number" || position === document.output_token) return true;
          const word = wordOf[position];
          const first = all.find((one) => typeof one.position === "number" && wordOf[one.position] === word);
          return first?.position === position && wordOf[document.output_token ?? 0] !== word;
        })
        .map((prediction) =>
          typeof prediction.position === "number"
            ? { ...prediction, position: wordOf[prediction.position] }
            : prediction,
        ),
      referents: document.referents?.map(({ text, tokens: of }) => ({
        text,
        tokens: [...new Set(of.map((piece) => wordOf[piece]))],
      })),
    };
    return new WordReport(merged, arrays, report, groups, wordOf);
  }
}
