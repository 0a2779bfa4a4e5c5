// The graph of information flow from layer l down to layer m: layers as rows, input tokens at the bottom. Arcs show the
// share of the chosen output token's rollout that passes, the layers' weights (both as in attnflow's figures), or the
// arcs that carry a pair's maximum flow, with its minimum cut.
import { Fragment } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { walkWithKeys } from "../components/arrow_keys";
import { Card } from "../components/card";
import { CheckBox } from "../components/check_box";
import { Radios, Select, Slider, tokenOptions } from "../components/fields";
import { TokenName } from "../components/own_text";
import { graphArcs, pathsThrough, type GraphArc, type GraphArcs } from "../compute/graph_arcs";
import { flowFits, maximumFlow, type Arc, type PairFlow } from "../compute/max_flow";
import { mixingOf } from "../compute/mixing";
import { arcsRule, mixedRow, residualRule } from "../compute/recompute";
import type { Work } from "../compute/slices";
import { pictureStyle, textWidth, unit } from "../components/measure";
import { Scroller } from "../components/scroller";
import { Tip } from "../components/tip";
import { useViewer } from "../context";
import type { Exporter } from "../export/exporter";
import { namedToken } from "../export/name";
import { standalone } from "../export/picture";
import { arcOpacity, arcStrength, MAX_ARCS, WEAKEST_ARC, type ArcKind } from "../figures";
import type { Report } from "../report/report";
import { targetWords } from "../report/setting_words";
import { format, formatWithin, percentage, shorten } from "../report/text";
import { ALL_ARCS, type GraphKind } from "../state";
import { printing } from "../theme";
import { Cut, cutBands, cutWords } from "./flow_cut";
import { TokenLabel, tokenTicks, useFound, useWidth, widest } from "./picture";
import "../styles/pictures.css";

/** Above this many tokens, they are drawn on canvas, without individual names. */
const MOST_NAMED = 64;
/** A number of reads whose time is not noticeable. */
const CHEAP = 3e6;

const KINDS: { kind: GraphKind; label: string; title: string }[] = [
  { kind: "share", label: "Rollout", title: "How much of the output token's rollout passes along each line" },
  { kind: "attention", label: "Weights", title: "The layers' weights on paths from the output token" },
  { kind: "flow", label: "Max flow", title: "The arcs that carry the maximum flow between two tokens" },
];

interface Found extends GraphArcs {
  kind: GraphKind;
  pair: PairFlow | null;
  /** relative error of the attention that it was made from; 0: exact */
  error: number;
}

export function FlowGraph() {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices, counts, pointed } = state;
  const box = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const width = useWidth(box);
  const { n } = report;
  const { recipe } = explanation.value;
  const [token, layer, toLayer, kind] = [
    choices.token.value,
    choices.layer.value,
    choices.start_layer.value,
    choices.graph.value,
  ];
  const steps = layer - toLayer;
  const mixing = useMemo(() => mixingOf(report, recipe), [report, recipe]);
  const words = report.ofWords;
  const missing =
    typeof mixing === "string" ? mixing : steps < 1 ? `Layer ${layer} is not above layer ${toLayer}.` : null;
  const noFlow = words
    ? "Flow runs between word pieces: it is drawn when words are not merged."
    : !flowFits(n, steps)
      ? `A maximum flow of ${n} tokens and ${steps} layers takes too long in the browser; ${viewer.askServer.value ? "the method flow shows its value" : `attnflow explain --certificate ${token},${choices.input.value ?? 0} computes it`}.`
      : null;
  // The pair's input token: the chosen one, or else the one the output token draws on most.
  const input = useMemo(() => {
    if (choices.input.value !== null && choices.input.value < n) return choices.input.value;
    const method = explanation.value.row("rollout", layer, token) ? "rollout" : "raw";
    return explanation.value.ranking(method, layer, token, counts.value)[0]?.token ?? token;
  }, [choices.input.value, explanation.value, layer, token, counts.value]);
  const from = fromAll(report, kind) ? null : token;
  const [own, perNode] = [choices.graphOwn.value, choices.graphArcs.value];
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
      if (kind !== "flow") {
        const question = { mixing, rule, residual, layer, toLayer, outputToken: from, kind: arcKind(kind), floor };
        const shown = { own, perNode: perNode === ALL_ARCS ? Infinity : perNode, allows };
        return { kind, pair: null, error, ...(yield* graphArcs({ ...question, ...shown })) };
      }
      if (noFlow !== null) return null;
      const row = (k: number, query: number) => mixedRow({ mixing, rule, residual, layer }, k, query);
      const pair = yield* maximumFlow({ n, layer, toLayer, outputToken: token, inputToken: pairOf, row });
      const masses = Array.from({ length: steps + 1 }, () => new Float64Array(n));
      masses[0][token] = 1;
      for (const arc of pair.arcs) masses[layer - arc.layer + 1][arc.to] += arc.flow / pair.value;
      const arcs = pair.arcs
        .map(({ flow, ...arc }): GraphArc => ({ ...arc, weight: flow }))
        .sort((a, b) => b.weight - a.weight);
      const strongest = arcs[0]?.weight ?? 0;
      const strong = arcs.filter((arc) => arc.weight >= floor * strongest);
      const more = strong.length > MAX_ARCS;
      return { kind, pair, error, arcs: strong.slice(0, MAX_ARCS), strongest, more, masses };
    },
    // Whether it is missing, or has no flow, follows from these.
    [mixing, report, recipe.residual, layer, toLayer, kind, from, pairOf, floor, own, perNode, counts.value],
    cheap,
  );

  const named = n <= MOST_NAMED;
  const labels = useMemo(() => report.tokens.map((t) => shorten(t.short, 14)), [report]);
  const u = unit();
  const labelWidth = useMemo(() => Math.min(140 * u, widest(labels)), [labels, u]);
  if (missing !== null && typeof mixing === "string" && !report.hasGraph && !report.hasHeads) return null;
  const left = 12 + textWidth(`Layer ${report.model.layers}`);
  const room = width - left - 10;
  const pitch = named ? Math.max((printing.value ? 13 : 20) * u, Math.min(300 * u, room / n)) : room / n;
  const level = named && labelWidth + 8 <= pitch;
  const rise = u * Math.max(30, Math.min(58, 520 / Math.max(1, steps)));
  // The tokens are named above as well.
  const top = named ? (level ? 30 * u : labelWidth + 20 * u) : 14;
  const x = (i: number) => left + (i + 0.5) * pitch;
  const y = (l: number) => top + (layer - l) * rise;
  const bottom = level ? 32 * u : labelWidth + 22 * u;
  const size = { width: left + n * pitch + 8, height: top + Math.max(1, steps) * rise + bottom };
  const current = found && found.kind === kind ? found : null;
  const scaleOf = current?.strongest || 1;
  const { pair = null, arcs = [] } = current ?? {};
  const bands = useMemo(() => (pair ? cutBands(pair) : []), [pair]);
  const begins = useMemo(() => new Set(pair?.cut.map((arc) => `${arc.layer} ${arc.from}`)), [pair]);
  const colour = viewer.scale.value.css(1, 1);
  const stroke = (share: number) => {
    const strength = arcStrength(share, arcKind(kind));
    return { width: 0.4 + 4.6 * strength, opacity: arcOpacity(strength) };
  };
  const amount = (l: number, i: number) => (current?.masses ? (current.masses[layer - l]?.[i] ?? 0) : 0.1);
  const radius = (mass: number) => u * (2 + 7 * Math.sqrt(Math.min(1, mass)));

  const locate = (event: MouseEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const i = Math.floor((event.clientX - frame.left - left) / pitch);
    const at = (event.clientY - frame.top - top) / rise;
    const l = Math.max(toLayer, Math.min(layer, layer - Math.round(at)));
    return { i: i >= 0 && i < n ? i : -1, l };
  };
  const point = (i: number, l: number) => {
    const now = pointed.peek();
    if (now?.view === "graph" && now.input === i && now.layer === l) return;
    pointed.value = { input: i, layer: l, view: "graph" };
  };
  const choose = (i: number, l: number) => {
    if (kind === "flow" && l === toLayer) choices.input.value = i;
    else choices.token.value = i;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = pointed.peek()?.view === "graph" ? pointed.peek() : null;
    walkWithKeys(event, {
      columns: n,
      rows: [toLayer, layer],
      at: () => ({ column: here?.input ?? token, row: here?.layer ?? layer }),
      move({ column: i, row: l }) {
        point(i, l);
        viewer.announcement.value = `${l === 0 ? "Input" : `Layer ${l}`}, ${labels[i]}: ${format(amount(l, i))} passes`;
        box.current?.scrollTo({ left: x(i) - width / 2 });
      },
      choose: ({ column, row }) => choose(column, row),
    });
  };
  const name = (i: number) => namedToken(report, i);
  const exporter: Exporter = {
    svg: () => (svg.current ? standalone(svg.current) : ""),
    shown: () => ({
      method: { share: "rollout", attention: "weights of each layer", flow: `flow to ${name(input)}` }[kind],
      output: from === null ? null : name(from),
      notes: [explain(report, kind)],
      file: [kind === "attention" ? "weights" : kind, `layer${layer}`, ...(from === null ? [] : [`token${from}`])],
    }),
    rows() {
      const cut = new Set(pair?.cut.map(keyOf));
      return {
        columns: ["layer", "from", "to", kind === "attention" ? "weight" : kind, "in_minimum_cut"],
        rows: arcs.map((arc) => [arc.layer, arc.from, arc.to, arc.weight, cut.has(keyOf(arc))]),
      };
    },
  };
  return (
    <Card
      id="graph"
      title="Information flow through the layers"
      wide
      exporter={current ? exporter : undefined}
      tools={<GraphTools input={input} noFlow={noFlow} />}
    >
      <Scroller class="picture" id="graph" box={box} aria-busy={busy}>
        {width > 0 && missing === null && (
          <div class="sheets" style={pictureStyle(size)}>
            <svg
              ref={svg}
              {...size}
              viewBox={`0 0 ${size.width} ${size.height}`}
              role="application"
              tabindex={0}
              aria-label={`Graph of ${steps} layers and ${n} tokens. Arrow keys read nodes, Enter chooses a token.`}
              onKeyDown={onKeyDown}
              onPointerMove={(event) => {
                const { i, l } = locate(event);
                if (i >= 0) point(i, l);
              }}
              onPointerLeave={() => (pointed.value = null)}
              onClick={(event) => {
                const { i, l } = locate(event);
                if (i >= 0) choose(i, l);
              }}
            >
              <g class="lines" stroke={colour}>
                {[...arcs].reverse().map((arc) => {
                  const { width, opacity } = stroke(arc.weight / scaleOf);
                  return <ArcLine key={keyOf(arc)} {...{ arc, x, y, width, opacity }} value={arc.weight} />;
                })}
              </g>
              {!named && current && <Nodes {...{ n, layer, toLayer, x, y }} masses={current.masses} radius={radius} />}
              {Array.from({ length: steps + 1 }, (_, at) => {
                const l = layer - at;
                return (
                  <g key={l}>
                    <text x={left - 12} y={y(l) + 4 * u} text-anchor="end">
                      {l === 0 ? "Input" : `Layer ${l}`}
                    </text>
                    {named &&
                      labels.map((_, i) => {
                        const mass = amount(l, i);
                        const chosen = i === token && l === layer;
                        const sink = kind === "flow" && l === toLayer && i === input;
                        return (
                          <circle
                            key={i}
                            cx={x(i)}
                            cy={y(l)}
                            r={sink ? 6 : radius(mass).toFixed(2)}
                            class={["node", chosen && "chosen", sink && "sink", begins.has(`${l} ${i}`) && "begins"]
                              .filter(Boolean)
                              .join(" ")}
                            fill-opacity={mass > 0.002 || chosen ? (kind === "flow" || allows(i) ? 1 : 0.3) : 0.25}
                          />
                        );
                      })}
                    {!named && l === layer && <circle cx={x(token)} cy={y(l)} r={7} class="node chosen" />}
                    {!named && kind === "flow" && l === toLayer && (
                      <circle cx={x(input)} cy={y(l)} r={6} class="node sink" />
                    )}
                  </g>
                );
              })}
              {bands.length > 0 && <Cut bands={bands} x={x} y={y} width={size.width} />}
              <Traced arcs={arcs} own={own || kind === "flow"} {...{ x, y, toLayer, stroke }} />
              {named ? (
                [false, true].map((above) =>
                  labels.map((label, i) => (
                    <TokenLabel
                      key={`${i} ${above}`}
                      x={x(i)}
                      y={above ? y(layer) - 14 : y(toLayer) + 14}
                      label={label}
                      level={level}
                      above={above}
                      title={report.tokens[i].label}
                      class={[
                        "label",
                        (i === token || (!above && kind === "flow" && i === input)) && "chosen",
                        kind !== "flow" && !allows(i) && "excluded",
                      ]
                        .filter(Boolean)
                        .join(" ")}
                    />
                  )),
                )
              ) : (
                <StrongLabels
                  labels={labels}
                  mass={current?.masses?.at(-1) ?? null}
                  always={kind === "flow" ? [input] : []}
                  x={x}
                  y={y(toLayer) + 14}
                  pitch={pitch}
                />
              )}
            </svg>
          </div>
        )}
      </Scroller>
      <GraphReadout found={current} layer={layer} toLayer={toLayer} input={input} />
      <Tip view="graph" id="graph-tip">
        <GraphTip found={current} layer={layer} />
      </Tip>
      <div class="row foot">
        {current && <LineLegend strongest={current.strongest} stroke={stroke} colour={colour} />}
        <p class="help key" id="graph-help">
          {missing ?? explain(report, kind)} {kind !== "flow" && !own && "Arcs from a token to itself are hidden. "}
          {kind === "flow" && noFlow}
          {words && kind === "share" && "With words merged, the graph shows the merged attention. "}
          {current?.more && `Only the ${current.arcs.length} strongest arcs are drawn. `}
          {choices.threshold.value > WEAKEST_ARC &&
            `Arcs below ${(100 * floor).toFixed(0)}% of the strongest are not drawn. `}
          {busy && missing === null && !(kind === "flow" && noFlow) && "Computing …"}
        </p>
      </div>
    </Card>
  );
}

/** Legend of line widths. */
function LineLegend({
  strongest,
  stroke,
  colour,
}: Pick<TracedProps, "stroke"> & { strongest: number; colour: string }) {
  return (
    <div class="legend" role="group" aria-label="Widths of lines">
      {[0.05, 0.3, 1].map((share) => {
        const look = stroke(share);
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

/** What lines show; a flow is a share, too. */
const arcKind = (kind: GraphKind): ArcKind => (kind === "attention" ? "weight" : "share");

/** As in attnflow's figures of a report of all output tokens, weights cover the paths of all of them. */
const fromAll = ({ document }: Report, kind: GraphKind): boolean =>
  kind === "attention" && document.all_output_tokens === true;

function explain(report: Report, kind: GraphKind): string {
  const { weights, rule } = report.mixing;
  const rows = rule.endsWith("normalized") || rule === "added" ? ", each layer's rows divided by their sums" : "";
  const residual = rule.startsWith("contained") ? "" : ", residual included";
  if (kind === "attention") {
    return `Each line is a layer's weight that ${fromAll(report, kind) ? "an" : "the chosen"} output token can reach (${weights}${residual}${rows}); wider lines are larger weights.`;
  }
  if (kind === "share") {
    const of = report.mixing.name === "attention" ? "" : ` over ${weights}`;
    return `Each line is the share of the chosen output token that passes along it (rollout${of}${residual}${rows}).`;
  }
  const units = report.inLogits("flow") ? `, in logits of ${targetWords(report)}` : "";
  return `Each line is the amount that one maximum flow carries from the output token down to the input token${units}. The bands mark the minimum cut: the arcs that cross it, which start at the ringed nodes, can together carry no more than this flow.`;
}

interface Places {
  x: (i: number) => number;
  y: (l: number) => number;
}

const keyOf = ({ layer, from, to }: Arc) => `${layer} ${from} ${to}`;

interface ArcLineProps extends Places {
  arc: Arc;
  width: number;
  opacity: number;
  value?: number;
}

const ArcLine = ({ arc, x, y, width, opacity, value }: ArcLineProps) => (
  <line
    {...{ x1: x(arc.from), y1: y(arc.layer), x2: x(arc.to), y2: y(arc.layer - 1), "data-value": value }}
    stroke-width={width.toFixed(2)}
    stroke-opacity={opacity.toFixed(3)}
  />
);

interface NodesProps extends Places {
  n: number;
  layer: number;
  toLayer: number;
  masses: Float64Array[] | null;
  radius: (mass: number) => number;
}

/** Nodes of many tokens; those with little mass are combined into one line. */
function Nodes({ n, layer, toLayer, masses, radius, x, y }: NodesProps) {
  let lines = "";
  let nodes = "";
  for (let l = layer; l >= toLayer; --l) {
    lines += `M${x(-0.5)} ${y(l)}H${x(n - 0.5)}`;
    for (const [i, mass] of masses?.[layer - l]?.entries() ?? []) {
      if (mass <= 0.002) continue;
      const r = radius(mass);
      nodes += `M${(x(i) - r).toFixed(1)} ${y(l)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
    }
  }
  return (
    <>
      <path d={lines} stroke="var(--ink)" stroke-opacity={0.2} />
      <path d={nodes} class="node" />
    </>
  );
}

interface TracedProps extends Places {
  arcs: readonly GraphArc[];
  /** whether arcs from a token to itself are included */
  own: boolean;
  stroke: (share: number) => { width: number; opacity: number };
  toLayer: number;
}

/** The paths through the node pointed at, up and down; for a token pointed at elsewhere, those that end there. */
function Traced({ arcs, own, stroke, x, y, toLayer }: TracedProps) {
  const { pointed } = useViewer().state;
  if (!pointed.value) return null;
  const { input, layer, view } = pointed.value;
  const at = view === "graph" && layer !== undefined ? layer : toLayer;
  const paths = pathsThrough(arcs, { layer: at, token: input }, own).sort((a, b) => a.share - b.share);
  return (
    <g class="traced pointing" aria-hidden="true">
      {paths.slice(-400).map(({ arc, share }) => {
        const { width, opacity } = stroke(share);
        return (
          <ArcLine key={keyOf(arc)} {...{ arc, x, y }} width={Math.max(1.5, width)} opacity={Math.max(0.6, opacity)} />
        );
      })}
      <circle cx={x(input)} cy={y(at)} r={8} class="cell" />
    </g>
  );
}

interface StrongLabelsProps {
  labels: readonly string[];
  mass: Float64Array | null;
  always: readonly number[];
  x: (i: number) => number;
  y: number;
  pitch: number;
}

/** Names of as many of the strongest input tokens as fit; positions where none is strong. */
function StrongLabels({ labels, mass, always, x, y, pitch }: StrongLabelsProps) {
  const { report } = useViewer();
  const chosen = useMemo(() => {
    if (!mass) return null;
    const taken: number[] = [];
    const order = [...always, ...[...mass.keys()].sort((a, b) => mass[b] - mass[a])];
    for (const i of order) {
      if (taken.length >= 80) break;
      if (mass[i] <= 0 && !always.includes(i)) break;
      if (taken.every((other) => Math.abs(other - i) * pitch >= 15 * unit())) taken.push(i);
    }
    return taken;
  }, [mass, pitch, always.join()]);
  if (!chosen) {
    return (
      <>
        {tokenTicks(report, [0, report.n], pitch, 60 * unit()).map(({ at, words }) => (
          <text key={at} class="tick" x={x(at)} y={y + 8} text-anchor="middle">
            {words}
          </text>
        ))}
      </>
    );
  }
  return (
    <>
      {chosen.map((i) => (
        <TokenLabel key={i} x={x(i)} y={y} label={labels[i]} level={false} class="label" />
      ))}
    </>
  );
}

function GraphTools({ input, noFlow }: { input: number; noFlow: string | null }) {
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
      {choices.graph.value !== "flow" && (
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

interface GraphReadoutProps {
  found: Found | null;
  layer: number;
  toLayer: number;
  input: number;
}

/** How much of the output token's rollout, or of the flow, passes the node pointed at. */
function GraphTip({ found, layer }: Pick<GraphReadoutProps, "found" | "layer">) {
  const viewer = useViewer();
  const { pointed, choices } = viewer.state;
  const at = pointed.value;
  if (at?.view !== "graph" || at.layer === undefined || !found?.masses) return null;
  const name = (token: number) => <TokenName {...viewer.name(token)} said />;
  return (
    <>
      <b>{percentage(found.masses[layer - at.layer]?.[at.input] ?? 0)}</b> of{" "}
      {found.pair ? "the flow" : <>the rollout of {name(choices.token.value)}</>} passes through {name(at.input)}{" "}
      {at.layer === 0 ? "at the input" : `after layer ${at.layer}`}
    </>
  );
}

function GraphReadout({ found, layer, toLayer, input }: GraphReadoutProps) {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { choices } = state;
  const name = (token: number) => <TokenName {...viewer.name(token)} said />;
  const token = choices.token.value;
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
      {fromAll(report, choices.graph.value) ? "From all output tokens" : <>From {name(token)}</>}, layer {layer} down to{" "}
      {toLayer === 0 ? "the input" : `layer ${toLayer}`}
    </p>
  );
}
