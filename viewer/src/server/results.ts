// What is shown below the composer, and what it was asked with.
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import type { Viewer } from "../context";
import type { GenerationLive } from "../generation/live";
import type { Evaluation } from "./evaluation";
import type { AskedPicture } from "./pictures";
import { TASKS, type Task } from "./question";

export type Shown = { viewer: Viewer } | { live: GenerationLive } | null;

export interface AskedText {
  text: Record<string, unknown>;
}

/** What a report was asked with: it is asked again with other settings, or with blanked tokens. */
export type Asked = AskedText | AskedPicture;

export class Results {
  private readonly results = signal<Readonly<Record<Task, Shown>>>({ text: null, image: null, generation: null });
  readonly shown: ReadonlySignal<Shown> = computed(() => this.results.value[this.task.value]);
  /** What a link has opened, until what it shows is there. */
  readonly linked = signal<Viewer | null>(null);
  readonly asked: { text?: AskedText; image?: AskedPicture } = {};
  /** of the text that is shown */
  readonly blanked = signal<readonly number[]>([]);
  readonly evaluation = signal<Evaluation | null>(null);
  readonly evaluationProblem = signal("");

  constructor(private readonly task: ReadonlySignal<Task>) {}

  of(task: Task): Shown {
    return this.results.peek()[task];
  }

  /** The report that is shown of a text or a picture. */
  viewerOf(task: Task): Viewer | null {
    const shown = this.of(task);
    return shown && "viewer" in shown ? shown.viewer : null;
  }

  /** The continuation that is shown. */
  live(): GenerationLive | null {
    const shown = this.of("generation");
    return shown && "live" in shown ? shown.live : null;
  }

  /** The task whose report an address asks for, where it is there already. */
  taskFor(ask: string): Task | undefined {
    return TASKS.find((task) => {
      const shown = this.of(task);
      return shown && ("viewer" in shown ? shown.viewer.state.address.ask : shown.live.options.ask) === ask;
    });
  }

  put(task: Task, shown: Shown) {
    this.results.value = { ...this.results.peek(), [task]: shown };
  }

  putText(viewer: Viewer, asked: AskedText) {
    batch(() => {
      this.asked.text = asked;
      this.blanked.value = [];
      this.evaluation.value = null;
      this.evaluationProblem.value = "";
      this.put("text", { viewer });
    });
  }
}
