// Controls that choose one of several values, or a number: lists, radio buttons, sliders.
import type { ComponentChildren, InputHTMLAttributes, SelectHTMLAttributes } from "preact";
import { useMemo } from "preact/hooks";
import { shorten } from "../report/text";

type Value = string | number;
/** A value and its label, which defaults to the value itself. */
export type Option<T extends Value> = readonly [value: T, words?: string];

/** Tokens in a list; a patch's label already says where it is. */
export const tokenOptions = (tokens: readonly { index: number; label: string }[], pictured: boolean) =>
  tokens.map(({ index, label }) => [index, pictured ? label : `${index}: ${shorten(label, 24)}`] as const);

interface SelectProps<T extends Value> extends Omit<SelectHTMLAttributes, "value" | "onChange"> {
  value: T;
  options: readonly Option<T>[];
  choose(value: T): void;
  /** the labels are user text */
  own?: boolean;
  lacks?(value: T): boolean;
}

export function Select<T extends Value>({ value, options, choose, own = false, lacks, ...attributes }: SelectProps<T>) {
  // With thousands of options, building them again would make each choice slow.
  const made = useMemo(
    () =>
      options.map(([one, words]) => (
        <option key={one} value={one} disabled={lacks?.(one)} {...(own ? { dir: "auto", lang: "" } : {})}>
          {words ?? one}
        </option>
      )),
    [options, own, lacks],
  );
  return (
    <select
      {...attributes}
      value={value}
      onChange={({ currentTarget }) => choose(options[currentTarget.selectedIndex][0])}
    >
      {made}
    </select>
  );
}

interface ChoiceProps<T extends Value> extends SelectProps<T> {
  id: string;
  label: string;
  children?: ComponentChildren;
}

export const Choice = <T extends Value>({ label, children, ...select }: ChoiceProps<T>) => (
  <div class="control">
    <label for={select.id}>{label}</label>
    <Select {...select} />
    {children}
  </div>
);

interface SliderProps extends Omit<InputHTMLAttributes, "onInput" | "type"> {
  id: string;
  choose(value: number): void;
}

export const Slider = ({ choose, ...attributes }: SliderProps) => (
  <input {...attributes} type="range" onInput={({ currentTarget }) => choose(Number(currentTarget.value))} />
);

interface SliderControlProps extends SliderProps {
  label: string;
  words: ComponentChildren;
}

/** A slider in a bar of controls, labeled with its value. */
export const SliderControl = ({ label, words, title, ...slider }: SliderControlProps) => (
  <div class="control" title={title as string | undefined}>
    <label for={slider.id}>
      {label}{" "}
      <output id={`${slider.id}-name`} for={slider.id}>
        {words}
      </output>
    </label>
    <Slider min={0} {...slider} />
  </div>
);

interface RadiosProps<T extends string> {
  name: string;
  value: T;
  options: readonly { value: T; words: ComponentChildren; title?: string; disabled?: boolean }[];
  choose(value: T): void;
  class?: string;
}

export function Radios<T extends string>({ name, value, options, choose, class: kind }: RadiosProps<T>) {
  return (
    <>
      {options.map(({ value: one, words, title, disabled }) => (
        <label key={one} class={kind} title={title}>
          <input
            type="radio"
            name={name}
            value={one}
            disabled={disabled}
            checked={value === one}
            onChange={() => choose(one)}
          />
          {words}
        </label>
      ))}
    </>
  );
}
