// What is shown below the composer, and the requests that produced it.
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

/** The request for a report, to be repeated with other settings or with blanked tokens. */
export type Asked = AskedText | AskedPicture;

export class Results {
  private readonly results = signal<Readonly<Record<Task, Shown>>>({ text: null, image: null, generation: null });
  readonly shown: ReadonlySignal<Shown> = computed(() => this.results.value[this.task.value]);
  /** The viewer that a link has opened, until everything that it shows has arrived. */
  readonly linked = signal<Viewer | null>(null);
  readonly asked: { text?: AskedText; image?: AskedPicture } = {};
  /** for the text shown */
  readonly blanked = signal<readonly number[]>([]);
  readonly evaluation = signal<Evaluation | null>(null);
  readonly evaluationProblem = signal("");

  constructor(private readonly task: ReadonlySignal<Task>) {}

  of(task: Task): Shown {
    return this.results.peek()[task];
  }

  /** The viewer of the report shown for a text or a picture. */
  viewerOf(task: Task): Viewer | null {
    const shown = this.of(task);
    return shown && "viewer" in shown ? shown.viewer : null;
  }

  live(): GenerationLive | null {
    const shown = this.of("generation");
    return shown && "live" in shown ? shown.live : null;
  }

  /** The task whose current report answers an address's request, if any. */
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
