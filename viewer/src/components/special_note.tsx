// Whether special tokens count, and how much they hold: the same default and wording on every kind of page.
import { useViewer, type Viewer } from "../context";
import { partOf, specialTokens } from "../filters";
import { format, formatSigned, percent } from "../report/text";
import { CheckControl } from "./check_box";
import { TokenName } from "./own_text";

/** Special tokens that can be attended to: in a generation, nothing comes after the last token. */
function drawable({ report }: Viewer): Set<number> {
  const { n, document } = report;
  return new Set([...specialTokens(report)].filter((token) => !document.generation || token < n - 1));
}

/** The control that excludes special tokens; present only if some tokens are special and others are not. */
export function SpecialCheck() {
  const viewer = useViewer();
  const { size } = drawable(viewer);
  if (size === 0 || size === viewer.report.n) return null;
  return (
    <CheckControl control="special-control" id="skip-special" on={viewer.state.choices.skipSpecial}>
      Exclude special tokens
    </CheckControl>
  );
}

/** Notes next to a text: the special tokens and the sink, whether they count, and how much they hold. */
export const SpecialNote = () => (
  <>
    <Special />
    <Sink />
  </>
);

/** Note about a decoder's first token if it takes most of what is shown and is not excluded as a special token. */
function Sink() {
  const viewer = useViewer();
  const { report, state, drawn } = viewer;
  const { skipSpecial, skipSink } = state.choices;
  if (!state.takesMost() || (skipSpecial.value && specialTokens(report).has(0))) return null;
  const value = viewer.row()?.[0] ?? 0;
  const { whole } = drawn.value;
  const held =
    whole !== null ? `${percent(value / whole)} of the total` : format(value) + (viewer.inLogits() ? " logits" : "");
  const out = state.sinkAside.value;
  return (
    <p class="readout" id="sink-note">
      {out ? "Attention sink excluded" : "Attention sink included"}: <TokenName {...viewer.name(0)} said />, the first
      token ({held}).{" "}
      <button type="button" id="sink-toggle" onClick={() => (skipSink.value = !skipSink.value)}>
        {out ? "Include it" : "Exclude it"}
      </button>
    </p>
  );
}

function Special() {
  const viewer = useViewer();
  const { state, drawn } = viewer;
  const { skipSpecial } = state.choices;
  const special = drawable(viewer);
  const { count, share } = partOf(drawn.value, (token) => special.has(token));
  if (count === 0) return null;
  const row = viewer.row();
  const sum = [...special].reduce((all, token) => all + (row?.[token] ?? 0), 0);
  const largest = () => format(Math.max(0, ...[...special].map((token) => row?.[token] ?? 0)));
  const held =
    share !== null
      ? `${percent(share)} of the total`
      : viewer.scored
        ? row && `together ${formatSigned(sum)}`
        : row && `the largest ${largest()}`;
  const out = skipSpecial.value;
  return (
    <p class="readout" id="special-note">
      {count} special {count === 1 ? "token" : "tokens"} {out ? "excluded" : "included"}
      {held && ` (${held})`}.{" "}
      <button type="button" id="special-toggle" onClick={() => (skipSpecial.value = !out)}>
        {`${out ? "Include" : "Exclude"} ${count === 1 ? "it" : "them"}`}
      </button>
    </p>
  );
}
