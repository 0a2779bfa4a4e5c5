// What is typed and chosen in the composer, and the requests that it stands for.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { AGGREGATIONS, isScore, SCORE_METHODS, type Method, type ScoreMethod } from "../report/document";
import { MIXING_NAMES, type MixingName } from "../report/mixings";
import type { ModelTable, ServedModel } from "./client";
import { textsOf } from "./examples";
import { askOfLong, isLong } from "./long_text";

export type Task = "text" | "image" | "generation";

export const TASKS: readonly Task[] = ["text", "image", "generation"];

/** of a continuation */
export const USUAL_TOKENS = 40;
/** Single heads of short texts only: they are L H n² numbers. */
const MOST_TEXT_WITH_HEADS = 240;

/** What is asked of a continuation. */
export type PromptRequest = ReturnType<Question["promptRequest"]> & { begin_with?: number[] };

/** The words of a list as it is typed. */
const list = (words: string) =>
  words
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);

export class Question {
  readonly table = signal<ModelTable | null>(null);
  readonly task = signal<Task>("text");
  readonly text = signal("");
  readonly pair = signal("");
  readonly prompt = signal("");
  readonly model = signal<Record<Task, string>>({ text: "", image: "", generation: "" });
  /** of texts, pictures and continuations: what the layers' matrices are made of */
  readonly mixing = signal<MixingName | "auto">("auto");
  /** of texts and pictures: which prediction is explained, against which */
  readonly target = signal("");
  readonly against = signal("");
  /** methods beside raw, rollout and flow */
  readonly scores = signal<readonly ScoreMethod[]>([]);
  /** of a long text: whether more than its last token is explained */
  readonly allTokens = signal(false);
  /** of explain */
  readonly candidates = signal("");
  readonly referents = signal("");
  /** examples that the page has put into its fields and nobody has asked about */
  private readonly offered = new Set<string>();
  /** of generate */
  readonly tokens = signal(USUAL_TOKENS);
  /** Whether the prompt is a turn of a conversation; null: as the model is made for. */
  readonly chatChoice = signal<boolean | null>(null);
  readonly system = signal("");
  readonly methods = signal<readonly Method[]>(AGGREGATIONS.filter((method) => method !== "flow"));
  readonly maskFirst = signal(false);
  /** as it is typed: "1-6,8"; "" is all */
  readonly layers = signal("");
  readonly temperature = signal(0);
  readonly topP = signal(1);
  readonly seed = signal(1);

  readonly models: ReadonlySignal<ServedModel[]> = computed(() => {
    const task = this.task.value;
    // A language model explains a text as well as it continues one.
    const fits = (kind: ServedModel["kind"]) => kind === task || (task === "text" && kind === "generation");
    return (this.table.value?.models ?? []).filter(({ kind }) => fits(kind));
  });
  readonly chosen: ReadonlySignal<ServedModel | null> = computed(() => {
    const name = this.model.value[this.task.value];
    return this.models.value.find((model) => model.name === name) ?? this.models.value[0] ?? null;
  });

  /** Whether what is asked of a decoder would take minutes for all tokens. */
  readonly long: ReadonlySignal<boolean> = computed(() => isLong(this.chosen.value, this.text.value, this.pair.value));
  /** Rows of one token need no matrices, where these are attention: not relevance, which a named target stands for. */
  readonly onlyLast: ReadonlySignal<boolean> = computed(() => {
    const named = this.mixing.value === "auto" && (this.target.value.trim() || this.against.value.trim());
    const attention = ["auto", "attention"].includes(this.mixing.value) && !named;
    return this.long.value && !this.allTokens.value && attention;
  });
  /** Whether the prompt is given to the model in its chat template. */
  readonly chat = computed(() => (this.chosen.value?.chat ?? false) && (this.chatChoice.value ?? true));
  /** Texts to begin with. */
  readonly examples = computed(() => textsOf(this.chosen.value, this.task.value === "generation" && this.chat.value));

  /** The models that there are: those that are asked unless another one is chosen, and their examples. */
  begin(table: ModelTable) {
    const isFirst = this.table.peek() === null;
    this.table.value = table;
    const names = { text: "", image: "", generation: "" };
    for (const task of TASKS) {
      names[task] = table.default[task] ?? table.models.find(({ kind }) => kind === task)?.name ?? "";
    }
    this.model.value = names;
    // The server opens on the model that it was started with; another login changes no choice.
    const kind = table.models[0]?.kind;
    if (isFirst && kind) this.task.value = kind;
    const named = (name: string) => table.models.find((model) => model.name === name) ?? null;
    const writer = named(names.generation);
    if (!this.text.value) this.offer(this.text, textsOf(named(names.text || names.generation))[0] ?? "");
    if (!this.prompt.value) {
      this.offer(this.prompt, textsOf(writer, writer?.chat && this.chatChoice.value !== false)[0] ?? "");
    }
  }

  /** Another thing to ask. What is said and shown is what belongs to it. */
  choose(task: Task) {
    this.task.value = task;
  }

  /**
   * Another model, or chat or none. What the page itself has put into the field gives way to an example that fits, until
   * something is asked: from then on the sentence is the reader's, who may want two models to say something about it.
   */
  chooseWith(change: () => void) {
    const field = this.task.peek() === "generation" ? this.prompt : this.text;
    batch(() => {
      change();
      const after = this.examples.peek();
      if (after.length > 0 && this.offered.has(field.peek())) this.offer(field, after[0]);
    });
  }

  /** Puts an example into a field. */
  private offer(field: Signal<string>, example: string) {
    field.value = example;
    this.offered.add(example);
  }

  /** Marks a text that was asked or picked among the examples as the reader's own. */
  keep(text: string): string {
    this.offered.delete(text);
    return text;
  }

  /** Which mixing, prediction and methods are asked; what is as usual is not said. */
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

  /** What an address asks of these. */
  takeEdges({ mixing, target = "", against = "", method = [] }: ReturnType<Question["edges"]>) {
    this.takeMixing(mixing);
    this.target.value = target === "auto" ? "" : target;
    this.against.value = against;
    this.scores.value = SCORE_METHODS.filter((one) => method.includes(one));
  }

  /** What is asked of a text. */
  request(): Record<string, unknown> {
    const text = this.keep(this.text.value);
    const [candidates, referents] = [list(this.candidates.value), list(this.referents.value)];
    const body = {
      model: this.chosen.value?.name ?? "",
      text,
      ...(this.pair.value ? { pair: this.pair.value } : {}),
      ...this.edges(),
      ...(candidates.length > 0 ? { candidates } : {}),
      ...(referents.length > 0 ? { referents } : {}),
      ...(text.length + this.pair.value.length <= MOST_TEXT_WITH_HEADS ? { keep_attention: true } : {}),
    };
    return this.long.value ? askOfLong(body, !this.onlyLast.value) : body;
  }

  /** What is asked of a continuation; what samples is said only where it does. */
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
