// The arcs that the graph shows by the current choices, and why there may be none.
import { useMemo } from "preact/hooks";
import { graphArcs, strongestPaths, type GraphArc, type GraphArcs } from "../compute/graph_arcs";
import { flowFits, maximumFlow, type FlowNetwork, type PairFlow } from "../compute/max_flow";
import { mixingOf } from "../compute/mixing";
import { arcsRule, mixedRow, residualRule } from "../compute/recompute";
import type { Work } from "../compute/slices";
import { useViewer, type Viewer } from "../context";
import { MAX_ARCS, WEAKEST_ARC, type ArcKind } from "../figures";
import { feedForwardOf } from "../report/feed_forward";
import type { Report } from "../report/report";
import { ALL_ARCS, type GraphKind } from "../state";
import { useFound } from "./picture";

/** A number of reads whose time is not noticeable. */
const CHEAP = 3e6;

export interface Found extends GraphArcs {
  kind: GraphKind;
  pair: PairFlow | null;
  /** relative error of the attention that it was made from; 0: exact */
  error: number;
}

export interface ShownGraph {
  kind: GraphKind;
  token: number;
  /** The pair's input token: the chosen one, or else the one the output token draws on most. */
  input: number;
  /** the output token whose paths are shown; null: all */
  from: number | null;
  layer: number;
  toLayer: number;
  /** arcs weaker than this share of the strongest are not shown */
  floor: number;
  /** which tokens arcs may begin and end at */
  allows(token: number): boolean;
  found: Found | null;
  busy: boolean;
  /** why there is no graph at these layers; null: there is one */
  missing: string | null;
  /** no settings would give a graph */
  never: boolean;
  /** why there is no maximum flow; null: there is one */
  noFlow: string | null;
  /** what goes through each node's feed-forward net, if nodes are sized by that; null: by what passes them */
  feedForward: ((layer: number, token: number) => number) | null;
}

/** The quantity that lines show; a flow is a share, too. */
export const arcKind = (kind: GraphKind): ArcKind => (kind === "attention" ? "weight" : "share");

/** As in attnflow's figures of a report of all output tokens, weights cover the paths of all of them. */
export const fromAll = ({ document }: Report, kind: GraphKind): boolean =>
  kind === "attention" && document.all_output_tokens === true;

function whyNoFlow({ report, state: { choices }, askServer }: Viewer, steps: number): string | null {
  if (report.ofWords) return "Flow runs between word pieces: it is drawn when words are not merged.";
  if (flowFits(report.n, steps)) return null;
  const instead = askServer.value
    ? "the method flow shows its value"
    : `attnflow explain --certificate ${choices.token.value},${choices.input.value ?? 0} computes it`;
  return `A maximum flow of ${report.n} tokens and ${steps} layers takes too long in the browser; ${instead}.`;
}

/** The arcs that carry a pair's maximum flow, and the share of it that passes each node. */
function* flowArcs(network: FlowNetwork, floor: number): Work<GraphArcs & { pair: PairFlow }> {
  const { n, layer, toLayer, outputToken } = network;
  const pair = yield* maximumFlow(network);
  const masses = Array.from({ length: layer - toLayer + 1 }, () => new Float64Array(n));
  masses[0][outputToken] = 1;
  for (const arc of pair.arcs) masses[layer - arc.layer + 1][arc.to] += arc.flow / pair.value;
  const arcs = pair.arcs
    .map(({ flow, ...arc }): GraphArc => ({ ...arc, weight: flow }))
    .sort((a, b) => b.weight - a.weight);
  const strongest = arcs[0]?.weight ?? 0;
  const strong = arcs.filter((arc) => arc.weight >= floor * strongest);
  return { pair, arcs: strong.slice(0, MAX_ARCS), strongest, more: strong.length > MAX_ARCS, masses };
}

export function useShownGraph(): ShownGraph {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts } = state;
  const { n } = report;
  const { recipe } = explanation.value;
  const [token, layer, toLayer] = [choices.token.value, choices.layer.value, choices.start_layer.value];
  const kind = choices.graph.value;
  const steps = layer - toLayer;
  const mixing = useMemo(() => mixingOf(report, recipe), [report, recipe]);
  const missing =
    typeof mixing === "string" ? mixing : steps < 1 ? `Layer ${layer} is not above layer ${toLayer}.` : null;
  const never = typeof mixing === "string" && !report.hasGraph && !report.hasHeads;
  const noFlow = whyNoFlow(viewer, steps);
  const input = useMemo(() => {
    if (choices.input.value !== null && choices.input.value < n) return choices.input.value;
    const method = explanation.value.row("rollout", layer, token) ? "rollout" : "raw";
    return explanation.value.ranking(method, layer, token, counts.value)[0]?.token ?? token;
  }, [choices.input.value, explanation.value, layer, token, counts.value]);
  const from = fromAll(report, kind) ? null : token;
  const [own, perNode, paths] = [choices.graphOwn.value, choices.graphArcs.value, choices.graphPaths.value];
  // The output token has arcs even if it is excluded: everything begins there.
  const allows = (i: number) => counts.value[i] || i === token;
  const floor = Math.max(WEAKEST_ARC, choices.threshold.value);
  const sparse = Boolean(report.graphValues()?.add);
  const cheap = steps * n * (sparse ? 100 : n) < CHEAP && kind !== "flow" && n <= 256;
  const pairOf = kind === "flow" ? input : -1;
  const { found, busy } = useFound<Found | null>(
    function* (): Work<Found | null> {
      if (missing !== null || typeof mixing === "string") return null;
      const rule = kind === "flow" ? residualRule(report, "flow") : arcsRule(report);
      const { error } = mixing;
      const { residual } = recipe;
      if (kind === "paths") {
        const question = { mixing, rule: arcsRule(report), residual, layer, toLayer, outputToken: token };
        return { kind, pair: null, error, ...(yield* strongestPaths({ ...question, paths, allows })) };
      }
      if (kind !== "flow") {
        const question = { mixing, rule, residual, layer, toLayer, outputToken: from, kind: arcKind(kind), floor };
        const shown = { own, perNode: perNode === ALL_ARCS ? Infinity : perNode, allows };
        return { kind, pair: null, error, ...(yield* graphArcs({ ...question, ...shown })) };
      }
      if (noFlow !== null) return null;
      const row = (k: number, query: number) => mixedRow({ mixing, rule, residual, layer }, k, query);
      const network = { n, layer, toLayer, outputToken: token, inputToken: pairOf, row };
      return { kind, error, ...(yield* flowArcs(network, floor)) };
    },
    // Whether it is missing, or has no flow, follows from these.
    [mixing, report, recipe.residual, layer, toLayer, kind, from, pairOf, floor, own, perNode, paths, counts.value],
    cheap,
  );
  const current = found?.kind === kind ? found : null;
  const shares = useMemo(() => feedForwardOf(report), [report]);
  const feedForward = kind === "flow" ? null : shares;
  const shown = { kind, token, input, from, layer, toLayer, floor, allows, found: current, feedForward };
  return { ...shown, busy, missing, never, noFlow };
}
