// How the numbers are made of the layers' attention: what a report was computed with, and what its page may change.
import type { Report } from "./report";

export type Normalize = "none" | "row" | "receptive-field";

export interface Recipe {
  /** m: how far down the explanation goes; 0: the input */
  toLayer: number;
  /** mean, max, min or a head's number */
  heads: string;
  residual: number;
  /** columns that are set to zero: none, first, special, or positions "0,5" */
  setAside: string;
  /** share of each layer's smallest weights that is set to zero */
  discard: number;
  normalize: Normalize;
}

/** The recipe that a report was made by. */
export const recipeOf = ({ settings }: Pick<Report, "settings">): Recipe => ({
  toLayer: settings.to_layer,
  heads: settings.heads,
  residual: settings.residual,
  setAside: settings.set_aside,
  discard: settings.discard,
  normalize: settings.normalize,
});
