// A page's first sentences: the prediction, what the model chose it over, and the map that the check agrees with best. A
// document's `answer` has all of that for its own output token, in the words of figures and tables
// (attnflow/report/report_answer.h). This is for documents without it, and for the other tokens of a generation.
import { isScore, type Check, type GeneratedToken, type MapCheck, type Method, type Target } from "./document";
import { percentage } from "./text";

/** So many alternatives are named; the others are counted. */
const MOST_NAMED = 3;

/** The strongest alternatives to a prediction, and how many more there are. */
export interface Contrast {
  named: readonly string[];
  /** null: some, but how many is not known */
  more: number | null;
  /** labels are words of a text, which stand in quotes, not names of classes */
  quoted: boolean;
  /** in place of names: "the other classes" */
  rest: string;
}

/** Null if the logit alone is explained. */
export function contrastOf({ kind, against }: Target): Contrast | null {
  if (!against) return null;
  const quoted = kind !== "class";
  const others = against.index !== undefined ? [against] : (against.others ?? []);
  const labels = others.map(({ label }) => label);
  // One more name takes no more room than "1 other".
  const count = labels.length === MOST_NAMED + 1 ? labels.length : MOST_NAMED;
  const rest = labels.length > 0 ? "" : "all others";
  return { named: labels.slice(0, count), more: Math.max(0, labels.length - count), quoted, rest };
}

/** The most probable tokens, including the chosen one, whose index is `chosen`. */
export function alternatives(token: GeneratedToken) {
  const choices = [...token.choices];
  // A choice is written for display, "Paris"; a token as in the vocabulary, "ĠParis"; both hold the same probability.
  const isIt = (one: { label: string; probability: number }) =>
    one.label === token.text || one.probability === token.probability;
  let chosen = choices.findIndex(isIt);
  if (chosen < 0) chosen = choices.push({ label: token.text, probability: token.probability }) - 1;
  return { choices, chosen };
}

/** The alternatives to a generated token: its target's contrast, else the choices beside it. */
export function contrastOfToken(token: GeneratedToken): Contrast | null {
  if (token.target) return contrastOf(token.target);
  const { choices, chosen } = alternatives(token);
  const labels = choices.filter((_, k) => k !== chosen).map(({ label }) => label.trim() || label);
  return labels.length > 0 ? { named: labels.slice(0, MOST_NAMED), more: null, quoted: true, rest: "" } : null;
}

/** "7 others"; "others" if their number is not known. */
export const othersWords = (more: number | null): string =>
  more === null ? "others" : `${more} ${more === 1 ? "other" : "others"}`;

/** The contrast as plain text: "“the”, “her”, “a” and 7 others". */
export function contrastWords({ named, more, quoted, rest }: Contrast): string {
  if (rest) return rest;
  const names = named.map((label) => (quoted ? `“${label}”` : label));
  const last = more === 0 ? names.pop() : othersWords(more);
  return names.length > 0 ? `${names.join(", ")} and ${last}` : String(last);
}

/** A probability in a headline: "63%", with more digits near the ends. */
export const headlinePercent = (probability: number): string =>
  probability >= 0.01 && probability < 0.99 ? `${Math.round(100 * probability)}%` : percentage(probability);

/** "“Paris”"; a class has a name of its own. */
export const labelOf = ({ kind, label }: Target): string => (kind === "class" ? label : `“${label}”`);

/** "“Paris” rather than “the”": a target with its contrast, as plain text. */
export function choiceWords(target: Target): string {
  const contrast = contrastOf(target);
  const label = labelOf(target);
  return contrast ? `${label} rather than ${contrastWords(contrast)}` : label;
}

const LEVELS: readonly MapCheck["level"][] = ["strong", "weak", undefined, "unknown", "none"];
/** With fewer tokens, an order is not judged (attnflow/report/report_check.h). */
const FEWEST_FOR_ORDER = 6;

/** The map with the best verdict, then the highest rank correlation, then the leading one; null if none was checked. */
export function bestChecked(check: Check | undefined, methods: readonly Method[], leading: Method): Method | null {
  const maps = (check?.maps ?? []).filter(({ method }) => methods.includes(method) && !isScore(method));
  const order = ({ compared = Infinity, rank_correlation: rho }: MapCheck) =>
    compared < FEWEST_FOR_ORDER ? -2 : (rho ?? -2); // below every correlation
  const [best] = [...maps].sort(
    (a, b) =>
      LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) ||
      order(b) - order(a) ||
      Number(b.method === leading) - Number(a.method === leading),
  );
  return best?.method ?? null;
}
