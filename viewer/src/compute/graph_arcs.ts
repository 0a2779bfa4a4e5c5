// The arcs that the picture of the graph shows, and the mass at its nodes: those of attnflow's figures, by the definition
// of attnflow/attribution/graph_arcs.h. Rows whose arcs cannot be strong enough are not looked at, so that a picture of
// thousands of tokens takes no longer than its strong arcs do.
import { MAX_ARCS, WEAKEST_ARC, type ArcKind } from "../figures";
import type { ResidualRule } from "../report/mixings";
import type { Mixing } from "./mixing";
import { residualOf, rolloutMasses } from "./rollout";
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
  /** whether some are strong enough, but beyond the number that a picture may have */
  more: boolean;
  /** mass at the nodes of each layer from the top down; null: it has no meaning */
  masses: Float64Array[] | null;
}

export interface ArcQuestion {
  mixing: Mixing;
  rule: ResidualRule;
  residual: number;
  layer: number;
  toLayer: number;
  /** null: all, 1 / n of each */
  outputToken: number | null;
  kind: ArcKind;
  /** weaker arcs than this share of the strongest are not shown */
  floor?: number;
  most?: number;
}

/** The strongest of many. */
class Strongest {
  arcs: GraphArc[] = [];
  private limit = 0;
  /** Weight of the strongest that fell out. */
  private weaker = 0;

  constructor(private readonly most: number) {}

  add(layer: number, from: number, to: number, weight: number) {
    // Of equal ones a later may come before those that are kept.
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

  /** Of sorted arcs. */
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
    // What fell out early, when the strongest was not known yet, may be too weak by now.
    const more = this.weaker > 0 && this.weaker >= floor * strongest;
    const arcs = this.arcs.filter((arc) => arc.weight >= floor * strongest);
    return { arcs, strongest, more };
  }
}

/** Arcs on the paths from the output token, of A with the residual. */
export function* graphArcs(question: ArcQuestion): Work<GraphArcs> {
  const { mixing, rule, residual, layer, toLayer, kind, floor = WEAKEST_ARC, most = MAX_ARCS } = question;
  const { n } = mixing;
  const start = question.outputToken ?? new Float64Array(n).fill(1 / n);
  const masses = rolloutMasses({ ...question, outputToken: start });
  yield;
  const found = new Strongest(most);
  const shares = kind === "share";
  let strongest = 0;
  for (let k = layer; k > toLayer; --k) {
    const mass = masses[layer - k];
    const weights = k === layer ? mixing.top : mixing.below;
    const order = [...mass.keys()].filter((q) => mass[q] > 0);
    // Strong nodes first: they say which others cannot have a strong arc.
    if (shares) order.sort((a, b) => mass[b] - mass[a]);
    for (const q of order) {
      if (shares && mass[q] < floor * strongest) break;
      const row = weights.row(k, q);
      const { own, stays } = residualOf(rule, residual, () => weights.sum(k, q));
      for (let j = 0; j < n; ++j) {
        const mixed = own * row[j] + (j === q ? stays : 0);
        const weight = shares ? mass[q] * mixed : mixed;
        if (weight > strongest) strongest = weight;
        if (weight > 0 && weight >= floor * strongest) found.add(k, q, j, weight);
      }
      yield;
    }
  }
  return { ...found.finish(floor), masses: shares ? masses : null };
}
