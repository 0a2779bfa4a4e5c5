// The user's own text, coloured by what the chosen output token draws on.
import { endsOf, isAbove } from "../color/ends";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { PaintedText, type Look } from "../components/painted_text";
import { Readout } from "../components/readout";
import { SpecialNote } from "../components/special_note";
import { largest } from "../explanation";
import { pictureOf } from "../export/element_picture";
import { massSetAside } from "../filters";
import { DEGENERATE_WORDS } from "../report/setting_words";
import { format, percent } from "../report/text";
import { useViewer, type Viewer } from "../context";

export function Strip() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts, pointed } = state;
  const row = explanation.value.row(choices.method.value, choices.layer.value, choices.token.value);
  const flags =
    row && choices.method.value === "flow"
      ? explanation.value.degenerate(choices.layer.value, choices.token.value)
      : null;
  const choose = (token: number) => (choices.token.value = token);
  const exporter = {
    svg: () => pictureOf("strip"),
    rows: () => ({
      columns: ["layer", "output_token", "input_token", "token", choices.method.value],
      rows: report.tokens.map(({ index, label }) => [
        choices.layer.value,
        choices.token.value,
        index,
        label,
        row?.[index] ?? null,
      ]),
    }),
  };
  return (
    <Card id="strip" title={report.document.input.kind === "text" ? "Text" : "Tokens"} wide exporter={exporter}>
      <PaintedText
        id="strip"
        report={report}
        role="option"
        labelledby="strip-heading"
        describedby="strip-help"
        look={() => lookIn(viewer)}
        current={() => choices.token.value}
        pointed={() => pointed.value?.input ?? null}
        onMove={choose}
        onChoose={choose}
        onPoint={(input) => (pointed.value = input === null ? null : { input, view: "strip" })}
        onToggle={(token) => state.toggleLeftOut(token)}
      />
      <Readout view="strip" />
      <Special />
      <div class="foot">
        {row && <Legend ends={endsOf(report, [row], choices.token.value, counts.value)} />}
        <p class="help" id="strip-help">
          Colour: what the chosen output token draws on. Choose another with a click or the arrow keys.
          {flags?.some((flag, i) => flag && row?.[i]) && ` ° ${DEGENERATE_WORDS}.`}
        </p>
      </div>
    </Card>
  );
}

/** What the special tokens hold of what the chosen output token draws on; of flow, whose values are no shares, the largest. */
function Special() {
  const { report, state, explanation } = useViewer();
  const { method, layer, token, skipSpecial } = state.choices;
  const special = report.tokens.map((one) => one.special);
  const row = explanation.value.row(method.value, layer.value, token.value);
  const counts = special.map((one) => !one);
  const share = row && massSetAside(row, counts);
  const held =
    row && method.value === "flow"
      ? `the largest ${format(largest(row, special))}`
      : typeof share === "number"
        ? `${percent(share)} of what the output token draws on`
        : "";
  return (
    <SpecialNote
      count={special.filter(Boolean).length}
      held={held}
      out={skipSpecial.value}
      set={(out) => (skipSpecial.value = out)}
    />
  );
}

function lookIn(viewer: Viewer): (token: number) => Look {
  const { report, state, explanation } = viewer;
  const { choices, counts } = state;
  const chosen = choices.token.value;
  const row = explanation.value.row(choices.method.value, choices.layer.value, chosen);
  const used = counts.value;
  const ends = endsOf(report, [row], chosen, used);
  const shades = viewer.shades(ends);
  const flags =
    row && choices.method.value === "flow" ? explanation.value.degenerate(choices.layer.value, chosen) : null;
  return (token) => {
    const value = row?.[token];
    const coloured = value !== undefined && used[token];
    const flagged = Boolean(flags?.[token] && value);
    const classes = row && !used[token] ? ["left-out"] : [];
    if (coloured && isAbove(value, ends)) classes.push("above");
    if (flagged) classes.push("degenerate");
    return {
      value,
      classes,
      attributes: { "aria-selected": String(token === chosen) },
      name: () =>
        `${report.tokens[token].label}, ${value === undefined ? "not computed" : format(value)}${flagged ? ", degenerate" : ""}`,
      ...(coloured ? { background: shades.css(value, ends.top), ink: shades.ink(value, ends.top) } : {}),
    };
  };
}
