// Continuations of one prompt that diverge at a token.
import type { GenerationReport } from "../report/generation_report";

/** The most token ids that the server accepts. */
export const MOST_GIVEN = 256;

/** The first token where two continuations differ, as far as they are known; null if one is a prefix of the other. */
export function partAt(one: readonly number[], other: readonly number[]): number | null {
  const at = one.findIndex((id, token) => token >= other.length || id !== other[token]);
  return at < 0 || at >= other.length ? null : at;
}

/** A branch's continuation from a token on, with mean token probability; null if the branch ended before. */
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
