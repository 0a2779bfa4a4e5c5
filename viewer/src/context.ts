// What every view gets: the report, the choices, and the numbers and colors that follow from them.
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { endsOf, isClose, logEnds, mayHaveSink, signedEnds, takesMost, type Ends } from "./color/ends";
import { DivergingScale, Scale } from "./color/scale";
import { Shades } from "./color/shades";
import { whyNoFlow, whyNot } from "./compute/recompute";
import { Explanation, type FlowRows, type Ranked } from "./explanation";
import { wholeOf, type Drawn } from "./filters";
import { isScore, type Method } from "./report/document";
import type { MixingInfo, MixingName } from "./report/mixings";
import { recipeBy, recipeOf, recipesApart, type Recipe } from "./report/recipe";
import type { Layers, Report } from "./report/report";
import { targetWords } from "./report/setting_words";
import { digits, formatSigned, percentage } from "./report/text";
import type { Numbers } from "./report/values";
import { WordReport } from "./report/words";
import { State, wordState } from "./state";
import { dark } from "./theme";

/** What the server is asked for beyond what the page shows. */
export interface Wanted {
  method: Method;
  recipe: Recipe;
  /** position of the output token in the asking viewer; null: every one */
  token: number | null;
}

export interface Computing {
  layer: number;
  done: number;
  of: number;
}

/** A report of the same text with some of its tokens blanked. */
export interface Gone {
  report: Report;
  tokens: readonly number[];
}

/** Asks the server again, with another mixing. */
export interface AskMixing {
  /** whether the model supports it */
  offers(mixing: MixingInfo): boolean;
  ask(mixing: MixingName): Promise<void>;
}

/** Asks the server for what the page cannot compute, for the viewer that shows it: subword tokens or whole words. */
export type AskServer = (viewer: Viewer, wanted: Wanted) => void;

export class Viewer {
  readonly state: State;
  readonly explanation: ReadonlySignal<Explanation>;
  readonly scale: ReadonlySignal<Scale>;
  readonly differenceScale: ReadonlySignal<DivergingScale>;
  /** Set if there is a server. */
  readonly askServer: Signal<AskServer | null>;
  /** Set if there is a server that knows the input. */
  readonly askMixing: Signal<AskMixing | null>;
  /** Explains another candidate, by its name for the server, next to the target; null: no server. */
  readonly askTarget: Signal<((target: string) => void) | null>;
  /** What the server is being asked for; null: nothing. */
  readonly asking: Signal<Wanted | null>;
  /** Whether a server has compared its methods with blank-out or gradients. */
  readonly evaluated = signal(false);
  /** A server's results for the same input with other settings. */
  readonly answers: Signal<readonly Report[]> = signal([]);
  /** Flow that the page computed in slices (compute_flow.ts). */
  readonly flows: Signal<FlowRows> = signal(new Map());
  /** The row being computed in this way: its layer, and how many input tokens' flows are known. */
  readonly computing: Signal<Computing | null> = signal(null);
  /** Another report to compare with: opened from a file or from the server. */
  readonly other: Signal<Report | null>;
  /** The tokens blanked in a report to compare with, as positions of subword tokens. */
  readonly gone: Signal<Gone | null>;
  readonly problem: Signal<string>;
  /** A sentence for screen readers about the latest choice. */
  readonly announcement: Signal<string>;
  /** The same page with words merged; null if no word has several tokens, or if this is it. */
  readonly merged: ReadonlySignal<Viewer | null>;

  /** The viewer of the same report with words not merged; possibly this one. */
  readonly pieces: Viewer;
  readonly ranking: ReadonlySignal<Ranked[]>;
  readonly drawn: ReadonlySignal<Drawn>;

  /** @param served the text has just arrived (see State) */
  constructor(report: Report, pieces?: Viewer, served = false) {
    this.pieces = pieces ?? this;
    this.askServer = pieces?.askServer ?? signal(null);
    this.askMixing = pieces?.askMixing ?? signal(null);
    this.askTarget = pieces?.askTarget ?? signal(null);
    this.asking = pieces?.asking ?? signal(null);
    this.other = pieces?.other ?? signal(null);
    this.gone = pieces?.gone ?? signal(null);
    this.problem = pieces?.problem ?? signal("");
    this.announcement = pieces?.announcement ?? signal("");
    this.merged = computed(() => {
      const words = pieces ? null : WordReport.of(report);
      return words && new Viewer(words, this);
    });
    this.state =
      pieces && report instanceof WordReport ? wordState(pieces.state, report) : new State(report, {}, served);
    const { choices } = this.state;
    this.explanation = computed(() => {
      const now = this.report;
      // A generation's report was made by its own settings, even when another report replaces it.
      const recipe = now.document.generation ? recipeOf(now) : recipeBy((name) => choices[name].value);
      return new Explanation(now, recipe, this.answers.value, choices.normalized.value, this.flows.value);
    });
    // One rule for raw, rollout and flow: flow barely separates a sink from other tokens, and would rank it first.
    this.state.takesMost = () => {
      const { start_layer: start } = this.explanation.value.recipe;
      const takes = (method: Method) => takesMost(this.report, this.row(method), start, this.output);
      // Asked first, because the rows may have to be computed.
      if (!mayHaveSink(this.report, start)) return false;
      return (
        !this.scored && !this.carriesNothing && [choices.method.value, "raw" as const, "rollout" as const].some(takes)
      );
    };
    this.ranking = computed(() => {
      const method = choices.method.value;
      const { model, document } = this.report;
      // The output token does not see the tokens after it.
      const seen = model.causal && !document.generation && !this.scored ? this.output : Infinity;
      const counts = this.state.counts.value.map((one, token) => one && token <= seen);
      return this.explanation.value.ranking(method, this.layersOf(method), this.output, counts);
    });
    this.drawn = computed(() => this.drawnOn());
    this.scale = computed(() => new Scale(dark.value, choices.palette.value));
    this.differenceScale = computed(() => new DivergingScale(dark.value));
  }

  get report(): Report {
    return this.state.report;
  }

  /** The position whose row is shown. */
  get output(): number {
    return this.report.outputOf(this.state.choices.token.value);
  }

  /** The layer shown for a method, or the layers whose mean is shown. */
  layersOf(method: Method): Layers {
    void method;
    return this.state.choices.layer.value;
  }

  /** In words: "layer 3", "mean over layers 1–6". */
  layersText(method: Method = this.state.choices.method.value): string {
    if (isScore(method)) return "";
    return `layer ${String(this.layersOf(method))}`;
  }

  /** The map shown, as figures and tables call it: "flow over relevance", "raw attention, layer 6". */
  mapText(): string {
    const { report, explanation } = this;
    const method = this.state.choices.method.value;
    if (isScore(method)) return method;
    const { weights } = report.mixing;
    const top = this.layersOf(method);
    if (typeof top !== "number") return `${method} over ${weights}, ${this.layersText()}`;
    if (method === "raw") return `raw ${weights}, layer ${top}`;
    const bottom = explanation.value.recipe.start_layer + 1;
    if (bottom === 1 && top === report.model.layers) return `${method} over ${weights}`;
    return `${method} over ${weights}, ${bottom === top ? `layer ${top}` : `layers ${bottom}–${top}`}`;
  }

  /** A method's row for the chosen output token; null if it is not known. */
  row(method: Method = this.state.choices.method.value): Numbers | null {
    return this.explanation.value.row(method, this.layersOf(method), this.output);
  }

  /**
   * Whether nothing that the chosen output token holds after the layer argues for the explained prediction. What argues
   * against it is not in the graph. Rollout, the shares that go back to the input, then has nothing to share.
   */
  get carriesNothing(): boolean {
    const method = this.state.choices.method.value;
    return !this.scored && this.explanation.value.carriesNothing(this.layersOf(method), this.output);
  }

  get isZero(): boolean {
    return this.row()?.every((value) => value === 0) ?? false;
  }

  /** Whether this token is a shown attention sink: it takes most of the row and says little. */
  isShownSink(token: number): boolean {
    return token === 0 && !this.state.sinkAside.value && this.state.takesMost();
  }

  /** Whether the page itself computes an output token's flow in due course, which a server would do instead. */
  computesFlow(layer: number): boolean {
    const { report, explanation, askServer } = this;
    if (report.document.generation || askServer.value) return false;
    return whyNoFlow(report, explanation.value.recipe, layer) === null;
  }

  /** Why the chosen output token has no values; "" while the page computes them. */
  whyNoRow(): string {
    const { method, layer } = this.state.choices;
    if (method.value === "flow" && this.computesFlow(layer.value)) return "";
    return this.explanation.value.whyNoRow(method.value, layer.value, this.askServer.value === null);
  }

  /** Why the chosen method cannot be computed with another recipe, by the page or a server; null if it can. */
  whyNotBy(recipe: Recipe, layer: number): string | null {
    const { report, askServer, state } = this;
    const method = state.choices.method.value;
    if (askServer.value || recipesApart(recipeOf(report), recipe).length === 0) return null;
    return method === "flow" ? whyNoFlow(report, recipe, layer) : whyNot(report, recipe, method, layer);
  }

  /** Whether a method has values, or will have. */
  has(method: Method): boolean {
    if (this.report.methods.includes(method) || this.row(method) !== null) return true;
    return method === "flow" && this.computesFlow(this.state.choices.layer.value);
  }

  degenerate(): Numbers | null {
    const { method } = this.state.choices;
    if (method.value !== "flow" || !this.row()) return null;
    return this.explanation.value.degenerate(this.layersOf("flow"), this.output);
  }

  /** Selects a token to explain; does nothing for scores, which have no output token. */
  explain(token: number) {
    if (!this.scored) this.state.choices.token.value = token;
  }

  /** A token's name as plain text. */
  plainName(token: number): string {
    const { label } = this.report.tokens[token];
    return this.report.pictured ? `“${label}”` : `“${label}” (position ${token})`;
  }

  chosenText(): string {
    const { method, layer, token } = this.state.choices;
    if (this.scored) return `${method.value} of ${this.targetText()}`;
    return `Output token ${this.plainName(token.value)}, ${method.value}, layer ${layer.value}`;
  }

  protected drawnOn(): Drawn {
    const values = this.row();
    // Each flow is the most that can reach one token: together they are not a whole.
    const { recipe } = this.explanation.value;
    const apart = this.state.choices.method.value === "flow" && recipe.normalize === "none";
    return { values, whole: apart || this.inLogits() ? null : wholeOf(values), among: this.report.n };
  }

  /** This viewer, or the one with words merged, according to the choice. */
  get shown(): Viewer {
    return (this.state.choices.words.value && this.merged.value) || this;
  }

  /** Whether a method's color scale begins at the smallest value: by choice, or because flows lie close together. */
  fromLeast(ends: Ends, method: Method = this.state.choices.method.value): boolean {
    return this.state.choices.fromLeast.value ?? (method === "flow" && isClose(ends));
  }

  /** Colors of a method's values between the ends of a scale. */
  shades(ends: Ends, method?: Method): Shades {
    const { log, threshold } = this.state.choices;
    const { least, top, signed } = ends;
    const scale = this.scale.value;
    const of = { scale, top, threshold: threshold.value * top };
    if (signed) return new Shades({ ...of, low: -top, diverging: this.differenceScale.value });
    if (log.value) return new Shades({ ...of, ...logEnds(ends), log: true });
    return new Shades({ ...of, low: this.fromLeast(ends, method) ? least : 0 });
  }

  /** The ends of the scale for a method's row of the chosen output token. */
  endsOf(row: Numbers | null, method: Method = this.state.choices.method.value): Ends {
    const counts = this.state.counts.value;
    return isScore(method) ? signedEnds(this.report, row, counts) : endsOf(this.report, [row], this.output, counts);
  }

  /** Whether the values shown for a method are in logits of a prediction. */
  inLogits(method: Method = this.state.choices.method.value): boolean {
    const { explanation, report } = this;
    return report.inLogits(explanation.value.arrayOf(method)) && explanation.value.recipe.normalize === "none";
  }

  /** A value as written in a tip or a sentence: shares as percentages. */
  words(value: number, method: Method = this.state.choices.method.value): string {
    if (isScore(method)) return formatSigned(value);
    if (this.inLogits(method)) return `${digits(value)} logits`;
    return this.report.isShare(this.explanation.value.arrayOf(method)) ? percentage(value) : digits(value);
  }

  /** What is explained about the chosen output token, in words. */
  targetText(): string {
    return targetWords(this.report, this.report.targetOf(this.output));
  }

  /** Whether a score method is shown: one number per token, for one prediction, independent of layers. */
  get scored(): boolean {
    return isScore(this.state.choices.method.value);
  }

  /** A token's name where it is mentioned. */
  name(token: number): { label: string; index?: number | string } {
    return this.report.nameOf(token);
  }
}

export const ViewerContext = createContext<Viewer | null>(null);

export function useViewer(): Viewer {
  const viewer = useContext(ViewerContext);
  if (!viewer) throw new Error("a view outside its viewer");
  return viewer;
}
