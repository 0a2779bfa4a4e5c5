// Continuations of one prompt that part at a token.
import type { GenerationReport } from "../report/generation_report";

/** Ids that the server takes at most. */
export const MOST_GIVEN = 256;

/** The first token that two continuations do not share, of those that are known; null: one begins with the other. */
export function partAt(one: readonly number[], other: readonly number[]): number | null {
  const at = one.findIndex((id, token) => token >= other.length || id !== other[token]);
  return at < 0 || at >= other.length ? null : at;
}

/**
 * What a branch has from a token on: its text, how likely its first token was, and a token of it on average; null where it
 * ended before.
 */
export function tailOf({ fields }: GenerationReport, from: number) {
  const tokens = fields.tokens.slice(from);
  if (tokens.length === 0) return null;
  const logs = tokens.map(({ probability }) => Math.log(probability));
  const bytes = new TextEncoder().encode(fields.text).slice(tokens[0].begin);
  return {
    text: new TextDecoder().decode(bytes),
    first: tokens[0].probability,
    mean: Math.exp(logs.reduce((sum, one) => sum + one, 0) / logs.length),
  };
}
