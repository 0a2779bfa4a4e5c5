// A generation in progress: tokens appear as the server sends them, with the prompt colored by what the newest drew on.
// The report, once it arrives, adds the other methods and views to the same page. The server's client (src/server/)
// makes a GenerationLive, shows it and feeds it:
//
//     const live = new GenerationLive(prompt, { asked });
//     render(<GenerationLiveApp live={live} />, root);
//     live.begin({ model, text: "...", tokens: [...], layers: [1, 2, 3] });            // event: prompt
//     live.token({ index: 0, text: "Paris", rollout: [0.2, 0.5, 0.3], ... });   // event: token
//     await live.report(document);               // event: report, the report document, parsed
//     live.fail("the server went away");         // event: error, or a lost connection
//
// Without rollout among the tokens, only the text is shown until the report arrives. report() may be called again; the
// page's choices are kept.
import { batch, signal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { restoreLink, untouched } from "../link";
import { GenerationReport } from "../report/generation_report";
import { GenerationApp } from "./generation_app";
import { GenerationViewer } from "./generation_viewer";
import { GrowingGeneration, type LivePrompt, type LiveToken } from "./growing";
import "../styles/generation.css";

interface LiveOptions {
  asked?: ConstructorParameters<typeof GrowingGeneration>[1];
  /** the request as part of the address; "" if it is too long for one */
  ask?: string;
  /** called when the page has a viewer, to set its initial state */
  opened?: (viewer: GenerationViewer) => void;
  /** the choices in the link that led here: restored once the report arrives */
  fragment?: string;
}

type LivePhase = "running" | "done" | "failed";

export class GenerationLive {
  /** As typed; then as passed to the model, once that is known. */
  readonly prompt: Signal<string>;
  /** The texts of the tokens so far. */
  readonly tokens = signal<readonly string[]>([]);
  readonly viewer = signal<GenerationViewer | null>(null);
  readonly phase = signal<LivePhase>("running");
  /** Why it failed, a sentence for the user. */
  readonly failure = signal("");
  private growing: GrowingGeneration | null = null;

  constructor(
    readonly typed: string,
    readonly options: LiveOptions = {},
  ) {
    this.prompt = signal(typed);
  }

  get waits(): boolean {
    return this.phase.peek() === "running" && this.tokens.peek().length === 0;
  }

  begin(prompt: LivePrompt) {
    this.prompt.value = prompt.text;
    const { model } = prompt;
    if (model) this.growing = new GrowingGeneration({ ...prompt, model }, this.options.asked);
  }

  token(token: LiveToken) {
    const { index, text } = token;
    if (!Number.isInteger(index) || index < 0) throw new Error(`expected the number of a token, found ${index}`);
    const texts = [...this.tokens.value];
    while (texts.length < index) texts.push("");
    texts[index] = text;
    batch(() => {
      this.tokens.value = texts;
      if (!this.growing?.add(token)) return;
      const report = this.growing.report();
      const viewer = this.viewer.peek();
      if (viewer) viewer.state.replace(report, true);
      else this.show(new GenerationViewer(report, true));
    });
  }

  /** Accepts the report document. A document that cannot be read fails the generation. */
  async report(value: unknown): Promise<void> {
    try {
      const report = await GenerationReport.read(value);
      batch(() => {
        const before = this.viewer.peek();
        const { fragment } = this.options;
        // If the user has chosen something meanwhile, that is kept.
        const restores = fragment && (!before || untouched(before.state));
        if (before) before.state.replace(report, false);
        else this.show(new GenerationViewer(report, false, true));
        const viewer = this.viewer.peek();
        if (restores && viewer && this.phase.peek() === "running") restoreLink(fragment, viewer.state);
        this.phase.value = "done";
      });
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  private show(viewer: GenerationViewer) {
    this.options.opened?.(viewer);
    this.viewer.value = viewer;
  }

  fail(message: string) {
    batch(() => {
      this.failure.value = message;
      this.phase.value = "failed";
      const viewer = this.viewer.peek();
      if (viewer) viewer.state.arriving.value = false;
    });
  }
}

interface GenerationLiveAppProps {
  live: GenerationLive;
  branches?: ComponentChildren;
}

export function GenerationLiveApp({ live, branches }: GenerationLiveAppProps) {
  const viewer = live.viewer.value;
  if (viewer) {
    return (
      <GenerationApp viewer={viewer} branches={branches}>
        <Failure live={live} />
      </GenerationApp>
    );
  }
  return (
    <div id="page" class="generation">
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

function Failure({ live }: { live: GenerationLive }) {
  if (live.phase.value !== "failed") return null;
  return (
    <p class="notice" role="alert" id="failure">
      Stopped: {live.failure}
    </p>
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
      <div class="row card-head">
        <h2 id="text-heading">Prompt</h2>
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
      <Failure live={live} />
      <p class="help" role="status">
        {phase === "running" && "Colors appear as soon as values arrive."}
      </p>
    </section>
  );
}
