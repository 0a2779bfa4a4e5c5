// Texts and pictures to explain: requested, shown, and requested again with other settings.
import { batch, signal } from "@preact/signals";
import { Viewer, type Wanted } from "../context";
import { restoreLink } from "../link";
import { AGGREGATIONS } from "../report/document";
import { mixingInfo, type MixingInfo, type MixingName } from "../report/mixings";
import type { Recipe } from "../report/recipe";
import { Report } from "../report/report";
import { WordReport } from "../report/words";
import { compareWith } from "./beside";
import { writePictureAsk, writeTextAsk } from "./ask";
import type { ServedModel } from "./client";
import { ofAllTokens, withSettings } from "./long_text";
import { KeptPictures, problemOf, sendingOf, type AskedPicture, type Sent, type WantedPicture } from "./pictures";
import type { Question } from "./question";
import type { Asked, Results } from "./results";
import { keepPicture } from "./tab";
import type { Work } from "./work";

/** Request fields for numbers made with a recipe's settings. */
function recipeFields(recipe: Recipe, { needs, rule }: MixingInfo) {
  const { heads, residual, ...others } = recipe;
  // Only attention has heads; contributions, relevance and gradients have their own residual.
  return { ...(needs === "attention" && { heads }), ...(rule === "convex" && { residual }), ...others };
}

/** As in a picture's request: in its address. */
const asTexts = (options: object) =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]));

export class Explanations {
  /** The picture that the address asks for. */
  readonly wanted = signal<WantedPicture | null>(null);
  readonly sent = signal<Sent | null>(null);
  readonly pictures = new KeptPictures();

  constructor(
    private readonly question: Question,
    private readonly work: Work,
    private readonly results: Results,
  ) {}

  /** The report on a request; null if it fails. */
  ask(asked: Asked, what: string): Promise<Report | null> {
    return this.work.run(what, async (handlers, signal) => {
      const { client } = this.work;
      const document =
        "text" in asked
          ? await client.post("explain", { method: AGGREGATIONS, compact: true, ...asked.text }, handlers, signal)
          : await client.image(asked.picture, { method: AGGREGATIONS.join(","), ...asked.options }, handlers, signal);
      return Report.read(document);
    });
  }

  /** @param cut only the beginning that fits the model */
  explainText(cut = false) {
    this.work.note("text", "");
    return this.askText("Explaining", cut);
  }

  async askText(what: string, cut = false) {
    const body = { ...this.question.request(), ...(cut && { truncate: true }) };
    const report = await this.ask({ text: body }, what);
    if (report) this.show(report, { text: body });
    // Not offered for comparisons and replacements, which are other requests.
    else this.work.offerCut();
    return report !== null;
  }

  /** @param brought it comes with an address, as an example that was chosen may */
  async explainPicture(picture: File, example = false, brought = example) {
    if (this.question.task.peek() !== "image") this.question.choose("image");
    const problem = problemOf(picture);
    if (problem) {
      this.work.say("image", problem);
      return;
    }
    // An example chosen while a link waits for a picture is not that picture.
    const waiting = this.wanted.peek();
    const wanted = waiting && waiting.there === brought && (!brought || waiting.name === picture.name) ? waiting : null;
    if (!wanted) this.work.note("image", "");
    this.sent.value = sendingOf(picture, this.sent.peek());
    const edges = this.question.edges();
    const model = this.question.chosen.value?.name ?? "";
    const options = { model, name: picture.name, compact: "true", ...asTexts(edges) };
    const asked = { picture, example, options, edges };
    const report = await this.ask(asked, "Explaining the picture");
    if (report) this.show(report, asked, wanted);
    else if (wanted?.there && this.wanted.peek() === wanted) this.wanted.value = null;
  }

  /** Shows a picture, new or shown before: the picture a link wanted is then present. */
  showPicture(viewer: Viewer, asked: AskedPicture) {
    this.pictures.keep(viewer, asked);
    const { ask } = viewer.state.address;
    if (ask && !asked.example) void keepPicture(ask, asked.picture);
    this.results.asked.image = asked;
    this.wanted.value = null;
    this.sent.value = sendingOf(asked.picture, this.sent.peek());
    this.results.put("image", { viewer });
  }

  /** @param wanted what the picture was chosen for */
  private show(report: Report, asked: Asked, wanted: WantedPicture | null = null) {
    const before = this.results.viewerOf("text" in asked ? "text" : "image");
    const viewer = new Viewer(report);
    // The reader's choices stay where the new report supports them; else the page opens on the map that is best for it.
    if (before) {
      const { method, palette, ownScale } = before.state.choices;
      const chosen = method.value !== before.report.leadingMethod;
      if (chosen && report.methods.includes(method.value)) viewer.state.choices.method.value = method.value;
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
    viewer.askTarget.value = (target) => void this.compareTarget(viewer, asked, target);
    const served = this.question.table.peek()?.models.find(({ name }) => name === this.question.chosen.peek()?.name);
    viewer.askMixing.value = {
      offers: ({ name }) => served?.mixings.includes(name) ?? true,
      ask: (mixing) => this.mix(viewer, asked, mixing),
    };
    if (wanted) this.results.linked.value = viewer;
    batch(() => {
      if ("picture" in asked) this.showPicture(viewer, asked);
      else this.results.putText(viewer, asked);
    });
  }

  /** Another candidate of the same prediction next to the target, rather than its own alternatives. */
  private async compareTarget(viewer: Viewer, asked: Asked, target: string) {
    const { against, ...rest } = "text" in asked ? asked.text : asked.options;
    void against;
    const body = this.beside(viewer, { ...rest, target });
    const report = await this.ask(
      "text" in asked ? { text: body } : { ...asked, options: asTexts(body) },
      "Explaining the other",
    );
    if (report) compareWith(viewer, report, "compare-card");
  }

  /** The same input with another mixing; layer and output token are kept. */
  private async mix({ state, report: before }: Viewer, asked: Asked, mixing: MixingName) {
    const again: Asked =
      "text" in asked
        ? { text: { ...ofAllTokens(asked.text), mixing } }
        : { ...asked, options: { ...asked.options, mixing }, edges: { ...asked.edges, mixing } };
    const report = await this.ask(again, `Explaining with ${mixing}`);
    if (!report) return;
    this.show(report, again);
    const shown = this.results.viewerOf("text" in asked ? "text" : "image");
    if (!shown || report.n !== before.n) return;
    const { choices } = shown.state;
    choices.token.value = state.choices.token.peek();
    if (report.layers.includes(state.choices.layer.peek())) choices.layer.value = state.choices.layer.peek();
  }

  /** Numbers for the same input that the page cannot compute, which are added to the viewer's. */
  private async recompute(viewer: Viewer, { method, recipe, token }: Wanted) {
    const task = viewer.report.document.input.kind === "image" ? "image" : "text";
    const asked = this.results.asked[task];
    if (!asked) return;
    // The server merges words itself: flow between words is not the combined flow of their tokens.
    const merged = viewer.report instanceof WordReport;
    const position = token === null ? "all" : viewer.report.piecesOf(token)[0];
    const settings = {
      method: [method],
      ...recipeFields(recipe, viewer.report.mixing),
      output_token: position,
      ...(merged ? { words: true } : {}),
    };
    const again: Asked =
      "text" in asked
        ? { text: { ...withSettings(asked.text, settings), keep_attention: false } }
        : { ...asked, options: { ...asked.options, ...asTexts(settings) } };
    const report = await this.ask(again, "Computing");
    if (report && report.n !== viewer.report.n) {
      this.work.say(task, `expected an answer for ${viewer.report.n} tokens, found ${report.n}`);
    } else if (report) viewer.answers.value = [...viewer.answers.peek(), report];
  }

  /** A request for something to show next to the current report, made with the current settings. */
  beside(viewer: Viewer, body: Record<string, unknown>): Record<string, unknown> {
    const mixing = typeof body.mixing === "string" ? mixingInfo(body.mixing) : viewer.report.mixing;
    return withSettings(body, recipeFields(viewer.explanation.peek().recipe, mixing));
  }

  /** The model that produced the explanation shown. */
  explaining(): ServedModel | null {
    const name = this.results.asked.text?.text.model ?? "";
    return this.question.table.value?.models.find((model) => model.name === name) ?? null;
  }
}
