// A check box with its words, which holds one choice.
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

export interface CheckBoxProps {
  id: string;
  on: Signal<boolean>;
  children: ComponentChildren;
  class?: string;
}

export function CheckBox({ id, on, children, class: classes }: CheckBoxProps) {
  return (
    <label class={classes}>
      <input
        id={id}
        type="checkbox"
        checked={on.value}
        onChange={(event) => (on.value = event.currentTarget.checked)}
      />{" "}
      {children}
    </label>
  );
}
