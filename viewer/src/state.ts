// The page's choices. Each has a signal, so that a view is redrawn only when something it reads changes. All views read
// the same signals, which links them. `Choices` are kept in the link (URL fragment), unlike the pointer's place.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Overlay } from "./color/overlay";
import type { PaletteName } from "./color/scale";
import { ARCS_PER_NODE } from "./figures";
import { readPattern, reasonsExcluded, toggled, type Filters } from "./filters";
import type { Method } from "./report/document";
import { GenerationReport } from "./report/generation_report";
import { recipeOf, type Recipe } from "./report/recipe";
import type { Report } from "./report/report";
import type { WordReport } from "./report/words";

/** The quantity that the graph's arcs show. */
export type GraphKind = "paths" | "share" | "attention" | "flow";
/** As the number of arcs per node: all of them. */
export const ALL_ARCS = 16;
/** The most paths that the graph shows. */
export const MOST_PATHS = 20;
/** What to compare with; null: nothing. */
export type Comparison = {
  method: Method;
  layer: number;
  /** divide each side by its sum, so that methods with different sums can be compared */
  shares: boolean;
  /** another output token; absent: the same */
  token?: number;
} | null;

/**
 * Layers of a generation, whose mean is shown: `from` alone, or `from` to `to`; for an encoder-decoder also those in
 * which the decoder attends to the source, or to the target.
 */
export interface Span {
  kind: "all" | "last" | "one" | "range" | "source" | "target";
  from: number;
  to: number;
}

/** Defaults that do not depend on the report. */
const USUAL = {
  /** for a generation, in place of one layer */
  span: { kind: "all", from: 0, to: Infinity } as Span,
  /** for a generation: normalized by receptive field */
  normalized: false,
  /** punctuation is excluded as well */
  skipPunctuation: false,
  /** English stop words and punctuation are excluded as well */
  skipStopWords: false,
  /** tokens that this regular expression matches are excluded; "" matches none */
  pattern: "",
  /** previously generated tokens are excluded */
  generated: false,
  /** tokens excluded (true) or included (false) by hand, overriding the filters */
  byHand: new Map() as ReadonlyMap<number, boolean>,
  /** a word's tokens are shown as one */
  words: false,
  /** each layer (head) has its own color scale */
  ownScale: false,
  palette: "blue" as PaletteName,
  /** values below this share of the largest are not drawn */
  threshold: 0,
  /** input token of the pair whose flow the graph shows; null: the one the output token draws on most */
  input: null as number | null,
  /** the graph also shows arcs from a token to itself */
  graphOwn: false,
  /** number of arcs per node in the graph; ALL_ARCS: all that are strong enough */
  graphArcs: ARCS_PER_NODE,
  /** how many input tokens have a path in the graph of the strongest paths */
  graphPaths: 5,
  /** the head enlarged in the head grid */
  head: 0,
  comparison: null as Comparison,
  /** how a map is laid over a picture */
  overlay: "opacity" as Overlay,
  opacity: 0.8,
  /** linear interpolation between patches, instead of one color for each */
  smooth: false,
  grey: true,
  gridLines: false,
  /** the color scale begins at the smallest value, not at 0; null: if flows lie close together */
  fromLeast: null as boolean | null,
  log: false,
  sideBySide: false,
  /** for a generation: all methods side by side */
  comparing: false,
};

interface OfReport {
  method: Method;
  /** l, counted from 1 */
  layer: number;
  /** position of the output token; in a generation, the index of the generated token */
  token: number;
  skipSpecial: boolean;
  /** a decoder's first token is excluded if it takes most of what is shown */
  skipSink: boolean;
  /** which of the report's rules exclude tokens */
  rules: readonly boolean[];
  graph: GraphKind;
}

export type Choices = Recipe & OfReport & typeof USUAL;

export type ChoiceSignals = { readonly [K in keyof Choices]: Signal<Choices[K]> };

/** What the pointer (or the keyboard, in a picture) is at. */
export interface Pointed {
  input: number;
  /** output token, if the view shows several */
  output?: number;
  layer?: number;
  view: string;
}

/** A Map has no JSON form by default. */
const textOf = (value: unknown) =>
  JSON.stringify(value, (_, part: unknown) => (part instanceof Map ? [...part] : part));

export class State {
  readonly choices: ChoiceSignals;
  readonly pointed = signal<Pointed | null>(null);
  /** Whether a decoder's first token takes most of what is shown; set by the viewer. */
  takesMost: () => boolean = () => false;
  /** It does, and is excluded for that reason. */
  readonly sinkAside: ReadonlySignal<boolean>;
  readonly filters: ReadonlySignal<Filters>;
  /** Why each token is excluded from rankings and color scales; "" if it counts. */
  readonly reasons: ReadonlySignal<string[]>;
  readonly counts: ReadonlySignal<boolean[]>;
  /** A generation's tokens are being played one after another. */
  readonly playing = signal(false);
  /** Its report is incomplete: there is only rollout over the default layers, for the tokens so far. */
  readonly growing = signal(false);
  /** More tokens are expected. */
  readonly arriving = signal(false);
  /** Other parts of the address that lead here: the request to the server. */
  address: Readonly<Record<string, string>> = {};
  /** What a link cannot hold, for display; "" if it holds everything. */
  lacks = "";
  /** The parts of the address that could not be used, as a sentence; "" if there were none. */
  readonly misread = signal("");
  /** The address has been read once, or does not apply to the report that has just arrived. */
  followed = false;
  protected readonly source: Signal<Report>;
  /** No token was chosen by hand: the page follows the text as it grows, then returns to its beginning. */
  private follows = true;

  /**
   * @param shared choices already held by another state
   * @param served a server made the text, and can be asked for more
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

  get report(): Report {
    return this.source.value;
  }

  /** Sets another report of the same generation, with more tokens or numbers. Choices are kept as far as they fit. */
  replace(report: Report, growing: boolean) {
    const { choices } = this;
    const before = this.source.peek();
    // The mixing is only certain once the report is complete, and the default layers depend on it.
    const hadUsualLayers = choices.span.peek().kind === initialChoices(before).span.kind;
    const grew = this.growing.peek();
    const wasNewest = before instanceof GenerationReport && choices.token.peek() === before.newest;
    batch(() => {
      this.source.value = report;
      this.growing.value = growing;
      this.arriving.value = growing;
      // If the newest token was chosen, follow it; once complete, the text is shown from its beginning.
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

  get initial(): Choices {
    return initialChoices(this.report, this.growing.peek());
  }

  /** Chooses another output token, within bounds. */
  step(token: number) {
    this.follows = false;
    this.goTo(token);
  }

  private goTo(token: number) {
    this.choices.token.value = Math.max(0, Math.min(this.report.choosable - 1, token));
  }

  toggle(token: number) {
    this.choices.byHand.value = toggled(this.report, this.filters.value, token);
  }

  includeAll() {
    const { skipSpecial, skipSink, skipPunctuation, skipStopWords, generated, rules, pattern, byHand } = this.choices;
    batch(() => {
      for (const filter of [skipSpecial, skipSink, skipPunctuation, skipStopWords, generated]) filter.value = false;
      rules.value = rules.value.map(() => false);
      pattern.value = "";
      byHand.value = new Map();
    });
  }

  /** Sets all choices at once. */
  restore(choices: Choices) {
    batch(() => {
      for (const [name, value] of Object.entries(choices)) {
        const target = this.choices[name as keyof Choices] as Signal<unknown>;
        if (textOf(target.peek()) !== textOf(value)) target.value = value;
      }
    });
  }

  snapshot(): Choices {
    return Object.fromEntries(Object.entries(this.choices).map(([name, s]) => [name, s.value])) as unknown as Choices;
  }
}

/** A signal derived from another one; setting it sets the other. */
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

/** The state of the same page with words instead of subword tokens: the choices are shared. */
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

/** A report's default choices. @param arriving a growing generation that is followed */
export function initialChoices(report: Report, arriving = false): Choices {
  const { document } = report;
  const generation = report instanceof GenerationReport ? report : null;
  return {
    ...USUAL,
    ...recipeOf(report),
    // Over attention, rollout's values neither stay in one layer nor saturate; over relevance, flow ranks the deciding
    // word highest (docs/edges.md). Links without a method mean this default.
    method: report.leadingMethod,
    layer: report.layers.at(-1) ?? 1,
    // Rollout is defined by the last layer; over attention, it lies on the first token there.
    span: { ...USUAL.span, kind: generation && report.mixing.name !== "attention" ? "last" : "all" },
    token: generation ? (arriving ? generation.newest : generation.opening) : (document.output_token ?? 0),
    // [CLS] and [SEP] often take most of the mass, and every other token would look alike.
    skipSpecial: generation !== null || report.hasSpecial,
    skipSink: true,
    rules: report.excluded.map(() => true),
    graph: document.all_output_tokens ? "attention" : "paths",
  };
}
