// The picture of the graph: layers as rows of nodes, tokens as columns, arcs between them.
import type { RefObject } from "preact";
import { useMemo } from "preact/hooks";
import { walkWithKeys } from "../components/arrow_keys";
import { textWidth, unit } from "../components/measure";
import { pathsThrough, type GraphArc } from "../compute/graph_arcs";
import type { Arc } from "../compute/max_flow";
import { useViewer } from "../context";
import { arcOpacity, arcStrength } from "../figures";
import { format } from "../report/text";
import type { GraphKind } from "../state";
import { printing } from "../theme";
import { Cut, cutBands } from "./flow_cut";
import { TokenLabel, tokenTicks } from "./picture";
import { arcKind, type ShownGraph } from "./shown_graph";

/** Above this many tokens, only some are named, and all nodes are drawn as one path. */
const MOST_NAMED = 64;

interface Places {
  x: (token: number) => number;
  y: (layer: number) => number;
}

export interface GraphLayout extends Places {
  /** every token has its node and its name */
  named: boolean;
  /** names are horizontal */
  level: boolean;
  /** where the layers' names end */
  left: number;
  pitch: number;
  size: { width: number; height: number };
  /** the node nearest to the pointer; i is -1 beside the tokens */
  locate(event: MouseEvent): { i: number; l: number };
}

interface Extent extends Pick<ShownGraph, "layer" | "toLayer"> {
  n: number;
  layers: number;
}

/** @param labelWidth of the widest name @param width of the box */
export function graphLayout({ n, layers, layer, toLayer }: Extent, labelWidth: number, width: number): GraphLayout {
  const u = unit();
  const steps = Math.max(1, layer - toLayer);
  const named = n <= MOST_NAMED;
  const left = 12 + textWidth(`Layer ${layers}`);
  const room = width - left - 10;
  const pitch = named ? Math.max((printing.value ? 13 : 20) * u, Math.min(300 * u, room / n)) : room / n;
  const level = named && labelWidth + 8 <= pitch;
  const rise = u * Math.max(30, Math.min(58, 520 / steps));
  // The tokens are named above as well.
  const top = named ? (level ? 30 * u : labelWidth + 20 * u) : 14;
  const bottom = level ? 32 * u : labelWidth + 22 * u;
  return {
    ...{ named, level, left, pitch },
    x: (i) => left + (i + 0.5) * pitch,
    y: (l) => top + (layer - l) * rise,
    size: { width: left + n * pitch + 8, height: top + steps * rise + bottom },
    locate(event) {
      const frame = (event.currentTarget as Element).getBoundingClientRect();
      const i = Math.floor((event.clientX - frame.left - left) / pitch);
      const at = (event.clientY - frame.top - top) / rise;
      const l = Math.max(toLayer, Math.min(layer, layer - Math.round(at)));
      return { i: i >= 0 && i < n ? i : -1, l };
    },
  };
}

/** A node's, by a share from 0 to 1. */
export const radius = (share: number) => unit() * (2 + 7 * Math.sqrt(Math.min(1, share)));

/** A share of what passes that is too small to be drawn as such. */
const LITTLE = 0.002;
/** The share that a node of the input has the size of, which has no feed-forward net. */
const AT_INPUT = 0.1;

/**
 * The share that sizes a node: of what passes it or, over relevance, what of that goes through the feed-forward net. The
 * latter says nothing of how much that is, so nodes beside the lines are small.
 */
const sizeOf = (
  { feedForward }: ShownGraph,
  lined: ReadonlySet<string>,
  l: number,
  i: number,
  mass: number,
): number => {
  if (feedForward === null) return mass;
  if (!lined.has(nodeKey(l, i))) return 0;
  return l === 0 ? AT_INPUT : feedForward(l, i);
};

const nodeKey = (l: number, i: number) => `${l} ${i}`;

/** The nodes where lines begin or end. */
const linedBy = (arcs: readonly Arc[]): ReadonlySet<string> =>
  new Set(arcs.flatMap(({ layer, from, to }) => [nodeKey(layer, from), nodeKey(layer - 1, to)]));

export interface Stroke {
  width: number;
  opacity: number;
}

/** How a line looks, by its share of the strongest. */
export const strokeOf = (kind: GraphKind, share: number): Stroke => {
  const strength = arcStrength(share, arcKind(kind));
  return { width: 0.4 + 4.6 * strength, opacity: arcOpacity(strength) };
};

interface PartProps {
  shown: ShownGraph;
  layout: GraphLayout;
  labels: readonly string[];
}

interface GraphPictureProps extends PartProps {
  svg: RefObject<SVGSVGElement>;
  box: RefObject<HTMLElement>;
  width: number;
}

export function GraphPicture({ shown, layout, labels, svg, box, width }: GraphPictureProps) {
  const viewer = useViewer();
  const { n } = viewer.report;
  const { choices, pointed } = viewer.state;
  const { kind, token, layer, toLayer, found } = shown;
  const { x, y, size, named, locate } = layout;
  const { pair = null, arcs = [] } = found ?? {};
  const bands = useMemo(() => (pair ? cutBands(pair) : []), [pair]);
  const begins = useMemo(() => new Set(pair?.cut.map((arc) => nodeKey(arc.layer, arc.from))), [pair]);
  const lined = useMemo(() => linedBy(arcs), [found]);
  const massAt = (l: number, i: number) => (found?.masses ? (found.masses[layer - l]?.[i] ?? 0) : 0.1);

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
        viewer.announcement.value = `${layerName(l)}, ${labels[i]}: ${format(massAt(l, i))} passes`;
        box.current?.scrollTo({ left: x(i) - width / 2 });
      },
      choose: ({ column, row }) => choose(column, row),
    });
  };
  return (
    <svg
      ref={svg}
      {...size}
      viewBox={`0 0 ${size.width} ${size.height}`}
      role="application"
      tabindex={0}
      aria-label={`Graph of ${layer - toLayer} layers and ${n} tokens. Arrow keys read nodes, Enter chooses a token.`}
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
      <g class="lines" stroke={viewer.scale.value.css(1, 1)}>
        {[...arcs].reverse().map((arc) => {
          const look = strokeOf(kind, arc.weight / (found?.strongest || 1));
          return <ArcLine key={keyOf(arc)} {...{ arc, x, y }} {...look} value={arc.weight} />;
        })}
      </g>
      {!named && found && <Nodes {...{ n, shown, lined, x, y }} masses={found.masses} />}
      {Array.from({ length: layer - toLayer + 1 }, (_, at) => (
        <LayerRow key={layer - at} l={layer - at} {...{ shown, layout, labels, massAt, begins, lined }} />
      ))}
      {bands.length > 0 && <Cut bands={bands} x={x} y={y} width={size.width} />}
      <Traced arcs={arcs} kind={kind} {...{ x, y, toLayer }} />
      {named ? (
        <Labels {...{ shown, layout, labels }} />
      ) : (
        <StrongLabels
          labels={labels}
          mass={found?.masses?.at(-1) ?? null}
          always={kind === "flow" ? [shown.input] : []}
          x={x}
          y={y(toLayer) + 14}
          pitch={layout.pitch}
        />
      )}
    </svg>
  );
}

const layerName = (l: number) => (l === 0 ? "Input" : `Layer ${l}`);

const classes = (...names: (string | false)[]) => names.filter(Boolean).join(" ");

interface LayerRowProps extends PartProps {
  l: number;
  massAt(layer: number, token: number): number;
  /** the nodes that arcs of the minimum cut start at */
  begins: ReadonlySet<string>;
  /** the nodes where lines begin or end */
  lined: ReadonlySet<string>;
}

/** A layer's name and nodes; if there are too many, only those of the tokens chosen. */
function LayerRow({ l, shown, layout: { x, y, left, named }, labels, massAt, begins, lined }: LayerRowProps) {
  const { kind, token, layer, toLayer, input, allows } = shown;
  const top = l === layer;
  const flowsHere = kind === "flow" && l === toLayer;
  return (
    <g>
      <text x={left - 12} y={y(l) + 4 * unit()} text-anchor="end">
        {layerName(l)}
      </text>
      {named &&
        labels.map((_, i) => {
          const mass = massAt(l, i);
          const chosen = i === token && top;
          const sink = flowsHere && i === input;
          return (
            <circle
              key={i}
              cx={x(i)}
              cy={y(l)}
              r={sink ? 6 : radius(sizeOf(shown, lined, l, i, mass)).toFixed(2)}
              class={classes("node", chosen && "chosen", sink && "sink", begins.has(nodeKey(l, i)) && "begins")}
              fill-opacity={mass > LITTLE || chosen ? (kind === "flow" || allows(i) ? 1 : 0.3) : 0.25}
            />
          );
        })}
      {!named && top && <circle cx={x(token)} cy={y(l)} r={7} class="node chosen" />}
      {!named && flowsHere && <circle cx={x(input)} cy={y(l)} r={6} class="node sink" />}
    </g>
  );
}

function Labels({ shown, layout, labels }: PartProps) {
  const { report } = useViewer();
  const { kind, token, input, layer, toLayer, allows } = shown;
  const { x, y, level } = layout;
  return (
    <>
      {[false, true].map((above) =>
        labels.map((label, i) => (
          <TokenLabel
            key={`${i} ${above}`}
            x={x(i)}
            y={above ? y(layer) - 14 : y(toLayer) + 14}
            label={label}
            level={level}
            above={above}
            title={report.tokens[i].label}
            class={classes(
              "label",
              (i === token || (!above && kind === "flow" && i === input)) && "chosen",
              kind !== "flow" && !allows(i) && "excluded",
            )}
          />
        )),
      )}
    </>
  );
}

export const keyOf = ({ layer, from, to }: Arc) => `${layer} ${from} ${to}`;

interface ArcLineProps extends Places, Stroke {
  arc: Arc;
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
  shown: ShownGraph;
  lined: ReadonlySet<string>;
  masses: Float64Array[] | null;
}

/** Nodes of many tokens; those with little mass are combined into one line. */
function Nodes({ n, shown, lined, masses, x, y }: NodesProps) {
  const { layer, toLayer } = shown;
  let lines = "";
  let nodes = "";
  for (let l = layer; l >= toLayer; --l) {
    lines += `M${x(-0.5)} ${y(l)}H${x(n - 0.5)}`;
    for (const [i, mass] of masses?.[layer - l]?.entries() ?? []) {
      if (mass <= LITTLE) continue;
      const r = radius(sizeOf(shown, lined, l, i, mass));
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
  kind: GraphKind;
  toLayer: number;
}

/** The paths through the node pointed at, up and down; for a token pointed at elsewhere, those that end there. */
function Traced({ arcs, kind, x, y, toLayer }: TracedProps) {
  const { pointed, choices } = useViewer().state;
  if (!pointed.value) return null;
  const { input, layer, view } = pointed.value;
  const at = view === "graph" && layer !== undefined ? layer : toLayer;
  // A flow has arcs from a token to itself, too.
  const own = choices.graphOwn.value || kind === "flow" || kind === "paths";
  const paths = pathsThrough(arcs, { layer: at, token: input }, own).sort((a, b) => a.share - b.share);
  return (
    <g class="traced pointing" aria-hidden="true">
      {paths.slice(-400).map(({ arc, share }) => {
        const { width, opacity } = strokeOf(kind, share);
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
