// The user's own text among ours: it keeps its writing direction.
import { isPunctuation, shorten } from "../report/text";

export function Own({ text, most = 40, class: name }: { text: string; most?: number; class?: string }) {
  return (
    <bdi lang="" class={name} title={text.length > most ? text : undefined}>
      {shorten(text, most)}
    </bdi>
  );
}

/** A token where it is named: label and position. @param said in a sentence, among its own full stops and brackets */
export function TokenName({ label, index, said = false }: { label: string; index: number; said?: boolean }) {
  if (said && isPunctuation(label)) {
    return (
      <span class="token-name">
        “<Own text={label} />” <span class="index">(position {index})</span>
      </span>
    );
  }
  return (
    <span class="token-name">
      <Own text={label} /> <span class="index">{index}</span>
    </span>
  );
}
