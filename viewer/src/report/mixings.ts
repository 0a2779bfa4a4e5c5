// The table of mixings: the kinds of matrix that a layer can be given (attnflow/attribution/mixings.h).
import table from "../../../attnflow/attribution/mixings.json";

/** How the residual connection enters a layer's matrix of weights W (attnflow/graph/mixing.h, ResidualRule). */
export type ResidualRule = "convex" | "added" | "added-normalized" | "contained" | "contained-normalized";

/** The part of a model's computation that a mixing is made from. */
type Needs = "attention" | "terms" | "gradients" | "relevance";

export type MixingName = string;

export interface MixingInfo {
  name: MixingName;
  needs: Needs;
  /** what captions call a layer's weights */
  weights: string;
  rule: ResidualRule;
  /** only for layers that normalize after each residual connection */
  norms_after?: boolean;
  /** a clause for those who choose */
  help: string;
}

/** Whether a mixing is made for one prediction. */
export const hasTarget = ({ needs }: MixingInfo): boolean => needs === "gradients" || needs === "relevance";

/** All that a report can be made of: a report names what "auto" stood for. */
export const MIXINGS: readonly MixingInfo[] = (table as MixingInfo[]).filter(({ name }) => name !== "auto");
export const MIXING_NAMES: readonly MixingName[] = MIXINGS.map(({ name }) => name);

/** The row of a name in a document; attention if the page does not know it. */
export const mixingInfo = (name: string): MixingInfo => MIXINGS.find((one) => one.name === name) ?? MIXINGS[0];

/** The rule by which flow takes such matrices: capacities of I + W are shares, those of relevance keep their size. */
export const flowRule = (rule: ResidualRule): ResidualRule =>
  rule === "added" ? "added-normalized" : rule === "contained-normalized" ? "contained" : rule;
