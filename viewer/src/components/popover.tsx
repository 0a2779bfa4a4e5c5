// A button that opens a panel of controls below it. Escape or a click elsewhere closes it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { listen } from "../listen";

export interface PopoverProps {
  id: string;
  label: ComponentChildren;
  title: string;
  /** short text saying that something in it differs from its default */
  badge?: string;
  children: ComponentChildren;
}

export function Popover({ id, label, title, badge, children }: PopoverProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // At once: a key may follow the click before the next frame.
  useLayoutEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    // On the document: the focused element may be gone.
    const escape = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      setOpen(false);
      button.current?.focus();
    };
    return listen({ pointerdown: away, keydown: escape });
  }, [open]);
  return (
    <div
      class="popover"
      ref={root}
      onFocusOut={(event) => {
        const to = event.relatedTarget as Node | null;
        if (to && !root.current?.contains(to)) setOpen(false);
      }}
    >
      <button
        type="button"
        id={`${id}-button`}
        ref={button}
        aria-expanded={open}
        aria-controls={`${id}-panel`}
        onClick={() => setOpen(!open)}
      >
        {label}
        {badge && <span class="badge">{badge}</span>}
      </button>
      <div class="panel" id={`${id}-panel`} role="group" aria-label={title} hidden={!open}>
        {children}
      </div>
    </div>
  );
}
