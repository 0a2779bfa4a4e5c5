// Describes what is pointed at; otherwise what the chosen output token draws on most.
import type { ComponentChildren } from "preact";
import { useViewer, type Viewer } from "../context";
import { GenerationViewer } from "../generation/generation_viewer";
import type { Layers } from "../report/report";
import { DEGENERATE_WORDS } from "../report/setting_words";
import { AGAINST, FOR, formatSigned, percent } from "../report/text";
import { sum, type Numbers } from "../report/values";
import type { Pointed } from "../state";
import { TokenName } from "./own_text";
import { Tip } from "./tip";

interface ReadoutProps {
  view: string;
  /** announces what is pointed at to screen readers */
  status?: boolean;
}

/** A tip next to what is pointed at, or plain text on the page where there are no values. */
export function Readout({ view, status }: ReadoutProps) {
  const viewer = useViewer();
  if (!viewer.row()) {
    return (
      <p class="readout" id={`${view}-readout`}>
        {readoutOf(viewer, view)}
      </p>
    );
  }
  return (
    <Tip view={view} status={status}>
      {readoutOf(viewer, view)}
      <More view={view} />
    </Tip>
  );
}

/** Below the value in a tip: its rank, and the values of other methods. */
function More({ view }: { view: string }) {
  const viewer = useViewer();
  const { report, state, ranking, explanation } = viewer;
  const pointed = state.pointed.value;
  if (pointed?.view !== view || !explanation.value.asComputed) return null;
  const { input, output = viewer.output, layer = null } = pointed;
  if (output !== viewer.output || (layer !== null && [viewer.layersOf("raw")].flat().join() !== String(layer)))
    return null;
  const own = state.choices.method.value;
  const place = ranking.value.find(({ token }) => token === input);
  const parts = place ? [`rank ${place.rank} of ${ranking.value.length}`] : [];
  for (const method of report.methods) {
    const value = method === own ? undefined : viewer.row(method)?.[input];
    if (value !== undefined) parts.push(`${method} ${viewer.words(value, method)}`);
  }
  return parts.length > 0 ? <span class="more">{parts.join(" · ")}</span> : null;
}

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
  /** Includes the position if another token looks the same. */
  const placed = (token: number) => {
    const { label } = report.tokens[token];
    const { index, ...name } = viewer.name(token);
    return report.tokens.some((other, k) => k !== token && other.label === label) ? { ...name, index } : name;
  };
  const name = (token: number) => <TokenName {...placed(token)} said />;
  const generation = viewer instanceof GenerationViewer ? viewer : null;
  // A generation's page gives the chosen token's position elsewhere.
  const own = generation && output === viewer.output ? { index: undefined } : {};
  const named = <TokenName {...placed(report.namedBy(output))} said {...own} />;
  if (row !== null && viewer.scored) return <Scored input={input} row={row} />;
  if (row === null) {
    const layer = [layers].flat().at(-1);
    const rows = explanation.value.outputTokens(method, layer).map((position) => report.namedBy(position));
    return (
      <>
        No {method} values for {named} here
        {rows.length > 0 && "; only for "}
        {rows.slice(0, 4).map((token) => (
          <span key={token}>{name(token)} </span>
        ))}
        {rows.length > 4 && "and others"}.
      </>
    );
  }
  const normalized = generation?.normalized ? ", normalized" : "";
  const layersText = here?.layer === undefined ? viewer.layersText() : `layer ${here.layer}`;
  const where = `${method}${normalized}, ${layersText}`;
  if (input === null) {
    const best = viewer.ranking.value[0];
    if (!best) {
      return (
        <>
          {where}: {named} ← {viewer.isZero ? "nothing: every value is 0" : "only excluded tokens"}
        </>
      );
    }
    return (
      <>
        {named} ← {name(best.token)}: {viewer.words(best.value)}
        {generation && best.degenerate ? "°" : ""}, the largest ({where})
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
        Values of generated tokens, such as {name(input)}, were not kept
        {normalized && " after normalization"}
      </>
    );
  }
  const flag = method === "flow" ? explanation.value.degenerate(layers, output)?.[input] : 0;
  return (
    <>
      {named} ← {name(input)}: <b>{viewer.words(row[input])}</b> ({where}
      {flag ? `; ${DEGENERATE_WORDS}` : ""}){generation && <Besides viewer={generation} input={input} row={row} />}
    </>
  );
}

/** A token's effect on the prediction; without a token, the strongest evidence for and against. */
function Scored({ input, row }: { input: number | null; row: Numbers }) {
  const viewer = useViewer();
  const { state } = viewer;
  const where = `${state.choices.method.value}, ${viewer.targetText()}: `;
  const said = (token: number, most: boolean) => (
    <>
      <TokenName {...viewer.name(token)} said /> <b>{formatSigned(row[token])}</b>
      {!row[token]
        ? ", which argues neither for it nor against it"
        : ` ${row[token] > 0 ? FOR : AGAINST}${most ? " it most" : " it"}`}
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
      {first === undefined ? "no token that is ranked argues for it or against it" : said(first, true)}
      {rest.map((token) => (
        <span key={token}>; {said(token, true)}</span>
      ))}
    </>
  );
}

/** For a generation: the value's share of the prompt's part, and why the token is excluded. */
function Besides({ viewer, input, row }: { viewer: GenerationViewer; input: number; row: Numbers }) {
  const { m } = viewer.report;
  const prompt = sum(row.subarray(0, m));
  const shares = viewer.report.isShare(viewer.place[0]) && input < m && prompt > 0;
  const reason = viewer.state.reasons.value[input];
  return (
    <>
      {shares && `, ${percent(row[input] / prompt)} of the prompt's share`}
      {reason && ` (excluded: ${reason})`}
    </>
  );
}
