// What the pointer is over, in words; without one, what the chosen output token draws on most.
import type { ComponentChildren } from "preact";
import { useViewer, type Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import { sum } from "../report/generation_report";
import type { Layers } from "../report/report";
import { targetWords } from "../report/setting_words";
import { AGAINST, FOR, format, formatSigned, isPunctuation, percent } from "../report/text";
import type { Numbers } from "../report/values";
import type { Pointed } from "../state";
import { TokenName } from "./own_text";

export interface ReadoutProps {
  /** the view it stands under: it answers to pointers in that view and, softly, to those in others */
  view: string;
  /**
   * Stands there while nothing is pointed at in that view. What is pointed at is said to screen readers then, and nothing
   * else: not every step, nor what is pointed at elsewhere.
   */
  hint?: string;
}

export function Readout({ view, hint }: ReadoutProps) {
  const viewer = useViewer();
  const hinted = hint !== undefined && viewer.state.pointed.value?.view !== view;
  return (
    <p
      class={hinted ? "readout hint" : "readout"}
      id={`${view}-readout`}
      role={hint === undefined ? undefined : "status"}
    >
      {hinted ? hint : readoutOf(viewer, view)}
    </p>
  );
}

/** @param pointed what it answers to */
export function readoutOf(
  viewer: Viewer,
  view: string,
  pointed: Pointed | null = viewer.state.pointed.value,
): ComponentChildren {
  const { report, state, explanation } = viewer;
  const here = pointed?.view === view ? pointed : null;
  const method = state.choices.method.value;
  const layers: Layers = here?.layer ?? viewer.layersOf(method);
  const output = here?.output ?? viewer.output;
  const input = pointed?.input ?? null;
  const row = explanation.value.row(method, layers, output);
  const name = (token: number) => <TokenName {...viewer.name(token)} said />;
  const generation = viewer instanceof GenerationViewer ? viewer : null;
  // The page of a generation says elsewhere where the chosen token stands.
  const own = generation && output === viewer.output ? { index: undefined } : {};
  const named = <TokenName {...viewer.name(report.namedBy(output))} said {...own} />;
  if (row !== null && viewer.scored) return <Scored input={input} row={row} />;
  if (row === null) {
    const rows = explanation.value.outputTokens(method).map((position) => report.namedBy(position));
    return (
      <>
        No {method} values for {named} here
        {rows.length > 0 && "; there are for "}
        {rows.slice(0, 4).map((token) => (
          <span key={token}>{name(token)} </span>
        ))}
        {rows.length > 4 && "and others"}.
      </>
    );
  }
  const normalized = generation?.normalized ? ", normalized" : "";
  const layersText = here?.layer === undefined ? viewer.layersText() : `layer ${here.layer}`;
  const where = `${method}${normalized}, ${layersText}: `;
  const draws = generation ? "drew" : "draws";
  if (input === null) {
    const best = viewer.ranking.value[0];
    const value =
      best && format(best.value) + (viewer.inLogits() ? " logits" : "") + (generation && best.degenerate ? "°" : "");
    return (
      <>
        {where}
        {named} {draws} most on {best ? name(best.token) : generation ? "nothing that is not excluded" : "nothing"}
        {best && (isPunctuation(report.tokens[best.token].label) ? `, ${value}` : ` (${value})`)}
      </>
    );
  }
  if (generation && input > output) {
    return input === output + 1 ? (
      <>{named} is the token that is explained</>
    ) : (
      <>
        {name(input)} came after {named}
      </>
    );
  }
  if (input >= row.length) {
    return (
      <>
        What was drawn on generated tokens, such as {name(input)}, was not kept
        {normalized ? " of normalized values" : " (--generated-columns keeps it)"}
      </>
    );
  }
  const flag = method === "flow" ? explanation.value.degenerate(layers, output)?.[input] : 0;
  return (
    <>
      {where}
      {named} {draws} <b>{format(row[input])}</b>
      {viewer.inLogits() && " logits"} on {name(input)}
      {flag ? " (repeats the first layer, or as large as it can be)" : ""}
      {generation && <Besides viewer={generation} input={input} row={row} />}
    </>
  );
}

/** What a token says of the prediction; without one, what says most for it and against it. */
function Scored({ input, row }: { input: number | null; row: Numbers }) {
  const viewer = useViewer();
  const { report, state } = viewer;
  const where = `${state.choices.method.value}, ${targetWords(report)}: `;
  const said = (token: number, most: boolean) => (
    <>
      <TokenName {...viewer.name(token)} said /> <b>{formatSigned(row[token])}</b>
      {!row[token] ? ", which says nothing" : ` ${row[token] > 0 ? FOR : AGAINST}${most ? " it most" : " it"}`}
    </>
  );
  if (input !== null) {
    return (
      <>
        {where}
        {said(input, false)}
      </>
    );
  }
  const ranked = viewer.ranking.value.map(({ token }) => token);
  const ends = [ranked.find((token) => row[token] > 0), ranked.find((token) => row[token] < 0)];
  const [first, ...rest] = ends.filter((token) => token !== undefined);
  return (
    <>
      {where}
      {first === undefined ? "no token that counts speaks for it or against it" : said(first, true)}
      {rest.map((token) => (
        <span key={token}>; {said(token, true)}</span>
      ))}
    </>
  );
}

/** Of a generation: the value's share of the prompt's part, and why the token is excluded. */
function Besides({ viewer, input, row }: { viewer: GenerationViewer; input: number; row: Numbers }) {
  const { m } = viewer.report;
  const prompt = sum(row.subarray(0, m));
  const shares = viewer.report.isShare(viewer.place[0]) && input < m && prompt > 0;
  const reason = viewer.state.reasons.value[input];
  return (
    <>
      {shares && `, ${percent(row[input] / prompt)} of the prompt's part`}
      {reason && ` (excluded: ${reason})`}
    </>
  );
}
