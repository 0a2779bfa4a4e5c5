// The first sentence of every page: what the model predicted rather than what, and which input token the chosen method
// ranks first.
import { Fragment } from "preact";
import { sinkHoldsAll, spreadWords } from "../color/ends";
import { useViewer, type Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import { isPunctuation } from "../filters";
import { contrastOf, contrastOfToken, headlinePercent, othersWords, type Contrast } from "../report/answer";
import type { Target } from "../report/document";
import { AGAINST, FOR } from "../report/text";
import { WordReport } from "../report/words";
import { partsOf } from "./belief";
import { Own, Piece } from "./own_text";

const RATHER = ", rather than ";

/** The output that is explained: what the headline begins with. */
interface Answer {
  label: string;
  probability?: number;
  /** a word of the text, not the name of a class */
  quoted: boolean;
  target?: Target;
}

/**
 * The output that is explained at the chosen output token: the target, else the model's answer; null if that is for
 * another position, or there is none. A target that is not among the choices has no probability.
 */
function answerOf({ report, state }: Viewer): Answer | null {
  const { predictions = [], output_token: own, target } = report.document;
  const token = state.choices.token.value;
  const found = predictions.find((one) => (one.position ?? own) === token);
  if (found?.kind === "embedding") {
    return { label: target?.kind === "similarity" ? "The similarity" : "The embedding", quoted: false };
  }
  const { kind, position, choices = [], candidates = [] } = found ?? {};
  if (token !== own && position !== token) return null;
  const quoted = kind !== "classification" && kind !== "token-class";
  // An answer's target is its first token alone.
  const explained = target && target.kind !== "answer" && (target.position ?? own) === token;
  if (!explained || choices.length === 0) return choices.length > 0 ? { ...choices[0], quoted } : null;
  const choice = [...choices, ...candidates].find(({ label }) => label === target.label);
  return { ...(choice ?? { label: target.label }), quoted, target };
}

/** A token named within the headline, and numbered if it is not the first of that name; a patch is named by its place. */
function Named({ viewer: { report }, token }: { viewer: Viewer; token: number }) {
  const { label, role } = report.tokens[token];
  const name = <Own class="quote" text={label} />;
  if (role === "patch") return <>the patch in {name}</>;
  const before = report.tokens.slice(0, token).filter((one) => one.label === label).length;
  return (
    <>
      “{name}”{before > 0 && ` (${String(before + 1)})`}
    </>
  );
}

/** ", rather than “the”, “her”, “a” and 7 others": what the prediction was chosen over. */
function RatherThan({ contrast }: { contrast: Contrast | null | undefined }) {
  if (!contrast) return null;
  const { named, more, quoted, rest } = contrast;
  const [open, close] = quoted ? ["“", "”"] : ["", ""];
  const joint = (k: number) => (k === 0 ? "" : k === named.length - 1 && more === 0 ? " and " : ", ");
  return (
    <span class="contrast">
      {RATHER}
      {named.map((label, k) => (
        <Fragment key={k}>
          {joint(k) + open}
          <Own text={label} most={24} />
          {close}
        </Fragment>
      ))}
      {more !== 0 && ` and ${othersWords(more)}`}
      {rest}
    </span>
  );
}

/** The document's own headline, which names what it explains. */
function Written({ headline }: { headline: string }) {
  const [subject, ...contrast] = headline.split(RATHER);
  return (
    <>
      {subject}
      {contrast.length > 0 && <span class="contrast">{[RATHER, ...contrast].join("")}</span>}
    </>
  );
}

function Subject() {
  const viewer = useViewer();
  const { report, state, output } = viewer;
  const quoted = report.tokens[report.namedBy(output)];
  if (viewer instanceof GenerationViewer) {
    const token = viewer.report.fields.tokens[state.choices.token.value];
    return (
      <>
        “<Piece label={quoted.label} class="quote" />
        ”, {headlinePercent(token.probability)}
        <RatherThan contrast={contrastOfToken(token)} />
      </>
    );
  }
  const { answer: written, output_token: own, notes = [], predictions = [] } = report.document;
  const classes = notes.find(({ code }) => code === "few-classes")?.values.classes;
  const one = classes === undefined ? "" : ` (one of ${String(classes)} classes)`;
  if (written && state.choices.token.value === own) return <Written headline={written.headline + one} />;
  const answer = answerOf(viewer);
  const name = <Own class="quote" text={(answer ?? quoted).label} />;
  // After a prediction, another token's row must not be taken for the prediction's.
  if (!answer) {
    const what = quoted.role === "patch" ? "Patch" : report instanceof WordReport ? "Word" : "Token";
    return predictions.length > 0 ? (
      <>
        {what} “{name}”
      </>
    ) : (
      name
    );
  }
  return (
    <>
      {answer.quoted ? <>“{name}”</> : name}
      {answer.probability !== undefined && `, ${headlinePercent(answer.probability)}`}
      {one}
      <RatherThan contrast={answer.target && contrastOf(answer.target)} />
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
  if (state.sinkAside.value && sinkHoldsAll(row)) {
    return (
      <>
        {method} says little, as the attention sink <Named viewer={viewer} token={0} /> holds nearly all of it
      </>
    );
  }
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
