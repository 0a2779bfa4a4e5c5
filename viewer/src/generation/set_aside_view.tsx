// What is set aside, and how much it holds.
import { Card } from "../components/card";
import { Own } from "../components/own_text";
import { format, percent } from "../report/text";
import { sum } from "./generation_report";
import { useGeneration } from "./generation_state";
import { offersSpecial, shareOf, SPECIAL } from "./set_aside";

export function SetAside() {
  const state = useGeneration();
  const { report } = state;
  const { m } = report;
  const values = state.values.value;
  const selection = state.selection.value;
  const shares = report.isShare(selection);
  /** "3 tokens, 12%"; of flow the largest value, for its values are no shares. */
  const held = (tokens: readonly number[]) => {
    const own = new Set(tokens);
    const count = `${own.size} ${own.size === 1 ? "token" : "tokens"}`;
    if (!values) return count;
    if (shares) return `${count}, ${percent(shareOf(values, m, (j) => own.has(j)))}`;
    return `${count}, at most ${format(Math.max(0, ...[...own].map((j) => values[j])))} each`;
  };
  const special = report.columns.flatMap((column, j) => (column.special && !column.generated ? [j] : []));
  const drawn = values && values.length > m ? sum(values.subarray(m)) : null;
  const { problem } = state.expression.value;
  const byHand = state.byHand.value.size;
  return (
    <Card id="filter" title="Set aside">
      <div id="filters" role="group" aria-labelledby="filter-heading">
        {offersSpecial(report) && (
          <Filter
            name={SPECIAL}
            held={held(special)}
            on={state.special.value}
            set={(on) => (state.special.value = on)}
          />
        )}
        {report.fields.dropped.map(({ rule, tokens }, k) => (
          <Filter
            key={k}
            name={rule}
            held={held(tokens)}
            on={state.rules.value[k]}
            set={(on) => (state.rules.value = state.rules.value.map((was, at) => (at === k ? on : was)))}
          />
        ))}
        {report.hasGenerated(selection.method) && (
          <Filter
            name="generated tokens"
            held={drawn === null ? "" : shares ? `${percent(drawn)} of all` : ""}
            on={state.generated.value}
            set={(on) => (state.generated.value = on)}
          />
        )}
      </div>
      <div class="control" id="pattern-control">
        <label for="pattern">Regular expression</label>
        <input
          id="pattern"
          type="text"
          spellcheck={false}
          autocomplete="off"
          aria-describedby="pattern-problem"
          aria-invalid={problem !== ""}
          value={state.pattern.value}
          onInput={(event) => (state.pattern.value = event.currentTarget.value)}
        />
      </div>
      <p class="help" id="pattern-problem" role="alert">
        {problem}
      </p>
      <p class="help" id="toggled">
        {byHand > 0 && `${byHand} ${byHand === 1 ? "token" : "tokens"} changed by a click.`}
      </p>
      <button
        type="button"
        id="reset"
        disabled={state.reasons.value.every((reason) => reason === "") && state.pattern.value === ""}
        onClick={() => state.setNothingAside()}
      >
        Set nothing aside
      </button>
      <p class="help">What is set aside takes no part in the ranking and in the scale of colours. No value changes.</p>
      {report.document.settings.set_aside !== "none" && (
        <p class="help">
          These numbers were computed without attention on{" "}
          {report.document.settings.set_aside === "first"
            ? "the first token"
            : `tokens ${report.document.settings.set_aside}`}{" "}
          (--drop-sink): its zeros say nothing about the model.
        </p>
      )}
    </Card>
  );
}

function Filter({ name, held, on, set }: { name: string; held: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label>
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />{" "}
      <Own text={name} most={80} /> <span class="index">{held}</span>
    </label>
  );
}
