// The page of `attnflow serve`: the composer, and below it the page of the result.
import { useEffect } from "preact/hooks";
import { ReportApp } from "../app";
import { ThemeButton } from "../components/toolbar";
import type { Viewer } from "../context";
import { GenerationLiveApp } from "../generation/live";
import { listen } from "../listen";
import { Agreement } from "./agreement";
import { askOfAddress } from "./ask";
import { askAhead } from "./ask_ahead";
import { Branches } from "./branches";
import { Composer } from "./composer";
import type { ServerState } from "./server_state";
import { keepDrafts } from "./tab";
import { Tour, TourButton } from "./tour";
import { WhatIf } from "./what_if";
import "../styles/server.css";

export function ServerApp({ state }: { state: ServerState }) {
  useEffect(() => acceptPictures(state), [state]);
  useEffect(() => {
    const { prevail, stop } = keepDrafts({ text: state.question.text, prompt: state.question.prompt }, askOfAddress);
    void state.begin().then(() => {
      void state.links.follow();
      // The link's request has been sent; text typed since is put back, ready to send.
      prevail();
    });
    const onMove = () => void state.links.follow();
    addEventListener("popstate", onMove);
    return () => {
      stop();
      removeEventListener("popstate", onMove);
    };
  }, [state]);
  const shown = state.results.shown.value;
  return (
    <>
      <section id="server" aria-label="attnflow">
        <div class="row toolbar">
          <p class="brand">
            <b>attnflow</b> <span>attention rollout and flow, in your browser</span>
          </p>
          {!shown && <ThemeButton />}
        </div>
        {state.client.locked.value ? <Login state={state} /> : <Composer state={state} />}
        <Tour state={state} />
        <p class="visually-hidden" aria-live="polite">
          {state.work.announcement}
        </p>
      </section>
      <div id="result" aria-busy={state.work.working.value !== ""}>
        {!shown && <Welcome state={state} />}
        {shown && "viewer" in shown && (
          <ReportApp
            viewer={shown.viewer}
            key={shown.viewer.report}
            after={<Agreement state={state} viewer={shown.viewer} />}
          >
            <AskAhead state={state} viewer={shown.viewer} />
            <WhatIf state={state} viewer={shown.viewer} />
          </ReportApp>
        )}
        {shown && "live" in shown && (
          <GenerationLiveApp
            live={shown.live}
            key={shown.live}
            branches={<Branches state={state} live={shown.live} />}
          />
        )}
      </div>
    </>
  );
}

function AskAhead({ state, viewer }: { state: ServerState; viewer: Viewer }) {
  // After rendering, when the page has applied a link's choices.
  useEffect(() => askAhead(state, viewer), [state, viewer]);
  return null;
}

/** Shown before the first request. */
function Welcome({ state }: { state: ServerState }) {
  return (
    <main id="welcome">
      <h1>Which input tokens does each output depend on?</h1>
      <TourButton state={state} />
      <dl>
        <dt>raw</dt>
        <dd>
          one layer's attention. Above the first layer, positions are already mixtures, so it cannot be traced to single
          input tokens.
        </dd>
        <dt>rollout</dt>
        <dd>
          attention multiplied along every path from the output token down to the input. The values are shares that sum
          to 1.
        </dd>
        <dt>flow</dt>
        <dd>
          how much could pass at most from an input token to the output token, with attention as the capacity of each
          arc; every value is certified.
        </dd>
      </dl>
    </main>
  );
}

function Login({ state }: { state: ServerState }) {
  return (
    <form
      id="login"
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("token") as HTMLInputElement;
        state.client.useToken(field.value);
        void state.begin().then(() => state.links.follow());
      }}
    >
      <div class="field">
        <label for="token">This server requires its token (attnflow serve --token)</label>
        <div class="ask-row">
          <input id="token" name="token" type="password" autocomplete="off" required />
          <button type="submit" class="primary">
            Open
          </button>
        </div>
      </div>
      <p class="problem" role="alert">
        {state.work.problem.value}
      </p>
    </form>
  );
}

/** Explains pictures that are dropped anywhere or pasted. */
function acceptPictures(state: ServerState): () => void {
  const picture = (files: FileList | undefined) => [...(files ?? [])].find(({ type }) => type.startsWith("image/"));
  const able = () => state.question.table.value?.models.some(({ kind }) => kind === "image") ?? false;
  const dropping = (now: boolean) => document.documentElement.classList.toggle("dropping", now);
  const drop = (event: DragEvent) => {
    dropping(false);
    const file = picture(event.dataTransfer?.files);
    if (!file || !able()) return;
    event.preventDefault();
    void state.explanations.explainPicture(file);
  };
  const dragover = (event: DragEvent) => {
    if (!able() || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    dropping([...event.dataTransfer.items].some(({ type }) => type.startsWith("image/")));
  };
  // Only when leaving the page, not an element inside it.
  const dragleave = (event: DragEvent) => {
    if (event.relatedTarget === null) dropping(false);
  };
  const paste = (event: ClipboardEvent) => {
    const file = picture(event.clipboardData?.files);
    if (!file || !able()) return;
    event.preventDefault();
    void state.explanations.explainPicture(file);
  };
  return listen({ drop, dragover, dragleave, paste });
}
