// What is left out of rankings and colours, and how much it holds.
import { FilterFields } from "../components/filters";
import { Own } from "../components/own_text";
import { Popover } from "../components/popover";
import { SpecialCheck, SpecialNote } from "../components/special_note";
import { format, percent } from "../report/text";
import { sum } from "./generation_report";
import { useGeneration, type GenerationState } from "./generation_state";
import { positionText } from "./piece_view";
import { asideOf, columnsBefore, shareOf, specialColumns, SPECIAL } from "./set_aside";

/** Special tokens that can be drawn on: nothing comes after the last token. */
const drawable = ({ report }: GenerationState) =>
  [...specialColumns(report)].filter((j) => j < report.m + report.n - 1);

/** Whether special tokens count; only where there are some. */
export function GenerationSpecialCheck() {
  const state = useGeneration();
  return drawable(state).length > 0 ? <SpecialCheck on={state.skipSpecial} /> : null;
}

/** Says under the text whether special tokens count, and what they hold. */
export function Special() {
  const state = useGeneration();
  const { report } = state;
  const values = state.values.value;
  const special = drawable(state);
  const held = (all: Float64Array) => {
    const selection = state.selection.value;
    if (!report.isShare(selection)) return `the largest ${format(Math.max(...special.map((j) => all[j] ?? 0)))}`;
    const own = new Set(special);
    return `${percent(shareOf(all, report.whole(selection), (j) => own.has(j)))} of what the token drew on`;
  };
  return (
    <SpecialNote
      count={special.filter((j) => j < columnsBefore(report, state.selection.value, values)).length}
      held={values && special.length > 0 ? held(values) : ""}
      out={state.skipSpecial.value}
      set={(out) => (state.skipSpecial.value = out)}
    />
  );
}

export function GenerationFilters() {
  const state = useGeneration();
  const { report } = state;
  const { m } = report;
  const values = state.values.value;
  const selection = state.selection.value;
  const reasons = state.reasons.value;
  const shares = report.isShare(selection);
  const whole = report.whole(selection);
  const { among, all } = asideOf(report, selection, values, reasons);
  /** "3 tokens, 12%"; of flow the largest value, for its values are no shares. */
  const held = (tokens: readonly number[]) => {
    const own = new Set(tokens.filter((j) => j < among));
    const count = `${own.size} ${own.size === 1 ? "token" : "tokens"}`;
    if (!values) return count;
    if (shares) return `${count}, ${percent(shareOf(values, whole, (j) => own.has(j)))}`;
    return `${count}, at most ${format(Math.max(0, ...[...own].map((j) => values[j])))} each`;
  };
  const drawn = values && values.length > m ? sum(values.subarray(m)) : null;
  const share = all.count > 0 ? all.share : null;
  const byHand = [...state.byHand.value].map(([column, aside]) => ({
    key: column,
    label: report.columns[column].name.text,
    place: positionText(report.columns[column]),
    kept: !aside,
  }));
  return (
    <Popover id="filters" label="Filters" title="Filters" badge={share === null ? "" : `−${percent(share)}`}>
      <p class="help">Tokens left out of rankings and of colours. They take part in every computation all the same.</p>
      <div id="filters" role="group" aria-label="Tokens of a kind">
        {report.fields.dropped.map(({ rule, tokens }, k) =>
          rule === SPECIAL ? null : (
            <Filter
              key={k}
              name={rule}
              held={held(tokens)}
              on={state.rules.value[k]}
              set={(on) => (state.rules.value = state.rules.value.map((was, at) => (at === k ? on : was)))}
            />
          ),
        )}
        {report.hasGenerated(selection.method) && (
          <Filter
            name="generated tokens"
            held={drawn !== null && shares ? percent(drawn) : ""}
            on={state.generated.value}
            set={(on) => (state.generated.value = on)}
          />
        )}
      </div>
      <FilterFields
        skipStopWords={state.skipStopWords}
        pattern={state.pattern}
        byHand={byHand}
        takeBack={(column) => state.toggle(column)}
        clear={() => (state.byHand.value = new Map())}
      />
      <p id="set-aside-share" class="strong">
        {all.count === 0
          ? "Every token counts."
          : `${all.count} of ${among} tokens are left out${share === null ? "" : `, ${percent(share)} of what the token drew on`}.`}
      </p>
      <button
        type="button"
        id="reset"
        disabled={reasons.every((reason) => reason === "") && state.pattern.value === ""}
        onClick={() => state.countAll()}
      >
        Count every token
      </button>
    </Popover>
  );
}

function Filter({ name, held, on, set }: { name: string; held: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />{" "}
      <span>
        <Own text={name} most={80} /> {held && <span class="index">{held}</span>}
      </span>
    </label>
  );
}
