// The first sentence of every page: what is explained, and which input token the chosen method ranks first.
import { spreadWords } from "../color/ends";
import { useViewer, type Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import { isPunctuation } from "../filters";
import { AGAINST, FOR, percentage } from "../report/text";
import { WordReport } from "../report/words";
import { partsOf } from "./belief";
import { Own, Piece } from "./own_text";

/**
 * The output that is explained at the chosen output token: the target, else the model's answer; null if that is for
 * another position, or there is none. A target that is not among the choices has no probability.
 */
function answerOf({ report, state }: Viewer): { label: string; probability?: number } | null {
  const { predictions = [], output_token: own, target } = report.document;
  const token = state.choices.token.value;
  const found = predictions.find((one) => (one.position ?? own) === token);
  if (found?.kind === "embedding") {
    return { label: target?.kind === "similarity" ? "The similarity" : "The embedding" };
  }
  const { position, choices = [], candidates = [] } = found ?? {};
  if (token !== own && position !== token) return null;
  // An answer's target is its first token alone.
  const explained = target && target.kind !== "answer" && (target.position ?? own) === token;
  if (!explained || choices.length === 0) return choices[0] ?? null;
  return [...choices, ...candidates].find(({ label }) => label === target.label) ?? { label: target.label };
}

/** A token named within the headline; a patch is named by its position. */
function Named({ viewer: { report }, token }: { viewer: Viewer; token: number }) {
  const { label, role } = report.tokens[token];
  const name = <Own class="quote" text={label} />;
  return role === "patch" ? <>the patch in {name}</> : <>“{name}”</>;
}

function Subject() {
  const viewer = useViewer();
  const { report, state, output } = viewer;
  const quoted = report.tokens[report.namedBy(output)];
  if (viewer instanceof GenerationViewer) {
    const { probability } = viewer.report.fields.tokens[state.choices.token.value];
    return (
      <>
        “<Piece label={quoted.label} class="quote" />
        ”, {percentage(probability)}
      </>
    );
  }
  const answer = answerOf(viewer);
  const name = <Own class="quote" text={(answer ?? quoted).label} />;
  // After a prediction, another token's row must not be taken for the prediction's.
  if (!answer) {
    const what = quoted.role === "patch" ? "Patch" : report instanceof WordReport ? "Word" : "Token";
    return (report.document.predictions ?? []).length > 0 ? (
      <>
        {what} “{name}”
      </>
    ) : (
      name
    );
  }
  const classes = report.document.notes?.find(({ code }) => code === "few-classes")?.values.classes;
  return (
    <>
      {name}
      {answer.probability !== undefined && `, ${percentage(answer.probability)}`}
      {classes !== undefined && ` (one of ${String(classes)} classes)`}
    </>
  );
}

function First() {
  const viewer = useViewer();
  const { state } = viewer;
  const method = state.choices.method.value;
  const row = viewer.row();
  const ranking = viewer.ranking.value;
  if (viewer.carriesNothing) return <>carries no relevance in favor of the prediction at {viewer.layersText()}</>;
  if (!row) return viewer.whyNoRow() ? <>no {method} values here</> : <>computing {method} …</>;
  if (ranking.length === 0 && state.sinkAside.value) {
    return (
      <>
        {method} ranks nothing beside the attention sink <Named viewer={viewer} token={0} />
      </>
    );
  }
  if (viewer.isZero) {
    return (
      <>
        {method} is 0 for all {partsOf(viewer.report.document)}
      </>
    );
  }
  if (ranking.length === 0) return <>{method} ranks no token that is shown</>;
  const [{ token, rank }] = ranking;
  const name = <Named viewer={viewer} token={token} />;
  if (viewer.scored) {
    return (
      <>
        {name} {row[token] < 0 ? AGAINST : FOR} it most
      </>
    );
  }
  const { document, ofWords } = viewer.report;
  const what = ofWords ? "words" : partsOf(document);
  // If the values are nearly equal (the line below says so), naming one token would contradict that.
  if (viewer.degenerate() && spreadWords(viewer.endsOf(row))) {
    return (
      <>
        {method} does not tell the {what} apart
      </>
    );
  }
  const alike = ranking.filter((one) => one.rank === rank).length;
  if (alike > 1) {
    return (
      <>
        {method} cannot tell {alike} {what} apart, {name} among them
      </>
    );
  }
  // In encoders whose last layer collects at a full stop, the first word is more informative.
  const word = isPunctuation(viewer.report.tokens[token].own)
    ? ranking.find((one) => !isPunctuation(viewer.report.tokens[one.token].own))
    : undefined;
  return (
    <>
      {method} ranks {viewer.isShownSink(token) && "the attention sink "}
      {name} first
      {word && (
        <>
          {" "}
          and, among words, <Named viewer={viewer} token={word.token} />
        </>
      )}
    </>
  );
}

export function Headline() {
  const viewer = useViewer();
  const { state, scored } = viewer;
  return (
    <h1 id="heading">
      {scored ? `${state.choices.method.value} of ${viewer.targetText()}` : <Subject />}: <First />
    </h1>
  );
}
