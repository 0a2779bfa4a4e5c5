// A piece where it is named: a grey sign for the space that it begins with, its characters, its position.
import { shorten } from "../report/text";
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

/** "12" in the prompt, "+3" among the generated tokens. */
export const positionText = ({ generated, position }: Column) => `${generated ? "+" : ""}${position}`;

/** A token in a sentence. */
export function Named({ column }: { column: Column }) {
  return (
    <span class="token-name">
      <Piece name={column.name} class="name" />{" "}
      <span class="index" title={column.generated ? `generated token ${column.position}` : undefined}>
        {positionText(column)}
      </span>
    </span>
  );
}
