// How the numbers are made from the layers' attention: what a report was computed with, and what its page may change.
import type { Settings } from "./document";

/** Under their names in the document, in requests and, with dashes, on the command line: attnflow's defaults. */
export const USUAL_RECIPE = {
  residual: 0.5,
  /** mean, max, min or a head's index */
  heads: "mean",
  /** m: how far down the explanation goes; 0: the input */
  start_layer: 0,
  /** columns that are set to zero: none, first, special, or positions "0,5" */
  mask_columns: "none",
  /** share of each layer's smallest weights that is set to zero */
  discard: 0,
  normalize: "none",
} satisfies Partial<Settings>;

export type Recipe = Pick<Settings, keyof typeof USUAL_RECIPE>;
export type Normalize = Recipe["normalize"];
export const RECIPE = Object.keys(USUAL_RECIPE) as (keyof Recipe)[];

/** The settings with values looked up by name. */
export const recipeBy = (value: (name: keyof Recipe) => Recipe[keyof Recipe]): Recipe =>
  Object.fromEntries(RECIPE.map((name) => [name, value(name)])) as unknown as Recipe;

export const recipeOf = ({ settings }: { settings: Settings }): Recipe => recipeBy((name) => settings[name]);

export const recipesApart = (a: Recipe, b: Recipe) => RECIPE.filter((name) => a[name] !== b[name]);

/** The settings that a command has to give. */
export const unusualIn = (recipe: Recipe) => RECIPE.filter((name) => recipe[name] !== USUAL_RECIPE[name]);
