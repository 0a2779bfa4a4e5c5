// The notes of a report where they are read: in a page, beside what is chosen. The report has them as sentences for
// whoever ran the command, so a table of its phrases says what each is about, and names the page's controls for the
// command's options. A sentence that no entry knows is shown as it is.
import type { Method } from "./document";

/** What is shown, as far as notes depend on it. */
export interface NotePlace {
  /** methods whose values are shown */
  methods: readonly Method[];
  /** the values are those that the notes were written about, not others made since of other settings */
  asWritten: boolean;
  /** the output token is the one that the report chose */
  ownToken: boolean;
  /** whole words are shown */
  words: boolean;
  /** a server answers, and nobody here has a command line */
  served: boolean;
  /** the page has the controls of the recipe: residual, heads, layers, normalisation */
  recipe: boolean;
}

interface Phrase {
  says: RegExp;
  /** of values, which other settings change: not of the input */
  ofValues?: boolean;
  /** absent: always */
  applies?(place: NotePlace): boolean;
  /** the sentence in the page; absent: as it is */
  here?(note: string, place: NotePlace): string;
}

const DEGENERATE_FLOW = /Flow from layers? .* is mostly degenerate/;
export const isOfDegenerateFlow = (note: string): boolean => DEGENERATE_FLOW.test(note);

/** "° 7 of 12 values at layer 5 repeat …": of the flow that is shown; "" where its flags are not known. */
export function degenerateShown(
  flags: ArrayLike<number> | null,
  values: ArrayLike<number> | null,
  where: string,
): string {
  if (!flags || !values) return "";
  let [count, all] = [0, 0];
  for (let i = 0; i < flags.length; ++i) {
    if (!(values[i] > 0)) continue;
    ++all;
    if (flags[i]) ++count;
  }
  const repeat =
    count === 1
      ? "repeats the first layer's attention or is as large as it can be"
      : "repeat the first layer's attention or are as large as they can be";
  return `° ${count} of ${all} flow values shown (${where}) ${repeat}. About other layers and tokens`;
}

const flowShown = ({ methods, asWritten }: NotePlace) => asWritten && methods.includes("flow");
/** What only a command can do, where there is one. */
const byCommand = ({ served }: NotePlace, sentence: string) => (served ? "" : ` ${sentence}`);

const PHRASES: readonly Phrase[] = [
  {
    says: DEGENERATE_FLOW,
    ofValues: true,
    applies: flowShown,
    here(note, place) {
      const another = note.includes("--residual") ? "Another “Down to” or “Residual”" : "Another “Down to”";
      return note
        .replace(/ \(--layers ([\d-]+)\)/, " (“Layer” $1)")
        .replace(/ Another (--to-layer.*) changes that\.$/, (_, options: string) =>
          place.recipe ? ` ${another} above changes that.` : byCommand(place, `Another ${options} changes that.`),
        );
    },
  },
  {
    says: /^The widest enclosure of a flow/,
    ofValues: true,
    applies: flowShown,
    here: (note) => note.replace(/more than --flow-tolerance (\S+);/, "more than the $1 that were asked for;"),
  },
  { says: /^Flow (?:was computed for|was asked for)|^\d+% of the flow values/, ofValues: true, applies: flowShown },
  {
    says: /^Rollout multiplies I \+ G/,
    ofValues: true,
    applies: ({ methods, asWritten }) => asWritten && methods.includes("rollout"),
    here: (note, place) =>
      note.replace(/ --mixing gradient-renormalized or --normalize row makes them shares\.$/, (options) =>
        place.recipe ? " “Normalise: rows” above makes them shares." : byCommand(place, options.trim()),
      ),
  },
  { says: /^Receptive-field normalisation: /, ofValues: true, applies: ({ asWritten }) => asWritten },
  {
    says: /^--referents WORD,WORD compares/,
    here: (note, { served }) =>
      served
        ? note.replace("--referents WORD,WORD", "“Words of the text to compare”, under Options,")
        : `attnflow explain ${note}`,
  },
  {
    says: /^Rows of the attention were taken as they are/,
    here: (note) => note.replace(" (--any-weights)", ""),
  },
  {
    says: /^No token is marked as a mask or class token/,
    applies: ({ ownToken }) => ownToken,
    here: (note) => note.replace(/; --output-token chooses another/, "; “Output token” above chooses another"),
  },
  {
    says: /the output token is the last of them, at position \d+\. --words/,
    applies: ({ ownToken, words }) => ownToken && !words,
    here: (note) => note.replace(/ --words merges/, " “Whole words” above merges"),
  },
  {
    says: /a json or npz file has all numbers\.$/,
    here: (note, { served }) => (served ? note.replace(/; a json or npz file has all numbers\.$/, ".") : note),
  },
  {
    says: /--drop-sink sets that token aside\.$/,
    here: (note, { served }) =>
      note.replace(
        /--drop-sink sets that token aside\.$/,
        `“Filters” leaves it out of rankings and colours; ${
          served ? "“Without attention on the first token”, under Options, sets" : "attnflow generate --drop-sink sets"
        } it aside in every layer.`,
      ),
  },
  {
    says: /--set-aside first sets that token aside\.$/,
    applies: ({ asWritten, ownToken }) => asWritten && ownToken,
    here: (note, place) =>
      note.replace(/ --set-aside first sets that token aside\.$/, (sentence) =>
        place.recipe ? " “Set aside” above can leave it out in every layer." : byCommand(place, sentence.trim()),
      ),
  },
  {
    says: /--normalize receptive-field takes that advantage away\.$/,
    ofValues: true,
    applies: ({ methods, asWritten, ownToken }) => asWritten && ownToken && methods.includes("rollout"),
    here: (note, place) =>
      note.replace(
        / (--normalize receptive-field) (takes that advantage away\.)$/,
        (_, option: string, rest: string) =>
          place.recipe
            ? ` “Normalise: by receptive field” above ${rest}`
            : byCommand(place, `attnflow's ${option} ${rest}`),
      ),
  },
  {
    says: /^--chat: the model's template begins/,
    here(note, { served }) {
      const options = served ? "“System prompt”, under Options," : "attnflow generate --system TEXT";
      return note
        .replace(/^--chat: the model's template/, "The model's chat template")
        .replace(/; --system TEXT replaces it, --system "" empties it\.$/, `; ${options} replaces it.`)
        .replace(/; --system TEXT writes/, `; ${options} writes`);
    },
  },
];

/** Whether a note is of values, which other settings change: it is not of the input. */
export const isOfValues = (note: string): boolean =>
  PHRASES.some(({ says, ofValues }) => Boolean(ofValues) && says.test(note));

/** The notes that apply to what is shown, each once, in the page's words. */
export function notesHere(notes: readonly string[], place: NotePlace): string[] {
  const said = notes.flatMap((note) => {
    const phrase = PHRASES.find(({ says }) => says.test(note));
    if (phrase?.applies?.(place) === false) return [];
    return [phrase?.here?.(note, place) ?? note];
  });
  return [...new Set(said)];
}
