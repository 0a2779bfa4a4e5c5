// The server's work for the page, one piece at a time, and errors.
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import { ServerError, type Client, type Handlers, type Progress } from "./client";
import { problemHere } from "./problems";
import type { Task } from "./question";

export class Work {
  readonly progress = signal<Progress | null>(null);
  readonly working = signal("");
  /** For a generation with some tokens already: it can be ended there. */
  readonly ending = signal<"" | "possible" | "asked">("");
  readonly announcement = signal("");
  /** The result is to be discarded. */
  discards = false;
  /** Requests of a link that the page cannot fulfill. */
  private readonly notices = signal<Partial<Record<Task, string>>>({});
  private readonly problems = signal<Partial<Record<Task, string>>>({});
  /** Notices and problems belong to their task. */
  readonly notice: ReadonlySignal<string> = computed(() => this.notices.value[this.task.value] ?? "");
  readonly problem: ReadonlySignal<string> = computed(() => this.problems.value[this.task.value] ?? "");
  /** The last requested text is longer than the model accepts: its beginning can be explained. */
  private readonly tooLong = signal(false);
  readonly cuttable: ReadonlySignal<boolean> = computed(() => this.task.value === "text" && this.tooLong.value);
  /** the server's name for the last error */
  private failure = "";
  private running: AbortController | null = null;

  constructor(
    readonly client: Client,
    private readonly task: ReadonlySignal<Task>,
  ) {}

  note(task: Task, notice: string) {
    this.notices.value = { ...this.notices.peek(), [task]: notice };
  }

  say(task: Task, problem: string) {
    if (task === "text") this.tooLong.value = false;
    this.problems.value = { ...this.problems.peek(), [task]: problem };
  }

  problemOf(task: Task): string {
    return this.problems.peek()[task] ?? "";
  }

  forgetProblems() {
    this.problems.value = {};
  }

  /** A text was requested but not explained: offers its beginning if it was too long. */
  offerCut() {
    this.tooLong.value = this.failure === "input_too_long";
  }

  fail(error: unknown, task: Task) {
    if (error instanceof DOMException && error.name === "AbortError") {
      this.announcement.value = "Canceled";
      if (!this.discards) this.say(task, "Canceled.");
      return;
    }
    // The login field says so.
    this.say(task, this.client.locked.value ? "" : problemHere(error instanceof Error ? error.message : String(error)));
    this.failure = error instanceof ServerError ? error.kind : "";
  }

  cancel() {
    this.running?.abort();
  }

  /** Stops the work and discards its result. */
  discard() {
    this.discards = true;
    this.cancel();
  }

  /** Runs a piece of work; a newer one ends the one before. */
  async run<T>(what: string, ask: (handlers: Handlers, signal: AbortSignal) => Promise<T>): Promise<T | null> {
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
      return await ask({ progress: (progress) => (this.progress.value = progress) }, mine.signal);
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
}
