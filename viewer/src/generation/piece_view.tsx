// A piece where it is named: a grey sign for the space that it begins with, its characters, its position.
import { Own } from "../components/own_text";
import type { Column } from "./generation_report";
import type { PieceName } from "./piece";

export function Piece({ name, most = 40, class: kind }: { name: PieceName; most?: number; class?: string }) {
  return (
    <span class="piece">
      {name.space && (
        <span class="space" aria-hidden="true" title="begins with a space">
          ␣
        </span>
      )}
      <Own text={name.text} most={most} class={kind} />
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
