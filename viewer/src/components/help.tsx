// The keyboard's list.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

export function showHelp() {
  const dialog = document.getElementById("help");
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

export interface Keys {
  keys: readonly string[];
  does: string;
}

export function KeysDialog({ keys: list, children }: { keys: readonly Keys[]; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <dialog
      id="help"
      ref={dialog}
      aria-labelledby="help-heading"
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="dialog-body">
        <div class="row card-head">
          <h2 id="help-heading">Keyboard</h2>
          <button type="button" class="quiet icon" aria-label="Close" onClick={() => dialog.current?.close()}>
            <span aria-hidden="true">×</span>
          </button>
        </div>
        <dl class="keys">
          {list.map(({ keys, does }) => (
            <div key={does}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <p class="help">{children}</p>
      </div>
    </dialog>
  );
}
