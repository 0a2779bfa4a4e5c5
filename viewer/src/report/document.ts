// The report document as JSON (docs/report-format.md): what C++ writes and this page reads. Names are those of the file.
import type { MixingName } from "./mixings";

/** Part of an array: bytes in base64, compressed or not. */
export interface EncodedBytes {
  dtype: "u8" | "u16" | "f16" | "f32" | "f64";
  encoding: "base64" | "zlib+base64";
  data: string;
}

interface ArrayFields {
  shape: number[];
  /** Largest relative error of a kept value; absent where values are as exact as their dtype. */
  error?: number;
}

export type PlainArray = ArrayFields & EncodedBytes;
/** One logarithmic code a value. */
export type LogArray = ArrayFields & {
  dtype: "log8";
  encoding: EncodedBytes["encoding"];
  data: string;
  decades: number;
  scales: EncodedBytes;
};
/** The largest values of each row; the rest summed. */
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

/** What aggregates the layers' matrices, for every output token after every layer. */
export type Aggregation = "raw" | "rollout" | "flow";
export const AGGREGATIONS: readonly Aggregation[] = ["raw", "rollout", "flow"];
/** What gives each token one number, with a sign, for one prediction (attnflow/attribution/methods.h). */
export type ScoreMethod =
  "logit" | "alti-logit" | "attnlrp" | "gradient-x-input" | "integrated-gradients" | "blank-out";
export const SCORE_METHODS: readonly ScoreMethod[] = [
  "logit",
  "alti-logit",
  "attnlrp",
  "gradient-x-input",
  "integrated-gradients",
  "blank-out",
];
export type Method = Aggregation | ScoreMethod;
export const METHODS: readonly Method[] = [...AGGREGATIONS, ...SCORE_METHODS];

export const isScore = (method: Method): method is ScoreMethod => (SCORE_METHODS as readonly Method[]).includes(method);
/** What holds a method's values: its name with underscores. */
export const arrayName = (method: Method): string => method.replaceAll("-", "_");
const SCORE_ARRAYS: readonly string[] = SCORE_METHODS.map(arrayName);
export const isScoreArray = (array: string): boolean => SCORE_ARRAYS.includes(array.replace(/_generated$/, ""));

export interface Settings {
  method: Method[];
  mixing: MixingName;
  target: string;
  against?: string;
  /** mean, max, min or a head's number */
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
  /** of a part of a character: what people read in its place, "é (1/2)" or "\xC3" */
  shown?: string;
}

export interface ImageFields {
  name: string;
  width: number;
  height: number;
  rows: number;
  columns: number;
  first_patch: number;
  /** left, top, right, bottom of the grid in pixels of the picture */
  seen: [number, number, number, number];
  /** the pixels that the model was given for the grid; reports of before do not say */
  model_input?: { width: number; height: number; channels: number };
  /** what views show; possibly smaller than the original */
  picture: { width: number; height: number; encoding: "png+base64"; data: string };
}

export interface Choice {
  label: string;
  probability: number;
  /** of a generated token's */
  id?: number;
}

export interface Prediction {
  kind: "classification" | "token-class" | "answer" | "masked" | "next";
  position?: number | null;
  choices: Choice[];
  candidates: Choice[];
}

export interface Target {
  kind: "class" | "answer" | "masked" | "next";
  label: string;
  index: number;
  logit: number;
  position?: number;
  /** what it is compared with; without an index: the mean of all others */
  against?: { label: string; logit: number; index?: number };
}

/** Beside the scores of one prediction. */
export interface ScoreSum {
  /** what belongs to no token */
  parts: { name: string; value: number }[];
  /** what scores and parts add up to, where they promise that */
  total?: number;
  /** by how much they miss it */
  error?: number;
}

/** What belongs to a method beside the graph beside its array. */
export interface ScoreFields extends Partial<ScoreSum> {
  method: ScoreMethod;
  /** of a generation, one for each of its tokens in place of the fields above */
  sums?: ScoreSum[];
}

/** How far each map agrees with blanking tokens. */
export interface Agreement {
  quantity: string;
  /** of the whole input */
  value: number;
  /** what stood in for a blanked token */
  blank: string;
  maps: MapAgreement[];
}

export interface MapAgreement {
  method: Method;
  layer?: number;
  rank_correlation?: number;
  /** which the map ranks first */
  first_token: number;
  /** the quantity without it */
  blanked_value: number;
  /** of those compared the one without which the quantity is lowest, and the quantity then; reports of before lack both */
  decisive_token?: number;
  decisive_value?: number;
}

export interface GeneratedToken {
  id: number;
  text: string;
  begin: number;
  end: number;
  special?: boolean;
  /** as of TokenFields */
  shown?: string;
  probability: number;
  choices: Choice[];
  /** with a mixing that explains predictions: that of this token */
  target?: Target;
  agreement?: Agreement;
}

export interface GenerationFields {
  text: string;
  stopped: "length" | "end" | "context" | "interrupted";
  /** how many of the first tokens were given; the model chose the others */
  given?: number;
  chat: boolean;
  temperature: number;
  top_p: number;
  seed: number;
  tokens: GeneratedToken[];
  excluded: { rule: string; tokens: number[] }[];
}

/** What a reader should know beside the numbers (docs/report-format.md, "Notes"). */
export interface Note {
  code: string;
  values: Readonly<Record<string, number | string | readonly (number | string)[]>>;
  /** what is so */
  text: string;
  /** what to do about it, in terms of the command line */
  advice?: string;
}

/** The notes of a document of any version: before version 3 they were sentences. */
export const readNotes = (notes: readonly (Note | string)[] = []): Note[] =>
  notes.map((note) => (typeof note === "string" ? { code: "text", values: {}, text: note } : note));

export interface ReportDocument {
  format: "attnflow-report";
  version: number;
  /** the version of the file, where the page has made this one of it */
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
  agreement?: Agreement;
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

/** The newest version that this page reads. */
const NEWEST_VERSION = 3;

/** Checks what everything else relies on; throws with a sentence for the user. */
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
