// What is chosen in the page of a generation, one signal a choice, and what follows from it. All views read the same
// signals, which links them.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { Scale, type PaletteName } from "../color/scale";
import { Shades } from "../color/shades";
import { readPattern } from "../filters";
import type { Method } from "../report/document";
import { dark } from "../theme";
import type { Ends } from "../color/ends";
import type { GenerationReport, RankedColumn, Selection } from "./generation_report";
import { reasonsAside, toggled, type Filters } from "./set_aside";

/** Which layers' mean is shown. */
export type Span = "all" | "last" | "one" | "range";

/** What the pointer is over; views mark it wherever it stands. */
export interface PointedColumn {
  column: number;
  /** the view it is in */
  view: string;
  /** in words, for the view's readout */
  layer?: number;
  token?: number;
}

export class GenerationState {
  readonly method = signal<Method>("rollout");
  readonly normalized = signal(false);
  /** the generated token that is explained */
  readonly token = signal(0);
  readonly span = signal<Span>("all");
  /** layers, of the spans "one" (from) and "range" */
  readonly from = signal(0);
  readonly to = signal(0);
  /** As in the page of an explanation: special tokens often take most of the mass, and every other would look alike. */
  readonly skipSpecial = signal(true);
  readonly skipStopWords = signal(false);
  readonly generated = signal(false);
  readonly rules = signal<readonly boolean[]>([]);
  /** as it is typed */
  readonly pattern = signal("");
  readonly byHand = signal<ReadonlyMap<number, boolean>>(new Map());
  readonly palette = signal<PaletteName>("blue");
  /** values below this share of the largest are not drawn */
  readonly threshold = signal(0);
  /** the colours begin at the least value, not at 0 */
  readonly fromLeast = signal(false);
  /** all methods side by side */
  readonly comparing = signal(false);
  readonly allRanks = signal(false);
  readonly playing = signal(false);
  /** milliseconds a token is shown */
  readonly pace = signal(900);
  /** The report is not complete: rollout's mean over all layers is there, of the tokens so far. */
  readonly growing: Signal<boolean>;
  /** More tokens come. */
  readonly arriving: Signal<boolean>;
  /** Whether the page was there before its report was complete: what comes with the report moves nothing then. */
  readonly grew: boolean;
  /** Other parts of the address that lead here: what the server was asked. */
  address: Readonly<Record<string, string>> = {};
  /** What a link cannot hold, for people; "" when it holds all. */
  lacks = "";
  /** The address has been read once. */
  followed = false;
  readonly pointed = signal<PointedColumn | null>(null);
  readonly announcement = signal("");

  /** The expression, or why it is none. */
  readonly expression: ReadonlySignal<{ pattern: RegExp | null; problem: string }>;
  readonly filters: ReadonlySignal<Filters>;
  readonly reasons: ReadonlySignal<string[]>;
  /** positions in the method's layers */
  readonly layers: ReadonlySignal<readonly number[]>;
  readonly selection: ReadonlySignal<Selection>;
  /** m or m + n values, or null */
  readonly values: ReadonlySignal<Float64Array | null>;
  readonly ranking: ReadonlySignal<RankedColumn[]>;
  readonly scale: ReadonlySignal<Scale>;
  private readonly source: Signal<GenerationReport>;

  /** @param served the text has just come: the page opens at its end, and follows it while it grows */
  constructor(
    report: GenerationReport,
    growing = false,
    readonly served = growing,
  ) {
    this.source = signal(report);
    this.growing = signal(growing);
    this.arriving = signal(growing);
    this.grew = growing;
    this.method.value = report.methods.includes("rollout") ? "rollout" : report.methods[0];
    this.fitLayers();
    this.step(this.firstToken);
    this.rules.value = report.fields.dropped.map(() => true);
    this.expression = computed(() => {
      const { expression, problem } = readPattern(this.pattern.value);
      return { pattern: expression, problem: problem && `Not a regular expression that works here: ${problem}` };
    });
    this.filters = computed(() => ({
      special: this.skipSpecial.value,
      stopWords: this.skipStopWords.value,
      generated: this.generated.value,
      rules: this.rules.value,
      pattern: this.expression.value.pattern,
      byHand: this.byHand.value,
    }));
    this.reasons = computed(() => reasonsAside(this.report, this.filters.value));
    this.layers = computed(() => this.positions(this.method.value));
    this.selection = computed(() => this.of(this.token.value, this.layers.value));
    this.values = computed(() => this.report.values(this.selection.value));
    this.ranking = computed(() => this.report.ranking(this.selection.value, this.reasons.value));
    this.scale = computed(() => new Scale(dark.value, this.palette.value));
  }

  /** Of the layers of a method, the positions of those that are chosen. */
  private positions(method: Method): readonly number[] {
    const layers = this.report.layersOf(method);
    const all = [...layers.keys()];
    if (this.span.value === "all") return all;
    if (this.span.value === "last") return all.slice(-1);
    const from = this.from.value;
    const to = this.span.value === "one" ? from : this.to.value;
    return all.filter((at) => layers[at] >= from && layers[at] <= to);
  }

  /** What is chosen, but for the method. */
  selectionOf(method: Method): Selection {
    const normalized = this.normalized.value && this.report.hasNormalized(method);
    return { method, normalized, token: this.token.value, layers: this.positions(method) };
  }

  /** The token that the page opens with. */
  get firstToken(): number {
    return this.served ? this.report.newest : 0;
  }

  /** Colours of values between the ends of a scale. */
  shades({ least, top }: Ends): Shades {
    return new Shades(this.scale.value, this.fromLeast.value ? least : 0, this.threshold.value * top);
  }

  /** The chosen method of another token or of other layers. */
  of(token: number, layers: readonly number[]): Selection {
    const method = this.method.value;
    return { method, normalized: this.normalized.value && this.report.hasNormalized(method), token, layers };
  }

  /** Read where it follows: a generation that grows has another one for each token. */
  get report(): GenerationReport {
    return this.source.value;
  }

  /**
   * Another report of the same generation: more tokens, or more numbers. What is chosen stays as far as it fits; who is
   * at the newest token goes on to the next one.
   */
  replace(report: GenerationReport, growing = false) {
    const before = this.source.peek();
    batch(() => {
      this.source.value = report;
      this.growing.value = growing;
      this.arriving.value = growing;
      const token = this.token.peek();
      this.step(token === before.newest && !this.playing.peek() ? report.newest : token);
      if (!report.methods.includes(this.method.peek())) this.method.value = report.methods[0];
      this.fitLayers();
      if (this.rules.peek().length !== report.fields.dropped.length) {
        this.rules.value = report.fields.dropped.map(() => true);
      }
      const stays = ([column]: [number, boolean]) => column < report.columns.length;
      this.byHand.value = new Map([...this.byHand.peek()].filter(stays));
    });
  }

  choose(method: Method) {
    this.method.value = method;
    this.fitLayers();
  }

  /** Another generated token, as far as there are any. */
  step(token: number) {
    this.token.value = Math.max(0, Math.min(this.report.n - 1, token));
  }

  toggle(token: number) {
    this.byHand.value = toggled(this.report, this.filters.value, token);
  }

  countAll() {
    batch(() => {
      this.skipSpecial.value = false;
      this.skipStopWords.value = false;
      this.generated.value = false;
      this.rules.value = this.rules.value.map(() => false);
      this.pattern.value = "";
      this.byHand.value = new Map();
    });
  }

  /** "mean over layers 1–6" */
  spanText({ method, layers: positions }: Pick<Selection, "method" | "layers"> = this.selection.value): string {
    const layers = positions.map((at) => this.report.layersOf(method)[at]);
    const [first, last] = [layers[0], layers[layers.length - 1]];
    if (layers.length === 0) return "no layer";
    if (layers.length === 1) return `layer ${first}`;
    const contiguous = last - first === layers.length - 1;
    return `mean over ${contiguous ? "" : `${layers.length} of the `}layers ${first}–${last}`;
  }

  /** Layers that the method has. */
  private fitLayers() {
    const layers = this.report.layersOf(this.method.value);
    if (!layers.includes(this.from.value)) this.from.value = layers[0];
    if (!layers.includes(this.to.value)) this.to.value = layers[layers.length - 1];
  }
}

export const GenerationContext = createContext<GenerationState | null>(null);

export function useGeneration(): GenerationState {
  const state = useContext(GenerationContext);
  if (!state) throw new Error("a view outside its page");
  return state;
}
