// The user's own text, coloured by what the chosen output token draws on.
import { endsOf } from "../color/ends";
import { Card } from "../components/card";
import { Legend } from "../components/legend";
import { PaintedText } from "../components/painted_text";
import { Readout } from "../components/readout";
import { SpecialNote } from "../components/special_note";
import { pictureOf } from "../export/element_picture";
import { DEGENERATE_WORDS } from "../report/setting_words";
import { useViewer } from "../context";
import { lookIn } from "./text_look";

export function Strip() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, counts, pointed } = state;
  const row = viewer.row();
  const flags = viewer.degenerate();
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
        onToggle={(token) => state.toggle(token)}
      />
      <Readout view="strip" />
      <SpecialNote />
      <div class="row foot">
        {row && <Legend ends={endsOf(report, [row], choices.token.value, counts.value)} />}
        <p class="help" id="strip-help">
          Colour: what the chosen output token draws on. Choose another with a click or the arrow keys.
          {flags?.some((flag, i) => flag && row?.[i]) && ` ° ${DEGENERATE_WORDS}.`}
        </p>
      </div>
    </Card>
  );
}
