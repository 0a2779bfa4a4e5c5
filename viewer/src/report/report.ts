// A report document with its arrays decoded: all that views need from C++. The page's choices are in explanation.ts.
import { bestChecked } from "./answer";
import {
  arrayName,
  isScore,
  type Check,
  isScoreArray,
  type Target,
  METHODS,
  type Method,
  type ReportDocument,
  type TokenFields,
} from "./document";
import { hasTarget, flowRule, mixingInfo, type MixingInfo } from "./mixings";
import { pieceName } from "./piece";
import { USUAL_RECIPE } from "./recipe";
import { visible } from "./text";
import { decodeUpgraded, upgraded } from "./upgrade";
import { meanRow, type Numbers, type Values } from "./values";

export interface Token {
  index: number;
  /** The display text: the user's own characters if there are any. */
  label: string;
  /** The text that it covers, else its vocabulary spelling, for rules about words; all of a split character. */
  own: string;
  piece: string;
  /** The label where space is short: for a patch its row and column, counted from 1: "5,6". */
  short: string;
  special: boolean;
  unknown: boolean;
  segment: number;
  /** Bytes [begin, end) of the text; begin = end: it stands for none of the user's text. */
  begin: number;
  end: number;
  /** Number of the word, or null. */
  word: number | null;
  role: string;
  /** The token begins with a space, which its label leaves out: generations name tokens this way. */
  space: boolean;
}

/** A layer, from 1; or several, whose values are averaged. */
export type Layers = number | readonly number[];

const decoder = new TextDecoder();

/** Begins with a letter of a script with joined letters. */
const JOINED =
  /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mandaic}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Adlam}\p{Script=Phags_Pa}\p{Script=Devanagari}\p{Script=Bengali}]/u;

/** The parts of the text strip, in order. */
export type StripPart = { token: number; chip: boolean } | { gap: string } | { line: number };

/** An encoder-decoder as one graph: the encoder's layers, then each decoder layer's two (target, source). */
export interface Joint {
  sourceTokens: number;
  encoderLayers: number;
}

function jointOf({ notes, input }: ReportDocument): Joint | null {
  const values = notes.find(({ code }) => code === "joint-layers")?.values;
  if (!values) return null;
  // Words, where tokens are merged.
  const sourceTokens = input.tokens.filter(({ segment = 0 }) => segment === 0).length;
  return { sourceTokens, encoderLayers: Number(values.encoder_layers) };
}

export class Report {
  readonly tokens: Token[];
  readonly n: number;
  /** Number of tokens before the first generated one: all tokens, except in a generation, where they are the prompt. */
  readonly m: number;
  readonly layers: number[];
  readonly pieces: Report = this;
  readonly methods: Method[];
  /** For an encoder-decoder: its layers, numbered as those of one graph. */
  readonly joint: Joint | null;
  private readonly bytes: Uint8Array[];

  protected constructor(
    readonly document: ReportDocument,
    protected readonly arrays: Map<string, Values>,
  ) {
    const { input, settings } = document;
    const encoder = new TextEncoder();
    this.bytes = [input.text, input.text_pair].map((text) => encoder.encode(text ?? ""));
    this.n = input.tokens.length;
    this.m = this.n - (document.generation?.tokens.length ?? 0);
    this.tokens = input.tokens.map((token, index) => {
      const segment = token.segment ?? 0;
      const begin = token.begin ?? 0;
      const end = token.end ?? begin;
      const unknown = token.unknown ?? false;
      const rest = { special: token.special ?? false, word: token.word ?? null, role: token.role ?? "" };
      return { index, ...this.named(token, index), piece: token.text, unknown, segment, begin, end, ...rest };
    });
    this.layers = settings.layers;
    this.joint = jointOf(document);
    this.methods = METHODS.filter((method) => arrays.has(arrayName(method)));
  }

  /** The second text's first token: in a generation the first generated one or, before that, the start of a target. */
  get beginOfSecond(): number {
    return this.joint?.sourceTokens ?? this.m;
  }

  /** "Layer 7"; in an encoder-decoder "Encoder 2", "Self 1" or "Cross 1": decoder attention to itself or the source. */
  layerName(layer: number): string {
    if (!this.joint) return `Layer ${layer}`;
    const to = this.attendsTo(layer);
    if (to === null) return `Encoder ${layer}`;
    return `${to === "target" ? "Self" : "Cross"} ${Math.ceil((layer - this.joint.encoderLayers) / 2)}`;
  }

  /** What a decoder layer of an encoder-decoder attends to; null for every other layer. */
  attendsTo(layer: number): "source" | "target" | null {
    const behind = this.joint ? layer - this.joint.encoderLayers : 0;
    if (behind <= 0) return null;
    return behind % 2 === 1 ? "target" : "source";
  }

  /** A token's position in the prompt or among the generated tokens. */
  placeOf(token: number): number {
    return token < this.m ? token : token - this.m;
  }

  private named({ text, role, segment = 0, begin, end, unknown, shown }: TokenFields, index: number) {
    const covered = this.slice(segment, begin ?? 0, end ?? begin ?? 0);
    if (this.document.input.kind === "generation") {
      const { text: own } = pieceName(covered, text, this.placeOf(index));
      const { text: label, space } = pieceName(shown ?? covered, text, this.placeOf(index));
      return { label, own, short: label, space };
    }
    const own = visible(covered || text) || `#${index}`;
    const label = (visible((shown ?? covered) || text) || `#${index}`) + (unknown ? " [?]" : "");
    // "4,5" in files: a row and a column, counted from 0; shown counted from 1.
    const [, row, column] = (role === "patch" && /^(\d+),(\d+)$/.exec(text)) || [];
    if (row === undefined || column === undefined) return { label, own, short: label, space: false };
    const [r, c] = [Number(row) + 1, Number(column) + 1];
    const place = `row ${r}, column ${c}`;
    return { label: place, own: place, short: `${r},${c}`, space: false };
  }

  /** Reads a parsed document. Throws with a sentence for the user. */
  static async read(value: unknown): Promise<Report> {
    const document = upgraded(value);
    return new Report(document, await Report.decoded(document));
  }

  protected static async decoded(document: ReportDocument): Promise<Map<string, Values>> {
    const { model, input, output_tokens = [], flow_output_tokens = [] } = document;
    const n = input.tokens.length;
    const decoded = Object.entries(document.arrays).map(async ([name, array]): Promise<[string, Values]> => {
      const all = name === "attention" || name === "graph";
      const positions = all ? [...Array(n).keys()] : name.startsWith("flow") ? flow_output_tokens : output_tokens;
      const first = name.endsWith("_generated") ? n : 0;
      const columns = array.shape.at(-1) ?? 0;
      const visible = (row: number) =>
        model.causal && name !== "sink_share" && !isScoreArray(name)
          ? Math.min(columns, 1 + positions[row % positions.length] - first)
          : columns;
      return [name, await decodeUpgraded(document, array, visible)];
    });
    return new Map(await Promise.all(decoded));
  }

  /** Whether tokens are patches of a picture: labels give their position; token positions mean nothing to readers. */
  get pictured(): boolean {
    return this.document.input.kind === "image";
  }

  /** A token's name where it is mentioned: its label and, unless that gives it, its position. */
  nameOf(token: number): { label: string; index?: number } {
    const { label } = this.tokens[token];
    return this.pictured ? { label } : { label, index: token };
  }

  continues(token: number): boolean {
    const [before, { word, segment }] = [this.tokens[token - 1], this.tokens[token]];
    return word !== null && before?.word === word && before.segment === segment;
  }

  /** Whether its tokens are whole words: made that way, or merged by the page. */
  get ofWords(): boolean {
    return this.settings.words;
  }

  /** Positions of the subword tokens that make up a token. */
  piecesOf(token: number): readonly number[] {
    return [token];
  }

  get settings() {
    return this.document.settings;
  }

  get model() {
    return this.document.model;
  }

  get mixing(): MixingInfo {
    return mixingInfo(this.settings.mixing);
  }

  /** The check of the prediction that the page opens on. */
  protected get openingCheck(): Check | undefined {
    return this.document.check;
  }

  /**
   * The map that the page shows first: the one that the check agrees with best, as in figures and tables (best_map() in
   * attnflow/report/report_answer.h); without a check, the one that their order prefers (leading_method()).
   */
  get leadingMethod(): Method {
    const { answer, generation } = this.document;
    const aggregations: Method[] = this.methods.filter((method) => !isScore(method));
    const byFlow = !generation && this.mixing.rule === "contained-normalized";
    const order: Method[] = [byFlow ? "flow" : "rollout", "rollout"];
    const leading =
      order.find((method) => aggregations.includes(method)) ??
      aggregations.at(generation ? 0 : -1) ??
      this.methods[0] ??
      "raw";
    const best = this.methods.find((method) => method === answer?.method);
    return best ?? bestChecked(this.openingCheck, aggregations, leading) ?? leading;
  }

  /**
   * Whether values are in logits: scores, raw values with gradients, flow of relevance (its capacities keep size). Those
   * of an embedding are parts of a cosine.
   */
  inLogits(array: string): boolean {
    const kind = this.document.target?.kind;
    if (kind === "embedding" || kind === "similarity") return false;
    if (isScoreArray(array)) return true;
    const { rule } = this.mixing;
    if (this.settings.normalize !== "none" || array.endsWith("_normalized") || !hasTarget(this.mixing)) return false;
    return array.startsWith("raw") || (array.startsWith("flow") && flowRule(rule) === "contained");
  }

  get hasSpecial(): boolean {
    return this.tokens.some((token) => token.special) && this.tokens.some((token) => !token.special);
  }

  array(name: string): Values | undefined {
    return this.arrays.get(name);
  }

  /** Characters of a byte range of a text. */
  slice(segment: number, begin: number, end?: number): string {
    return decoder.decode(this.bytes[segment].subarray(begin, end));
  }

  /** Exclusions from rankings by the rules that the report was made with. */
  get excluded() {
    return this.document.generation?.excluded ?? [];
  }

  /** Number of output tokens that can be chosen. */
  get choosable(): number {
    return this.n;
  }

  /** The position whose row describes the output token with this number. */
  outputOf(token: number): number {
    return token;
  }

  /** The token that a position's row is named after. */
  namedBy(output: number): number {
    return output;
  }

  layersOf(method: Method): readonly number[] {
    return (method === "flow" && this.document.flow_layers) || this.layers;
  }

  /** Whether values are parts of a whole. Flows are not: they may use the same paths. */
  isShare(array: string): boolean {
    return (
      array.endsWith("_normalized") ||
      (!array.startsWith("flow") && !this.inLogits(array) && this.mixing.rule !== "added")
    );
  }

  /** Which prediction's scores belong to an output token: there is only one, whatever the token. */
  predictionOf(output: number): number {
    void output;
    return 0;
  }

  /** What is explained about an output token, for mixings and methods that explain one prediction. */
  targetOf(output: number): Target | undefined {
    void output;
    return this.document.target;
  }

  /** Positions of the rows of a method; a score method has none. */
  outputTokens(method: Method): number[] {
    if (isScore(method)) return [];
    return (method === "flow" ? this.document.flow_output_tokens : this.document.output_tokens) ?? [];
  }

  /**
   * The values of one output token, averaged over layers, or null if the document lacks them.
   * @param array a method's, "flow_gap" or "flow_degenerate"
   */
  row(array: string, layers: Layers, outputToken: number): Numbers | null {
    const values = this.arrays.get(array);
    if (isScoreArray(array)) return values?.row(this.predictionOf(outputToken)) ?? null;
    const method = array.split("_")[0] as Method;
    const rows = this.outputTokens(method);
    const row = rows.indexOf(outputToken);
    const at = [layers].flat().map((layer) => this.layersOf(method).indexOf(layer));
    if (!values || at.length === 0 || at.includes(-1) || row < 0) return null;
    const exact = outputToken === this.document.output_token ? this.arrays.get(`${array}_exact`) : undefined;
    return exact
      ? meanRow(exact, at)
      : meanRow(
          values,
          at.map((layer) => layer * rows.length + row),
        );
  }

  /** Largest relative error of the values of such a row; 0 if they are exact. */
  rowError(array: string, outputToken: number): number {
    const exact = outputToken === this.document.output_token && this.arrays.has(`${array}_exact`);
    return exact ? 0 : (this.arrays.get(array)?.error ?? 0);
  }

  get hasHeads(): boolean {
    return this.arrays.has("attention");
  }

  /** The same text over the paper's attention, for a report of other matrices that has every head's; else null. */
  get overAttention(): Report | null {
    const attention = this.arrays.get("attention");
    if (!attention || this.mixing.needs === "attention") return null;
    const settings = { ...this.settings, ...USUAL_RECIPE, mixing: "attention" };
    return new Report({ ...this.document, settings }, new Map([["attention", attention]]));
  }

  /** Attention of one head for one query, from layer l (from 1); null without heads. */
  headRow(layer: number, head: number, query: number): Numbers | null {
    const attention = this.arrays.get("attention");
    return attention?.row(((layer - 1) * this.model.heads + head) * this.n + query) ?? null;
  }

  /** Whether every layer's fused attention is there, so that rollout can be recomputed. */
  get hasGraph(): boolean {
    return this.graphValues() !== null;
  }

  /** Fused attention of every layer, [L, n, n], without the residual, or null. */
  graphValues(): Values | null {
    const graph = this.arrays.get("graph");
    if (graph) return graph;
    // Omitted from the document if raw holds the same numbers: all layers, all output tokens, no single head.
    const { document, settings, model, layers, n } = this;
    const same =
      ["mean", "max", "min"].includes(settings.heads) &&
      settings.normalize === "none" &&
      layers.length === model.layers &&
      document.output_tokens?.length === n;
    return (same && this.arrays.get("raw")) || null;
  }

  /** The same object for the same text and tokens, even in another report. @param segment for this text only */
  textOf(segment?: number): unknown {
    void segment;
    return this;
  }

  /**
   * The tokens, the characters between them, and line breaks between two texts. A chip has no text of its own: it goes
   * where its token is, or after a word with joined letters that it would split.
   * @param segment for this text only
   */
  stripParts(segment?: number): StripPart[] {
    const parts: StripPart[] = [];
    const last = [0, 1].map((s) => this.tokens.findLastIndex((t) => t.segment === s && t.begin < t.end));
    const shown = [0, 0];
    let waiting: StripPart[] = [];
    const put = (part: StripPart) => {
      parts.push(...waiting, part);
      waiting = [];
    };
    /** Whether a letter before this token joins with the one after it. */
    const joined = ({ index, segment: s, begin, end }: Token) => {
      const next = this.tokens.slice(index + 1).find((one) => one.segment === s && one.begin >= shown[s]);
      const inside = begin < end && next?.begin === shown[s];
      return inside && JOINED.test(this.slice(s, begin, end)) && JOINED.test(this.slice(s, next.begin, next.end));
    };
    let line = segment ?? 0;
    for (const [i, token] of this.tokens.entries()) {
      const s = token.segment;
      if (segment !== undefined && s !== segment) continue;
      if (s !== line) put({ line: (line = s) });
      const own = token.begin < token.end && token.begin >= shown[s];
      if (own) {
        if (token.begin > shown[s]) put({ gap: this.slice(s, shown[s], token.begin) });
        // Within a word, joined letters stay together.
        const whole = waiting.length > 0 && JOINED.test(this.slice(s, token.begin, token.end));
        if (whole) parts.push({ token: i, chip: false });
        else put({ token: i, chip: false });
        shown[s] = token.end;
      } else if (waiting.length > 0 || joined(token)) waiting.push({ token: i, chip: true });
      else put({ token: i, chip: true });
      if (i === last[s] && shown[s] < this.bytes[s].length) put({ gap: this.slice(s, shown[s]) });
    }
    return [...parts, ...waiting];
  }
}
