// The graph of information flow from layer l down to layer m: layers as rows, input tokens at the bottom. Arcs show the
// share of the chosen output token's rollout that passes, the layers' weights (both as in attnflow's figures), or a
// pair's maximum flow, with its minimum cut.
import { Fragment, type RefObject } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { Card } from "../components/card";
import { CheckBox } from "../components/check_box";
import { Radios, Select, Slider, tokenOptions } from "../components/fields";
import { pictureStyle, unit } from "../components/measure";
import { TokenName } from "../components/own_text";
import { Scroller } from "../components/scroller";
import { Tip } from "../components/tip";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import { namedToken } from "../export/name";
import { WEAKEST_ARC } from "../figures";
import type { Report } from "../report/report";
import { targetWords } from "../report/setting_words";
import { format, formatWithin, percentage, shorten } from "../report/text";
import { ALL_ARCS, MOST_PATHS, type GraphKind } from "../state";
import { cutBands, cutWords } from "./flow_cut";
import { graphLayout, GraphPicture, keyOf, radius, strokeOf } from "./graph_picture";
import { useWidth, widest } from "./picture";
import { fromAll, useShownGraph, type Found, type ShownGraph } from "./shown_graph";
import "../styles/pictures.css";

const KINDS: { kind: GraphKind; label: string; title: string }[] = [
  { kind: "paths", label: "Paths", title: "The strongest path to each of the input tokens that rollout reaches most" },
  { kind: "share", label: "Rollout", title: "How much of the output token's rollout passes along each line" },
  { kind: "attention", label: "Weights", title: "The layers' weights on paths from the output token" },
  { kind: "flow", label: "Max flow", title: "The arcs that carry the maximum flow between two tokens" },
];

/** Whether the lines are a choice of each node's arcs. */
const arcsAreChosen = (kind: GraphKind) => kind === "share" || kind === "attention";

export function FlowGraph() {
  const { report } = useViewer();
  const box = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const width = useWidth(box);
  const shown = useShownGraph();
  const { found, busy, missing } = shown;
  const u = unit();
  const labels = useMemo(() => report.tokens.map((t) => shorten(t.short, 14)), [report]);
  const labelWidth = useMemo(() => Math.min(140 * u, widest(labels)), [labels, u]);
  if (shown.never) return null;
  const { n, model } = report;
  const layout = graphLayout({ ...shown, n, layers: model.layers }, labelWidth, width);
  return (
    <Card
      id="graph"
      title="Information flow through the layers"
      wide
      exporter={found ? exporterOf(report, shown, found, svg) : undefined}
      tools={<GraphTools input={shown.input} noFlow={shown.noFlow} />}
    >
      <Scroller class="picture" id="graph" box={box} aria-busy={busy}>
        {width > 0 && missing === null && (
          <div class="sheets" style={pictureStyle(layout.size)}>
            <GraphPicture {...{ shown, layout, labels, svg, box, width }} />
          </div>
        )}
      </Scroller>
      <GraphReadout {...shown} />
      <Tip view="graph" id="graph-tip">
        <GraphTip {...shown} />
      </Tip>
      <div class="row foot">
        {found && <LineLegend {...found} />}
        {found && shown.feedForward && <NodeLegend />}
        <GraphHelp {...shown} />
      </div>
    </Card>
  );
}

function exporterOf(
  report: Report,
  { kind, from, input, layer, feedForward }: ShownGraph,
  { arcs, pair }: Found,
  svg: RefObject<SVGSVGElement>,
): Exporter {
  const name = (i: number) => namedToken(report, i);
  return {
    svg: () => svg.current ?? "",
    shown: () => ({
      method: {
        paths: "strongest paths of rollout",
        share: "rollout",
        attention: "weights of each layer",
        flow: `flow to ${name(input)}`,
      }[kind],
      output: from === null ? null : name(from),
      notes: [explain(report, kind)],
      file: [kind === "attention" ? "weights" : kind, `layer${layer}`, ...(from === null ? [] : [`token${from}`])],
    }),
    rows() {
      const cut = new Set(pair?.cut.map(keyOf));
      return {
        columns: [
          ...["layer", "from", "to", columnOf(kind), "in_minimum_cut"],
          ...(feedForward ? ["feed_forward_of_from"] : []),
        ],
        rows: arcs.map((arc) => [
          ...[arc.layer, arc.from, arc.to, arc.weight, cut.has(keyOf(arc))],
          ...(feedForward ? [feedForward(arc.layer, arc.from)] : []),
        ]),
      };
    },
  };
}

/** The name of what lines show, in tables. */
const columnOf = (kind: GraphKind) => ({ paths: "share", share: "share", attention: "weight", flow: "flow" })[kind];

/** Says what the lines mean, and which are left out. */
function GraphHelp({ kind, found, busy, missing, noFlow, floor }: ShownGraph) {
  const { report, state } = useViewer();
  const { graphOwn, threshold } = state.choices;
  const lacks = kind === "flow" && noFlow;
  return (
    <p class="help key" id="graph-help">
      {missing ?? explain(report, kind)}{" "}
      {arcsAreChosen(kind) && !graphOwn.value && "Arcs from a token to itself are hidden. "}
      {lacks}
      {report.ofWords &&
        (kind === "share" || kind === "paths") &&
        "With words merged, the graph shows the merged attention. "}
      {found?.more && `Only the ${found.arcs.length} strongest arcs are drawn. `}
      {kind !== "paths" &&
        threshold.value > WEAKEST_ARC &&
        `Arcs below ${(100 * floor).toFixed(0)}% of the strongest are not drawn. `}
      {busy && missing === null && !lacks && "Computing …"}
    </p>
  );
}

function LineLegend({ strongest, kind }: Pick<Found, "strongest" | "kind">) {
  const colour = useViewer().scale.value.css(1, 1);
  return (
    <div class="legend" role="group" aria-label="Widths of lines">
      {[0.05, 0.3, 1].map((share) => {
        const look = strokeOf(kind, share);
        return (
          <Fragment key={share}>
            <svg width={30} height={12} viewBox="0 0 30 12" aria-hidden="true">
              <g class="lines" stroke={colour}>
                <line x1={3} x2={27} y1={6} y2={6} stroke-width={look.width} stroke-opacity={look.opacity} />
              </g>
            </svg>
            <span>{format(share * strongest)}</span>
          </Fragment>
        );
      })}
    </div>
  );
}

/** The sizes of nodes, where they are shares of relevance that goes through a feed-forward net. */
function NodeLegend() {
  const side = 2 * radius(1) + 2;
  return (
    <div class="legend" role="group" aria-label="Sizes of nodes" id="node-legend">
      {[0, 0.25, 1].map((share) => (
        <Fragment key={share}>
          <svg width={side} height={side} viewBox={`0 0 ${side} ${side}`} aria-hidden="true">
            <circle class="node" cx={side / 2} cy={side / 2} r={radius(share)} />
          </svg>
          <span>{percentage(share)}</span>
        </Fragment>
      ))}
      <span>of a node’s relevance goes through the layer’s feed-forward net, the rest past it</span>
    </div>
  );
}

function explain(report: Report, kind: GraphKind): string {
  const { weights, rule } = report.mixing;
  const rows =
    rule === "contained-normalized"
      ? "; no token passes on more than it carries"
      : rule === "added-normalized" || rule === "added"
        ? ", each layer's rows divided by their sums"
        : "";
  const residual = rule.startsWith("contained") ? "" : ", residual included";
  if (kind === "attention") {
    return `Each line is a layer's weight that ${fromAll(report, kind) ? "an" : "the chosen"} output token can reach (${weights}${residual}${rows}); wider lines are larger weights.`;
  }
  const of = report.mixing.name === "attention" ? "" : ` over ${weights}`;
  if (kind === "paths") {
    return `The strongest path from the chosen output token down to each of the input tokens that most of it goes back to (rollout${of}${residual}${rows}). The wider a line, the more passes along it, on this path or another.`;
  }
  if (kind === "share") {
    return `Each line is the share of the chosen output token that passes along it (rollout${of}${residual}${rows}).`;
  }
  const units = report.inLogits("flow") ? `, in logits of ${targetWords(report)}` : "";
  return `Each line is the amount that one maximum flow carries from the output token down to the input token${units}. The bands mark the minimum cut: the arcs that cross it, which start at the ringed nodes, can together carry no more than this flow.`;
}

function GraphTools({ input, noFlow }: Pick<ShownGraph, "input" | "noFlow">) {
  const { report, state } = useViewer();
  const { choices } = state;
  return (
    <div class="row graph-tools">
      <div class="segments" role="radiogroup" aria-label="What the lines show">
        <Radios
          name="graph-kind"
          value={choices.graph.value}
          options={KINDS.map(({ kind, label, title }) => ({
            ...{ value: kind, words: <span>{label}</span>, title },
            disabled: kind === "flow" && noFlow !== null,
          }))}
          choose={(kind) => (choices.graph.value = kind)}
        />
      </div>
      {choices.graph.value === "paths" && (
        <>
          <label for="graph-paths">
            <output for="graph-paths">{choices.graphPaths.value}</output>{" "}
            {choices.graphPaths.value === 1 ? "path" : "paths"}
          </label>
          <Slider
            id="graph-paths"
            min={1}
            max={MOST_PATHS}
            step={1}
            value={choices.graphPaths.value}
            choose={(count) => (choices.graphPaths.value = count)}
          />
        </>
      )}
      {arcsAreChosen(choices.graph.value) && (
        <>
          <label for="graph-arcs">
            <output for="graph-arcs">{choices.graphArcs.value === ALL_ARCS ? "All" : choices.graphArcs.value}</output>{" "}
            {choices.graphArcs.value === 1 ? "arc" : "arcs"} per node
          </label>
          <Slider
            id="graph-arcs"
            min={1}
            max={ALL_ARCS}
            step={1}
            value={choices.graphArcs.value}
            choose={(count) => (choices.graphArcs.value = count)}
          />
          <CheckBox id="graph-own" on={choices.graphOwn} class="check">
            Same-token arcs
          </CheckBox>
        </>
      )}
      {choices.graph.value === "flow" && (
        <label>
          to{" "}
          <Select
            id="flow-input"
            own
            aria-label="Input token of the flow"
            value={input}
            options={tokenOptions(report.tokens, report.pictured)}
            choose={(token) => (choices.input.value = token)}
          />
        </label>
      )}
    </div>
  );
}

/** How much of the output token's rollout, or of the flow, passes the node pointed at. */
function GraphTip({ found, layer, token: output, feedForward }: ShownGraph) {
  const viewer = useViewer();
  const at = viewer.state.pointed.value;
  if (at?.view !== "graph" || at.layer === undefined || !found?.masses) return null;
  const name = (token: number) => <TokenName {...viewer.name(token)} said />;
  return (
    <>
      <b>{percentage(found.masses[layer - at.layer]?.[at.input] ?? 0)}</b> of{" "}
      {found.pair ? "the flow" : <>the rollout of {name(output)}</>} passes through {name(at.input)}{" "}
      {at.layer === 0 ? "at the input" : `after layer ${at.layer}`}
      {feedForward && at.layer > 0 && (
        <>
          ; <b>{percentage(feedForward(at.layer, at.input))}</b> of its relevance goes through the feed-forward net
          there
        </>
      )}
    </>
  );
}

function GraphReadout({ kind, found, token, layer, toLayer, input }: ShownGraph) {
  const viewer = useViewer();
  const { report, explanation } = viewer;
  const name = (token: number) => <TokenName {...viewer.name(token)} said />;
  if (found?.pair) {
    const { pair, error } = found;
    const rollout = explanation.value.result("rollout", layer, token);
    const shares = new Map(cutBands(pair).map(({ layer, share }) => [layer, share]));
    const where = cutWords(shares);
    return (
      <p class="readout" id="graph-readout" data-value={pair.value}>
        Flow from {name(token)} to {name(input)}: <b>{formatWithin(pair.value, error)}</b>
        {rollout && ` (rollout ${formatWithin(rollout.values[input], rollout.error)})`}.{" "}
        {pair.cut.length > 0 &&
          `The minimum cut nearest the output token has ${pair.cut.length} ${pair.cut.length === 1 ? "arc" : "arcs"} of ${formatWithin(pair.cutValue, error)} together: ${where}.`}
      </p>
    );
  }
  return (
    <p class="readout" id="graph-readout">
      {fromAll(report, kind) ? "From all output tokens" : <>From {name(token)}</>}, layer {layer} down to{" "}
      {toLayer === 0 ? "the input" : `layer ${toLayer}`}
    </p>
  );
}
