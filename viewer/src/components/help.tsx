// The keyboard's list.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { SHORTCUTS } from "../shortcuts";

export function showHelp() {
  const dialog = document.getElementById("help");
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

/** Keys of the page of one explanation. */
export function Help() {
  const others: Keys[] = [
    { keys: ["←", "→"], does: "in the text: the token before, after" },
    { keys: ["x"], does: "leave the token out of rankings and colours, or take it back in" },
  ];
  return (
    <KeysDialog keys={[...SHORTCUTS, ...others]}>
      Pointing at a token in one view points at it in all. A click chooses; with the control (⌘) key it leaves a token
      out. The address keeps what is chosen: back and forward step through it.
    </KeysDialog>
  );
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
        <div class="card-head">
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
