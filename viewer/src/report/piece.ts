// How a subword token is named on its own: its characters, and a sign if it begins with a space.
import { visible } from "./text";

/** How tokenizers write a leading space: as it is, "Ġ" (byte-level), "▁" (SentencePiece). */
const LEADING_SPACE = /^[ \u0120\u2581](?=.)/su;

/** White space within displayed text, as signs. */
const marked = (text: string) =>
  visible(/\S/u.test(text) ? text.trim().replace(/\n/gu, "⏎").replace(/\t/gu, "⇥") : text);

/**
 * The token's text, and whether it begins with a space that belongs to it.
 * @param own characters of the text that the token stands for; "" if there are none
 * @param piece as the tokenizer spells it
 */
export function pieceName(own: string, piece: string, position: number): { text: string; space: boolean } {
  const space = LEADING_SPACE.test(piece) && /\S/u.test(own || piece);
  return { text: marked(own || (space ? piece.slice(1) : piece)) || `#${position}`, space };
}
