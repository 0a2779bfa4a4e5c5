// A generation while it happens: tokens appear as the server names them; with its report the page of a generation takes
// their place. The client of the server (src/server/) makes a GenerationLive, shows it and feeds it:
//
//     const live = new GenerationLive(prompt, { stop: () => controller.abort() });
//     render(<GenerationLiveApp live={live} />, root);
//     live.token({ index: 0, text: "Paris" });   // event: token
//     await live.report(document);               // event: report, the report document, parsed
//     live.fail("the server went away");         // event: error, or a lost connection
//
// report() may come more than once: what is chosen in the page stays chosen.
import { signal, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { GenerationApp } from "./generation_app";
import { GenerationReport } from "./generation_report";
import { GenerationState } from "./generation_state";
import "../styles/generation.css";

/** `event: token` of the server. */
export interface LiveToken {
  /** from 0 */
  index: number;
  /** characters that it adds to the text; may be none */
  text: string;
}

export interface LiveOptions {
  /** ends the generation at the server; without it there is no button */
  stop?: () => void;
}

export type LivePhase = "running" | "stopping" | "done" | "failed";

export class GenerationLive {
  private readonly texts = signal<readonly string[]>([]);
  private readonly shown = signal<GenerationState | null>(null);
  private readonly stage = signal<LivePhase>("running");
  private readonly problem = signal("");

  constructor(
    readonly prompt: string,
    readonly options: LiveOptions = {},
  ) {}

  /** The texts of the tokens so far. */
  get tokens(): ReadonlySignal<readonly string[]> {
    return this.texts;
  }

  /** The page's state once there is a report. */
  get state(): ReadonlySignal<GenerationState | null> {
    return this.shown;
  }

  get phase(): ReadonlySignal<LivePhase> {
    return this.stage;
  }

  /** Why it failed, a sentence for the user. */
  get failure(): ReadonlySignal<string> {
    return this.problem;
  }

  token({ index, text }: LiveToken) {
    if (!Number.isInteger(index) || index < 0) throw new Error(`expected the number of a token, found ${index}`);
    const texts = [...this.texts.value];
    while (texts.length < index) texts.push("");
    texts[index] = text;
    this.texts.value = texts;
  }

  /** Takes the report document. A document that cannot be read fails the generation. */
  async report(value: unknown): Promise<void> {
    try {
      const state = new GenerationState(await GenerationReport.read(value));
      const before = this.shown.value;
      if (before) state.adopt(before);
      else state.step(state.report.n - 1);
      this.shown.value = state;
      this.stage.value = "done";
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  fail(message: string) {
    this.problem.value = message;
    this.stage.value = "failed";
  }

  stop() {
    if (this.stage.value !== "running") return;
    this.stage.value = "stopping";
    this.options.stop?.();
  }
}

/** @param children above the page's head: the server's composer */
export function GenerationLiveApp({ live, children }: { live: GenerationLive; children?: ComponentChildren }) {
  const state = live.state.value;
  if (state) return <GenerationApp state={state}>{children}</GenerationApp>;
  return (
    <div id="page" class="generation">
      {children}
      <header>
        <p id="model">{live.tokens.value.length} generated</p>
        <h1 id="heading">{live.phase.value === "failed" ? "The generation ended early" : "Generating"}</h1>
      </header>
      <main>
        <LiveText live={live} />
      </main>
    </div>
  );
}

function LiveText({ live }: { live: GenerationLive }) {
  const tokens = live.tokens.value;
  const phase = live.phase.value;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [tokens]);
  return (
    <section class="card wide" id="text-card" aria-labelledby="text-heading" aria-busy={phase === "running"}>
      <div class="card-head">
        <h2 id="text-heading">Prompt</h2>
        {live.options.stop && (phase === "running" || phase === "stopping") && (
          <button type="button" id="stop" disabled={phase === "stopping"} onClick={() => live.stop()}>
            {phase === "stopping" ? "Stopping" : "Stop"}
          </button>
        )}
      </div>
      <div class="strip" id="prompt">
        <div class="line" dir="auto" lang="">
          {live.prompt}
        </div>
      </div>
      <h2 id="generated-heading">Generated</h2>
      <div class="strip" id="generated" ref={box} role="log" aria-labelledby="generated-heading">
        <div class="line" dir="auto" lang="">
          {tokens.map((text, index) => (
            <span key={index} class={index === tokens.length - 1 ? "token arriving" : "token"} data-token={index}>
              {text}
            </span>
          ))}
          {phase === "running" && <span class="caret" aria-hidden="true" />}
        </div>
      </div>
      {phase === "failed" && (
        <p class="notice" role="alert" id="failure">
          {live.failure}
        </p>
      )}
      <p class="help" role="status">
        {phase === "running" && "What each token draws on is shown when the text is complete."}
        {phase === "stopping" && "Waiting for what was generated so far."}
      </p>
    </section>
  );
}
