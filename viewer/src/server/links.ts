// Runs the request in the address: the part `ask` of a link, and back and forward navigation.
import { batch } from "@preact/signals";
import { moveTo } from "../address";
import { restoreLink } from "../link";
import { METHODS } from "../report/document";
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
import { exampleFile } from "./examples";
import type { Explanations } from "./explanations";
import type { Generations } from "./generations";
import type { Question, Task } from "./question";
import type { Results } from "./results";
import { keptPicture } from "./tab";
import type { Work } from "./work";

/**
 * Puts the request as made in the address. With an unavailable model, or a handwritten link, it is worded differently,
 * and each step back to the original would repeat the request.
 */
function settle(ask: string) {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (ask) parts.set("ask", ask);
  else parts.delete("ask");
  const fragment = parts.toString();
  if (fragment !== location.hash.slice(1)) moveTo(fragment, "replace");
}

export class Links {
  constructor(
    private readonly question: Question,
    private readonly work: Work,
    private readonly results: Results,
    private readonly explanations: Explanations,
    private readonly generations: Generations,
  ) {}

  /** Runs the address's request if it differs from what is shown. */
  async follow() {
    const ask = askOfAddress();
    const there = ask && this.results.taskFor(ask);
    if (there) this.showAgain(there);
    if (!ask || there) return;
    const branch = this.generations.branchFor(ask);
    if (branch) {
      const state = branch.viewer.peek()?.state;
      if (state && !state.growing.peek()) restoreLink(location.hash, state);
      this.results.put("generation", { live: branch });
      this.question.choose("generation");
      return;
    }
    const found = readAsk(ask);
    // The models are unknown until the server has listed them.
    if (!this.question.table.peek()) return;
    if (!found) {
      this.work.note(
        this.question.task.peek(),
        "The link cannot be read: it was not made by “Copy link”. Nothing was computed.",
      );
      return;
    }
    if ("text" in found) await this.askAgain(found);
    else if ("prompt" in found) await this.continueAgain(found);
    else await this.wantPicture(found, ask);
  }

  /** Back or forward to what another task shows. */
  private showAgain(task: Task) {
    const shown = this.results.of(task);
    if (this.question.task.peek() !== task && shown) {
      const state = "viewer" in shown ? shown.viewer.state : shown.live.viewer.peek()?.state;
      if (state && !state.growing.peek()) restoreLink(location.hash, state);
    }
    if (task === "image") this.explanations.wanted.value = null;
    this.question.choose(task);
  }

  /** Selects a link's task and model; returns whether the model is available, and reports it if not. */
  private take(task: Task, model: string | undefined): boolean {
    const { question } = this;
    question.choose(task);
    this.work.note(task, "");
    if (!model) return true;
    const there = question.models.value.some(({ name }) => name === model);
    if (there) {
      question.model.value = { ...question.model.value, [task]: model };
    } else {
      const asked = question.chosen.value?.name ?? "";
      this.work.note(
        task,
        `The link names the model “${model}”, which this server does not have; “${asked}” is used instead.`,
      );
    }
    return there;
  }

  private async askAgain(found: TextAsk) {
    const { question } = this;
    batch(() => {
      this.take("text", found.model);
      question.text.value = found.text;
      question.pair.value = found.target_text ?? found.pair ?? "";
      question.takeEdges(found);
      question.candidates.value = found.candidates ?? "";
      question.referents.value = found.referents ?? "";
      question.allTokens.value = question.long.peek() && !found.only_output_token;
    });
    const cut = found.truncate === true;
    settle(writeTextAsk({ ...question.request(), ...(cut && { truncate: true }) }));
    if (await this.explanations.askText("Explaining again, from the link", cut)) {
      this.results.linked.value = this.results.viewerOf("text");
    }
  }

  private async continueAgain(found: PromptAsk) {
    const { question } = this;
    let there = true;
    batch(() => {
      there = this.take("generation", found.model);
      question.prompt.value = found.prompt;
      question.tokens.value = found.tokens ?? question.tokens.peek();
      question.methods.value = METHODS.filter((one) => (found.method ?? question.methods.peek()).includes(one));
      question.chatChoice.value = found.chat ?? false;
      question.system.value = found.system ?? "";
      question.temperature.value = found.temperature ?? 0;
      question.topP.value = found.top_p ?? 1;
      question.seed.value = found.seed ?? question.seed.peek();
      question.maskFirst.value = found.mask_columns === "first";
      question.layers.value = found.layers ?? "";
      question.takeMixing(found.mixing);
    });
    // Token ids are specific to the model.
    const begin = there && found.begin_with ? { begin_with: found.begin_with } : {};
    const asked = { ...question.promptRequest(), ...begin };
    settle(writePromptAsk(asked));
    const seed = question.temperature.peek() > 0 ? `, with its seed ${question.seed.peek()}` : "";
    await this.generations.generate({ what: `Restoring${seed}`, fragment: location.hash, asked });
  }

  /** Shows a picture again, explains an example, or asks for the picture. Meanwhile the current view stays. */
  private async wantPicture(found: PictureAsk, ask: string) {
    const { question, explanations } = this;
    const { picture, model, example = false } = found;
    const kept = explanations.pictures.get(ask);
    let file: File | undefined;
    batch(() => {
      this.take("image", model);
      question.takeEdges(found);
      if (kept) {
        restoreLink(location.hash, kept.viewer.state);
        explanations.showPicture(kept.viewer, kept.asked);
        return;
      }
      file = example ? exampleFile(question.chosen.peek(), picture) : keptPicture(ask);
      const known = example && file !== undefined;
      settle(writePictureAsk(picture, question.chosen.peek()?.name ?? "", known, question.edges()));
      explanations.wanted.value = { name: picture, fragment: location.hash, there: file !== undefined };
    });
    if (file) await explanations.explainPicture(file, example, true);
  }
}
