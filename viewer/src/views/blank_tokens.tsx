// A text's tokens as buttons; those pressed are blanked.
import { Own } from "../components/own_text";
import type { Report } from "../report/report";

interface BlankTokensProps {
  report: Report;
  blanked: readonly number[];
  busy?: boolean;
  /** positions, in order */
  choose(positions: readonly number[]): void;
}

export function BlankTokens({ report, blanked, busy = false, choose }: BlankTokensProps) {
  const toggle = (token: number) => {
    const others = blanked.filter((one) => one !== token);
    const positions = others.length < blanked.length ? others : [...blanked, token];
    choose(positions.sort((a, b) => a - b));
  };
  return (
    <>
      <p class="help" id="blank-help">
        Click tokens to blank them: the model sees its unknown token in their place (or its mask or end-of-text token).
      </p>
      <div id="blank-tokens" class="chips" role="group" aria-describedby="blank-help">
        {report.tokens
          .filter(({ special }) => !special)
          .map(({ index, label }) => (
            <button
              key={index}
              type="button"
              data-token={index}
              aria-pressed={blanked.includes(index)}
              aria-disabled={busy}
              onClick={() => !busy && toggle(index)}
            >
              <Own text={label} most={24} />
            </button>
          ))}
      </div>
    </>
  );
}
