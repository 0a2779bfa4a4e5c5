// User text within the page's own text: it keeps its writing direction.
import { shorten } from "../report/text";

export function Own({ text, most = 40, class: name }: { text: string; most?: number; class?: string }) {
  return (
    <bdi lang="" class={name} title={text.length > most ? text : undefined}>
      {shorten(text, most)}
    </bdi>
  );
}

/** Stands for the space that a subword token begins with. */
export const SPACE_SIGN = "␣";

interface PieceProps {
  label: string;
  space?: boolean;
  most?: number;
  class?: string;
}

/** A token as named in text: a gray sign for its leading space, then its characters. */
export function Piece({ label, space = false, most = 40, class: kind }: PieceProps) {
  // The sign is where the token begins, on the right for Arabic and Hebrew: the direction is the token's own.
  return (
    <span class="piece" dir="auto" lang="">
      {space && (
        <span class="space" aria-hidden="true">
          {SPACE_SIGN}
        </span>
      )}
      <span class={kind} title={label.length > most ? label : undefined}>
        {shorten(label, most)}
      </span>
    </span>
  );
}

interface TokenNameProps extends PieceProps {
  /** its position; absent where the page or the label already gives it */
  index?: number | string;
  /** in a sentence: “key” (position 2) */
  said?: boolean;
}

/** A token where it is named. */
export function TokenName({ label, space, index, said = false }: TokenNameProps) {
  const position = typeof index === "number" ? `position ${index}` : index;
  return (
    <span class="token-name">
      {said && "“"}
      <Piece label={label} space={space} class="name" />
      {said && "”"}
      {index !== undefined && <span class="index"> {said ? `(${position})` : index}</span>}
    </span>
  );
}
