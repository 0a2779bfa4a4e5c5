// Texts whose matrices of all layers take minutes: a decoder is asked for rows of the last token, which need no matrices.
import { AGGREGATIONS, type Method } from "../report/document";
import type { ServedModel } from "./client";
import { leastTokens } from "./describe";

const MANY_TOKENS = 600;
/** Letters of a token, at most so many of usual text. */
const LETTERS = 6;
/** Where a token is a letter or two. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu;

type Body = Record<string, unknown>;

/** Whether texts are that long for a model. A guess: only its tokenizer knows. */
export function isLong(model: ServedModel | null, ...texts: readonly string[]): boolean {
  if (model?.head !== "causal" || (model.max_tokens ?? MANY_TOKENS) < MANY_TOKENS) return false;
  const text = texts.join("");
  const dense = text.match(DENSE)?.length ?? 0;
  return Math.max(leastTokens(...texts), text.length / LETTERS, dense / 2) >= MANY_TOKENS;
}

/** The request for its last token alone, or for all; without flow, which of all pairs would take hours. */
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

/** The request with other settings; for all tokens, where those cannot be of one alone (explain/fill_report.h). */
export function withSettings(body: Body, settings: Body): Body {
  const asked: Body = { ...body, ...settings };
  const methods = (asked.method ?? []) as readonly Method[];
  const rows =
    !asked.discard &&
    asked.output_token !== "all" &&
    methods.every((method) => (AGGREGATIONS as readonly Method[]).includes(method));
  return rows ? asked : { ...ofAllTokens(body), ...settings };
}
