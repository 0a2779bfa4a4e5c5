// Variants of the text shown, next to the original: another text, blanked tokens, or a token replaced.
import { batch } from "@preact/signals";
import type { Viewer } from "../context";
import { withInstead } from "../report/text";
import { compareWith } from "./beside";
import type { Explanations } from "./explanations";
import type { Question } from "./question";
import type { Results } from "./results";

export class Variants {
  constructor(
    private readonly question: Question,
    private readonly results: Results,
    private readonly explanations: Explanations,
  ) {}

  private ask(viewer: Viewer, body: Record<string, unknown>, what: string) {
    return this.explanations.ask({ text: this.explanations.beside(viewer, body) }, what);
  }

  /** Another text next to the one shown. */
  async compareText(body = this.question.request()) {
    const shown = this.results.shown.peek();
    if (!shown || !("viewer" in shown)) return;
    const report = await this.ask(shown.viewer, body, "Explaining the other");
    if (report) compareWith(shown.viewer, report, "compare-card");
  }

  /** Two texts, side by side. */
  async explainBoth() {
    const other = this.question.request(this.question.other.peek() ?? "");
    if (await this.explanations.explainText()) await this.compareText(other);
  }

  /** The same text with some tokens blanked; with none, the comparison ends. */
  async blank(viewer: Viewer, positions: readonly number[]) {
    if (positions.length === 0) {
      this.results.blanked.value = positions;
      viewer.other.value = null;
      viewer.state.choices.comparison.value = null;
      return;
    }
    const { text: asked } = this.results.asked;
    if (!asked) return;
    // For a model that classifies each token, or finds an answer, "auto" might now choose another token.
    const { output_token: own, predictions = [] } = viewer.report.document;
    const same =
      own !== undefined && predictions.some(({ kind }) => kind === "token-class" || kind === "answer")
        ? { output_token: viewer.report.piecesOf(own)[0] }
        : {};
    const report = await this.ask(viewer, { ...asked.text, ...same, blank: positions }, "Blanking");
    if (!report) return;
    this.results.blanked.value = positions;
    viewer.gone.value = { report, tokens: positions };
    compareWith(viewer, report, "what-if-card");
  }

  /** The same text with a token replaced by other words. */
  async replace(viewer: Viewer, token: number, instead: string) {
    const { text: asked } = this.results.asked;
    if (!asked) return;
    const { begin, end, segment } = viewer.report.tokens[token];
    const field = segment === 0 ? "text" : viewer.report.joint ? "target_text" : "pair";
    const text = asked.text[field];
    if (typeof text !== "string") return;
    const report = await this.ask(
      viewer,
      { ...asked.text, [field]: withInstead(text, begin, end, instead) },
      "Replacing",
    );
    if (!report) return;
    batch(() => {
      this.results.blanked.value = [];
      viewer.gone.value = null;
    });
    compareWith(viewer, report, "what-if-card");
  }
}
