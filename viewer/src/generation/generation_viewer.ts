// What a generation's page adds to the common page: the mean over several layers, and a report that may grow.
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import { useViewer, Viewer } from "../context";
import type { Drawn } from "../filters";
import { isScore, type Check, type Method } from "../report/document";
import type { GenerationReport } from "../report/generation_report";
import type { Report } from "../report/report";
import type { Span } from "../state";

export class GenerationViewer extends Viewer {
  /** The chosen layers, among those that the chosen method has. */
  readonly span: ReadonlySignal<Span>;
  /** Whether the page was open before its report was complete: then the report's arrival must not move anything. */
  readonly grew: boolean;
  /** Continues with another token in place of a generated one. Set if there is a server. */
  readonly branch = signal<((token: number, id: number) => void) | null>(null);

  /** Has the server check a generated token by replacing tokens, and compute its flow. Set if there is a server. */
  readonly check = signal<((token: number) => Promise<void>) | null>(null);
  readonly checks = signal<ReadonlyMap<number, Check>>(new Map());

  /** @param served a server made the text; its growth is followed */
  constructor(report: GenerationReport, growing = false, served = growing) {
    super(report, undefined, served);
    const { state } = this;
    state.growing.value = growing;
    state.arriving.value = growing;
    state.followed = growing;
    this.grew = growing;
    this.span = computed(() => {
      const { kind, from, to } = state.choices.span.value;
      const layers = this.heldLayers(state.choices.method.value);
      const has = (layer: number, otherwise: number) => (layers.includes(layer) ? layer : otherwise);
      return { kind, from: has(from, layers[0]), to: has(to, layers[layers.length - 1]) };
    });
  }

  override get report(): GenerationReport {
    return this.state.report as GenerationReport;
  }

  /** Layers for which a method was computed, by this report or added by a server. */
  heldLayers(method: Method): readonly number[] {
    const holds = (report: Report) => report.methods.includes(method);
    const { report } = this;
    return (holds(report) ? report : (this.answers.value.find(holds) ?? report)).layersOf(method);
  }

  /** The check of a generated token's maps; undefined if there is none. */
  checkOf(token: number): Check | undefined {
    return this.report.fields.tokens[token]?.check ?? this.checks.value.get(token);
  }

  /** Accepts a server's check of one token: a report of the text up to it. */
  takeCheck(token: number, checked: GenerationReport) {
    const check = checked.fields.tokens[token]?.check;
    if (!check) throw new Error("expected the check of the token, found none: nothing can be replaced");
    batch(() => {
      this.checks.value = new Map([...this.checks.peek(), [token, check]]);
      if (checked.methods.includes("flow")) this.answers.value = [...this.answers.peek(), checked];
      // The check covers the last layer's values: they have to be shown for the verdict to apply.
      const { span } = this.state.choices;
      if (check.maps.some(({ layer }) => layer !== undefined)) span.value = { ...span.peek(), kind: "last" };
    });
  }

  override layersOf(method: Method): readonly number[] {
    const layers = this.heldLayers(method);
    const { kind, from, to } = this.span.value;
    if (kind === "all") return layers;
    if (kind === "last") return layers.slice(-1);
    if (kind === "source" || kind === "target") {
      const found = layers.filter((layer) => this.report.attendsTo(layer) === kind);
      return found.length > 0 ? found : layers; // flow may have none of them
    }
    return layers.filter((layer) => layer >= from && layer <= (kind === "one" ? from : to));
  }

  override layersText(method: Method = this.state.choices.method.value): string {
    if (isScore(method)) return "";
    const layers = this.layersOf(method);
    const [first, last] = [layers[0], layers[layers.length - 1]];
    if (layers.length === 0) return "no layer";
    if (layers.length === 1) return `layer ${first}`;
    const contiguous = last - first === layers.length - 1;
    return `mean over ${contiguous ? "" : `${layers.length} of the `}layers ${first}–${last}`;
  }

  get normalized(): boolean {
    const { method, normalized } = this.state.choices;
    return normalized.value && this.report.hasNormalized(method.value);
  }

  /** The arguments with which the report is asked for the row shown. */
  get place(): [array: string, layers: readonly number[], output: number] {
    const method = this.state.choices.method.value;
    return [this.explanation.value.arrayOf(method), this.layersOf(method), this.output];
  }

  override explain(token: number) {
    if (token >= this.report.m) this.state.step(token - this.report.m);
  }

  override plainName(token: number): string {
    return this.report.tokens[token].label;
  }

  override chosenText(): string {
    const token = this.state.choices.token.value;
    return `Generated token ${token + 1} of ${this.report.choosable}, ${this.plainName(this.output + 1)}`;
  }

  protected override drawnOn(): Drawn {
    const { report, place } = this;
    const values = this.row();
    // Tokens after this one could not be drawn on.
    const among = values && values.length > report.m ? this.output + 1 : report.m;
    return { values, whole: report.isShare(place[0]) ? report.whole(...place) : null, among };
  }

  override name(token: number): { label: string; index: number | string; space: boolean } {
    const { label, space } = this.report.tokens[token];
    return { label, space, index: token >= this.report.m ? this.placeText(token) : `position ${token}` };
  }

  /** "12" in the prompt, a position from 0; "generated 4" after it, counted from 1 as everywhere on the page. */
  placeText(token: number): string {
    const { report } = this;
    const place = report.placeOf(token);
    return token >= report.m ? `generated ${place + 1}` : String(place);
  }

  /** A token's columns in tables: its part, its position there, its text. */
  partOf(token: number): [part: string, position: number, text: string] {
    const { report } = this;
    return [token >= report.m ? "generated" : "prompt", report.placeOf(token), report.tokens[token].label];
  }

  /** Whether there are other methods to compare with. */
  get comparable(): boolean {
    return this.report.methods.length > 1;
  }
}

export function useGeneration(): GenerationViewer {
  const viewer = useViewer();
  if (!(viewer instanceof GenerationViewer)) throw new Error("a view of a generation in another page");
  return viewer;
}
