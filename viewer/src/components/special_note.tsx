// Whether special tokens count, and how much they hold: one default and the same words in pages of every kind.
import { useViewer, type Viewer } from "../context";
import { partOf, specialTokens } from "../filters";
import { format, formatSigned, percent } from "../report/text";
import { CheckControl } from "./check_box";
import { TokenName } from "./own_text";

/** Special tokens that can be drawn on: of a generation nothing comes after the last token. */
function drawable({ report }: Viewer): Set<number> {
  const { n, document } = report;
  return new Set([...specialTokens(report)].filter((token) => !document.generation || token < n - 1));
}

/** Among the controls: whether special tokens are excluded; only where some are and others are not. */
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

/** Beside a text: what does not count from the start, and how much it holds. */
export const SpecialNote = () => (
  <>
    <Special />
    <Sink />
  </>
);

/** Of a decoder's first token that takes most of what is shown, unless it is left out as a special one. */
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

/** What special tokens hold of what was drawn on; of flow, whose values are no shares, the largest. */
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
        {out ? "Include them" : "Exclude them"}
      </button>
    </p>
  );
}
