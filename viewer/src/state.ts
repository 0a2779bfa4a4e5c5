// What is chosen in the page. One signal a choice, so that a view is drawn again only when what it reads changes; all
// views read the same ones, which is what links them. `Choices` are kept in the link (URL fragment); what the pointer is
// over is not.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Overlay } from "./color/overlay";
import type { PaletteName } from "./color/scale";
import { ARCS_PER_NODE } from "./figures";
import { readPattern, reasonsExcluded, toggled, type Filters } from "./filters";
import { isScore, type Method } from "./report/document";
import { GenerationReport } from "./report/generation_report";
import { recipeOf, type Recipe } from "./report/recipe";
import type { Report } from "./report/report";
import type { WordReport } from "./report/words";

/** What the arcs of the graph show. */
export type GraphKind = "share" | "attention" | "flow";
/** Of the number of each node's arcs: as many as there are. */
export const ALL_ARCS = 16;
/** What is shown beside, with the difference; null: nothing. */
export type Comparison = {
  method: Method;
  layer: number;
  /** each side divided by its sum, so that methods of different sums can be set against each other */
  shares: boolean;
  /** another output token; absent: the same */
  token?: number;
} | null;

/**
 * Layers of a generation, whose mean is shown; `from` alone, or from `from` to `to`; of an encoder-decoder those in which
 * the decoder attends to the source, or to the target.
 */
export interface Span {
  kind: "all" | "last" | "one" | "range" | "source" | "target";
  from: number;
  to: number;
}

/** What a page opens with, whatever its report is. */
const USUAL = {
  /** of a generation, in place of one layer */
  span: { kind: "all", from: 0, to: Infinity } as Span,
  /** of a generation: normalised by receptive field */
  normalized: false,
  /** punctuation is excluded, too */
  skipPunctuation: false,
  /** English stop words and punctuation are excluded, too */
  skipStopWords: false,
  /** and tokens that this regular expression finds something in; "" finds none */
  pattern: "",
  /** tokens generated before are excluded */
  generated: false,
  /** tokens that are excluded (true) or included (false) by hand, whatever the filters say */
  byHand: new Map() as ReadonlyMap<number, boolean>,
  /** pieces of a word shown as one */
  words: false,
  /** each layer (head) on a colour scale of its own */
  ownScale: false,
  /** colour scale */
  palette: "blue" as PaletteName,
  /** values below this share of the largest are not drawn */
  threshold: 0,
  /** input token of the pair whose flow the graph shows; null: the one that the output token draws on most */
  input: null as number | null,
  /** the graph shows arcs from a token to itself, too */
  graphOwn: false,
  /** the graph shows so many of each node's arcs; ALL_ARCS: all that are strong enough */
  graphArcs: ARCS_PER_NODE,
  /** the head that the head grid shows large */
  head: 0,
  comparison: null as Comparison,
  /** how a map lies over a picture */
  overlay: "opacity" as Overlay,
  /** over a picture: how opaque the map is, 0 to 1 */
  opacity: 0.8,
  /** linear between patches, not a colour for each */
  smooth: false,
  /** the picture without its colours */
  grey: true,
  /** lines between patches */
  gridLines: false,
  /** the colours begin at the least value, not at 0; null: where flows lie close together */
  fromLeast: null as boolean | null,
  /** a logarithmic colour scale */
  log: false,
  /** of a picture: all methods side by side */
  sideBySide: false,
  /** of a generation: all methods side by side */
  comparing: false,
};

interface OfReport {
  method: Method;
  /** l, counted from 1 */
  layer: number;
  /** position of the output token; of a generation, which generated token */
  token: number;
  /** special tokens are excluded from rankings and colour scales */
  skipSpecial: boolean;
  /** a decoder's first token is excluded where it takes most of what is shown */
  skipSink: boolean;
  /** which of the report's own rules exclude tokens */
  rules: readonly boolean[];
  graph: GraphKind;
}

export type Choices = Recipe & OfReport & typeof USUAL;

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

/** Maps have no JSON of their own. */
const textOf = (value: unknown) =>
  JSON.stringify(value, (_, part: unknown) => (part instanceof Map ? [...part] : part));

export class State {
  readonly choices: ChoiceSignals;
  readonly pointed = signal<Pointed | null>(null);
  /** Whether a decoder's first token takes most of what is shown: its viewer knows. */
  takesMost: () => boolean = () => false;
  /** It does, and is excluded for that. */
  readonly sinkAside: ReadonlySignal<boolean>;
  readonly filters: ReadonlySignal<Filters>;
  /** Why each token is excluded from rankings and colour scales; "" where it counts. */
  readonly reasons: ReadonlySignal<string[]>;
  /** Tokens that count. */
  readonly counts: ReadonlySignal<boolean[]>;
  /** A generation's tokens are shown one after another. */
  readonly playing = signal(false);
  /** Its report is not complete: rollout of the usual layers is there, of the tokens so far. */
  readonly growing = signal(false);
  /** More tokens come. */
  readonly arriving = signal(false);
  /** Other parts of the address that lead here: what the server was asked. */
  address: Readonly<Record<string, string>> = {};
  /** What a link cannot hold, for people; "" when it holds all. */
  lacks = "";
  /** What of the address could not be taken, as a sentence; "" when all could. */
  readonly misread = signal("");
  /** The address has been read once, or says nothing of what has just come. */
  followed = false;
  protected readonly source: Signal<Report>;
  /** Nobody has chosen another token: the page goes where the text is, and then to its beginning. */
  private follows = true;

  /**
   * @param shared choices that another state has already
   * @param served a server has made the text, and can be asked for more
   */
  constructor(
    report: Report,
    shared: Partial<ChoiceSignals> = {},
    readonly served = false,
  ) {
    this.source = signal(report);
    this.choices = {
      ...(Object.fromEntries(
        Object.entries(this.initial).map(([name, value]) => [name, signal(value)]),
      ) as unknown as ChoiceSignals),
      ...shared,
    };
    const { choices } = this;
    this.sinkAside = computed(() => choices.skipSink.value && this.takesMost());
    this.filters = computed(() => ({
      sink: this.sinkAside.value,
      special: choices.skipSpecial.value,
      punctuation: choices.skipPunctuation.value,
      stopWords: choices.skipStopWords.value,
      generated: choices.generated.value,
      rules: choices.rules.value,
      pattern: readPattern(choices.pattern.value).expression,
      byHand: choices.byHand.value,
    }));
    this.reasons = computed(() => reasonsExcluded(this.report, this.filters.value));
    this.counts = computed(() => this.reasons.value.map((reason) => reason === ""));
  }

  /** Read where it follows: a generation that grows has another one for each token. */
  get report(): Report {
    return this.source.value;
  }

  /** Another report of the same generation: more tokens, or more numbers. What is chosen stays as far as it fits. */
  replace(report: Report, growing: boolean) {
    const { choices } = this;
    const before = this.source.peek();
    // What is made of contributions is known only when all of it is there.
    const hadUsualLayers = choices.span.peek().kind === initialChoices(before).span.kind;
    const grew = this.growing.peek();
    const wasNewest = before instanceof GenerationReport && choices.token.peek() === before.newest;
    batch(() => {
      this.source.value = report;
      this.growing.value = growing;
      this.arriving.value = growing;
      // Who is at the newest token goes on to the next one; the complete text is read from its beginning.
      if (wasNewest && report instanceof GenerationReport && !this.playing.peek())
        this.goTo(grew && !growing && this.follows ? report.opening : report.newest);
      else this.goTo(choices.token.peek());
      if (!report.methods.includes(choices.method.peek())) choices.method.value = report.methods[0];
      const { rules, span } = this.initial;
      if (hadUsualLayers) choices.span.value = span;
      if (choices.rules.peek().length !== rules.length) choices.rules.value = rules;
      choices.byHand.value = new Map([...choices.byHand.peek()].filter(([token]) => token < report.n));
    });
  }

  /** What the page opens with. */
  get initial(): Choices {
    return initialChoices(this.report, this.growing.peek());
  }

  /** Another output token, as far as there are any. */
  step(token: number) {
    this.follows = false;
    this.goTo(token);
  }

  private goTo(token: number) {
    this.choices.token.value = Math.max(0, Math.min(this.report.choosable - 1, token));
  }

  /** Excludes a token, or includes it again. */
  toggle(token: number) {
    this.choices.byHand.value = toggled(this.report, this.filters.value, token);
  }

  /** Excludes no token. */
  includeAll() {
    const { skipSpecial, skipSink, skipPunctuation, skipStopWords, generated, rules, pattern, byHand } = this.choices;
    batch(() => {
      for (const filter of [skipSpecial, skipSink, skipPunctuation, skipStopWords, generated]) filter.value = false;
      rules.value = rules.value.map(() => false);
      pattern.value = "";
      byHand.value = new Map();
    });
  }

  /** Chooses all at once. */
  restore(choices: Choices) {
    batch(() => {
      for (const [name, value] of Object.entries(choices)) {
        const target = this.choices[name as keyof Choices] as Signal<unknown>;
        if (textOf(target.peek()) !== textOf(value)) target.value = value;
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

const withToken = (comparison: Comparison, change: (token: number) => number): Comparison =>
  comparison?.token === undefined ? comparison : { ...comparison, token: change(comparison.token) };

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
    comparison: translated<Comparison, Comparison>(
      choices.comparison,
      (pieces) => withToken(pieces, (piece) => wordOf[piece]),
      (words) => withToken(words, first),
    ),
    byHand: translated<ReadonlyMap<number, boolean>, ReadonlyMap<number, boolean>>(
      choices.byHand,
      (pieces) => new Map([...pieces].map(([piece, excluded]) => [wordOf[piece], excluded])),
      (words) => new Map([...words].flatMap(([word, excluded]) => groups[word].map((piece) => [piece, excluded]))),
    ),
  });
}

/** The choices that a report opens with. @param arriving a generation grows, and is followed */
export function initialChoices(report: Report, arriving = false): Choices {
  const { document } = report;
  const generation = report instanceof GenerationReport ? report : null;
  return {
    ...USUAL,
    ...recipeOf(report),
    // Rollout's values neither stay in one layer nor saturate. Links without a method mean this one.
    method: report.methods.includes("rollout")
      ? "rollout"
      : (report.methods.filter((one) => !isScore(one)).at(generation ? 0 : -1) ?? report.methods[0] ?? "raw"),
    layer: report.layers.at(-1) ?? 1,
    // The last layer is what rollout is defined by; of attention it lies on the first token there.
    span: { ...USUAL.span, kind: generation && report.mixing.name !== "attention" ? "last" : "all" },
    token: generation ? (arriving ? generation.newest : generation.opening) : (document.output_token ?? 0),
    // [CLS] and [SEP] often take most of the mass, and every other token would look alike.
    skipSpecial: generation !== null || report.hasSpecial,
    skipSink: true,
    rules: report.excluded.map(() => true),
    graph: document.all_output_tokens ? "attention" : "share",
  };
}
