// The composer's fields and choices, and the requests that they amount to.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { AGGREGATIONS, isScore, SCORE_METHODS, type Method, type ScoreMethod } from "../report/document";
import { MIXING_NAMES, type MixingName } from "../report/mixings";
import type { ModelTable, ServedModel } from "./client";
import { textsOf } from "./examples";
import { askOfLong, isLong } from "./long_text";

export type Task = "text" | "image" | "generation";

export const TASKS: readonly Task[] = ["text", "image", "generation"];

/** length of a continuation by default */
export const USUAL_TOKENS = 40;
/** Individual heads are requested only for short texts: they are L H n² numbers. */
const MOST_TEXT_WITH_HEADS = 240;

/** The request for a continuation. */
export type PromptRequest = ReturnType<Question["promptRequest"]> & { begin_with?: number[] };

const list = (words: string) =>
  words
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);

export class Question {
  readonly table = signal<ModelTable | null>(null);
  readonly task = signal<Task>("text");
  readonly text = signal("");
  /** a second text: of a pair, or an encoder-decoder's target */
  readonly pair = signal("");
  /** another text, to explain next to this one; null: none is asked for */
  readonly other = signal<string | null>(null);
  readonly prompt = signal("");
  readonly model = signal<Record<Task, string>>({ text: "", image: "", generation: "" });
  /** for texts, pictures and continuations: what the layers' matrices are made of */
  readonly mixing = signal<MixingName | "auto">("auto");
  /** for texts and pictures: the prediction to explain, and what to compare it with */
  readonly target = signal("");
  readonly against = signal("");
  /** methods other than raw, rollout and flow */
  readonly scores = signal<readonly ScoreMethod[]>([]);
  /** for a long text: whether more than its last token is explained */
  readonly allTokens = signal(false);
  /** for explain */
  readonly candidates = signal("");
  readonly referents = signal("");
  /** examples that the page put into its fields and that have not been asked about yet */
  private readonly offered = new Set<string>();
  /** for generate */
  readonly tokens = signal(USUAL_TOKENS);
  /** Whether the prompt is a turn of a conversation; null: the model's default. */
  readonly chatChoice = signal<boolean | null>(null);
  readonly system = signal("");
  readonly methods = signal<readonly Method[]>(AGGREGATIONS.filter((method) => method !== "flow"));
  readonly maskFirst = signal(false);
  /** as typed: "1-6,8"; "" means all */
  readonly layers = signal("");
  readonly temperature = signal(0);
  readonly topP = signal(1);
  readonly seed = signal(1);

  readonly models: ReadonlySignal<ServedModel[]> = computed(() => {
    const task = this.task.value;
    // A language model can explain a text as well as continue one.
    const fits = (kind: ServedModel["kind"]) => kind === task || (task === "text" && kind === "generation");
    return (this.table.value?.models ?? []).filter(({ kind }) => fits(kind));
  });
  readonly chosen: ReadonlySignal<ServedModel | null> = computed(() => {
    const name = this.model.value[this.task.value];
    return this.models.value.find((model) => model.name === name) ?? this.models.value[0] ?? null;
  });

  /** Whether a decoder request would take minutes for all tokens. */
  readonly long: ReadonlySignal<boolean> = computed(() => isLong(this.chosen.value, this.text.value, this.pair.value));
  /** Whether rows of one token suffice: true for attention, but not for relevance, which a named target implies. */
  private readonly lastSuffices: ReadonlySignal<boolean> = computed(() => {
    const named = this.mixing.value === "auto" && (this.target.value.trim() || this.against.value.trim());
    const attention = ["auto", "attention"].includes(this.mixing.value) && !named;
    return !this.allTokens.value && attention;
  });
  readonly onlyLast: ReadonlySignal<boolean> = computed(
    () => this.long.value && this.lastSuffices.value && !(this.chosen.value?.takes_target ?? false),
  );
  /** Whether the prompt is passed to the model in its chat template. */
  readonly chat = computed(() => (this.chosen.value?.chat ?? false) && (this.chatChoice.value ?? true));
  readonly examples = computed(() => textsOf(this.chosen.value, this.task.value === "generation" && this.chat.value));

  /** Takes the list of available models, whose first is used by default, and their examples. */
  begin(table: ModelTable) {
    const isFirst = this.table.peek() === null;
    this.table.value = table;
    const names = { text: "", image: "", generation: "" };
    for (const task of TASKS) {
      names[task] = table.default[task] ?? table.models.find(({ kind }) => kind === task)?.name ?? "";
    }
    this.model.value = names;
    // Initially the task is that of the model the server was started with; a later login changes no choice.
    const kind = table.models[0]?.kind;
    if (isFirst && kind) this.task.value = kind;
    const named = (name: string) => table.models.find((model) => model.name === name) ?? null;
    const writer = named(names.generation);
    if (!this.text.value) this.offer(this.text, textsOf(named(names.text || names.generation))[0] ?? "");
    if (!this.prompt.value) {
      this.offer(this.prompt, textsOf(writer, writer?.chat && this.chatChoice.value !== false)[0] ?? "");
    }
  }

  choose(task: Task) {
    this.task.value = task;
  }

  /**
   * Changes the model or chat mode. An example that the page itself filled in is replaced by one that fits, until it
   * has been used: then the text counts as the user's, who may want two models to process it.
   */
  chooseWith(change: () => void) {
    const field = this.task.peek() === "generation" ? this.prompt : this.text;
    batch(() => {
      change();
      const after = this.examples.peek();
      if (after.length > 0 && this.offered.has(field.peek())) this.offer(field, after[0]);
    });
  }

  private offer(field: Signal<string>, example: string) {
    field.value = example;
    this.offered.add(example);
  }

  /** Marks a text that was used or picked from the examples as the user's own. */
  keep(text: string): string {
    this.offered.delete(text);
    return text;
  }

  /** The requested mixing, prediction and methods, without those that are defaults. */
  edges(): { mixing?: string; target?: string; against?: string; method?: Method[] } {
    const [target, against] = [this.target.value.trim(), this.against.value.trim()];
    const scores = SCORE_METHODS.filter((method) => this.scores.value.includes(method));
    return {
      ...(this.mixing.value !== "auto" && { mixing: this.mixing.value }),
      ...(target && { target }),
      ...(against && { against }),
      ...(scores.length > 0 && { method: [...AGGREGATIONS, ...scores] }),
    };
  }

  takeMixing(name: string | undefined) {
    this.mixing.value = MIXING_NAMES.find((one) => one === name) ?? "auto";
  }

  takeEdges({ mixing, target = "", against = "", method = [] }: ReturnType<Question["edges"]>) {
    this.takeMixing(mixing);
    this.target.value = target === "auto" ? "" : target;
    this.against.value = against;
    this.scores.value = SCORE_METHODS.filter((one) => method.includes(one));
  }

  /** The second text, by the name that the model takes it by. */
  private second(): { pair?: string; target_text?: string } {
    const text = this.pair.value;
    if (this.chosen.value?.takes_target) return { target_text: text };
    return text ? { pair: text } : {};
  }

  /** The request for a text, the one in the form or another by the same choices. */
  request(asked = this.text.value): Record<string, unknown> {
    const text = this.keep(asked);
    const [candidates, referents] = [list(this.candidates.value), list(this.referents.value)];
    const body = {
      model: this.chosen.value?.name ?? "",
      text,
      ...this.second(),
      ...this.edges(),
      ...(candidates.length > 0 ? { candidates } : {}),
      ...(referents.length > 0 ? { referents } : {}),
      ...(text.length + this.pair.value.length <= MOST_TEXT_WITH_HEADS ? { keep_attention: true } : {}),
    };
    const long = isLong(this.chosen.value, text, this.pair.value);
    return long ? askOfLong(body, !this.lastSuffices.value) : body;
  }

  /** The request for a continuation; sampling options only if it samples. */
  promptRequest() {
    const samples = this.temperature.value > 0;
    const layers = this.layers.value.trim();
    return {
      model: this.chosen.value?.name ?? "",
      prompt: this.keep(this.prompt.value),
      method: this.methods.value.filter((one) => !isScore(one) || this.chosen.value?.methods.includes(one)),
      tokens: this.tokens.value,
      chat: this.chat.value,
      ...(this.chat.value && this.system.value ? { system: this.system.value } : {}),
      temperature: this.temperature.value,
      ...(samples ? { top_p: this.topP.value, seed: this.seed.value } : {}),
      ...(this.maskFirst.value ? { mask_columns: "first" } : {}),
      ...(layers ? { layers } : {}),
      ...(this.mixing.value !== "auto" && { mixing: this.mixing.value }),
    };
  }
}
