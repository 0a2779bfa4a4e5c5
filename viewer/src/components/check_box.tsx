// A labeled check box that holds one choice.
import type { Signal } from "@preact/signals";
import type { ComponentChildren, InputHTMLAttributes } from "preact";

interface CheckBoxProps extends Omit<InputHTMLAttributes, "class" | "onChange"> {
  id?: string;
  on: Pick<Signal<boolean>, "value">;
  children: ComponentChildren;
  class?: string;
}

export const CheckBox = ({ on, children, class: classes, ...attributes }: CheckBoxProps) => (
  <label class={classes}>
    <input
      type="checkbox"
      checked={on.value}
      {...attributes}
      onChange={(event) => (on.value = event.currentTarget.checked)}
    />{" "}
    {children}
  </label>
);

/** The same, in a bar of controls. @param control its id there */
export const CheckControl = ({ control, title, ...box }: CheckBoxProps & { control?: string; title?: string }) => (
  <div class="control check" id={control} title={title}>
    <CheckBox {...box} />
  </div>
);

export const inOtherForm = (value: boolean, set: (on: boolean) => void): Pick<Signal<boolean>, "value"> => ({
  get value() {
    return value;
  },
  set value(on) {
    set(on);
  },
});
