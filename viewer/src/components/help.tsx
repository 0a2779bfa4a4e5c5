// The list of keyboard shortcuts.
import type { ComponentChildren } from "preact";
import { Dialog, openDialog } from "./dialog";

export const showHelp = () => void openDialog("help");

export interface Keys {
  keys: readonly string[];
  does: string;
}

export const KeysDialog = ({ keys: list, children }: { keys: readonly Keys[]; children: ComponentChildren }) => (
  <Dialog id="help" title="Keyboard">
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
  </Dialog>
);
