// Which tokens are left out of rankings and colours, and what share of the mass that is.
import type { Signal } from "@preact/signals";
import { massSetAside, readPattern, LONGEST_PATTERN } from "../filters";
import { useViewer } from "../context";
import { CheckBox } from "./check_box";
import { Own } from "./own_text";
import { Popover } from "./popover";

const percent = (share: number) => `${share > 0 && share < 0.01 ? "<1" : (100 * share).toFixed(0)}%`;

export function Filters() {
  const { report, state, explanation } = useViewer();
  const { choices, counts } = state;
  const left = counts.value.filter((counted) => !counted).length;
  const row = explanation.value.row(choices.method.value, choices.layer.value, choices.token.value);
  const share = row ? massSetAside(row, counts.value) : null;
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
      <FilterFields
        skipStopWords={choices.skipStopWords}
        pattern={choices.pattern}
        byHand={choices.leftOut.value.map((token) => ({ key: token, label: report.tokens[token].label, place: token }))}
        takeBack={(token) => state.toggleLeftOut(token)}
        clear={() => (choices.leftOut.value = [])}
      />
      <p id="set-aside-share" class="strong">
        {said}
      </p>
    </Popover>
  );
}

export interface ByHand {
  key: number;
  label: string;
  /** its position, for people */
  place: number | string;
  /** it counts by hand, though a filter would leave it out */
  kept?: boolean;
}

interface FilterFieldsProps {
  skipStopWords: Signal<boolean>;
  /** as it is typed */
  pattern: Signal<string>;
  byHand: readonly ByHand[];
  takeBack: (key: number) => void;
  clear: () => void;
}

/** What the filters of every kind of page have. */
export function FilterFields({ skipStopWords, pattern, byHand, takeBack, clear }: FilterFieldsProps) {
  const { problem } = readPattern(pattern.value);
  return (
    <>
      <CheckBox id="skip-stop-words" on={skipStopWords} class="check">
        Stop words (English) and punctuation
      </CheckBox>
      <div class="field">
        <label for="pattern">Tokens that a regular expression finds</label>
        <input
          id="pattern"
          type="text"
          spellcheck={false}
          autocomplete="off"
          maxLength={LONGEST_PATTERN}
          placeholder="^the$|ing$"
          value={pattern.value}
          aria-invalid={problem !== ""}
          aria-describedby="pattern-problem"
          onInput={(event) => (pattern.value = event.currentTarget.value)}
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
          <ul class="chips" id="left-out-chips">
            {byHand.map(({ key, label, place, kept }) => (
              <li key={key}>
                <button
                  type="button"
                  onClick={() => takeBack(key)}
                  aria-label={kept ? `counts: ${label} ${place}, by hand; undo` : `${label} ${place}, take it back in`}
                >
                  {kept && "counts: "}
                  <Own text={label} most={16} /> <span class="index">{place}</span> <span aria-hidden="true">×</span>
                </button>
              </li>
            ))}
            <li>
              <button type="button" class="quiet" onClick={clear}>
                Clear
              </button>
            </li>
          </ul>
        )}
      </div>
    </>
  );
}
