// The second line below a text: rollout over the paper's attention, where another map is shown first.
import { useMemo } from "preact/hooks";
import { firstIsFarAbove, sinkHoldsAll } from "../color/ends";
import { ValueStrip } from "../components/value_strip";
import { useViewer, type Viewer } from "../context";
import { Explanation } from "../explanation";
import { inFrame } from "../embedding";
import { recipeOf } from "../report/recipe";
import type { Report } from "../report/report";
import type { Numbers } from "../report/values";
import { WordReport } from "../report/words";

/**
 * Attention rollout of the chosen output token at the top layer, from the document, or from the attention of all heads;
 * null if it is shown already, or not known.
 */
function rolloutOverAttention({ report, state, explanation, output }: Viewer, paper: Report | null): Numbers | null {
  const { method } = state.choices;
  const top = report.layers.at(-1) ?? 1;
  if (report.document.generation) return null;
  if (report.mixing.name === "attention") {
    return method.value === "rollout" ? null : explanation.value.row("rollout", top, output);
  }
  if (report instanceof WordReport) return null;
  const held = output === report.document.output_token && report.array("attention_rollout");
  if (held) return held.row(0);
  return paper && new Explanation(paper, recipeOf(paper)).row("rollout", top, output);
}

export function AttentionLine() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const paper = useMemo(() => report.overAttention, [report]);
  const row = useMemo(
    () => rolloutOverAttention(viewer, paper),
    [viewer, paper, state.choices.method.value, viewer.explanation.value, viewer.output],
  );
  if (!row || inFrame()) return null;
  // Over attention, a decoder's first token takes most, whether or not it does in the map above.
  const sinks = report.model.causal && state.choices.skipSink.value && firstIsFarAbove(row, viewer.output + 1);
  const counts = state.counts.value.map((counts, token) => counts && !(sinks && token === 0));
  if (sinks && sinkHoldsAll(row)) {
    return (
      <div id="attention-line">
        <p class="help">
          For comparison: attention rollout, as in Abnar & Zuidema, says little here: “{report.tokens[0].label}”, an
          attention sink, holds nearly all of it.
        </p>
      </div>
    );
  }
  return (
    <div id="attention-line">
      <ValueStrip
        name="attention"
        title={`For comparison: attention rollout, as in Abnar & Zuidema${sinks ? ", without its sink, the first token" : ""}`}
        values={row}
        counts={counts}
        output={viewer.output}
        method="rollout"
        view="attention"
      />
    </div>
  );
}
