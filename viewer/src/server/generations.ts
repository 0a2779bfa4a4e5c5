// Prompts to continue, and their branches: continuations that diverge at a token.
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

/** Flow of one token in a text of this length takes about a second. */
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

/** An unguessable name: 16 random bytes. */
const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class Generations {
  /** continuations of the prompt shown, from tokens that were given; the first is the model's own */
  readonly branches = signal<readonly GenerationLive[]>([]);
  /** What was shown before the newest continuation, to return to if that fails. */
  private beneath: Shown = null;
  private readonly prompts = new WeakMap<GenerationLive, PromptRequest>();
  /** The server's id for the newest generation. */
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

  /** Whether the server accepts the tokens before this one; says so if not. */
  private canGive(token: number, what: string): boolean {
    if (token < MOST_GIVEN) return true;
    const expected = `Expected one of the first ${MOST_GIVEN} generated tokens to ${what}`;
    this.work.say("generation", `${expected}, found token ${token + 1}. Choose an earlier one.`);
    return false;
  }

  /** Continues with another token in place of a generated one; the original stays next to it. */
  async branch(live: GenerationLive, token: number, id: number) {
    const asked = this.prompts.get(live);
    const report = live.viewer.peek()?.report;
    if (!asked || !report) return;
    if (!this.canGive(token, "branch at")) return;
    const before = report.fields.tokens.slice(0, token).map((one) => one.id);
    await this.generate({ what: "Branching", asked: { ...asked, begin_with: [...before, id] }, beside: live });
  }

  /**
   * Checks one token by replacing the prompt's tokens, over the same edges: the text up to it is passed to the model
   * again. For short texts, its flow is included.
   */
  async check(live: GenerationLive, token: number) {
    const asked = this.prompts.get(live);
    const viewer = live.viewer.peek();
    if (!asked || !viewer) return;
    const { report } = viewer;
    if (!this.canGive(token, "check")) return;
    const body = checkRequest(asked, report, token);
    await this.work.run("Checking the token", async (handlers, signal) => {
      viewer.takeCheck(
        token,
        await GenerationReport.read(await this.work.client.post("generate", body, handlers, signal)),
      );
    });
  }

  /** The token ids of a branch as far as known: while it grows, the ids that it was given. */
  idsOf(live: GenerationLive): readonly number[] {
    const viewer = live.viewer.value;
    if (!viewer || viewer.state.growing.value) return this.prompts.get(live)?.begin_with ?? [];
    return viewer.report.fields.tokens.map(({ id }) => id);
  }

  showBranch(live: GenerationLive) {
    this.results.put("generation", { live });
    this.enter(live);
  }

  /** Another branch of the prompt shown, reached by back or forward. */
  branchFor(ask: string): GenerationLive | undefined {
    return this.branches.peek().find(({ options, viewer }) => options.ask === ask && viewer.peek() !== null);
  }

  /** Puts a continuation's request in the address if it is shown; not if it is too long for one. */
  private enter({ options: { ask } }: GenerationLive) {
    if (this.question.task.peek() !== "generation" || askOfAddress() === ask) return;
    moveTo(ask ? `v=1&${new URLSearchParams({ ask }).toString()}` : "");
  }

  /**
   * @param fragment a link's choices for the page: applied when the report arrives
   * @param asked the request in the composer, or a branch of it
   * @param beside the continuation that this one branches from
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
    // A generation still waiting for its first token has nothing to return to: this one ends it.
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
        viewer.check.value = (token) => this.check(live, token);
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
        // While another task or branch is shown, the address is theirs.
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
      // Reported where the text is.
      live.fail(work.problemOf("generation") || "it was canceled");
      if (mine) work.say("generation", "");
    } else {
      live.fail("it was canceled");
      // It failed or was canceled: what was shown before stays.
      if (mine) results.put("generation", before);
      if (mine && before && "live" in before) this.enter(before.live);
      // Nothing to do if a newer one has taken its place.
      if (this.branches.peek().includes(live)) this.branches.value = beside ? others : known;
    }
  }
}
