// The user's own text among ours: it keeps its writing direction.
import { shorten } from "../report/text";

export function Own({ text, most = 40, class: name }: { text: string; most?: number; class?: string }) {
  return (
    <bdi lang="" class={name} title={text.length > most ? text : undefined}>
      {shorten(text, most)}
    </bdi>
  );
}

/** A token where it is named: label and position. */
export function TokenName({ label, index }: { label: string; index: number }) {
  return (
    <span class="token-name">
      <Own text={label} /> <span class="index">{index}</span>
    </span>
  );
}
