// Beside a text: whether its special tokens count, and how much they hold. One default and the same words in pages of
// every kind.

import type { Signal } from "@preact/signals";
import { CheckBox } from "./check_box";

/** Among the controls: whether special tokens are left out. */
export function SpecialCheck({ on }: { on: Signal<boolean> }) {
  return (
    <div class="control check" id="special-control">
      <CheckBox id="skip-special" on={on}>
        Leave special tokens out
      </CheckBox>
    </div>
  );
}

interface SpecialNoteProps {
  count: number;
  /** "41% of what it draws on"; "" where no values are known */
  held: string;
  /** left out of rankings and colours */
  out: boolean;
  set: (out: boolean) => void;
}

export function SpecialNote({ count, held, out, set }: SpecialNoteProps) {
  if (count === 0) return null;
  return (
    <p class="readout" id="special-note">
      {out ? "Special tokens left out of colours and rankings" : "Special tokens count"}: {count}{" "}
      {count === 1 ? "token" : "tokens"}
      {held && `, ${held}`}.{" "}
      <button type="button" id="special-toggle" onClick={() => set(!out)}>
        {out ? "Count them" : "Leave them out"}
      </button>
    </p>
  );
}
