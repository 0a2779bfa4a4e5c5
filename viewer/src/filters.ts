// Which tokens are left out of rankings and of colour scales. They take part in every computation all the same.

const STOP_WORDS = new Set(
  (
    "a about above after again against all am an and any are as at be because been before being below between both but by can " +
    "could did do does doing down during each few for from further had has have having he her here hers herself him himself his " +
    "how i if in into is it its itself just me more most my myself no nor not now of off on once only or other our ours " +
    "ourselves out over own same she should so some such than that the their theirs them themselves then there these they " +
    "this those through to too under until up very was we were what when where which while who whom why will with would you " +
    "your yours yourself yourselves"
  ).split(" "),
);

/** English stop words, and what consists of punctuation and symbols alone. */
export function isStopWord(label: string): boolean {
  return STOP_WORDS.has(label.trim().toLowerCase()) || /^[\p{P}\p{S}\p{Z}⏎⇥␣]+$/u.test(label);
}

export const LONGEST_PATTERN = 100;
// Long enough for any word; a slow expression stays quick on so few characters.
const LONGEST_TEXT = 60;

const MOST_CHOICES = 4;

/** How many places of an expression may match in several ways: quantifiers, and groups of alternatives. */
function countChoices(bare: string): number {
  // "(?:", "(?=" and "(?<" begin groups; a "?" after a quantifier makes it lazy.
  let count = bare.replaceAll("(?", "(").match(/(?:[*+?]|\{[^}]*\}?)\??/g)?.length ?? 0;
  const alternatives: boolean[] = [];
  for (const letter of bare) {
    if (letter === "(") alternatives.push(false);
    else if (letter === ")" && alternatives.pop()) ++count;
    else if (letter === "|" && alternatives.length > 0) alternatives[alternatives.length - 1] = true;
  }
  return count;
}

/**
 * A regular expression from what was typed or stands in a link.
 *
 * A link may come from anyone. A repeated group ("(a+)+$") may take exponential time, and so may many places that match
 * in two ways ("a?a?a?…", "(a|)(a|)(a|)…"): such groups are refused, and more than a few such places.
 */
export function readPattern(text: string): { expression: RegExp | null; problem: string } {
  if (text === "") return { expression: null, problem: "" };
  if (text.length > LONGEST_PATTERN) return { expression: null, problem: `at most ${LONGEST_PATTERN} characters` };
  // Escapes ("\p{L}" too) and sets of characters repeat nothing.
  const bare = text.replace(/\\(?:[pPu]\{[^}]*\}|[^])/g, "_").replace(/\[[^\]]*\]/g, "_");
  if (/\)[*+{]/.test(bare)) return { expression: null, problem: "a group may not be repeated here" };
  if (countChoices(bare) > MOST_CHOICES) {
    return { expression: null, problem: "at most four repetitions or groups of alternatives" };
  }
  try {
    return { expression: new RegExp(text, "iu"), problem: "" };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /, "") : String(error);
    return { expression: null, problem: reason.toLowerCase() };
  }
}

export const matches = (pattern: RegExp, label: string) => pattern.test(label.slice(0, LONGEST_TEXT));

/** What share of a row's sum lies on tokens that do not count; null where there is nothing to share. */
export function massSetAside(values: ArrayLike<number>, counts: readonly boolean[]): number | null {
  let [all, aside] = [0, 0];
  for (let i = 0; i < values.length; ++i) {
    if (!(values[i] > 0 && values[i] < Infinity)) continue;
    all += values[i];
    if (!counts[i]) aside += values[i];
  }
  return all > 0 ? aside / all : null;
}
