// What was asked of the server, as the part "ask" of an address: it is asked again when the address is opened. Pictures
// do not fit into an address; theirs says which one was shown.
import { LONGEST_ASK } from "../address";
import { METHODS, type Method } from "../report/document";

const TEXT = ["model", "text", "pair", "mixing", "target", "candidates", "referents"] as const;
const LONGEST_LAYERS = 200;

export type TextAsk = { text: string } & Partial<Record<(typeof TEXT)[number], string>>;

/** By the names of the API. */
export interface PromptAsk {
  prompt: string;
  model?: string;
  method?: Method[];
  tokens?: number;
  chat?: boolean;
  system?: string;
  temperature?: number;
  top_p?: number;
  seed?: number;
  drop_sink?: boolean;
  layers?: string;
}

/** `picture`: its name. */
export interface PictureAsk {
  picture: string;
  model?: string;
  /** the picture is one of the model's examples, by its file's name */
  example?: boolean;
}

export type Ask = TextAsk | PromptAsk | PictureAsk;

type Checks<T> = { [K in keyof T]-?: (value: unknown) => boolean };

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isWhole = (from: number, to: number) => (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to;
const isNumber = (fits: (value: number) => boolean) => (value: unknown) =>
  typeof value === "number" && Number.isFinite(value) && fits(value);

const PROMPT: Checks<PromptAsk> = {
  prompt: isText,
  model: isText,
  method: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= 3 &&
    value.every((one) => METHODS.includes(one as Method)),
  tokens: isWhole(1, 4096),
  chat: isFlag,
  system: isText,
  temperature: isNumber((value) => value >= 0),
  top_p: isNumber((value) => value > 0 && value <= 1),
  seed: isWhole(0, Number.MAX_SAFE_INTEGER),
  drop_sink: isFlag,
  layers: (value) => typeof value === "string" && value.length <= LONGEST_LAYERS,
};
const PICTURE: Checks<PictureAsk> = { picture: isText, model: isText, example: isFlag };

/** For the address; "" when it is too long for one. */
const written = (ask: Ask) => {
  const text = JSON.stringify(ask);
  return text.length <= LONGEST_ASK ? text : "";
};

export function writeTextAsk(body: Record<string, unknown>): string {
  const parts = TEXT.filter((name) => body[name] !== undefined).map((name) => [name, String(body[name])]);
  return written(Object.fromEntries(parts) as TextAsk);
}

export function writePromptAsk(body: Record<string, unknown>): string {
  const names = (Object.keys(PROMPT) as (keyof PromptAsk)[]).filter((name) => body[name] !== undefined);
  return written(Object.fromEntries(names.map((name) => [name, body[name]])) as unknown as PromptAsk);
}

export const writePictureAsk = (picture: string, model: string, example = false) =>
  written({ picture, model, ...(example ? { example } : {}) });

function checked<T>(value: Record<string, unknown>, checks: Checks<T>): T {
  const names = Object.keys(checks) as (keyof T & string)[];
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(value, name) && checks[name](value[name])).map((name) => [name, value[name]]),
  ) as T;
}

/** Known names with fitting values only: the address may come from anyone. */
export function readAsk(text: string): Ask | null {
  if (text.length > LONGEST_ASK) return null;
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof value !== "object" || value === null) return null;
    if (typeof value.text === "string") {
      const parts = TEXT.filter((name) => typeof value[name] === "string").map((name) => [name, value[name]]);
      return Object.fromEntries(parts) as TextAsk;
    }
    if (typeof value.prompt === "string") return checked(value, PROMPT);
    if (typeof value.picture === "string") return checked(value, PICTURE);
    return null;
  } catch {
    return null;
  }
}

/** What the page's address asks; "" when it asks nothing. */
export const askOfAddress = () => new URLSearchParams(location.hash.slice(1)).get("ask") ?? "";
