// A button that opens a panel of controls under it. Escape and a click elsewhere close it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface PopoverProps {
  id: string;
  label: ComponentChildren;
  /** of the panel */
  title: string;
  /** a short word that something in it is not as the page opens */
  badge?: string;
  children: ComponentChildren;
}

export function Popover({ id, label, title, badge, children }: PopoverProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  return (
    <div
      class="popover"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        setOpen(false);
        button.current?.focus();
        event.stopPropagation();
      }}
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
