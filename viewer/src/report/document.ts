// The report document as JSON, with the file's names (docs/report-format.md).
import table from "../../../attnflow/attribution/methods.json";
import type { MixingName } from "./mixings";

export interface EncodedBytes {
  dtype: "u8" | "u16" | "f16" | "f32" | "f64";
  encoding: "base64" | "zlib+base64";
  data: string;
}

interface ArrayFields {
  shape: number[];
  /** Largest relative error of a stored value; absent if values are as exact as their dtype. */
  error?: number;
}

export type PlainArray = ArrayFields & EncodedBytes;
/** One logarithmic code per value. */
export type LogArray = ArrayFields & {
  dtype: "log8";
  encoding: EncodedBytes["encoding"];
  data: string;
  decades: number;
  scales: EncodedBytes;
};
/** The largest values of each row, and the sum of the rest. */
export type TopArray = ArrayFields & {
  dtype: "top";
  decades: number;
  counts: EncodedBytes;
  columns: EncodedBytes;
  codes: EncodedBytes;
  scales: EncodedBytes;
  rest: EncodedBytes;
};
export type EncodedArray = PlainArray | LogArray | TopArray;

/** Methods that aggregate the layers' matrices, for every output token after every layer. */
export type Aggregation = "raw" | "rollout" | "flow";
/** Methods that give each token one signed number for one prediction (attnflow/attribution/methods.h). */
export type ScoreMethod =
  "logit" | "alti-logit" | "attnlrp" | "gradient-x-input" | "integrated-gradients" | "blank-out";
export type Method = Aggregation | ScoreMethod;
export const METHODS = table.map(({ name }) => name) as readonly Method[];
export const AGGREGATIONS = METHODS.filter((_, m) => table[m].needs === "graph") as readonly Aggregation[];
export const SCORE_METHODS = METHODS.filter((_, m) => table[m].needs !== "graph") as readonly ScoreMethod[];

export const isScore = (method: Method): method is ScoreMethod => (SCORE_METHODS as readonly Method[]).includes(method);
/** Name of the array with a method's values: the method's name with underscores. */
export const arrayName = (method: Method): string => method.replaceAll("-", "_");
const SCORE_ARRAYS: readonly string[] = SCORE_METHODS.map(arrayName);
export const isScoreArray = (array: string): boolean => SCORE_ARRAYS.includes(array.replace(/_generated$/, ""));

export interface Settings {
  method: Method[];
  mixing: MixingName;
  target: string;
  against?: string;
  /** mean, max, min or a head's index */
  heads: string;
  residual: number;
  discard: number;
  discard_keep_special: boolean;
  mask_columns: string;
  layers: number[];
  start_layer: number;
  output_token: string;
  normalize: "none" | "row" | "receptive-field";
  words: boolean;
  flow_tolerance: number;
  top_k: number;
}

export interface ModelFields {
  name: string;
  architecture: string;
  layers: number;
  heads: number;
  causal: boolean;
}

export interface TokenFields {
  text: string;
  begin?: number | null;
  end?: number | null;
  special?: boolean;
  word?: number | null;
  segment?: number;
  unknown?: boolean;
  role?: string;
  /** for part of a character: the display text, "é (1/2)" or "\xC3" */
  shown?: string;
}

export interface ImageFields {
  name: string;
  width: number;
  height: number;
  rows: number;
  columns: number;
  first_patch: number;
  /** left, top, right, bottom of the grid in picture pixels */
  seen: [number, number, number, number];
  /** the model's input size in pixels for the grid; absent from older reports */
  model_input?: { width: number; height: number; channels: number };
  /** the picture for display; possibly smaller than the original */
  picture: { width: number; height: number; encoding: "png+base64"; data: string };
}

export interface Choice {
  label: string;
  probability: number;
  /** for a generated token's */
  id?: number;
}

export interface Prediction {
  kind: "classification" | "token-class" | "answer" | "masked" | "next" | "embedding";
  position?: number | null;
  choices: Choice[];
  candidates: Choice[];
}

export interface Target {
  kind: "class" | "answer" | "masked" | "next" | "embedding" | "similarity";
  label: string;
  index: number;
  logit: number;
  position?: number;
  /** what it is compared with; without an index: the mean of `others`, or of all others */
  against?: {
    label: string;
    logit: number;
    index?: number;
    others?: { label: string; index: number; logit: number }[];
  };
  title?: string;
  /** what its value is: "logit difference"; absent from older reports */
  quantity?: string;
}

/** What accompanies the scores of one prediction. */
export interface ScoreSum {
  /** contributions that belong to no token */
  parts: { name: string; value: number }[];
  /** what scores and parts add up to, for methods that guarantee a total */
  total?: number;
  /** by how much they miss it */
  error?: number;
}

/** A score method's fields apart from its array. */
export interface ScoreFields extends Partial<ScoreSum> {
  method: ScoreMethod;
  /** for a generation: one per generated token, in place of the fields above */
  sums?: ScoreSum[];
}

/** A token that stood in for another. */
export interface Replacement {
  text: string;
  /** its weight in the drop */
  fit?: number;
  /** the quantity with it */
  value: number;
}

/** What the prediction loses without a token: the mean over its replacements, with its standard error. */
export interface CheckedToken {
  token: number;
  drop: number;
  spread?: number;
  /** none for a blank */
  replacements?: Replacement[];
}

/** What the prediction depends on, found by replacing tokens, and what each map says of that. */
export interface Check {
  quantity: string;
  /** for the whole input */
  value: number;
  /** what replaced the tokens, if not others */
  blank?: string;
  /** of the drops, from 0 to 1 */
  reliability?: number;
  /** tokens that could have been checked, and were not */
  left_out?: number;
  /** the tokens that were not checked because nothing fits in their place, by position */
  irreplaceable?: number[];
  tokens: CheckedToken[];
  maps: MapCheck[];
}

/** How far a map agrees with the check. */
export type Level = "strong" | "weak" | "none" | "unknown";

export interface MapCheck {
  method: Method;
  layer?: number;
  rank_correlation?: number;
  /** how many tokens were compared */
  compared?: number;
  /** the token that the map ranks first */
  first_token: number;
  /** the compared token with the largest drop; older reports lack it */
  decisive_token?: number;
  /** the token that the map ranks above all compared ones, if nothing fits in its place */
  unchecked_token?: number;
  /** the verdict, that on the top token, that on the order, and sentences that say these; older reports lack them */
  level?: Level;
  top_level?: Level;
  order_level?: Level;
  effect?: string;
  order?: string;
}

/** The probability of a picture's class while patches are removed, or come back, in the order of a map. */
export interface Curve {
  order: Method;
  /** shares of the patches, from 0 to 1 */
  steps: number[];
  /** with only the first of the order, this share of the patches; without them */
  insertion: number[];
  deletion: number[];
}

/** One of the two questions about a map, and what the check says of it. */
export interface Verdict {
  question: "top" | "order";
  level: Level;
  text: string;
}

/** The first sentences: the prediction, and the map that the check agrees with best. */
export interface AnswerFields {
  /** "“Angie”, 63%, rather than “the”, “her”, “a” and 7 others" */
  headline: string;
  /** absent if the report holds no values */
  method?: Method;
  /** the map in words: "flow over relevance" */
  map?: string;
  verdicts: Verdict[];
}

export interface GeneratedToken {
  id: number;
  text: string;
  begin: number;
  end: number;
  special?: boolean;
  shown?: string;
  probability: number;
  choices: Choice[];
  target?: Target;
  check?: Check;
}

export interface GenerationFields {
  text: string;
  stopped: "length" | "end" | "context" | "interrupted";
  /** how many of the first tokens were given rather than chosen by the model */
  given?: number;
  chat: boolean;
  temperature: number;
  top_p: number;
  seed: number;
  tokens: GeneratedToken[];
  excluded: { rule: string; tokens: number[] }[];
}

/** What readers should know about the numbers (docs/report-format.md, "Notes"). */
export interface Note {
  code: string;
  values: Readonly<Record<string, number | string | readonly (number | string)[]>>;
  text: string;
  /** what to do about it, in terms of the command line */
  advice?: string;
}

/** The notes of a document of any version: before version 3 they were plain sentences. */
export const readNotes = (notes: readonly (Note | string)[] = []): Note[] =>
  notes.map((note) => (typeof note === "string" ? { code: "text", values: {}, text: note } : note));

export interface ReportDocument {
  format: "attnflow-report";
  version: number;
  /** the file's version, if the page converted it */
  upgraded_from?: number;
  settings: Settings;
  model: ModelFields;
  input: {
    kind: "text" | "attention" | "image" | "generation";
    text: string;
    text_pair?: string;
    tokens: TokenFields[];
    image?: ImageFields;
  };
  predictions?: Prediction[];
  target?: Target;
  scores?: ScoreFields[];
  check?: Check;
  /** of a picture's best map, if there was time for it */
  curve?: Curve;
  /** older reports lack it */
  answer?: AnswerFields;
  output_token?: number;
  all_output_tokens?: boolean;
  output_tokens?: number[];
  flow_output_tokens?: number[];
  flow_layers?: number[];
  flow_gap_max?: number;
  referents?: { text: string; tokens: number[] }[];
  generation?: GenerationFields;
  notes: Note[];
  arrays: Record<string, EncodedArray>;
}

/** The newest version that this page can read. */
const NEWEST_VERSION = 3;

/** Checks the fields that all other code relies on; throws with a sentence for the user. */
export function checkDocument(value: unknown): { version: number } {
  const document = value as { format?: string; version?: number } | null;
  if (typeof document !== "object" || document === null || document.format !== "attnflow-report") {
    throw new Error(`expected a report of attnflow, found ${JSON.stringify(value)?.slice(0, 80)}`);
  }
  const { version } = document;
  if (!Number.isInteger(version) || (version as number) < 1) {
    throw new Error(`expected the number of the report's version, found ${JSON.stringify(version)}`);
  }
  if ((version as number) > NEWEST_VERSION) {
    throw new Error(
      `this page reads reports up to version ${NEWEST_VERSION}, and found version ${version}; open it with a newer attnflow`,
    );
  }
  return document as { version: number };
}
