// A report's notes as shown in a page. A note states a fact and advises the person who ran the command. A table says
// what each kind of note depends on, and which of the page's controls (not options) follows the advice.
import { isScore, type Method, type Note } from "./document";

export interface NotePlace {
  methods: readonly Method[];
  /** the values are those that the notes were written about, not made since with other settings */
  asWritten: boolean;
  /** the output token is the one that the report chose */
  ownToken: boolean;
  words: boolean;
  /** a server answers, and the reader has no command line */
  served: boolean;
  /** the page has the recipe's controls: residual, heads, layers, normalization */
  recipe: boolean;
  /** the page is in a frame, with few controls; advice then names Python's options */
  embedded?: boolean;
  /** the page of a generation that also has normalized values */
  normalized?: boolean;
}

/** A note as worded in the page. */
export type ShownNote = Pick<Note, "code" | "text">;

interface Kind {
  /** about values, which other settings change, rather than about the input */
  ofValues?: boolean;
  /** absent: always */
  applies?(place: NotePlace): boolean;
  /** the statement, if the note's own words mention an option */
  text?(note: Note): string;
  /** what to do in the page; absent or "": the note's advice, unless it is a command-line option */
  advice?(place: NotePlace, note: Note): string;
}

const shows = (method: Method) => (place: NotePlace) => place.asWritten && place.methods.includes(method);
const inRecipe =
  (advice: string) =>
  ({ recipe }: NotePlace) =>
    recipe ? advice : "";
const onServer =
  (advice: string) =>
  ({ served }: NotePlace) =>
    served ? advice : "";

const quoted = (text: unknown) => `“${String(text)}”`;
const namesOption = (text = "") => /(^|\s)--[a-z]/.test(text);

const SECOND_TOKEN_SINK: Kind = {
  ofValues: true,
  applies: (place) => place.ownToken && shows("rollout")(place),
  advice: ({ recipe, normalized }) =>
    recipe || normalized
      ? `${recipe ? "“Normalize: by receptive field”" : "“Normalized by receptive field”"} above removes that advantage.`
      : "",
};

/** How the report chose the output token. */
const OUTPUT_TOKEN: Kind = {
  applies: ({ ownToken }) => ownToken,
  advice: () => "“Output token” above chooses another.",
};

/** By code; docs/report-format.md lists all codes. */
export const KINDS: Readonly<Record<string, Kind>> = {
  "flow-degenerate": {
    ofValues: true,
    applies: shows("flow"),
    advice({ recipe }, { values }) {
      if (String(values.mixing).startsWith("relevance")) return "";
      const look = `Look at rollout instead, or at flow from fewer layers (“Layer” ${String(values.fewer_layers)})`;
      const another = values.mixing === "attention" ? "“Start layer” or “Residual weight”" : "“Start layer”";
      return recipe ? `${look}, or choose another ${another} above.` : `${look}.`;
    },
  },
  "wide-gap": { ofValues: true, applies: shows("flow") },
  "flow-time-limit": { ofValues: true, applies: shows("flow") },
  "flow-tokens-not-generated": { ofValues: true, applies: shows("flow") },
  "default-mixing": {
    advice: inRecipe("“Mixing” above offers attention, as in the paper."),
  },
  "attention-by-option": {
    advice: inRecipe("“Mixing” above offers the others."),
  },
  // Shown below the headline.
  "not-the-answer": { applies: () => false },
  "not-checked": {},
  "rollout-not-shares": {
    ofValues: true,
    applies: shows("rollout"),
    advice: inRecipe("“Normalize: rows” above makes each row sum to 1."),
  },
  "small-baseline": { ofValues: true, applies: ({ asWritten, methods }) => asWritten && !methods.every(isScore) },
  "referents-possible": { advice: onServer("Name the words in “Candidate antecedents”, under Options.") },
  "output-token-guessed": OUTPUT_TOKEN,
  "output-token-middle": OUTPUT_TOKEN,
  "output-token-surest": OUTPUT_TOKEN,
  "output-token-answer": OUTPUT_TOKEN,
  "output-token-of-word": {
    applies: ({ ownToken, words }) => ownToken && !words,
    advice: ({ embedded }) => (embedded ? "" : "“Whole words” above merges the tokens of each word."),
  },
  "attention-sink": {
    applies: ({ asWritten, ownToken, methods }) => asWritten && ownToken && !methods.every(isScore),
    advice: inRecipe("“Mask columns” above can mask it in every layer."),
  },
  "attention-sink-generated": {
    advice: ({ served }) =>
      `Where it takes most, rankings and colors exclude it${served ? "; “Mask the first token”, under Options, masks it in every layer" : ""}.`,
  },
  "second-token-sink": SECOND_TOKEN_SINK,
  "second-token-sink-generated": SECOND_TOKEN_SINK,
  "negative-relevance": { applies: ({ methods }) => !methods.every(isScore) },
  "target-first-token": {
    text: ({ values: { option, word, tokens, token } }) =>
      `The ${option === "against" ? "word to compare with" : "target"}, ${quoted(word)}, is ${String(tokens)} tokens; the model predicts one at a time, so only the first, ${quoted(token)}, is explained.`,
  },
  "system-turn": { advice: onServer("“System prompt”, under Options, replaces it.") },
};

export const isOfDegenerateFlow = ({ code }: ShownNote): boolean => code === "flow-degenerate";

export interface Degenerate {
  count: number;
  all: number;
}

/** How many of the ranked tokens' flow values are degenerate; null if that is not known. */
export function degenerateIn(
  flags: ArrayLike<number> | null,
  values: ArrayLike<number> | null,
  counts: readonly boolean[],
): Degenerate | null {
  if (!flags || !values) return null;
  let [count, all] = [0, 0];
  for (let i = 0; i < flags.length; ++i) {
    if (!(values[i] > 0) || !counts[i]) continue;
    ++all;
    if (flags[i]) ++count;
  }
  return { count, all };
}

/** "Flow says little here: …" */
export const degenerateWords = ({ count, all }: Degenerate): string =>
  `Flow ${2 * count >= all ? "says little here" : "says little about some tokens"}: ${count} of ${all} ranked values are set by the first or last layer alone (°). Rollout, or flow from fewer layers, may say more.`;

export const isOfValues = ({ code }: Note): boolean => KINDS[code]?.ofValues === true;

/** The notes that apply to what is shown, each once, in the page's words. */
export function notesHere(notes: readonly Note[], place: NotePlace): ShownNote[] {
  const said = new Map<string, ShownNote>();
  for (const note of notes) {
    const kind: Kind = KINDS[note.code] ?? {};
    if (kind.applies?.(place) === false) continue;
    const advice = kind.advice?.(place, note) || (place.served || namesOption(note.advice) ? "" : note.advice);
    const what = kind.text?.(note) ?? note.text;
    const text = advice ? `${what} ${advice}` : what;
    said.set(text, { code: note.code, text });
  }
  return [...said.values()];
}
