// What is asked of the server, what it is doing, and what is shown: each part is in a file of its own.
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
  /** the step of the tour (tour.tsx); null where it is not taken */
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

  /** What was asked of what is shown; by now something else may be typed. */
  askedWords(): string {
    if (this.question.task.value === "image") return this.explanations.sent.value?.name ?? "";
    const shown = this.results.shown.value;
    if (shown && "live" in shown) return shown.live.typed;
    const { text } = this.results.asked;
    return shown && text ? String(text.text.text) : this.question.text.value;
  }
}
