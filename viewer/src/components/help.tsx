// The keyboard's list.
import { useRef } from "preact/hooks";
import { SHORTCUTS } from "../shortcuts";

export function showHelp() {
  const dialog = document.getElementById("help");
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
}

export function Help() {
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
          {SHORTCUTS.map(({ keys, does }) => (
            <div key={does}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
          <div>
            <dt>
              <kbd>←</kbd>
              <kbd>→</kbd>
            </dt>
            <dd>in the text: the token before, after</dd>
          </div>
          <div>
            <dt>
              <kbd>x</kbd>
            </dt>
            <dd>leave the token out of rankings and colours, or take it back in</dd>
          </div>
        </dl>
        <p class="help">
          Pointing at a token in one view points at it in all. A click chooses; with the control (⌘) key it leaves a
          token out. The address keeps what is chosen: back and forward step through it.
        </p>
      </div>
    </dialog>
  );
}
