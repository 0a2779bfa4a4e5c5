// Prompts that are continued, and their branches: continuations that part at a token.
import { batch, signal } from "@preact/signals";
import { moveTo } from "../address";
import { MOST_GIVEN } from "../generation/branch";
import type { LivePrompt, LiveToken } from "../generation/growing";
import { GenerationLive } from "../generation/live";
import { AGGREGATIONS, isScore } from "../report/document";
import { GenerationReport } from "../report/generation_report";
import { askOfAddress, writePromptAsk } from "./ask";
import type { PromptRequest, Question } from "./question";
import type { Results, Shown } from "./results";
import type { Work } from "./work";

/** Flow of one token of a text so long takes about a second. */
const MOST_WITH_FLOW = 256;

/** The request that checks one token of a text that the server has generated. */
export function checkRequest(asked: PromptRequest, report: GenerationReport, token: number) {
  const ids = report.fields.tokens.slice(0, token + 1).map(({ id }) => id);
  const held = report.methods.filter((method) => !isScore(method));
  const flow = held.includes("flow") || report.m + token <= MOST_WITH_FLOW;
  const method = AGGREGATIONS.filter((one) => (one === "flow" ? flow : held.includes(one)));
  return {
    ...asked,
    ...{ mixing: report.settings.mixing, method, tokens: ids.length, begin_with: ids, check_tokens: [token] },
    ...(flow && { flow_tokens: [token] }),
    ...{ generated_columns: true, compact: true },
  };
}

/** Nobody else's: 16 random bytes. */
const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class Generations {
  /** continuations of the prompt that is shown, from tokens that were given; the first is the model's own */
  readonly branches = signal<readonly GenerationLive[]>([]);
  /** What was shown before the newest continuation: it comes back where nothing comes of that. */
  private beneath: Shown = null;
  private readonly prompts = new WeakMap<GenerationLive, PromptRequest>();
  /** What the server knows the newest generation by. */
  private stopId = "";

  constructor(
    private readonly question: Question,
    private readonly work: Work,
    private readonly results: Results,
  ) {}

  /** Ends the generation with the tokens so far. */
  async stop() {
    const { ending } = this.work;
    if (ending.peek() !== "possible") return;
    ending.value = "asked";
    try {
      await this.work.client.stop(this.stopId);
    } catch (error) {
      ending.value = "possible";
      this.work.fail(error, "generation");
    }
  }

  /** Continues with another token in place of one that was generated; what was there stays beside it. */
  async branch(live: GenerationLive, token: number, id: number) {
    const asked = this.prompts.get(live);
    const report = live.viewer.peek()?.report;
    if (!asked || !report) return;
    if (token >= MOST_GIVEN) {
      this.work.say(
        "generation",
        `Expected one of the first ${MOST_GIVEN} generated tokens to branch at, found token ${token + 1}. Choose an earlier one.`,
      );
      return;
    }
    const before = report.fields.tokens.slice(0, token).map((one) => one.id);
    await this.generate({ what: "Branching", asked: { ...asked, begin_with: [...before, id] }, beside: live });
  }

  /**
   * Checks one token of a text by blanking the prompt's tokens, over the same edges: the text up to it is given to the
   * model again. Where it is short its flow comes along.
   */
  async check(live: GenerationLive, token: number) {
    const asked = this.prompts.get(live);
    const viewer = live.viewer.peek();
    if (!asked || !viewer) return;
    const { report } = viewer;
    if (token >= MOST_GIVEN) {
      this.work.say(
        "generation",
        `Expected one of the first ${MOST_GIVEN} generated tokens to check, found token ${token + 1}.`,
      );
      return;
    }
    const body = checkRequest(asked, report, token);
    await this.work.run("Checking the token", async (handlers, signal) => {
      viewer.takeCheck(
        token,
        await GenerationReport.read(await this.work.client.post("generate", body, handlers, signal)),
      );
    });
  }

  /** The tokens of a branch that are known by their numbers: while it grows, those that it was given. */
  idsOf(live: GenerationLive): readonly number[] {
    const viewer = live.viewer.value;
    if (!viewer || viewer.state.growing.value) return this.prompts.get(live)?.begin_with ?? [];
    return viewer.report.fields.tokens.map(({ id }) => id);
  }

  /** Shows another of the branches; what is generated meanwhile goes on. */
  showBranch(live: GenerationLive) {
    this.results.put("generation", { live });
    this.enter(live);
  }

  /** Back, or forward, to another branch of the prompt that is shown. */
  branchFor(ask: string): GenerationLive | undefined {
    return this.branches.peek().find(({ options, viewer }) => options.ask === ask && viewer.peek() !== null);
  }

  /** A continuation's address, where it is shown; none where it is too long for one. */
  private enter({ options: { ask } }: GenerationLive) {
    if (this.question.task.peek() !== "generation" || askOfAddress() === ask) return;
    moveTo(ask ? `v=1&${new URLSearchParams({ ask }).toString()}` : "");
  }

  /**
   * @param fragment what a link says of the page: chosen when the report is there
   * @param asked what the composer stands for, or a branch of that
   * @param beside the continuation that this one is a branch of
   */
  async generate({
    what = "Generating",
    fragment = "",
    asked = this.question.promptRequest(),
    beside = null,
  }: { what?: string; fragment?: string; asked?: PromptRequest; beside?: GenerationLive | null } = {}) {
    const { work, results } = this;
    if (!fragment) work.note("generation", "");
    this.stopId = randomName();
    work.discards = false;
    const body = { ...asked, generated_columns: true, stop_id: this.stopId, compact: true };
    const ask = writePromptAsk(asked);
    // Nothing will come of one that waits for its first token: this one ends it.
    if (!results.live()?.waits) this.beneath = results.of("generation");
    const before = this.beneath;
    const look = before && "live" in before ? before.live.viewer.peek()?.state.choices : null;
    const live = new GenerationLive(asked.prompt, {
      asked,
      ask,
      fragment,
      opened: (viewer) => {
        const { state, branch } = viewer;
        branch.value = (token, id) => void this.branch(live, token, id);
        // An encoder-decoder has nothing to blank its source with.
        if (!viewer.report.joint) viewer.check.value = (token) => this.check(live, token);
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
    const others = known.filter(({ waits }) => !waits);
    this.branches.value = beside ? [...(others.includes(beside) ? others : [beside]), live] : [live];
    results.put("generation", { live });
    const done = await work.run(what, async (handlers, signal) => {
      const prompt = (event: LivePrompt) => {
        // The address of another task, or of another branch that is looked at, is theirs.
        if (results.live() === live) this.enter(live);
        live.begin(event);
      };
      const token = (event: LiveToken) => {
        live.token(event);
        batch(() => {
          work.progress.value = { position: null, phase: "token", done: event.index + 1, total: asked.tokens };
          work.ending.value ||= "possible";
        });
      };
      await live.report(await work.client.post("generate", body, { ...handlers, prompt, token }, signal));
      return true;
    });
    if (done) return;
    const mine = results.live() === live;
    if (live.tokens.peek().length > 0 && !work.discards) {
      // Said where the text is.
      live.fail(work.problemOf("generation") || "it was canceled");
      if (mine) work.say("generation", "");
    } else {
      live.fail("it was canceled");
      // Nothing came of it, or is wanted: what was shown before stays.
      if (mine) results.put("generation", before);
      if (mine && before && "live" in before) this.enter(before.live);
      // Nothing, unless a newer one has taken its place.
      if (this.branches.peek().includes(live)) this.branches.value = beside ? others : known;
    }
  }
}
