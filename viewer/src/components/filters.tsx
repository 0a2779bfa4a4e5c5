// Which tokens are left out of rankings and colours, and what share of the mass that is.
import { massSetAside, readPattern, LONGEST_PATTERN } from "../filters";
import { useViewer } from "../context";
import { Own } from "./own_text";
import { Popover } from "./popover";

const percent = (share: number) => `${share > 0 && share < 0.01 ? "<1" : (100 * share).toFixed(0)}%`;

export function Filters() {
  const { report, state, explanation } = useViewer();
  const { choices, counts } = state;
  const left = counts.value.filter((counted) => !counted).length;
  const row = explanation.value.row(choices.method.value, choices.layer.value, choices.token.value);
  const share = row ? massSetAside(row, counts.value) : null;
  const { problem } = readPattern(choices.pattern.value);
  const byHand = choices.leftOut.value;
  const said =
    left === 0
      ? "Every token counts."
      : `${left} of ${report.n} tokens are left out` +
        (share === null ? "." : `: ${percent(share)} of what the output token draws on.`);
  return (
    <Popover
      id="filters"
      label="Filters"
      title="Filters"
      badge={left > 0 && share !== null ? `−${percent(share)}` : ""}
    >
      <p class="help">Tokens left out of rankings and of colours. They take part in every computation all the same.</p>
      <label class="check">
        <input
          id="skip-stop-words"
          type="checkbox"
          checked={choices.skipStopWords.value}
          onChange={(event) => (choices.skipStopWords.value = event.currentTarget.checked)}
        />{" "}
        Stop words (English) and punctuation
      </label>
      <div class="field">
        <label for="pattern">Tokens that a regular expression finds</label>
        <input
          id="pattern"
          type="text"
          spellcheck={false}
          autocomplete="off"
          maxLength={LONGEST_PATTERN}
          placeholder="^the$|ing$"
          value={choices.pattern.value}
          aria-invalid={problem !== ""}
          aria-describedby="pattern-problem"
          onInput={(event) => (choices.pattern.value = event.currentTarget.value)}
        />
        <p id="pattern-problem" class="problem" aria-live="polite">
          {problem && `Not used: ${problem}.`}
        </p>
      </div>
      <div class="field">
        <p class="help">
          By hand: click a token with the control (⌘) key, or press <kbd>x</kbd> on it.
        </p>
        {byHand.length > 0 && (
          <ul class="chips" id="left-out">
            {byHand.map((token) => (
              <li key={token}>
                <button
                  type="button"
                  onClick={() => state.toggleLeftOut(token)}
                  aria-label={`Take ${report.tokens[token].label} back in`}
                >
                  <Own text={report.tokens[token].label} most={16} /> <span class="index">{token}</span>{" "}
                  <span aria-hidden="true">×</span>
                </button>
              </li>
            ))}
            <li>
              <button type="button" class="quiet" onClick={() => (choices.leftOut.value = [])}>
                Clear
              </button>
            </li>
          </ul>
        )}
      </div>
      <p id="set-aside-share" class="strong">
        {said}
      </p>
    </Popover>
  );
}
