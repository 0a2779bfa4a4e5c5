// What the page shares with attnflow's figures and tables: one table for all, so that a report looks the same in each.
import table from "../../attnflow/base/figures.json";

/** At most this many arcs in a picture of the graph; attnflow/attribution/graph_arcs.h says why. */
export const MAX_ARCS = table.arcs.max;
/** Of each node so many, its strongest to other tokens. */
export const ARCS_PER_NODE = table.arcs.per_node;
/** Weaker arcs than this share of the strongest are not shown. */
export const WEAKEST_ARC = table.arcs.weakest;

/**
 * What blank-out says of a map (tables say the same): rank correlations from which agreement has this name, and which
 * share of the largest fall a map's first token has to bring about for the map to count as right about it.
 */
export const AGREEMENT = table.agreement;

/** The blue scale, from nothing to the strongest. */
export const BLUES: readonly string[] = table.blues;

/** Values with signs: from tokens that argue against, through nothing, to those that argue for. */
export const RED_BLUE: readonly string[] = table.red_blue;

/** What arcs show: the share that runs through them, or the weight of a matrix. */
export type ArcKind = "share" | "weight";

/**
 * How wide and dark an arc is, 0 to 1. Shares spread out towards the input: there it grows with the square root, so
 * that an arc of a hundredth of the strongest still shows.
 */
export const arcStrength = (share: number, kind: ArcKind): number => (kind === "share" ? Math.sqrt(share) : share);

export const arcOpacity = (strength: number): number =>
  table.arcs.faintest_opacity + table.arcs.opacity_range * strength;
