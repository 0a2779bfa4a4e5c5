// What is asked of the server, and what became of it.
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import { moveTo } from "../address";
import { Viewer, type Wanted } from "../context";
import type { Recipe } from "../report/recipe";
import { MOST_GIVEN } from "../generation/branch";
import type { LivePrompt, LiveToken } from "../generation/growing";
import { GenerationLive } from "../generation/live";
import { AGGREGATIONS, isScore, METHODS, SCORE_METHODS, type Method, type ScoreMethod } from "../report/document";
import { MIXING_NAMES, mixingInfo, type MixingInfo, type MixingName } from "../report/mixings";
import { Report } from "../report/report";
import { withInstead } from "../report/text";
import { WordReport } from "../report/words";
import { restoreLink } from "../link";
import {
  askOfAddress,
  readAsk,
  writePictureAsk,
  writePromptAsk,
  writeTextAsk,
  type PictureAsk,
  type PromptAsk,
  type TextAsk,
} from "./ask";
import { ServerError, type Client, type Handlers, type ModelTable, type Progress, type ServedModel } from "./client";
import { Evaluation } from "./evaluation";
import { KeptPictures, problemOf, sendingOf, type AskedPicture, type Sent, type WantedPicture } from "./pictures";
import { askOfLong, isLong, ofAllTokens, withSettings } from "./long_text";
import { exampleFile, textsOf } from "./examples";
import { keepPicture, keptPicture } from "./tab";
import { problemHere } from "./problems";

export type Task = "text" | "image" | "generation";

const TASKS: readonly Task[] = ["text", "image", "generation"];

/** What is shown below the composer. */
export type Shown = { viewer: Viewer } | { live: GenerationLive } | null;

/** What a report was asked with: it is asked again with other settings, or with blanked tokens. */
type Asked = { text: Record<string, unknown> } | AskedPicture;

/** What the server is doing while it evaluates. */
export const EVALUATING = "Evaluating";
/** of a continuation */
export const USUAL_TOKENS = 40;
/** Single heads of short texts only: they are L H n² numbers. */
const MOST_TEXT_WITH_HEADS = 240;

/** What a request says so that numbers are made as a recipe has them. */
function recipeFields(recipe: Recipe, { needs, rule }: MixingInfo) {
  const { heads, residual, ...others } = recipe;
  // Only attention has heads; contributions, relevance and gradients have a residual of their own.
  return { ...(needs === "attention" && { heads }), ...(rule === "convex" && { residual }), ...others };
}

/** What is asked of a continuation. */
type PromptRequest = ReturnType<ServerState["promptRequest"]> & { begin_with?: number[] };

/** Nobody else's: 16 random bytes. */
const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class ServerState {
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

  readonly progress = signal<Progress | null>(null);
  readonly working = signal("");
  /** Of a generation of which tokens have come: it can be ended with those. */
  readonly ending = signal<"" | "possible" | "asked">("");
  /** What the address asks for now. */
  readonly wanted = signal<WantedPicture | null>(null);
  /** the picture that was sent last */
  readonly sent = signal<Sent | null>(null);
  /** What a link asks for and the page cannot do. */
  private readonly notices = signal<Partial<Record<Task, string>>>({});
  private readonly problems = signal<Partial<Record<Task, string>>>({});
  private readonly results = signal<Readonly<Record<Task, Shown>>>({ text: null, image: null, generation: null });
  /** Notices, problems and reports are those of their task. */
  readonly notice: ReadonlySignal<string> = computed(() => this.notices.value[this.task.value] ?? "");
  readonly problem: ReadonlySignal<string> = computed(() => this.problems.value[this.task.value] ?? "");
  /** The text that was asked last is longer than the model takes: its beginning can be explained. */
  private readonly tooLong = signal(false);
  /** the server's name of what went wrong last */
  private failure = "";
  readonly cuttable: ReadonlySignal<boolean> = computed(() => this.task.value === "text" && this.tooLong.value);
  readonly shown: ReadonlySignal<Shown> = computed(() => this.results.value[this.task.value]);
  /** What a link has opened, until what it shows is there. */
  readonly linked = signal<Viewer | null>(null);
  readonly blanked = signal<readonly number[]>([]);
  /** of the text that is shown */
  readonly evaluation = signal<Evaluation | null>(null);
  readonly evaluationProblem = signal("");
  readonly announcement = signal("");
  /** continuations of the prompt that is shown, from tokens that were given; the first is the model's own */
  readonly branches = signal<readonly GenerationLive[]>([]);
  /** the step of the tour (tour.tsx); null where it is not taken */
  readonly tour = signal<number | null>(null);
  private readonly pictures = new KeptPictures();
  private readonly asked: Partial<Record<Task, Asked>> = {};
  /** What was shown before the newest continuation: it comes back where nothing comes of that. */
  private beneath: Shown = null;
  private readonly prompts = new WeakMap<GenerationLive, PromptRequest>();
  private running: AbortController | null = null;
  /** What the server knows the newest generation by. */
  private stopId = "";
  /** Its tokens are not wanted. */
  private discards = false;

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

  constructor(readonly client: Client) {}

  /** Another model, or chat or none: an example that nobody has changed gives way to one that fits. */
  chooseWith(change: () => void) {
    const before = this.examples.peek();
    const field = this.task.peek() === "generation" ? this.prompt : this.text;
    batch(() => {
      change();
      const after = this.examples.peek();
      const at = before.indexOf(field.peek());
      if (at >= 0 && after.length > 0) field.value = after[at] ?? after[0];
    });
  }

  async begin() {
    try {
      const table = await this.client.models();
      batch(() => {
        this.table.value = table;
        this.problems.value = {};
        const names = { text: "", image: "", generation: "" };
        for (const task of TASKS) {
          names[task] = table.default[task] ?? table.models.find(({ kind }) => kind === task)?.name ?? "";
        }
        this.model.value = names;
        if (!names.text && names.image) this.task.value = "image";
        const named = (name: string) => table.models.find((model) => model.name === name) ?? null;
        this.text.value ||= textsOf(named(names.text || names.generation))[0] ?? "";
        const writer = named(names.generation);
        this.prompt.value ||= textsOf(writer, writer?.chat && this.chatChoice.value !== false)[0] ?? "";
      });
    } catch (error) {
      this.fail(error, this.task.peek());
    }
  }

  /** What was asked of what is shown; by now something else may be typed. */
  askedWords(): string {
    const [shown, { text }] = [this.shown.value, this.asked];
    if (this.task.value === "image") return this.sent.value?.name ?? "";
    if (shown && "live" in shown) return shown.live.typed;
    return shown && text && "text" in text ? String(text.text.text) : this.text.value;
  }

  /** Another thing to ask. What is said and shown is what belongs to it. */
  choose(task: Task) {
    this.task.value = task;
  }

  private note(task: Task, notice: string) {
    this.notices.value = { ...this.notices.peek(), [task]: notice };
  }

  private say(task: Task, problem: string) {
    if (task === "text") this.tooLong.value = false;
    this.problems.value = { ...this.problems.peek(), [task]: problem };
  }

  private fail(error: unknown, task: Task) {
    if (error instanceof DOMException && error.name === "AbortError") {
      this.announcement.value = "Canceled";
      if (!this.discards) this.say(task, "Canceled.");
      return;
    }
    // The login field says it.
    this.say(task, this.client.locked.value ? "" : problemHere(error instanceof Error ? error.message : String(error)));
    this.failure = error instanceof ServerError ? error.kind : "";
  }

  cancel() {
    this.running?.abort();
  }

  /** Ends the generation with the tokens so far. */
  async stop() {
    if (this.ending.peek() !== "possible") return;
    this.ending.value = "asked";
    try {
      await this.client.stop(this.stopId);
    } catch (error) {
      this.ending.value = "possible";
      this.fail(error, "generation");
    }
  }

  /** Ends the generation and throws its tokens away. */
  discard() {
    this.discards = true;
    this.cancel();
  }

  /** One piece of work at a time: a newer one ends the one before. */
  private async work<T>(what: string, run: (handlers: Handlers, signal: AbortSignal) => Promise<T>): Promise<T | null> {
    this.cancel();
    this.discards = false;
    this.failure = "";
    const task = this.task.peek();
    const mine = new AbortController();
    this.running = mine;
    batch(() => {
      this.working.value = what;
      this.progress.value = null;
      this.say(task, "");
    });
    try {
      return await run({ progress: (progress) => (this.progress.value = progress) }, mine.signal);
    } catch (error) {
      if (this.running === mine) this.fail(error, task);
      return null;
    } finally {
      if (this.running === mine) {
        batch(() => {
          this.running = null;
          this.working.value = "";
          this.ending.value = "";
          this.progress.value = null;
        });
      }
    }
  }

  /** Which mixing, prediction and methods are asked; what is as usual is not said. */
  private edges(): { mixing?: string; target?: string; against?: string; method?: Method[] } {
    const [target, against] = [this.target.value.trim(), this.against.value.trim()];
    const scores = SCORE_METHODS.filter((method) => this.scores.value.includes(method));
    return {
      ...(this.mixing.value !== "auto" && { mixing: this.mixing.value }),
      ...(target && { target }),
      ...(against && { against }),
      ...(scores.length > 0 && { method: [...AGGREGATIONS, ...scores] }),
    };
  }

  /** What an address asks of these. */
  private takeEdges({ mixing, target = "", against = "", method = [] }: ReturnType<ServerState["edges"]>) {
    this.mixing.value = MIXING_NAMES.find((name) => name === mixing) ?? "auto";
    this.target.value = target === "auto" ? "" : target;
    this.against.value = against;
    this.scores.value = SCORE_METHODS.filter((one) => method.includes(one));
  }

  /** The request that the composer stands for. */
  request(): Record<string, unknown> {
    const text = this.text.value;
    const list = (words: string) =>
      words
        .split(",")
        .map((word) => word.trim())
        .filter(Boolean);
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

  private explain(body: Record<string, unknown>, what: string) {
    return this.work(what, async (handlers, signal) =>
      Report.read(await this.client.explain({ method: AGGREGATIONS, compact: true, ...body }, handlers, signal)),
    );
  }

  private put(task: Task, shown: Shown) {
    this.results.value = { ...this.results.peek(), [task]: shown };
  }

  /** @param wanted what the picture was chosen for */
  private show(report: Report, asked: Asked, wanted: WantedPicture | null = null) {
    const task = "text" in asked ? "text" : "image";
    const before = this.results.peek()[task];
    const viewer = new Viewer(report);
    // What was chosen stays chosen where the new report has it.
    if (before && "viewer" in before) {
      const { method, palette, ownScale } = before.viewer.state.choices;
      if (report.methods.includes(method.value)) viewer.state.choices.method.value = method.value;
      viewer.state.choices.palette.value = palette.value;
      viewer.state.choices.ownScale.value = ownScale.value;
    }
    const { state } = viewer;
    const ask =
      "text" in asked
        ? writeTextAsk(asked.text)
        : writePictureAsk(asked.picture.name, asked.options.model, asked.example, asked.edges);
    state.address = ask ? { ask } : {};
    state.lacks = "text" in asked ? (ask ? "" : "the long text") : asked.example ? "" : "the picture";
    if (wanted) restoreLink(wanted.fragment, state);
    viewer.askServer.value = (asking, what) => {
      viewer.asking.value = what;
      void this.recompute(asking, what).finally(() => {
        if (viewer.asking.peek() === what) viewer.asking.value = null;
      });
    };
    const served = this.table.peek()?.models.find(({ name }) => name === this.chosen.peek()?.name);
    viewer.askMixing.value = {
      offers: ({ name }) => served?.mixings.includes(name) ?? true,
      ask: (mixing) => this.mix(viewer, asked, mixing),
    };
    if (wanted) this.linked.value = viewer;
    batch(() => {
      if ("picture" in asked) {
        this.showPicture(viewer, asked);
        return;
      }
      this.asked.text = asked;
      this.blanked.value = [];
      this.evaluation.value = null;
      this.evaluationProblem.value = "";
      this.put("text", { viewer });
    });
  }

  /** The same input with other matrices of the layers; layer and output token stay chosen. */
  private async mix({ state, report: before }: Viewer, asked: Asked, mixing: MixingName) {
    const task = "text" in asked ? "text" : "image";
    const what = `Explaining with ${mixing}`;
    const again: Asked =
      "text" in asked
        ? { text: { ...ofAllTokens(asked.text), mixing } }
        : { ...asked, options: { ...asked.options, mixing }, edges: { ...asked.edges, mixing } };
    const report =
      "text" in again
        ? await this.explain(again.text, what)
        : await this.work(what, async (handlers, signal) => {
            const options = { method: AGGREGATIONS.join(","), ...again.options };
            return Report.read(await this.client.image(again.picture, options, handlers, signal));
          });
    if (!report) return;
    this.show(report, again);
    const shown = this.results.peek()[task];
    if (!shown || !("viewer" in shown) || report.n !== before.n) return;
    const { choices } = shown.viewer.state;
    choices.token.value = state.choices.token.peek();
    if (report.layers.includes(state.choices.layer.peek())) choices.layer.value = state.choices.layer.peek();
  }

  private showPicture(viewer: Viewer, asked: AskedPicture) {
    this.pictures.keep(viewer, asked);
    const { ask } = viewer.state.address;
    if (ask && !asked.example) void keepPicture(ask, asked.picture);
    this.asked.image = asked;
    this.wanted.value = null;
    this.sent.value = sendingOf(asked.picture, this.sent.peek());
    this.put("image", { viewer });
  }

  /** The task whose report an address asks for, where it is there already. */
  private shownFor(ask: string): Task | undefined {
    return TASKS.find((task) => {
      const shown = this.results.peek()[task];
      return shown && ("viewer" in shown ? shown.viewer.state.address.ask : shown.live.options.ask) === ask;
    });
  }

  /** Back, or forward, to another branch of the prompt that is shown. */
  private branchFor(ask: string): GenerationLive | undefined {
    return this.branches.peek().find(({ options, viewer }) => options.ask === ask && viewer.peek() !== null);
  }

  /** Back, or forward, to what another task shows. */
  private showAgain(task: Task) {
    const shown = this.results.peek()[task];
    if (this.task.peek() !== task && shown) {
      const state = "viewer" in shown ? shown.viewer.state : shown.live.viewer.peek()?.state;
      if (state && !state.growing.peek()) restoreLink(location.hash, state);
    }
    if (task === "image") this.wanted.value = null;
    this.choose(task);
  }

  /** A continuation's address, where it is shown; none where it is too long for one. */
  private enter({ options: { ask } }: GenerationLive) {
    if (this.task.peek() !== "generation" || askOfAddress() === ask) return;
    moveTo(ask ? `v=1&${new URLSearchParams({ ask }).toString()}` : "");
  }

  private shows(live: GenerationLive): boolean {
    const shown = this.results.peek().generation;
    return shown !== null && "live" in shown && shown.live === live;
  }

  /** Asks what an address says, if it says something else than what is shown. */
  async followAddress() {
    const ask = askOfAddress();
    const there = ask && this.shownFor(ask);
    if (there) this.showAgain(there);
    if (!ask || there) return;
    const branch = this.branchFor(ask);
    if (branch) {
      const state = branch.viewer.peek()?.state;
      if (state && !state.growing.peek()) restoreLink(location.hash, state);
      this.put("generation", { live: branch });
      this.choose("generation");
      return;
    }
    const found = readAsk(ask);
    // What models there are is not known before the server has said it.
    if (!this.table.peek()) return;
    if (!found) {
      this.note(this.task.peek(), "The link cannot be read: it is not what “Copy link” gives. Nothing was asked.");
      return;
    }
    if ("text" in found) await this.askAgain(found);
    else if ("prompt" in found) await this.continueAgain(found);
    else await this.wantPicture(found, ask);
  }

  /**
   * What a link came to be asked as, in its place. A model that is not here, or a link by hand, is asked in other words:
   * each way back to them would be another thing to ask.
   */
  private settle(ask: string) {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (ask) parts.set("ask", ask);
    else parts.delete("ask");
    const fragment = parts.toString();
    if (fragment !== location.hash.slice(1)) moveTo(fragment, "replace");
  }

  /** The task and model of a link. A model that is not here is said to be missing; whether it is here. */
  private take(task: Task, model: string | undefined): boolean {
    this.choose(task);
    this.note(task, "");
    if (!model) return true;
    const there = this.models.value.some(({ name }) => name === model);
    if (there) {
      this.model.value = { ...this.model.value, [task]: model };
    } else {
      const asked = this.chosen.value?.name ?? "";
      this.note(task, `The link names the model “${model}”, which this server does not have; “${asked}” is asked.`);
    }
    return there;
  }

  private async askAgain(found: TextAsk) {
    batch(() => {
      this.take("text", found.model);
      this.text.value = found.text;
      this.pair.value = found.pair ?? "";
      this.takeEdges(found);
      this.candidates.value = found.candidates ?? "";
      this.referents.value = found.referents ?? "";
      this.allTokens.value = this.long.peek() && !found.only_output_token;
    });
    const cut = found.truncate === true;
    this.settle(writeTextAsk({ ...this.request(), ...(cut && { truncate: true }) }));
    if (await this.askText("Explaining again, from the link", cut)) {
      const shown = this.results.peek().text;
      if (shown && "viewer" in shown) this.linked.value = shown.viewer;
    }
  }

  private async continueAgain(found: PromptAsk) {
    let there = true;
    batch(() => {
      there = this.take("generation", found.model);
      this.prompt.value = found.prompt;
      this.tokens.value = found.tokens ?? this.tokens.peek();
      this.methods.value = METHODS.filter((one) => (found.method ?? this.methods.peek()).includes(one));
      this.chatChoice.value = found.chat ?? false;
      this.system.value = found.system ?? "";
      this.temperature.value = found.temperature ?? 0;
      this.topP.value = found.top_p ?? 1;
      this.seed.value = found.seed ?? this.seed.peek();
      this.maskFirst.value = found.mask_columns === "first";
      this.layers.value = found.layers ?? "";
      this.mixing.value = MIXING_NAMES.find((name) => name === found.mixing) ?? "auto";
    });
    // Numbers of tokens are the model's own.
    const begin = there && found.begin_with ? { begin_with: found.begin_with } : {};
    this.settle(writePromptAsk({ ...this.promptRequest(), ...begin }));
    const seed = this.temperature.peek() > 0 ? `, with its seed ${this.seed.peek()}` : "";
    const asked = { ...this.promptRequest(), ...begin };
    await this.generate({ what: `Restoring${seed}`, fragment: location.hash, asked });
  }

  /** Shows a picture again, explains an example, or asks for the picture. What is shown meanwhile stays. */
  private async wantPicture(found: PictureAsk, ask: string) {
    const { picture, model, example = false } = found;
    const kept = this.pictures.get(ask);
    let file: File | undefined;
    batch(() => {
      this.take("image", model);
      this.takeEdges(found);
      if (kept) {
        restoreLink(location.hash, kept.viewer.state);
        this.showPicture(kept.viewer, kept.asked);
        return;
      }
      file = example ? exampleFile(this.chosen.peek(), picture) : keptPicture(ask);
      const known = example && file !== undefined;
      this.settle(writePictureAsk(picture, this.chosen.peek()?.name ?? "", known, this.edges()));
      this.wanted.value = { name: picture, fragment: location.hash, there: file !== undefined };
    });
    if (file) await this.explainPicture(file, example, true);
  }

  /** @param cut only its beginning, as long as the model takes */
  explainText(cut = false) {
    this.note("text", "");
    return this.askText("Explaining", cut);
  }

  private async askText(what: string, cut = false) {
    const body = { ...this.request(), ...(cut && { truncate: true }) };
    const report = await this.explain(body, what);
    if (report) this.show(report, { text: body });
    // What is compared, or replaced, is another question than this one.
    else this.tooLong.value = this.failure === "input_too_long";
    return report !== null;
  }

  /** A request for what is to stand beside what is shown, made as that is now. */
  private beside(viewer: Viewer, body: Record<string, unknown>): Record<string, unknown> {
    const mixing = typeof body.mixing === "string" ? mixingInfo(body.mixing) : viewer.report.mixing;
    return withSettings(body, recipeFields(viewer.explanation.peek().recipe, mixing));
  }

  /** Explains what the composer holds, beside what is shown. */
  async compareText() {
    const shown = this.shown.peek();
    if (!shown || !("viewer" in shown)) return;
    const report = await this.explain(this.beside(shown.viewer, this.request()), "Explaining the other");
    if (report) this.compareWith(shown.viewer, report);
  }

  private compareWith(viewer: Viewer, report: Report, card = "compare-card") {
    const { choices } = viewer.state;
    batch(() => {
      viewer.problem.value = "";
      choices.comparison.value = { method: choices.method.value, layer: choices.layer.value, shares: false };
      viewer.other.value = report;
    });
    requestAnimationFrame(() =>
      document.getElementById(card)?.scrollIntoView({ block: card === "compare-card" ? "nearest" : "start" }),
    );
  }

  /** The same text with some of its tokens blanked, beside the original. */
  async blank(viewer: Viewer, positions: readonly number[]) {
    if (positions.length === 0) {
      this.blanked.value = positions;
      viewer.other.value = null;
      viewer.state.choices.comparison.value = null;
      return;
    }
    const { text: asked } = this.asked;
    if (!asked || !("text" in asked)) return;
    // Of a model that classifies each token, or finds an answer, "auto" may be another token now.
    const { output_token: own, predictions = [] } = viewer.report.document;
    const words = viewer.report instanceof WordReport ? viewer.report : null;
    const same =
      own !== undefined && predictions.some(({ kind }) => kind === "token-class" || kind === "answer")
        ? { output_token: words ? words.groups[own][0] : own }
        : {};
    const report = await this.explain(this.beside(viewer, { ...asked.text, ...same, blank: positions }), "Blanking");
    if (!report) return;
    this.blanked.value = positions;
    viewer.gone.value = { report, tokens: positions };
    // The card that asked stays in sight above.
    this.compareWith(viewer, report, "what-if-card");
  }

  /** The same text with other words in place of a token, beside the original. */
  async replace(viewer: Viewer, token: number, instead: string) {
    const { text: asked } = this.asked;
    if (!asked || !("text" in asked)) return;
    const { begin, end, segment } = viewer.report.tokens[token];
    const field = segment === 1 ? "pair" : "text";
    const text = asked.text[field];
    if (typeof text !== "string") return;
    const body = { ...asked.text, [field]: withInstead(text, begin, end, instead) };
    const report = await this.explain(this.beside(viewer, body), "Replacing");
    if (!report) return;
    batch(() => {
      this.blanked.value = [];
      viewer.gone.value = null;
    });
    this.compareWith(viewer, report, "what-if-card");
  }

  /** The model that explained what is shown. */
  explaining(): ServedModel | null {
    const { text: asked } = this.asked;
    const name = asked && "text" in asked ? asked.text.model : "";
    return this.table.value?.models.find((model) => model.name === name) ?? null;
  }

  /** Do the methods agree with what happens when tokens are blanked? Asked of the text that is shown. */
  async evaluate(viewer: Viewer) {
    const { text: asked } = this.asked;
    if (!asked || !("text" in asked)) return;
    const { model, text, pair, truncate } = asked.text;
    this.evaluationProblem.value = "";
    const body = { model, text, ...(pair ? { pair } : {}), ...(truncate ? { truncate } : {}) };
    const found = await this.work(EVALUATING, async (handlers, signal) => {
      try {
        return new Evaluation(await this.client.evaluate(body, handlers, signal));
      } catch (error) {
        // Said where it was asked, unless nobody may ask or nobody waits.
        if (!(error instanceof ServerError) || this.client.locked.value) throw error;
        this.evaluationProblem.value = problemHere(error.message);
        return null;
      }
    });
    if (!found) return;
    this.evaluation.value = found;
    viewer.evaluated.value = true;
    viewer.announcement.value = found.summary();
  }

  /** @param brought an address brings it, as it may bring an example that was chosen */
  async explainPicture(picture: File, example = false, brought = example) {
    if (this.task.peek() !== "image") this.choose("image");
    const problem = problemOf(picture);
    if (problem) {
      this.say("image", problem);
      return;
    }
    // An example that is chosen while a link waits for a picture is not that picture.
    const waiting = this.wanted.peek();
    const wanted = waiting && waiting.there === brought && (!brought || waiting.name === picture.name) ? waiting : null;
    if (!wanted) this.note("image", "");
    this.sent.value = sendingOf(picture, this.sent.peek());
    const edges = this.edges();
    const texts = Object.entries(edges).map(([name, value]) => [name, String(value)]);
    const options = {
      ...{ model: this.chosen.value?.name ?? "", name: picture.name, compact: "true" },
      ...(Object.fromEntries(texts) as Record<string, string>),
    };
    const report = await this.work("Explaining the picture", async (handlers, signal) =>
      Report.read(await this.client.image(picture, { method: AGGREGATIONS.join(","), ...options }, handlers, signal)),
    );
    if (report) this.show(report, { picture, example, options, edges }, wanted);
    else if (wanted?.there && this.wanted.peek() === wanted) this.wanted.value = null;
  }

  /** What is asked of a continuation; what samples is said only where it does. */
  promptRequest() {
    const samples = this.temperature.value > 0;
    const layers = this.layers.value.trim();
    return {
      model: this.chosen.value?.name ?? "",
      prompt: this.prompt.value,
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

  /** Continues with another token in place of one that was generated; what was there stays beside it. */
  async branch(live: GenerationLive, token: number, id: number) {
    const asked = this.prompts.get(live);
    const report = live.viewer.peek()?.report;
    if (!asked || !report) return;
    if (token >= MOST_GIVEN) {
      this.say(
        "generation",
        `Expected one of the first ${MOST_GIVEN} generated tokens to branch at, found token ${token + 1}. Choose an earlier one.`,
      );
      return;
    }
    const before = report.fields.tokens.slice(0, token).map((one) => one.id);
    await this.generate({ what: "Branching", asked: { ...asked, begin_with: [...before, id] }, beside: live });
  }

  /** The tokens of a branch that are known by their numbers: while it grows, those that it was given. */
  idsOf(live: GenerationLive): readonly number[] {
    const viewer = live.viewer.value;
    if (!viewer || viewer.state.growing.value) return this.prompts.get(live)?.begin_with ?? [];
    return viewer.report.fields.tokens.map(({ id }) => id);
  }

  /** Shows another of the branches; what is generated meanwhile goes on. */
  showBranch(live: GenerationLive) {
    this.put("generation", { live });
    this.enter(live);
  }

  /**
   * @param fragment what a link says of the page: chosen when the report is there
   * @param asked what the composer stands for, or a branch of that
   * @param beside the continuation that this one is a branch of
   */
  async generate({
    what = "Generating",
    fragment = "",
    asked = this.promptRequest(),
    beside = null,
  }: { what?: string; fragment?: string; asked?: PromptRequest; beside?: GenerationLive | null } = {}) {
    if (!fragment) this.note("generation", "");
    this.stopId = randomName();
    this.discards = false;
    const body = { ...asked, generated_columns: true, stop_id: this.stopId, compact: true };
    const ask = writePromptAsk(asked);
    const now = this.results.peek().generation;
    // Nothing will come of one that waits for its first token: this one ends it.
    const nothing = now && "live" in now && now.live.waits;
    const before = nothing ? this.beneath : now;
    this.beneath = before;
    const look = before && "live" in before ? before.live.viewer.peek()?.state.choices : null;
    const live = new GenerationLive(asked.prompt, {
      asked,
      ask,
      fragment,
      opened: ({ state, branch }) => {
        branch.value = (token, id) => void this.branch(live, token, id);
        state.address = ask ? { ask } : {};
        state.lacks = ask ? "" : asked.begin_with ? "the long beginning" : "the long prompt";
        if (look && !fragment) {
          state.choices.palette.value = look.palette.peek();
          state.choices.threshold.value = look.threshold.peek();
          state.choices.fromLeast.value = look.fromLeast.peek();
          state.choices.log.value = look.log.peek();
        }
      },
    });
    this.prompts.set(live, asked);
    const known = this.branches.peek();
    // One that waits for its first token is ended by this one.
    const others = this.branches.peek().filter(({ waits }) => !waits);
    this.branches.value = beside ? [...(others.includes(beside) ? others : [beside]), live] : [live];
    this.put("generation", { live });
    const done = await this.work(what, async (handlers, signal) => {
      const prompt = (event: LivePrompt) => {
        // The address of another task, or of another branch that is looked at, is theirs.
        if (this.shows(live)) this.enter(live);
        live.begin(event);
      };
      const token = (event: LiveToken) => {
        live.token(event);
        batch(() => {
          this.progress.value = { position: null, phase: "token", done: event.index + 1, total: asked.tokens };
          this.ending.value ||= "possible";
        });
      };
      await live.report(await this.client.generate(body, { ...handlers, prompt, token }, signal));
      return true;
    });
    if (done) return;
    const mine = this.shows(live);
    const problem = this.problems.peek().generation ?? "";
    if (live.tokens.peek().length > 0 && !this.discards) {
      // Said where the text is.
      live.fail(problem || "it was canceled");
      if (mine) this.say("generation", "");
    } else {
      live.fail("it was canceled");
      // Nothing came of it, or is wanted: what was shown before stays.
      if (mine) this.put("generation", before);
      if (mine && before && "live" in before) this.enter(before.live);
      // Nothing, unless a newer one has taken its place.
      if (this.branches.peek().includes(live)) this.branches.value = beside ? others : known;
    }
  }

  /** Numbers that the page cannot compute, for the same input: they join the viewer's. */
  private async recompute(viewer: Viewer, { method, recipe, token }: Wanted) {
    const task = viewer.report.document.input.kind === "image" ? "image" : "text";
    const asked = this.asked[task];
    if (!asked) return;
    // The server merges the words itself: flow between words is not that of their pieces together.
    const words = viewer.report instanceof WordReport ? viewer.report : null;
    const position = token === null ? "all" : words ? words.groups[token][0] : token;
    const settings = {
      method: [method],
      ...recipeFields(recipe, viewer.report.mixing),
      output_token: position,
      ...(words ? { words: true } : {}),
    };
    const report =
      "text" in asked
        ? await this.explain({ ...withSettings(asked.text, settings), keep_attention: false }, "Computing")
        : await this.work("Computing", async (handlers, signal) => {
            const options = Object.entries(settings).map(([name, value]) => [name, String(value)]);
            const all = { ...asked.options, ...(Object.fromEntries(options) as Record<string, string>) };
            return Report.read(await this.client.image(asked.picture, all, handlers, signal));
          });
    if (report && report.n !== viewer.report.n) {
      this.say(task, `expected an answer for ${viewer.report.n} tokens, found ${report.n}`);
    } else if (report) viewer.answers.value = [...viewer.answers.peek(), report];
  }
}
