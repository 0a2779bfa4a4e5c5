// Texts whose full matrices take minutes: a decoder is asked for rows of the last token, which need no matrices.
import { AGGREGATIONS, type Method } from "../report/document";
import type { ServedModel } from "./client";
import { leastTokens } from "./describe";

const MANY_TOKENS = 600;
/** An upper bound on a token's letters in ordinary text. */
const LETTERS = 6;
/** Scripts in which a token is a letter or two. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu;

type Body = Record<string, unknown>;

/** Whether texts are long for a model, by a guess: only its tokenizer knows. */
export function isLong(model: ServedModel | null, ...texts: readonly string[]): boolean {
  if (model?.head !== "causal" || (model.max_tokens ?? MANY_TOKENS) < MANY_TOKENS) return false;
  const text = texts.join("");
  const dense = text.match(DENSE)?.length ?? 0;
  return Math.max(leastTokens(...texts), text.length / LETTERS, dense / 2) >= MANY_TOKENS;
}

/** The request for only the last token, or for all; without flow, which would take hours for all pairs. */
export const askOfLong = (body: Body, allTokens: boolean): Body => ({
  ...body,
  method: ((body.method ?? AGGREGATIONS) as readonly Method[]).filter((method) => method !== "flow"),
  ...(!allTokens && { only_output_token: true }),
});

/** The same request for all tokens. */
export function ofAllTokens(body: Body): Body {
  const all = { ...body };
  delete all.only_output_token;
  return all;
}

/** The request with other settings; for all tokens if those do not allow a single one (explain/fill_report.h). */
export function withSettings(body: Body, settings: Body): Body {
  const asked: Body = { ...body, ...settings };
  const methods = (asked.method ?? []) as readonly Method[];
  const rows =
    !asked.discard &&
    asked.output_token !== "all" &&
    methods.every((method) => (AGGREGATIONS as readonly Method[]).includes(method));
  return rows ? asked : { ...ofAllTokens(body), ...settings };
}
