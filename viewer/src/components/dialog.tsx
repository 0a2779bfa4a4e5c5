// A dialog with a heading. Its button, Escape or a click outside closes it.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

/** Opens the dialog with this id; null if the page has none. */
export function openDialog(id: string): HTMLDialogElement | null {
  const dialog = document.getElementById(id);
  if (!(dialog instanceof HTMLDialogElement)) return null;
  if (!dialog.open) dialog.showModal();
  return dialog;
}

interface DialogProps {
  id: string;
  class?: string;
  title: string;
  children: ComponentChildren;
}

export function Dialog({ id, class: kind, title, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  return (
    <dialog
      id={id}
      class={kind}
      ref={dialog}
      aria-labelledby={`${id}-heading`}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="dialog-body">
        <div class="row card-head">
          <h2 id={`${id}-heading`}>{title}</h2>
          <button type="button" class="quiet icon" aria-label="Close" onClick={close}>
            <span aria-hidden="true">×</span>
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
