// A share as a bar in a list, and the mark of degenerate flow.
import type { ComponentChildren, HTMLAttributes } from "preact";
import { DEGENERATE_WORDS } from "../report/setting_words";

interface BarProps extends HTMLAttributes<HTMLLIElement> {
  share: number;
  /** the share in words */
  words: string;
  children: ComponentChildren;
}

export function Bar({ share, words, children, ...attributes }: BarProps) {
  return (
    <li {...attributes}>
      {children}
      <span class="track" aria-hidden="true">
        <span class="bar" style={{ width: `${100 * Math.max(0, Math.min(1, share))}%` }} />
      </span>
      <span class="number">{words}</span>
    </li>
  );
}

export const Degenerate = () => (
  <span class="mark" data-mark="degenerate" title={DEGENERATE_WORDS}>
    °
  </span>
);
