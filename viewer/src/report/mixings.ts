// What the layers' matrices may be made of: the page's counterpart of attnflow/attribution/mixings.cc.

/** How the residual connection enters a layer's matrix of weights W (attnflow/graph/mixing.h, ResidualRule). */
export type ResidualRule = "convex" | "added" | "added-normalized" | "contained" | "contained-normalized";

/** What the model must provide for it. */
type Needs = "attention" | "terms" | "gradients";

export const MIXING_NAMES = [
  ...(["attention", "gradient", "gradient-renormalized", "norm", "globenc", "alti", "ifr"] as const),
  ...(["value-zeroing", "relevance", "relevance-by-head"] as const),
];
export type MixingName = (typeof MIXING_NAMES)[number];

export interface MixingInfo {
  name: MixingName;
  needs: Needs;
  /** what captions call a layer's weights */
  weights: string;
  /** for rollout */
  rule: ResidualRule;
  /** a clause that helps to choose */
  help: string;
}

const GRADIENT = "gradient-adjusted attention";
const info = (name: MixingName, needs: Needs, weights: string, rule: ResidualRule, help: string): MixingInfo => ({
  ...{ name, needs, weights, rule, help },
});

export const MIXINGS: readonly MixingInfo[] = [
  info("attention", "attention", "attention", "convex", "attention weights, as in the paper"),
  info("gradient", "gradients", GRADIENT, "added", "attention weighted by the gradient of the prediction"),
  info(
    "gradient-renormalized",
    "gradients",
    GRADIENT,
    "added-normalized",
    "the same, with rows normalized for rollout as well",
  ),
  info("norm", "terms", "contributions (norm)", "contained", "norm of the vector that each token adds to another"),
  info("globenc", "terms", "contributions (GlobEnc)", "contained", "the same through a whole layer of BERT"),
  info(
    "alti",
    "terms",
    "contributions (ALTI)",
    "contained",
    "how much closer each token's contribution comes to the layer's output",
  ),
  info("ifr", "terms", "contributions (IFR)", "contained", "the same, head by head"),
  info(
    "value-zeroing",
    "terms",
    "contributions (value zeroing)",
    "convex",
    "how much the output changes without a token's values",
  ),
  info(
    "relevance",
    "gradients",
    "relevance",
    "contained-normalized",
    "how much each token contributes to the prediction",
  ),
  info(
    "relevance-by-head",
    "gradients",
    "relevance (by head)",
    "contained-normalized",
    "the same, computed for each head separately; meant for flow",
  ),
];

/** The mixing with a document's name for it; attention if the page does not know it. */
export const mixingInfo = (name: string): MixingInfo => MIXINGS.find((one) => one.name === name) ?? MIXINGS[0];

/**
 * The rule that flow uses for such matrices: capacities of I + W are shares, while those of relevance keep their size.
 */
export const flowRule = (rule: ResidualRule): ResidualRule =>
  rule === "added" ? "added-normalized" : rule === "contained-normalized" ? "contained" : rule;
