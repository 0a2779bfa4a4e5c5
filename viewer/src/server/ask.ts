// A request to the server, as the part "ask" of an address, repeated when that is opened. Pictures do not fit into an
// address; it names the picture that was shown.
import { LONGEST_ASK } from "../address";
import { METHODS, type Method } from "../report/document";

/** The fields an address may hold, by their API names. The server checks the values. */
const FIELDS = {
  text: {
    text: "string",
    model: "string",
    pair: "string",
    target_text: "string",
    truncate: "boolean",
    mixing: "string",
    target: "string",
    against: "string",
    method: "methods",
    candidates: "string",
    referents: "string",
    only_output_token: "boolean",
  },
  prompt: {
    prompt: "string",
    model: "string",
    method: "methods",
    tokens: "number",
    chat: "boolean",
    system: "string",
    temperature: "number",
    top_p: "number",
    seed: "number",
    mask_columns: "string",
    layers: "string",
    mixing: "string",
    begin_with: "numbers",
  },
  /** the picture's name; whether it is one of the model's examples */
  picture: {
    picture: "string",
    model: "string",
    example: "boolean",
    mixing: "string",
    target: "string",
    against: "string",
    method: "methods",
  },
} as const;
type Fields = typeof FIELDS;
interface Types {
  string: string;
  number: number;
  boolean: boolean;
  methods: Method[];
  numbers: number[];
}

type AskOf<Kind extends keyof Fields> = {
  -readonly [Name in keyof Fields[Kind]]?: Types[Fields[Kind][Name] & keyof Types];
} & Record<Kind, string>;
export type TextAsk = AskOf<"text">;
export type PromptAsk = AskOf<"prompt">;
export type PictureAsk = AskOf<"picture">;
export type Ask = TextAsk | PromptAsk | PictureAsk;

/** For the address; "" if it is too long for one. */
function written(kind: keyof Fields, body: Record<string, unknown>): string {
  const parts = Object.entries(FIELDS[kind]).filter(([name]) => body[name] !== undefined);
  const text = JSON.stringify(
    // Lists of words are sent as typed.
    Object.fromEntries(parts.map(([name, type]) => [name, type === "string" ? String(body[name]) : body[name]])),
  );
  return text.length <= LONGEST_ASK ? text : "";
}

export const writeTextAsk = (body: Record<string, unknown>) => written("text", body);
export const writePromptAsk = (body: Record<string, unknown>) => written("prompt", body);
/** @param edges what is asked about the prediction (Question.edges) */
export const writePictureAsk = (picture: string, model: string, example = false, edges: object = {}) =>
  written("picture", { picture, model, ...(example && { example }), ...edges });

function isOf(type: keyof Types, value: unknown): boolean {
  if (type !== "methods" && type !== "numbers") return typeof value === type;
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((one) => (type === "methods" ? METHODS.includes(one as Method) : Number.isSafeInteger(one)));
}

/** Accepts only known names with values of their types: the address is untrusted. */
export function readAsk(text: string): Ask | null {
  if (text.length > LONGEST_ASK) return null;
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    const kind = (Object.keys(FIELDS) as (keyof Fields)[]).find((name) => typeof value?.[name] === "string");
    if (!value || !kind) return null;
    // The form in older addresses.
    if (value.drop_sink === true) value.mask_columns = "first";
    const parts = Object.entries(FIELDS[kind]).filter(([name, type]) => isOf(type as keyof Types, value[name]));
    return Object.fromEntries(parts.map(([name]) => [name, value[name]])) as Ask;
  } catch {
    return null;
  }
}

export const askOfAddress = () => new URLSearchParams(location.hash.slice(1)).get("ask") ?? "";
