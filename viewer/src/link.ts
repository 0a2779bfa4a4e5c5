// The choices as the fragment of the page's address, without the page's defaults: #v=1&m=flow&l=3&t=5. A fragment may
// come from anyone and from any report, so every value is checked against this one.
import { batch } from "@preact/signals";
import { addressWith, followAddress, fragmentParts } from "./address";
import { OVERLAYS } from "./color/overlay";
import { PALETTES } from "./color/scale";
import { LONGEST_PATTERN } from "./filters";
import { isScore, METHODS, type Method } from "./report/document";
import type { Report } from "./report/report";
import { shorten } from "./report/text";
import { ALL_ARCS, MOST_PATHS, type Choices, type State } from "./state";

const VERSION = "1";

interface Field<T> {
  key: string;
  write(value: T): string;
  /** undefined: not a value of this report. `read` holds the method, which is read first */
  read(text: string, report: Report, read: Choices): T | undefined;
}

const whole = (text: string, from: number, to: number) => {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : NaN;
  return value >= from && value <= to ? value : undefined;
};
const oneOf =
  <T extends string>(...names: T[]) =>
  (text: string): T | undefined =>
    names.find((name) => name === text);
const decimal = (text: string, from: number, to: number) => {
  const value = /^\d{1,3}(\.\d{1,6})?(e-\d{1,2})?$/.test(text) ? Number(text) : NaN;
  return value >= from && value <= to ? value : undefined;
};
const plain = <T>(key: string, read: Field<T>["read"]): Field<T> => ({ key, write: String, read });
const share = (key: string): Field<number> => ({
  key,
  write: (value) => String(Number(value.toFixed(4))),
  read: (text) => decimal(text, 0, 1),
});
const flag = (key: string): Field<boolean> => ({
  key,
  write: (value) => (value ? "1" : "0"),
  read: (text) => (text === "1" ? true : text === "0" ? false : undefined),
});

const method = oneOf<Method>(...METHODS);
const layerOf = (text: string, report: Report) => {
  const layer = whole(text, 1, 100_000);
  return layer !== undefined && report.layers.includes(layer) ? layer : undefined;
};

const FIELDS: { [K in keyof Choices]: Field<Choices[K]> } = {
  method: plain("m", (text, report) => {
    const found = method(text);
    const held = report.document.generation !== undefined || (found && isScore(found));
    return found && (!held || report.methods.includes(found)) ? found : undefined;
  }),
  layer: plain("l", layerOf),
  start_layer: plain("d", (text, report) => whole(text, 0, Math.max(...report.layers) - 1)),
  span: {
    key: "l",
    write: ({ kind, from, to }) => (kind === "one" ? String(from) : kind === "range" ? `${from}-${to}` : kind),
    read(text, report, { method, span }) {
      const kind = oneOf("all", "last", "source", "target")(text);
      const ofJoint = kind === "source" || kind === "target";
      if (kind && (!ofJoint || report.joint)) return { ...span, kind };
      const [from, to] = text.split("-", 2).map((part) => whole(part, 1, 100_000));
      // Layers of another method stay chosen under a method that lacks them: the viewer shows others instead.
      const layers = [...report.layersOf(method), ...report.layers];
      const has = (layer?: number): layer is number => layers.includes(layer ?? 0);
      if (!has(from)) return undefined;
      if (!text.includes("-")) return { ...span, kind: "one", from };
      return has(to) && to >= from ? { kind: "range", from, to } : undefined;
    },
  },
  token: plain("t", (text, report) => whole(text, 0, report.choosable - 1)),
  normalized: flag("n"),
  heads: plain(
    "h",
    (text, report) => oneOf("mean", "max", "min")(text) ?? whole(text, 0, report.model.heads - 1)?.toString(),
  ),
  residual: share("r"),
  mask_columns: plain(
    "a",
    (text) =>
      oneOf("none", "first", "special")(text) ??
      (text.length <= 2000 && /^\d{1,7}(,\d{1,7})*$/.test(text) ? text : undefined),
  ),
  discard: share("q"),
  normalize: plain("n", oneOf("none", "row", "receptive-field")),
  skipSpecial: flag("s"),
  skipSink: flag("si"),
  skipPunctuation: flag("pu"),
  skipStopWords: flag("sw"),
  pattern: plain("re", (text) => (text.length <= LONGEST_PATTERN ? text : undefined)),
  generated: flag("g"),
  rules: {
    key: "f",
    write: (rules) => rules.map((on) => (on ? "1" : "0")).join(""),
    read: (text, { excluded }) =>
      /^[01]+$/.test(text) && text.length === excluded.length ? [...text].map((on) => on === "1") : undefined,
  },
  byHand: {
    key: "x",
    // A minus: a token that was included.
    write: (byHand) => [...byHand].map(([token, excluded]) => (excluded ? "" : "-") + token).join("."),
    read(text, { n, document }) {
      const parts = text === "" ? [] : text.split(".", n + 1);
      const byHand = new Map<number, boolean>();
      for (const part of parts) {
        const token = whole(part.replace(/^-/, ""), 0, n - 1);
        if (token !== undefined) byHand.set(token, !part.startsWith("-"));
        // The generated text may differ meanwhile: tokens that it still has are meant all the same.
        else if (!document.generation) return undefined;
      }
      return parts.length > n && !document.generation ? undefined : byHand;
    },
  },
  words: flag("w"),
  ownScale: flag("o"),
  palette: plain("p", oneOf(...PALETTES)),
  threshold: share("c"),
  graph: plain("g", oneOf("paths", "share", "attention", "flow")),
  input: {
    key: "i",
    write: (token) => (token === null ? "" : String(token)),
    read: (text, report) => (text === "" ? null : whole(text, 0, report.n - 1)),
  },
  graphOwn: flag("go"),
  graphArcs: plain("gk", (text) => whole(text, 1, ALL_ARCS)),
  graphPaths: plain("gp", (text) => whole(text, 1, MOST_PATHS)),
  head: plain("hd", (text, report) => whole(text, 0, report.model.heads - 1)),
  comparison: {
    key: "b",
    write(other) {
      if (!other) return "";
      const { method, layer, shares, token } = other;
      return [method, layer, ...(shares ? ["s"] : []), ...(token === undefined ? [] : [`t${token}`])].join(".");
    },
    read: (text, report) => {
      if (text === "") return null;
      const [name, number, ...more] = text.split(".", 4);
      const [found, layer] = [method(name), layerOf(number ?? "", report)];
      if (!found || layer === undefined) return undefined;
      const token = whole(more.find((part) => part.startsWith("t"))?.slice(1) ?? "", 0, report.choosable - 1);
      return { method: found, layer, shares: more.includes("s"), ...(token !== undefined && { token }) };
    },
  },
  overlay: plain("iv", oneOf(...OVERLAYS)),
  opacity: share("io"),
  smooth: flag("is"),
  grey: flag("ig"),
  gridLines: flag("il"),
  fromLeast: { ...flag("im"), write: (on) => (on === null ? "" : on ? "1" : "0") },
  log: flag("lg"),
  sideBySide: flag("ib"),
  comparing: flag("b"),
};
const NAMES = Object.keys(FIELDS) as (keyof Choices)[];
/** Choices of both kinds of page, and those of generations only: some keys differ in meaning. */
const SHARED: readonly (keyof Choices)[] = [
  ...(["method", "token", "skipSpecial", "skipSink", "skipPunctuation", "skipStopWords", "pattern", "byHand"] as const),
  ...(["palette", "threshold", "fromLeast", "log"] as const),
];
const GENERATION: readonly (keyof Choices)[] = ["span", "normalized", "generated", "rules", "comparing"];
export const namesOf = ({ document }: Report) =>
  document.generation ? [...SHARED, ...GENERATION] : NAMES.filter((name) => !GENERATION.includes(name));

/** The fragment for the choices, without "#"; "" if they are the page's defaults. @param names the page's choices */
export function writeLink(
  choices: Choices,
  initial: Choices,
  address: Readonly<Record<string, string>> = {},
  names: readonly (keyof Choices)[] = NAMES,
): string {
  const parts = new URLSearchParams(address);
  for (const name of names) {
    const field = FIELDS[name] as Field<unknown>;
    const text = field.write(choices[name]);
    if (text !== field.write(initial[name])) parts.set(field.key, text);
  }
  const text = parts.toString();
  return text && `v=${VERSION}&${text}`;
}

/** A fragment's choices on top of the defaults, and the parts of it that do not fit: "t=99". */
function parsed(fragment: string, report: Report, initial: Choices): { choices: Choices; unfit: string[] } {
  const choices = { ...initial } as Record<keyof Choices, unknown>;
  const parts = fragmentParts(fragment);
  const version = parts.get("v");
  if (version !== VERSION) return { choices: { ...initial }, unfit: version === null ? [] : [`v=${version}`] };
  const known = new Set(["v", "ask"]);
  const unfit: string[] = [];
  for (const name of namesOf(report)) {
    const field = FIELDS[name] as Field<unknown>;
    known.add(field.key);
    const text = parts.get(field.key);
    const value = text === null ? undefined : field.read(text, report, choices as unknown as Choices);
    if (value !== undefined) choices[name] = value;
    else if (text !== null) unfit.push(`${field.key}=${text}`);
  }
  for (const [key, text] of parts) if (!known.has(key)) unfit.push(`${key}=${text}`);
  return { choices: choices as unknown as Choices, unfit };
}

/** A fragment's choices on top of the defaults. Unknown keys and values that do not fit are ignored. */
export const readLink = (fragment: string, report: Report, initial: Choices): Choices =>
  parsed(fragment, report, initial).choices;

/** The parts of a fragment that the page cannot use, as a sentence; "" if there are none. */
export function misreadOf(fragment: string, { report, initial }: State): string {
  const { unfit } = parsed(fragment, report, initial);
  if (unfit.length === 0) return "";
  const named = unfit.slice(0, 3).map((part) => `“${shorten(part, 24)}”`);
  const more = unfit.length > 3 ? ` and ${unfit.length - 3} more` : "";
  return `The link does not fit this page; left out: ${named.join(", ")}${more}.`;
}

/** Applies a fragment's choices; the rest is reset to the defaults. */
export function restoreLink(fragment: string, state: State) {
  state.restore(readLink(fragment, state.report, state.initial));
}

const fragmentOf = (state: State, choices = state.snapshot()) =>
  writeLink(choices, state.initial, state.address, namesOf(state.report));

export const untouched = (state: State): boolean => fragmentOf(state) === fragmentOf(state, state.initial);

/** Syncs the address and the choices; back and forward step through settled choices. Returns a stop function. */
export function followLink(state: State): () => void {
  // An address with a different question does not apply to this report.
  const mine = () => {
    const parts = new URLSearchParams(location.hash.slice(1));
    return (parts.get("ask") ?? "") === (state.address.ask ?? "");
  };
  let restored = "";
  const restore = () => {
    if (!mine()) return;
    // The valid choices then replace it in the address.
    const { hash } = location;
    restoreLink(hash, state);
    // A move fires two events: by the second, the page has already rewritten the address.
    const again = restored !== "" && hash === `#${restored}`;
    restored = fragmentOf(state);
    if (!again) state.misread.value = misreadOf(hash, state);
  };
  // A page shown again keeps its state.
  if (!state.followed && /^#v=/.test(location.hash)) restore();
  state.followed = true;
  return followAddress({
    fragment() {
      const now = fragmentOf(state);
      // Once something else is chosen, the message has been read.
      if (now !== restored) state.misread.value = "";
      return now;
    },
    settled: () => !state.playing.value && !state.arriving.value,
    onMove() {
      // An address's choices apply to a complete report.
      if (state.growing.peek()) return;
      // In one batch, so that playback does not override the address's choices.
      batch(() => {
        state.playing.value = false;
        restore();
      });
    },
  });
}

/** The page's address with the choices. @param other the comparison is with another report, and so left out */
export function linkOf(state: State, other = false): string {
  const choices = state.snapshot();
  if (other) choices.comparison = null;
  return addressWith(fragmentOf(state, choices));
}
