// Which tokens are excluded from rankings and colors, and what share of the total they hold.
import { excludedOf, readPattern, LONGEST_PATTERN, shareOf, SPECIAL } from "../filters";
import { useViewer } from "../context";
import { GenerationReport } from "../report/generation_report";
import { format, percent } from "../report/text";
import { CheckBox, inOtherForm } from "./check_box";
import { Info } from "./guide";
import { Own } from "./own_text";
import { Popover } from "./popover";

export function Filters() {
  const { report, state, drawn } = useViewer();
  const reasons = state.reasons.value;
  const { among, all } = excludedOf(drawn.value, reasons);
  const share = all.count > 0 ? all.share : null;
  // How many; the panel says what they hold.
  const badge = all.count === 0 ? "" : String(all.count);
  const holding = report.document.generation ? ", " : ": ";
  return (
    <Popover id="filters" label="Filters" title="Filters" badge={badge}>
      <p class="help">
        Excluded tokens have no rank and no color; every number is still computed with them.{" "}
        <Info about="excluded tokens" place="filters" />
      </p>
      <OwnRules />
      <FilterFields />
      <p id="excluded-of-all" class="strong">
        {all.count === 0
          ? "No token is excluded."
          : `${all.count} of ${among} tokens are excluded${share === null ? "" : `${holding}${percent(share)} of the total`}.`}
      </p>
      <button
        type="button"
        id="reset"
        disabled={reasons.every((reason) => reason === "") && state.choices.pattern.value === ""}
        onClick={() => state.includeAll()}
      >
        Clear filters
      </button>
    </Popover>
  );
}

function FilterFields() {
  const viewer = useViewer();
  const { state } = viewer;
  const { skipPunctuation, skipStopWords, pattern, byHand } = state.choices;
  const { problem } = readPattern(pattern.value);
  return (
    <>
      <CheckBox id="skip-punctuation" on={skipPunctuation} class="check">
        Punctuation
      </CheckBox>
      <CheckBox id="skip-stop-words" on={skipStopWords} class="check">
        English stop words and punctuation
      </CheckBox>
      <div class="field">
        <label for="pattern">Tokens matching (regular expression)</label>
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
          {problem && `Invalid regular expression: ${problem}.`}
        </p>
      </div>
      <div class="field">
        <p class="help">
          Ctrl/⌘-click a token to exclude it or include it again, or press <kbd>x</kbd> on it.
        </p>
        {byHand.value.size > 0 && (
          <ul class="chips" id="excluded-chips">
            {[...byHand.value].map(([token, excluded]) => (
              <Chip key={token} {...viewer.name(token)} kept={!excluded} undo={() => state.toggle(token)} />
            ))}
            <li>
              <button type="button" class="quiet" onClick={() => (byHand.value = new Map())}>
                Clear
              </button>
            </li>
          </ul>
        )}
      </div>
    </>
  );
}

interface ChipProps {
  label: string;
  index?: number | string;
  /** kept by hand although a filter would exclude it */
  kept: boolean;
  undo: () => void;
}

function Chip({ label, index, kept, undo }: ChipProps) {
  const named = [label, index].filter((one) => one !== undefined && one !== "").join(" ");
  return (
    <li>
      <button
        type="button"
        onClick={undo}
        aria-label={kept ? `${named} is included by hand; undo` : `include ${named} again`}
      >
        {kept && "counts: "}
        <Own text={label} most={16} /> <span class="index">{index}</span> <span aria-hidden="true">×</span>
      </button>
    </li>
  );
}

/** Exclusions made by the report itself, and generated tokens; empty on the page of a single explanation. */
function OwnRules() {
  const { report, state, drawn, explanation } = useViewer();
  const { rules, generated, method } = state.choices;
  if (!(report instanceof GenerationReport)) return null;
  const { values, whole, among } = drawn.value;
  /** "3 tokens, 12%"; for flow the largest value, as its values are not shares. */
  const held = (tokens: readonly number[]) => {
    const own = new Set(tokens.filter((j) => j < among));
    const count = `${own.size} ${own.size === 1 ? "token" : "tokens"}`;
    if (!values) return count;
    if (whole !== null) return `${count}, ${percent(shareOf(values, whole, (j) => own.has(j)))}`;
    return `${count}, at most ${format(Math.max(0, ...[...own].map((j) => values[j])))} each`;
  };
  const shared = explanation.value.arrayOf(method.value) === method.value && whole !== null && values !== null;
  return (
    <div id="filters" role="group" aria-label="Tokens by kind">
      {report.excluded.map(({ rule, tokens }, k) =>
        rule === SPECIAL ? null : (
          <Rule
            key={k}
            name={rule}
            held={held(tokens)}
            on={rules.value[k]}
            set={(on) => (rules.value = rules.value.map((was, at) => (at === k ? on : was)))}
          />
        ),
      )}
      {report.hasGenerated(method.value) && (
        <Rule
          name="generated tokens"
          held={shared ? percent(shareOf(values, 1, (j) => j >= report.m)) : ""}
          on={generated.value}
          set={(on) => (generated.value = on)}
        />
      )}
    </div>
  );
}

function Rule({ name, held, on, set }: { name: string; held: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <CheckBox on={inOtherForm(on, set)} class="check">
      <span>
        <Own text={name} most={80} /> {held && <span class="index">{held}</span>}
      </span>
    </CheckBox>
  );
}
