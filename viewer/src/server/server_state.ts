// Requests to the server, its progress, and the results shown: each part has its own file.
import { batch, signal } from "@preact/signals";
import type { Client } from "./client";
import { Explanations } from "./explanations";
import { Generations } from "./generations";
import { Links } from "./links";
import { Question } from "./question";
import { Results } from "./results";
import { Variants } from "./variants";
import { Work } from "./work";

export class ServerState {
  readonly question = new Question();
  readonly work: Work;
  readonly results = new Results(this.question.task);
  readonly explanations: Explanations;
  readonly variants: Variants;
  readonly generations: Generations;
  readonly links: Links;
  /** the tour's step (tour.tsx); null if it is not running */
  readonly tour = signal<number | null>(null);

  constructor(readonly client: Client) {
    const { question, results } = this;
    const work = new Work(client, question.task);
    this.work = work;
    this.explanations = new Explanations(question, work, results);
    this.variants = new Variants(question, results, this.explanations);
    this.generations = new Generations(question, work, results);
    this.links = new Links(question, work, results, this.explanations, this.generations);
  }

  async begin() {
    try {
      const table = await this.client.models();
      batch(() => {
        this.work.forgetProblems();
        this.question.begin(table);
      });
    } catch (error) {
      this.work.fail(error, this.question.task.peek());
    }
  }

  /** The request that produced the current view; the composer may hold another text by now. */
  askedWords(): string {
    if (this.question.task.value === "image") return this.explanations.sent.value?.name ?? "";
    const shown = this.results.shown.value;
    if (shown && "live" in shown) return shown.live.typed;
    const { text } = this.results.asked;
    return shown && text ? String(text.text.text) : this.question.text.value;
  }
}
