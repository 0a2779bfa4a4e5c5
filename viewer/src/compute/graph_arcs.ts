// The arcs in the picture of the graph and the mass at its nodes, as in attnflow's figures (graph_arcs.h). Rows without
// a strong enough arc are skipped, so that the time for thousands of tokens depends on the strong arcs alone.
import { ARCS_PER_NODE, MAX_ARCS, WEAKEST_ARC, type ArcKind } from "../figures";
import type { ResidualRule } from "../report/mixings";
import type { Mixing } from "./mixing";
import type { Numbers } from "../report/values";
import { rolloutMasses, Steps, type Passing } from "./rollout";
import type { Work } from "./slices";

/** (layer, from) -> (layer - 1, to). */
export interface GraphArc {
  layer: number;
  from: number;
  to: number;
  weight: number;
}

export interface GraphArcs {
  /** the strongest first */
  arcs: GraphArc[];
  strongest: number;
  /** whether more arcs are strong enough than a picture may have */
  more: boolean;
  /** mass at the nodes of each layer from the top down; null where it has no meaning */
  masses: Float64Array[] | null;
}

export interface ArcQuestion {
  mixing: Mixing;
  rule: ResidualRule;
  residual: number;
  layer: number;
  toLayer: number;
  /** null: all, with mass 1 / n each */
  outputToken: number | null;
  kind: ArcKind;
  /** arcs weaker than this share of the strongest are not shown */
  floor?: number;
  most?: number;
  /** whether to include arcs from a token to itself, which the residual connection makes strong */
  own?: boolean;
  perNode?: number;
  allows?: (token: number) => boolean;
}

class Strongest {
  arcs: GraphArc[] = [];
  private limit = 0;
  private weaker = 0;

  constructor(private readonly most: number) {}

  add(layer: number, from: number, to: number, weight: number) {
    // An arc of equal weight may sort before those that are kept.
    if (weight < this.limit) {
      this.weaker = Math.max(this.weaker, weight);
      return;
    }
    this.arcs.push({ layer, from, to, weight });
    if (this.arcs.length >= 4 * this.most) this.shrink();
  }

  private shrink() {
    this.sort();
    this.cut();
    this.limit = this.arcs[this.most - 1].weight;
  }

  private cut() {
    if (this.arcs.length <= this.most) return;
    this.weaker = Math.max(this.weaker, this.arcs[this.most].weight);
    this.arcs.length = this.most;
  }

  private sort() {
    this.arcs.sort((a, b) => b.weight - a.weight || a.layer - b.layer || a.from - b.from || a.to - b.to);
  }

  finish(floor: number): { arcs: GraphArc[]; strongest: number; more: boolean } {
    this.sort();
    this.cut();
    const strongest = this.arcs[0]?.weight ?? 0;
    // Arcs dropped before the strongest was known may be below the floor by now.
    const more = this.weaker > 0 && this.weaker >= floor * strongest;
    const arcs = this.arcs.filter((arc) => arc.weight >= floor * strongest);
    return { arcs, strongest, more };
  }
}

/** The strongest of one node's arcs; ties go to the first tokens. */
function strongestOf(arcs: GraphArc[], most: number): GraphArc[] {
  return arcs.length <= most ? arcs : arcs.sort((a, b) => b.weight - a.weight || a.to - b.to).slice(0, most);
}

/** The entry [q, j] of A, the matrix with the residual connection. */
const mixedAt = ({ own, stays }: Passing, row: Numbers, enters: Numbers | null, q: number, j: number): number =>
  own * row[j] * (enters ? enters[j] : 1) + (j === q ? stays : 0);

/** Arcs on the paths from the output token in A, the matrix with the residual connection. */
export function* graphArcs(question: ArcQuestion): Work<GraphArcs> {
  const { mixing, layer, toLayer, kind, floor = WEAKEST_ARC, most = MAX_ARCS } = question;
  const { own: withOwn = false, perNode = ARCS_PER_NODE, allows = () => true } = question;
  const { n } = mixing;
  const start = question.outputToken ?? new Float64Array(n).fill(1 / n);
  const steps = new Steps({ ...question, outputToken: start });
  const masses = rolloutMasses(steps);
  yield;
  const found = new Strongest(most);
  const shares = kind === "share";
  let strongest = 0;
  for (let k = layer; k > toLayer; --k) {
    const mass = masses[layer - k];
    const weights = steps.weights(k);
    const enters = steps.enters(k);
    const order = [...mass.keys()].filter((q) => mass[q] > 0);
    // Strong nodes first: their arcs show which other nodes cannot have a strong one.
    if (shares) order.sort((a, b) => mass[b] - mass[a]);
    for (const q of order) {
      if (shares && mass[q] < floor * strongest) break;
      if (!allows(q)) continue;
      const row = weights.row(k, q);
      const mine: GraphArc[] = [];
      const passing = steps.passing(k, q, mass[q]);
      for (let j = 0; j < n; ++j) {
        if ((j === q && !withOwn) || !allows(j)) continue;
        const mixed = mixedAt(passing, row, enters, q, j);
        const weight = shares ? passing.passed * mixed : mixed;
        if (weight > strongest) strongest = weight;
        if (weight > 0 && weight >= floor * strongest) mine.push({ layer: k, from: q, to: j, weight });
      }
      for (const { to, weight } of strongestOf(mine, perNode)) found.add(k, q, to, weight);
      yield;
    }
  }
  return { ...found.finish(floor), masses: shares ? masses : null };
}

export interface PathQuestion extends Pick<ArcQuestion, "mixing" | "rule" | "residual" | "layer" | "toLayer"> {
  outputToken: number;
  /** how many input tokens have a path */
  paths: number;
  allows?: (token: number) => boolean;
}

/**
 * The strongest path from the output token down to each of the input tokens that most of its rollout goes back to. The
 * share of the rollout that takes a path is the product of the shares along it, so the strongest paths to all tokens of
 * a layer follow from those of the layer above (Viterbi): O((layer - toLayer) n²). An arc's weight is all that passes
 * along it, on this path or another.
 */
export function* strongestPaths(question: PathQuestion): Work<GraphArcs> {
  const { mixing, layer, toLayer, outputToken, paths, allows = () => true } = question;
  const { n } = mixing;
  const steps = new Steps({ ...question, outputToken });
  const masses = rolloutMasses(steps);
  yield;
  let best = new Float64Array(n);
  best[outputToken] = 1;
  /** by layer, from the top: where the strongest path to each token of the layer below comes from, and what passes */
  const above: { from: Int32Array; weight: Float64Array }[] = [];
  for (let k = layer; k > toLayer; --k) {
    const mass = masses[layer - k];
    const enters = steps.enters(k);
    const next = new Float64Array(n);
    const step = { from: new Int32Array(n).fill(-1), weight: new Float64Array(n) };
    for (let q = 0; q < n; ++q) {
      if (!(best[q] > 0) || !(mass[q] > 0)) continue;
      const row = steps.weights(k).row(k, q);
      const passing = steps.passing(k, q, mass[q]);
      for (let j = 0; j < n; ++j) {
        const weight = passing.passed * mixedAt(passing, row, enters, q, j);
        const share = (best[q] * weight) / mass[q];
        if (!(share > next[j]) || !allows(j)) continue;
        next[j] = share;
        step.from[j] = q;
        step.weight[j] = weight;
      }
      yield;
    }
    above.push(step);
    best = next;
  }
  const arrived = masses[masses.length - 1];
  const ends = [...best.keys()].filter((j) => best[j] > 0).sort((a, b) => arrived[b] - arrived[a] || a - b);
  const arcs = new Map<string, GraphArc>();
  for (const end of ends.slice(0, paths)) {
    for (let [k, to] = [toLayer + 1, end]; k <= layer; ++k) {
      const { from, weight } = above[layer - k];
      arcs.set(`${k} ${from[to]} ${to}`, { layer: k, from: from[to], to, weight: weight[to] });
      to = from[to];
    }
  }
  const sorted = [...arcs.values()].sort((a, b) => b.weight - a.weight || a.layer - b.layer || a.to - b.to);
  return { arcs: sorted, strongest: sorted[0]?.weight ?? 0, more: false, masses };
}

/** Paths are not followed below this share of what passes the node. */
const FOLLOWED = 0.05;

/**
 * The paths through a node among the arcs shown, through all layers: for each arc, the share of the node's flow that it
 * carries. If arcs from a token to itself are not shown, half is assumed to stay in place.
 */
export function pathsThrough(
  arcs: readonly GraphArc[],
  node: { layer: number; token: number },
  own: boolean,
): { arc: GraphArc; share: number }[] {
  const stays = own ? 0 : 0.5;
  const found: { arc: GraphArc; share: number }[] = [];
  const follow = (down: boolean) => {
    const begins = ({ layer, from, to }: GraphArc) => (down ? [layer, from] : [layer - 1, to]);
    const at = new Map<string, GraphArc[]>();
    for (const arc of arcs) {
      const key = begins(arc).join();
      const there = at.get(key);
      if (there) there.push(arc);
      else at.set(key, [arc]);
    }
    let here = new Map([[node.token, 1]]);
    const [least, most] = arcs.reduce(
      ([a, b], { layer }) => [Math.min(a, layer - 1), Math.max(b, layer)],
      [Infinity, 0],
    );
    for (let layer = node.layer; down ? layer > least : layer < most; layer += down ? -1 : 1) {
      const next = new Map<number, number>();
      const arrive = (token: number, share: number) => next.set(token, (next.get(token) ?? 0) + share);
      for (const [token, part] of here) {
        const mine = at.get(`${layer},${token}`) ?? [];
        const sum = mine.reduce((all, { weight }) => all + weight, 0);
        if (stays > 0) arrive(token, part * (sum > 0 ? stays : 1));
        for (const arc of mine) {
          const share = part * (1 - stays) * (arc.weight / sum);
          if (share < FOLLOWED) continue;
          found.push({ arc, share });
          arrive(down ? arc.to : arc.from, share);
        }
      }
      here = new Map([...next].filter(([, share]) => share >= FOLLOWED));
    }
  };
  follow(true);
  follow(false);
  return found;
}
