// A piece where it is named: a grey sign for the space that it begins with, its characters, its position.
import { isPunctuation, shorten } from "../report/text";
import type { Column } from "./generation_report";
import { SPACE_SIGN, type PieceName } from "./piece";

export function Piece({ name, most = 40, class: kind }: { name: PieceName; most?: number; class?: string }) {
  // The sign stands where the piece begins, on the right of Arabic and Hebrew: direction is that of the piece itself.
  return (
    <span class="piece" dir="auto" lang="">
      {name.space && (
        <span class="space" aria-hidden="true">
          {SPACE_SIGN}
        </span>
      )}
      <span class={kind} title={name.text.length > most ? name.text : undefined}>
        {shorten(name.text, most)}
      </span>
    </span>
  );
}

/** "12" in the prompt, "+3" among the generated tokens: positions, from 0, as files and the command line name them. */
export const positionText = ({ generated, position }: Column) => `${generated ? "+" : ""}${position}`;

/** A token in a sentence. @param brief the chosen token, whose place the page says elsewhere */
export function Named({ column, brief = false }: { column: Column; brief?: boolean }) {
  const quotes = isPunctuation(column.name.text);
  return (
    <span class="token-name">
      {quotes && "“"}
      <Piece name={column.name} class="name" />
      {quotes && "”"}
      {!brief && (
        <span class="index" title={column.generated ? "among the generated tokens, from 0" : "in the prompt, from 0"}>
          {" "}
          position {positionText(column)}
        </span>
      )}
    </span>
  );
}
