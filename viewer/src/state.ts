// What is chosen in the page. One signal a choice, so that a view is drawn again only when what it reads changes; all
// views read the same ones, which is what links them. `Choices` are kept in the link (URL fragment); what the pointer is
// over is not.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Overlay } from "./color/overlay";
import type { PaletteName } from "./color/scale";
import { isStopWord, matches, readPattern } from "./filters";
import type { Method } from "./report/document";
import type { Recipe } from "./report/recipe";
import type { Report } from "./report/report";
import type { WordReport } from "./report/words";

/** What the arcs of the graph show. */
export type GraphKind = "share" | "attention" | "flow";
/** What is shown beside, with the difference; null: nothing. */
export type Comparison = {
  method: Method;
  layer: number;
  /** each side divided by its sum, so that methods of different sums can be set against each other */
  shares: boolean;
} | null;

export interface Choices extends Recipe {
  method: Method;
  /** l, counted from 1 */
  layer: number;
  /** position of the output token */
  token: number;
  /** special tokens are left out of rankings and of colour scales */
  skipSpecial: boolean;
  /** and so are English stop words and punctuation */
  skipStopWords: boolean;
  /** and tokens that this regular expression finds something in; "" finds none */
  pattern: string;
  /** tokens that are left out besides, by hand */
  leftOut: readonly number[];
  /** pieces of a word shown as one */
  words: boolean;
  /** each layer (head) on a colour scale of its own */
  ownScale: boolean;
  /** colour scale */
  palette: PaletteName;
  /** values below this share of the largest are not drawn */
  threshold: number;
  graph: GraphKind;
  /** input token of the pair whose flow the graph shows; null: the one that the output token draws on most */
  input: number | null;
  /** the head that the head grid shows large */
  head: number;
  comparison: Comparison;
  /** how a map lies over a picture */
  overlay: Overlay;
  /** over a picture: how opaque the map is, 0 to 1 */
  opacity: number;
  /** linear between patches, not a colour for each */
  smooth: boolean;
  /** the picture without its colours */
  grey: boolean;
  /** lines between patches */
  gridLines: boolean;
  /** the colours begin at the least value, not at 0 */
  fromLeast: boolean;
  /** all methods side by side */
  sideBySide: boolean;
}

export type ChoiceSignals = { readonly [K in keyof Choices]: Signal<Choices[K]> };

/** What the pointer (or the keyboard, in a picture) is over. */
export interface Pointed {
  /** input token */
  input: number;
  /** output token, where the view shows several */
  output?: number;
  layer?: number;
  /** id of the view it is in */
  view: string;
}

export class State {
  readonly choices: ChoiceSignals;
  readonly pointed = signal<Pointed | null>(null);
  /** Tokens that count in rankings and colour scales. */
  readonly counts: ReadonlySignal<boolean[]>;
  readonly initial: Choices;
  /** Other parts of the address that lead here: what the server was asked. */
  address: Readonly<Record<string, string>> = {};
  /** What a link cannot hold, for people; "" when it holds all. */
  lacks = "";
  /** The address has been read once. */
  followed = false;

  /** @param shared choices that another state has already */
  constructor(
    readonly report: Report,
    shared: Partial<ChoiceSignals> = {},
  ) {
    this.initial = initialChoices(report);
    this.choices = {
      ...(Object.fromEntries(
        Object.entries(this.initial).map(([name, value]) => [name, signal(value)]),
      ) as unknown as ChoiceSignals),
      ...shared,
    };
    this.counts = computed(() => {
      const skipSpecial = this.choices.skipSpecial.value;
      const skipStopWords = this.choices.skipStopWords.value;
      const pattern = readPattern(this.choices.pattern.value).expression;
      const leftOut = new Set(this.choices.leftOut.value);
      return report.tokens.map(
        (token) =>
          !(skipSpecial && token.special) &&
          !leftOut.has(token.index) &&
          !(skipStopWords && !token.special && isStopWord(token.label)) &&
          !(pattern && matches(pattern, token.label)),
      );
    });
  }

  /** Leaves a token out, or takes it back in. */
  toggleLeftOut(token: number) {
    const { leftOut } = this.choices;
    const others = leftOut.value.filter((other) => other !== token);
    leftOut.value = others.length < leftOut.value.length ? others : [...others, token].sort((a, b) => a - b);
  }

  /** Chooses all at once. */
  restore(choices: Choices) {
    batch(() => {
      for (const [name, value] of Object.entries(choices)) {
        const target = this.choices[name as keyof Choices] as Signal<unknown>;
        if (JSON.stringify(target.peek()) !== JSON.stringify(value)) target.value = value;
      }
    });
  }

  /** Everything chosen, as plain values. */
  snapshot(): Choices {
    return Object.fromEntries(Object.entries(this.choices).map(([name, s]) => [name, s.value])) as unknown as Choices;
  }
}

/** Another signal's value in other words; setting it sets that. */
function translated<A, B>(base: Signal<A>, to: (value: A) => B, from: (value: B) => A): Signal<B> {
  const view = computed(() => to(base.value));
  return {
    get value() {
      return view.value;
    },
    set value(value: B) {
      base.value = from(value);
    },
    peek: () => view.peek(),
    subscribe: (listener: (value: B) => void) => view.subscribe(listener),
  } as unknown as Signal<B>;
}

/** The state of the same page with words for pieces: what is chosen stays chosen. */
export function wordState({ choices }: State, report: WordReport): State {
  const { groups, wordOf } = report;
  const first = (word: number) => groups[word][0];
  const maybe = (change: (token: number) => number) => (token: number | null) =>
    token === null ? null : change(token);
  return new State(report, {
    ...choices,
    token: translated(choices.token, (piece) => wordOf[piece], first),
    input: translated(
      choices.input,
      maybe((piece) => wordOf[piece]),
      maybe(first),
    ),
    leftOut: translated(
      choices.leftOut,
      (pieces) => [...new Set(pieces.map((piece) => wordOf[piece]))],
      (words) => words.flatMap((word) => groups[word]),
    ),
  });
}

/** What a report shows when it is opened. */
export function initialChoices(report: Report): Choices {
  const { settings, document } = report;
  return {
    // Rollout's values neither stay in one layer nor saturate.
    method: report.methods.includes("rollout") ? "rollout" : (report.methods.at(-1) ?? "raw"),
    layer: report.layers.at(-1) ?? 1,
    toLayer: settings.to_layer,
    token: document.output_token ?? 0,
    heads: settings.heads,
    residual: settings.residual,
    setAside: settings.set_aside,
    discard: settings.discard,
    normalize: settings.normalize,
    // [CLS] and [SEP] often take most of the mass, and every other token would look alike.
    skipSpecial: report.hasSpecial,
    skipStopWords: false,
    pattern: "",
    leftOut: [],
    words: false,
    ownScale: false,
    palette: "blue",
    threshold: 0,
    graph: document.all_output_tokens ? "attention" : "share",
    input: null,
    head: 0,
    comparison: null,
    overlay: "colour",
    opacity: 0.65,
    smooth: false,
    grey: true,
    gridLines: false,
    fromLeast: false,
    sideBySide: false,
  };
}
