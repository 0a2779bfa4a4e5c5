// Constants shared with attnflow's figures and tables: one source, so that a report looks the same in each.
import table from "../../attnflow/base/figures.json";

/** The most arcs in a picture of the graph; attnflow/attribution/graph_arcs.h says why. */
export const MAX_ARCS = table.arcs.max;
/** The most arcs per node: its strongest to other tokens. */
export const ARCS_PER_NODE = table.arcs.per_node;
/** Arcs weaker than this share of the strongest are not shown. */
export const WEAKEST_ARC = table.arcs.weakest;

/** The rank correlation with the check from which a map's agreement is strong, or weak. */
export const AGREEMENT = table.agreement;

/** Where all others have less than this share of a row's sum, an attention sink holds nearly everything. */
export const LEAST_BESIDE_SINK = table.sink.least_beside;

/** The blue scale, from zero to the strongest. */
export const BLUES: readonly string[] = table.blues;

/** Signed values: from tokens that argue against, through zero, to those that argue for. */
export const RED_BLUE: readonly string[] = table.red_blue;

/** The quantity arcs show: the share that runs through them, or a matrix's weight. */
export type ArcKind = "share" | "weight";

/** An arc's width and darkness, 0 to 1: for shares, which spread out towards the input, the square root. */
export const arcStrength = (share: number, kind: ArcKind): number => (kind === "share" ? Math.sqrt(share) : share);

export const arcOpacity = (strength: number): number =>
  table.arcs.faintest_opacity + table.arcs.opacity_range * strength;
