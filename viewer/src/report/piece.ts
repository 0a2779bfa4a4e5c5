// How a piece is named where it stands alone: its own characters, and a sign where it begins with a space.
import { visible } from "./text";

/** How tokenizers spell a space in front: as it is, "Ġ" (byte-level), "▁" (SentencePiece). */
const LEADING_SPACE = /^[ \u0120\u2581](?=.)/su;

/** White space within text that people read, as signs. */
const marked = (text: string) =>
  visible(/\S/u.test(text) ? text.trim().replace(/\n/gu, "⏎").replace(/\t/gu, "⇥") : text);

/**
 * The piece's text, and whether a space stands before it that belongs to the piece.
 * @param own characters of the text that the piece stands for; "" when there are none
 * @param piece as the tokenizer spells it
 */
export function pieceName(own: string, piece: string, position: number): { text: string; space: boolean } {
  const space = LEADING_SPACE.test(piece) && /\S/u.test(own || piece);
  return { text: marked(own || (space ? piece.slice(1) : piece)) || `#${position}`, space };
}
