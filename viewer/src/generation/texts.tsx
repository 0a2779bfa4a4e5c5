// The prompt and the generated text, colored by what the chosen token drew on.
import { useRef } from "preact/hooks";
import { Belief } from "../components/belief";
import { Card } from "../components/card";
import { TextLegend } from "../components/legend";
import { PaintedText } from "../components/painted_text";
import { Readout } from "../components/readout";
import { ScoreParts } from "../components/score_parts";
import { SpecialNote } from "../components/special_note";
import { inFrame } from "../embedding";
import { pictureOf } from "../export/element_picture";
import { excludedOf, SPECIAL } from "../filters";
import { maskWords, DEGENERATE_WORDS } from "../report/setting_words";
import { clickToken } from "../shortcuts";
import { format, percent } from "../report/text";
import { CheckRow } from "../views/check_row";
import { lookIn } from "../views/text_look";
import { useGeneration, type GenerationViewer } from "./generation_viewer";

export function Texts() {
  const viewer = useGeneration();
  const { report, state } = viewer;
  const { m, settings } = report;
  const { pointed } = state;
  const token = state.choices.token.value;
  const check = viewer.checkOf(token);
  const promptFocus = useRef(0);
  const shared = {
    report,
    describedby: "text-help",
    look: () => lookIn(viewer),
    pointed: () => pointed.value?.input ?? null,
    onPoint: (input: number | null) => (pointed.value = input === null ? null : { input, view: "text" }),
    onToggle: (token: number) => state.toggle(token),
  };
  const step = (token: number) => state.step(token - m);
  return (
    <Card
      id="text"
      title={report.joint ? "Source and target" : "Prompt"}
      about={
        <>
          {viewer.mapText()}
          <TextLegend />
        </>
      }
      wide
      open
      exporter={{
        svg: () => pictureOf("text-strips"),
        shown: () => ({ title: report.joint ? "Source and target" : "Prompt and continuation" }),
        rows: () => textRows(viewer),
      }}
    >
      <div id="text-strips" class={report.joint ? "beside" : undefined} aria-busy={state.arriving.value}>
        <div>
          {report.joint && <h2 id="source-heading">Source</h2>}
          <PaintedText
            {...shared}
            id="prompt"
            segment={0}
            fromEnd={!report.joint}
            labelledby={report.joint ? "source-heading" : "text-heading"}
            current={() => promptFocus.current}
            onMove={(token) => (promptFocus.current = token)}
            onChoose={(token, click) => {
              promptFocus.current = token;
              clickToken(viewer, token, click, shared.onPoint);
            }}
          />
        </div>
        <div>
          <h2 id="generated-heading">{report.joint ? "Target" : "Generated"}</h2>
          <PaintedText
            {...shared}
            id="generated"
            segment={1}
            labelledby="generated-heading"
            current={() => report.namedBy(viewer.output)}
            onMove={step}
            onChoose={(token, click) => clickToken(viewer, token, click, step)}
            follow
          />
        </div>
      </div>
      <Readout view="text" />
      {check && check.tokens.length > 0 && <CheckRow key={token} check={check} report={report} segment={0} />}
      <Belief />
      <p class="help" id="text-help">
        Click a generated token to explain it, or step with the arrow keys
        {!inFrame() && " and the space bar"}; Ctrl/⌘-click excludes a token.
        {viewer.degenerate()?.some((flag) => flag > 0) && ` ° ${DEGENERATE_WORDS}.`}
      </p>
      {settings.mask_columns !== "none" && (
        <p class="help" id="computed-without">
          These numbers were computed without attention to {maskWords(report, settings.mask_columns)}: zeros there say
          nothing about the model.
        </p>
      )}
      <SpecialNote />
      <ScoreParts />
      <Shares />
    </Card>
  );
}

/** Where the mass lies, in words. */
function Shares() {
  const viewer = useGeneration();
  const { report, state, drawn, place } = viewer;
  return (
    <p class="readout" id="shares" role="status">
      {drawn.value.values && sharesText()}
    </p>
  );

  function sharesText() {
    const reasons = state.reasons.value;
    const { among, all, parts } = excludedOf(drawn.value, reasons);
    if (all.share === null) {
      const largest = Math.max(...Array.from(drawn.value.values ?? []).filter((_, j) => j < among && reasons[j]));
      return (
        <>
          {viewer.inLogits()
            ? "Values are in logits of the token’s prediction, not shares of a whole."
            : "Each value is the most that can flow from that one token: values do not add up to a whole."}{" "}
          {all.count > 0 && (
            <>
              Excluded: {all.count} of {among} tokens, the largest with <b id="excluded-largest">{format(largest)}</b>.
            </>
          )}
        </>
      );
    }
    const elsewhere = report.generatedShare(...place);
    return (
      <>
        {elsewhere !== null &&
          `${percent(1 - elsewhere)} of the total lies on ${report.joint ? "the source and the beginning of the target" : "the prompt"} and ${percent(elsewhere)} on generated tokens. `}
        Excluded: <b id="excluded-share">{percent(all.share)}</b> in all
        {parts.some(({ reason }) => reason !== SPECIAL) &&
          ` (${parts.map(({ reason, share }) => `${reason} ${percent(share ?? 0)}`).join(", ")})`}
        .
      </>
    );
  }
}

const textRows = (viewer: GenerationViewer) => ({
  columns: ["output_token", "part", "input_token", "text", "value", "excluded"],
  rows: Array.from({ length: viewer.drawn.value.among }, (_, j) => [
    viewer.state.choices.token.value,
    ...viewer.partOf(j),
    viewer.row()?.[j] ?? null,
    viewer.state.reasons.value[j],
  ]),
});
