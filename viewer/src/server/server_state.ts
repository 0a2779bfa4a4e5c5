// What is asked of the server, and what became of it.
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import { Viewer, type Wanted } from "../context";
import type { Recipe } from "../explanation";
import type { LivePrompt, LiveToken } from "../generation/growing";
import { GenerationLive } from "../generation/live";
import { METHODS } from "../report/document";
import { Report } from "../report/report";
import { WordReport } from "../report/words";
import { ServerError, type Client, type Handlers, type ModelTable, type Progress, type ServedModel } from "./client";
import { Evaluation } from "./evaluation";

export type Task = "text" | "image" | "generation";

/** What is shown below the composer. */
export type Shown = { viewer: Viewer } | { live: GenerationLive } | null;

/** What a report was asked with: it is asked again with other settings, or with blanked tokens. */
type Asked = { text: Record<string, unknown> } | { picture: File; options: Record<string, string> };

/** What the server is doing while it evaluates. */
export const EVALUATING = "Evaluating";
const MOST_PICTURE_BYTES = 64 * 2 ** 20;
/** Single heads of short texts only: they are L H n² numbers. */
const MOST_TEXT_WITH_HEADS = 240;

const ASKED = ["model", "text", "pair", "mixing", "target", "candidates", "referents"] as const;
type Ask = { text: string } & Partial<Record<(typeof ASKED)[number], string>>;
const LONGEST_ASK = 8000;

/** What was asked, for the address; "" when it is too long for one. */
function writeAsk(body: Record<string, unknown>): string {
  const parts = ASKED.filter((name) => body[name] !== undefined).map((name) => [name, String(body[name])]);
  const text = JSON.stringify(Object.fromEntries(parts));
  return text.length <= LONGEST_ASK ? text : "";
}

/** Texts only, of known names: the address may come from anyone. */
export function readAsk(text: string): Ask | null {
  if (text.length > LONGEST_ASK) return null;
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof value !== "object" || value === null || typeof value.text !== "string") return null;
    const parts = ASKED.filter((name) => typeof value[name] === "string").map((name) => [name, value[name]]);
    return Object.fromEntries(parts) as Ask;
  } catch {
    return null;
  }
}

/** What a request says so that numbers are made as a recipe has them. */
function recipeFields(recipe: Recipe, gradient: boolean) {
  return {
    // Mixing by gradients is defined with the mean of the heads and the whole identity.
    ...(gradient ? {} : { heads: recipe.heads, residual: recipe.residual }),
    to_layer: recipe.toLayer,
    discard: recipe.discard,
    normalize: recipe.normalize,
    set_aside: recipe.setAside,
  };
}

export class ServerState {
  readonly table = signal<ModelTable | null>(null);
  readonly task = signal<Task>("text");
  readonly text = signal("");
  readonly pair = signal("");
  readonly prompt = signal("");
  readonly model = signal<Record<Task, string>>({ text: "", image: "", generation: "" });
  /** of explain */
  readonly mixing = signal<"attention" | "gradient">("attention");
  readonly target = signal("");
  readonly candidates = signal("");
  readonly referents = signal("");
  /** of generate */
  readonly tokens = signal(40);
  readonly chat = signal(false);
  readonly system = signal("");
  readonly temperature = signal(0);
  readonly topP = signal(1);
  readonly seed = signal(1);

  readonly progress = signal<Progress | null>(null);
  readonly working = signal("");
  readonly problem = signal("");
  readonly shown = signal<Shown>(null);
  readonly blanked = signal<readonly number[]>([]);
  /** of the text that is shown */
  readonly evaluation = signal<Evaluation | null>(null);
  readonly evaluationProblem = signal("");
  readonly announcement = signal("");
  private asked: Asked | null = null;
  private running: AbortController | null = null;

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
  readonly examples: ReadonlySignal<string[]> = computed(() => {
    const examples = this.table.value?.examples ?? {};
    const task = this.task.value;
    if (task === "text") return (this.chosen.value?.head === "masked" ? examples.masked : examples.text) ?? [];
    return (task === "generation" && examples.generation) || [];
  });

  constructor(readonly client: Client) {}

  async begin() {
    try {
      const table = await this.client.models();
      batch(() => {
        this.table.value = table;
        this.problem.value = "";
        const names = { text: "", image: "", generation: "" };
        for (const task of ["text", "image", "generation"] as const) {
          names[task] = table.default[task] ?? table.models.find(({ kind }) => kind === task)?.name ?? "";
        }
        this.model.value = names;
        if (!names.text && names.image) this.task.value = "image";
        this.text.value ||= this.examples.value[0] ?? "";
        this.prompt.value ||= table.examples.generation?.[0] ?? "";
      });
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown) {
    if (error instanceof DOMException && error.name === "AbortError") {
      this.announcement.value = "Cancelled";
      return;
    }
    // The login field says it.
    this.problem.value = this.client.locked.value ? "" : error instanceof Error ? error.message : String(error);
  }

  cancel() {
    this.running?.abort();
  }

  /** One piece of work at a time: a newer one ends the one before. */
  private async work<T>(what: string, run: (handlers: Handlers, signal: AbortSignal) => Promise<T>): Promise<T | null> {
    this.cancel();
    const mine = new AbortController();
    this.running = mine;
    batch(() => {
      this.working.value = what;
      this.progress.value = null;
      this.problem.value = "";
    });
    try {
      return await run({ progress: (progress) => (this.progress.value = progress) }, mine.signal);
    } catch (error) {
      if (this.running === mine) this.fail(error);
      return null;
    } finally {
      if (this.running === mine) {
        batch(() => {
          this.running = null;
          this.working.value = "";
          this.progress.value = null;
        });
      }
    }
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
    return {
      model: this.chosen.value?.name ?? "",
      text,
      ...(this.pair.value ? { pair: this.pair.value } : {}),
      ...(this.mixing.value === "gradient" ? { mixing: "gradient", target: this.target.value.trim() || "auto" } : {}),
      ...(candidates.length > 0 ? { candidates } : {}),
      ...(referents.length > 0 ? { referents } : {}),
      ...(text.length + this.pair.value.length <= MOST_TEXT_WITH_HEADS ? { keep_attention: true } : {}),
    };
  }

  private explain(body: Record<string, unknown>, what: string) {
    return this.work(what, async (handlers, signal) =>
      Report.read(await this.client.explain({ method: METHODS, compact: true, ...body }, handlers, signal)),
    );
  }

  private show(report: Report, asked: Asked) {
    const before = this.shown.peek();
    const viewer = new Viewer(report);
    // What was chosen stays chosen where the new report has it.
    if (before && "viewer" in before) {
      const { method, palette, ownScale } = before.viewer.state.choices;
      if (report.methods.includes(method.value)) viewer.state.choices.method.value = method.value;
      viewer.state.choices.palette.value = palette.value;
      viewer.state.choices.ownScale.value = ownScale.value;
    }
    if ("text" in asked) viewer.state.address = { ask: writeAsk(asked.text) };
    viewer.askServer.value = (asking, wanted) => void this.recompute(asking, wanted);
    batch(() => {
      this.asked = asked;
      this.blanked.value = [];
      this.evaluation.value = null;
      this.evaluationProblem.value = "";
      this.shown.value = { viewer };
    });
  }

  /** Asks what an address says, if it says something else than what is shown. */
  async followAddress() {
    const ask = new URLSearchParams(location.hash.slice(1)).get("ask");
    const shown = this.shown.peek();
    if (!ask || (shown && "viewer" in shown && shown.viewer.state.address.ask === ask)) return;
    const found = readAsk(ask);
    if (!found) return;
    batch(() => {
      this.task.value = "text";
      this.text.value = found.text;
      this.pair.value = found.pair ?? "";
      this.mixing.value = found.mixing === "gradient" ? "gradient" : "attention";
      this.target.value = found.target ?? "";
      this.candidates.value = found.candidates ?? "";
      this.referents.value = found.referents ?? "";
      if (found.model && this.models.value.some(({ name }) => name === found.model)) {
        this.model.value = { ...this.model.value, text: found.model };
      }
    });
    await this.explainText();
  }

  async explainText() {
    const body = this.request();
    const report = await this.explain(body, "Explaining");
    if (report) this.show(report, { text: body });
    return report !== null;
  }

  /** A request for what is to stand beside what is shown, made as that is now. */
  private beside(viewer: Viewer, body: Record<string, unknown>): Record<string, unknown> {
    return { ...body, ...recipeFields(viewer.explanation.peek().recipe, body.mixing === "gradient") };
  }

  /** Explains what the composer holds, beside what is shown. */
  async compareText() {
    const shown = this.shown.peek();
    if (!shown || !("viewer" in shown)) return;
    const report = await this.explain(this.beside(shown.viewer, this.request()), "Explaining the other");
    if (report) this.compareWith(shown.viewer, report);
  }

  private compareWith(viewer: Viewer, report: Report) {
    const { choices } = viewer.state;
    batch(() => {
      viewer.problem.value = "";
      choices.comparison.value = { method: choices.method.value, layer: choices.layer.value, shares: false };
      viewer.other.value = report;
    });
    requestAnimationFrame(() => document.getElementById("compare-card")?.scrollIntoView({ block: "nearest" }));
  }

  /** The same text with some of its tokens blanked, beside the original. */
  async blank(viewer: Viewer, positions: readonly number[]) {
    this.blanked.value = positions;
    if (positions.length === 0) {
      viewer.other.value = null;
      viewer.state.choices.comparison.value = null;
      return;
    }
    if (!this.asked || !("text" in this.asked)) return;
    const report = await this.explain(this.beside(viewer, { ...this.asked.text, blank: positions }), "Blanking");
    if (report) this.compareWith(viewer, report);
  }

  /** The head of the model that explained what is shown. */
  head(): ServedModel["head"] {
    const name = this.asked && "text" in this.asked ? this.asked.text.model : "";
    return this.table.value?.models.find((model) => model.name === name)?.head ?? "none";
  }

  /** Do the methods agree with what happens when tokens are blanked? Asked of the text that is shown. */
  async evaluate(viewer: Viewer) {
    if (!this.asked || !("text" in this.asked)) return;
    const { model, text, pair } = this.asked.text;
    this.evaluationProblem.value = "";
    const body = { model, text, ...(pair ? { pair } : {}) };
    const found = await this.work(EVALUATING, async (handlers, signal) => {
      try {
        return new Evaluation(await this.client.evaluate(body, handlers, signal));
      } catch (error) {
        // Said where it was asked, unless nobody may ask or nobody waits.
        if (!(error instanceof ServerError) || this.client.locked.value) throw error;
        this.evaluationProblem.value = error.message;
        return null;
      }
    });
    if (!found) return;
    this.evaluation.value = found;
    viewer.announcement.value = found.summary();
  }

  async explainPicture(picture: File) {
    if (picture.size > MOST_PICTURE_BYTES) {
      this.problem.value = `expected a picture of at most ${MOST_PICTURE_BYTES / 2 ** 20} MB, found ${picture.name}`;
      return;
    }
    if (!["image/png", "image/jpeg", "image/webp"].includes(picture.type)) {
      this.problem.value = `expected a PNG, JPEG or WebP picture, found ${picture.name}${picture.type && ` (${picture.type})`}`;
      return;
    }
    this.task.value = "image";
    const options = { model: this.chosen.value?.name ?? "", name: picture.name, compact: "true" };
    const report = await this.work("Explaining the picture", async (handlers, signal) =>
      Report.read(await this.client.image(picture, { method: METHODS.join(","), ...options }, handlers, signal)),
    );
    if (report) this.show(report, { picture, options });
  }

  async generate() {
    const body = {
      model: this.chosen.value?.name ?? "",
      prompt: this.prompt.value,
      tokens: this.tokens.value,
      chat: this.chat.value,
      ...(this.chat.value && this.system.value ? { system: this.system.value } : {}),
      temperature: this.temperature.value,
      top_p: this.topP.value,
      seed: this.seed.value,
      generated_columns: true,
      compact: true,
    };
    const live = new GenerationLive(this.prompt.value, { asked: body });
    batch(() => {
      this.asked = null;
      this.shown.value = { live };
    });
    const done = await this.work("Generating", async (handlers, signal) => {
      const prompt = (event: LivePrompt) => live.begin(event);
      const token = (event: LiveToken) => live.token(event);
      await live.report(await this.client.generate(body, { ...handlers, prompt, token }, signal));
      return true;
    });
    if (!done) live.fail(this.problem.value || "It was cancelled.");
  }

  /** Numbers that the page cannot compute, for the same input: they join the viewer's. */
  private async recompute(viewer: Viewer, { method, recipe, token }: Wanted) {
    if (!this.asked) return;
    const asked = this.asked;
    // The server merges the words itself: flow between words is not that of their pieces together.
    const words = viewer.report instanceof WordReport ? viewer.report : null;
    const position = token === null ? "all" : words ? words.groups[token][0] : token;
    const settings = {
      method: [method],
      ...recipeFields(recipe, viewer.report.gradient),
      output_token: position,
      ...(words ? { words: true } : {}),
    };
    const report =
      "text" in asked
        ? await this.explain({ ...asked.text, keep_attention: false, ...settings }, "Computing")
        : await this.work("Computing", async (handlers, signal) => {
            const options = Object.entries(settings).map(([name, value]) => [name, String(value)]);
            const all = { ...asked.options, ...(Object.fromEntries(options) as Record<string, string>) };
            return Report.read(await this.client.image(asked.picture, all, handlers, signal));
          });
    if (report && report.n !== viewer.report.n) {
      this.problem.value = `expected an answer for ${viewer.report.n} tokens, found ${report.n}`;
    } else if (report) viewer.answers.value = [...viewer.answers.peek(), report];
  }
}
