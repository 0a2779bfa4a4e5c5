// The page's answer: the user's text colored by what the chosen output token draws on, below it the same text colored by
// what the model loses without each token, what that says of the map, and the paper's attention.
import { useSignal } from "@preact/signals";
import { Belief } from "../components/belief";
import { Card } from "../components/card";
import { TextLegend } from "../components/legend";
import { PaintedText } from "../components/painted_text";
import { Readout } from "../components/readout";
import { ScoreParts, scoreTable } from "../components/score_parts";
import { SpecialNote } from "../components/special_note";
import { pictureOf } from "../export/element_picture";
import { degenerateIn } from "../report/notes";
import { DEGENERATE_WORDS, targetWords } from "../report/setting_words";
import { WordReport } from "../report/words";
import { useViewer } from "../context";
import { clickToken } from "../shortcuts";
import { AttentionLine } from "./attention_line";
import { CheckRow } from "./check_row";
import { lookIn } from "./text_look";

export function Strip() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices, pointed } = state;
  const { scored } = viewer;
  const method = choices.method.value;
  // The keyboard's position while no output token is chosen in the text.
  const place = useSignal(choices.token.peek());
  const row = viewer.row();
  const reasons = state.reasons.value;
  const split = report.tokens.some(({ index }) => report.continues(index));
  // The check is of the prediction that the report explains, and of tokens, not of words merged in the page.
  const check = report instanceof WordReport ? undefined : report.document.check;
  const marked = report.mixing.rule !== "contained-normalized"; // lookIn
  const degenerate = marked ? degenerateIn(viewer.degenerate(), row, state.counts.value) : null;
  const choose = (token: number) => {
    if (scored) pointed.value = { input: (place.value = token), view: "strip" };
    else choices.token.value = token;
  };
  const exporter = {
    svg: () => pictureOf("strip"),
    rows() {
      if (scored) return scoreTable(viewer);
      const [layer, token] = [choices.layer.value, choices.token.value];
      return {
        columns: ["layer", "output_token", "input_token", "token", method, "excluded"],
        rows: report.tokens.map(({ index, label }) => [
          layer,
          token,
          index,
          label,
          row?.[index] ?? null,
          reasons[index],
        ]),
      };
    },
  };
  return (
    <Card
      id="strip"
      title={report.joint ? "Source and target" : report.document.input.kind === "text" ? "Text" : "Tokens"}
      about={
        <>
          {viewer.mapText()}
          <TextLegend />
        </>
      }
      wide
      open
      exporter={exporter}
    >
      <PaintedText
        id="strip"
        report={report}
        labelledby="strip-heading"
        describedby="strip-help"
        look={() => lookIn(viewer)}
        current={() => (scored ? place.value : choices.token.value)}
        pointed={() => pointed.value?.input ?? null}
        onMove={choose}
        onChoose={(token, click) => clickToken(viewer, token, click, choose)}
        onPoint={(input) => (pointed.value = input === null ? null : { input, view: "strip" })}
        onToggle={(token) => state.toggle(token)}
      />
      <Readout view="strip" />
      {check && check.tokens.length > 0 && <CheckRow check={check} report={report} />}
      <Belief />
      <AttentionLine />
      <p class="help" id="strip-help">
        {scored
          ? `Color: how much each token argues for or against ${targetWords(report)} (${method}). It does not depend on the output token or the layer.`
          : "Click a token to explain it, or step with the arrow keys; Shift-click compares it, Ctrl/⌘-click excludes it."}
        {split && " A tick below a word shows where it is split into tokens."}
        {degenerate !== null && degenerate.count > 0 && ` ° ${DEGENERATE_WORDS}.`}
      </p>
      <SpecialNote />
      <ScoreParts />
    </Card>
  );
}
