// The form for asking the server: a text, a picture, or a prompt to continue.
import { CheckBox, inOtherForm } from "../components/check_box";
import { FileButton } from "../components/file_button";
import { isScore, METHODS, SCORE_METHODS, type Method } from "../report/document";
import { MIXINGS, type MixingName } from "../report/mixings";
import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { bringToSight } from "../components/in_sight";
import { Popover } from "../components/popover";
import { Choice, Radios, Select } from "../components/fields";
import { Own } from "../components/own_text";
import { describe, leastTokens } from "./describe";
import { addressOf, fileOf, picturesOf } from "./examples";
import { USUAL_TOKENS, type Question, type Task } from "./question";
import type { ServerState } from "./server_state";

const TASKS: { task: Task; label: string; model: string }[] = [
  { task: "text", label: "Explain a text", model: "DIR" },
  { task: "image", label: "Explain a picture", model: "DIR" },
  { task: "generation", label: "Generate", model: "FILE.gguf" },
];

export function Composer({ state }: { state: ServerState }) {
  const { question } = state;
  const task = question.task.value;
  const available = (kind: Task) =>
    question.table.value?.models.some(
      (model) => model.kind === kind || (kind === "text" && model.kind === "generation"),
    );
  const folded = useFolding(state);
  const submit = (event: Event) => {
    event.preventDefault();
    if (task === "text") void (asksForBoth(question) ? state.variants.explainBoth() : state.explanations.explainText());
    if (task === "generation") void state.generations.generate();
  };
  return (
    // Options may be folded away, where the browser could not show validation errors. The server reports them.
    <form
      id="composer"
      class={folded.value ? "card folded" : "card"}
      aria-label="What is asked"
      noValidate
      onSubmit={submit}
    >
      {folded.value && <AskedLine state={state} edit={() => (folded.value = false)} />}
      <div class="row composer-head">
        <fieldset class="segments one-line" id="tasks">
          <legend class="visually-hidden">Task</legend>
          <Radios
            name="task"
            value={task}
            options={TASKS.map(({ task: value, label, model }) => ({
              value,
              words: <span>{label}</span>,
              title: available(value)
                ? undefined
                : `No model for this task: start attnflow serve with --model ${model}`,
              disabled: !available(value),
            }))}
            choose={(name) => question.choose(name)}
          />
        </fieldset>
        <Choice
          id="model-choice"
          label="Model"
          value={question.chosen.value?.name ?? ""}
          aria-describedby="model-help"
          options={question.models.value.map((model) => [model.name])}
          choose={(name) =>
            question.chooseWith(() => (question.model.value = { ...question.model.value, [task]: name }))
          }
        />
      </div>
      {question.chosen.value && (
        <p class="help" id="model-help">
          {describe(question.chosen.value)}
        </p>
      )}
      {task === "text" && <TextFields state={state} />}
      {task === "image" && <PictureField state={state} />}
      {task === "generation" && <PromptFields question={question} />}
      <Problem state={state} />
      {task === "text" && question.long.value && <LongText question={question} />}
      {task === "text" && <OtherText question={question} />}
      <div class="row composer-foot">
        {task === "image" ? (
          <PictureExamples state={state} />
        ) : (
          <Examples question={question} into={task === "text" ? question.text : question.prompt} />
        )}
        <Status state={state} />
      </div>
      <p class="help" id="server-notice" role="status">
        {state.work.notice}
      </p>
    </form>
  );
}

/** Whether the form is folded to a line: once there is an answer, until the user edits the request. */
function useFolding(state: ServerState) {
  const folded = useSignal(false);
  const shown = state.results.shown.value;
  const wanted = state.explanations.wanted.value;
  useLayoutEffect(() => {
    const answered = shown !== null && (wanted === null || wanted.there);
    folded.value = answered;
    if (!answered) return;
    // The focused element is no longer visible.
    if (document.getElementById("composer")?.contains(document.activeElement)) {
      requestAnimationFrame(() => document.getElementById("edit")?.focus({ preventScroll: true }));
    }
    // On a phone an answer could appear out of sight. A tour keeps itself in view.
    if (state.tour.peek() === null) {
      bringToSight("result", (result) => result.getBoundingClientRect().top > innerHeight / 3);
    }
  }, [shown, wanted]);
  return folded;
}

function AskedLine({ state, edit }: { state: ServerState; edit: () => void }) {
  const task = state.question.task.value;
  const asked = state.askedWords();
  const open = () => {
    edit();
    const field = task === "image" ? "picture" : task === "text" ? "ask-text" : "ask-prompt";
    requestAnimationFrame(() => document.getElementById(field)?.focus());
  };
  return (
    <div class="row asked">
      <p>
        <span class="index">{state.question.chosen.value?.name}</span> <Own text={asked} most={asked.length} />
      </p>
      <button type="button" id="edit" onClick={open}>
        Edit
      </button>
    </div>
  );
}

function Examples({ question, into }: { question: Question; into: Signal<string> }) {
  const examples = question.examples.value;
  if (examples.length === 0) return null;
  return (
    <ul class="chips" id="examples" aria-label="Examples">
      {examples.map((text) => (
        <li key={text}>
          <button type="button" class="quiet" onClick={() => (into.value = question.keep(text))}>
            <Own text={text} most={60} />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Pictures of the kind that the model was trained on. */
function PictureExamples({ state }: { state: ServerState }) {
  const examples = picturesOf(state.question.chosen.value);
  if (examples.length === 0) return null;
  return (
    <ul class="chips" id="picture-examples" aria-label="Examples">
      {examples.map((example) => (
        <li key={example.name}>
          <button
            type="button"
            class="quiet"
            onClick={() => void state.explanations.explainPicture(fileOf(example), true)}
          >
            <img src={addressOf(example)} alt="" width={28} height={28} />
            {example.name}
          </button>
        </li>
      ))}
    </ul>
  );
}

function TextFields({ state }: { state: ServerState }) {
  const { question } = state;
  const shown = state.results.shown.value;
  const busy = state.work.working.value !== "";
  const masked = question.chosen.value?.head === "masked";
  const target = question.chosen.value?.takes_target ?? false;
  const changed = [question.pair, question.candidates, question.referents].some(({ value }) => value !== "");
  return (
    <AskArea id="ask-text" label="Text" text={question.text}>
      <button type="submit" class="primary" id="explain" disabled={question.text.value.trim() === ""}>
        {asksForBoth(question) ? "Explain both" : "Explain"}
      </button>
      <button
        type="button"
        id="compare-ask"
        hidden={!(shown && "viewer" in shown) || asksForBoth(question)}
        disabled={question.text.value.trim() === "" || busy}
        title="Explain this text with this model and show it next to the current explanation"
        onClick={() => void state.variants.compareText()}
      >
        Run as B and compare
      </button>
      <Popover id="options" label="Options" title="Options" badge={changed || edgesChanged(question) ? "•" : ""}>
        <Line
          id="ask-pair"
          label={target ? "Target: what the decoder has written so far" : "Second text (of a pair)"}
          value={question.pair}
        />
        {masked && (
          <Line id="ask-candidates" label="Candidates at the mask, comma-separated" value={question.candidates} />
        )}
        <Line id="ask-referents" label="Candidate antecedents, comma-separated" value={question.referents} />
        <Edges question={question} />
      </Popover>
    </AskArea>
  );
}

const asksForBoth = ({ other }: Question) => (other.value ?? "").trim() !== "";

/** A second text, explained with the first and shown next to it. */
function OtherText({ question: { other } }: { question: Question }) {
  const text = other.value;
  if (text === null) {
    return (
      <button
        type="button"
        class="quiet"
        id="add-other"
        onClick={() => {
          other.value = "";
          requestAnimationFrame(() => document.getElementById("ask-other")?.focus());
        }}
      >
        + Another text, to compare
      </button>
    );
  }
  return (
    <AskArea id="ask-other" label="Another text, to compare" text={other as Signal<string>}>
      <button type="button" id="drop-other" onClick={() => (other.value = null)}>
        Only one text
      </button>
    </AskArea>
  );
}

/** Whether anything but the defaults is asked about the prediction. */
const edgesChanged = ({ mixing, target, against, scores }: Question) =>
  mixing.value !== "auto" || target.value.trim() !== "" || against.value.trim() !== "" || scores.value.length > 0;

function MixingField({ question }: { question: Question }) {
  const model = question.chosen.value;
  const usual =
    question.task.value === "generation"
      ? "contributions that come with each token (alti)"
      : model?.head === "embedding"
        ? "contributions (alti)"
        : model && model.head !== "none"
          ? "relevance where that is quick"
          : "attention";
  const offered = MIXINGS.filter(({ name }) => model?.mixings.includes(name));
  return (
    <div class="field">
      <label for="ask-mixing">Built from: attention, contributions, or relevance</label>
      <Select
        id="ask-mixing"
        value={question.mixing.value}
        options={[["auto", `auto: ${usual}`], ...offered.map(({ name, help }) => [name, `${name}: ${help}`] as const)]}
        choose={(name: MixingName | "auto") => (question.mixing.value = name)}
      />
    </div>
  );
}

/** What is asked about the prediction: mixing, target, and score methods. */
function Edges({ question }: { question: Question }) {
  const model = question.chosen.value;
  const offered = SCORE_METHODS.filter((method) => model?.methods.includes(method));
  return (
    <>
      <MixingField question={question} />
      {model && model.head !== "none" && (
        <>
          <Line id="ask-target" label="Target: which class or token is explained (auto)" value={question.target} />
          <Line id="ask-against" label="Against which one (auto)" value={question.against} />
          <MethodChecks
            id="ask-scores"
            legend="Methods in addition to raw, rollout and flow"
            offered={offered}
            chosen={question.scores}
          />
        </>
      )}
    </>
  );
}

interface MethodChecksProps<T extends Method> {
  id: string;
  legend: string;
  offered: readonly T[];
  chosen: Signal<readonly T[]>;
  /** at least one stays chosen */
  some?: boolean;
}

function MethodChecks<T extends Method>({ id, legend, offered, chosen, some }: MethodChecksProps<T>) {
  const methods = chosen.value;
  const choose = (method: T, on: boolean) => {
    chosen.value = (METHODS as readonly T[]).filter((one) => (one === method ? on : methods.includes(one)));
  };
  return (
    <fieldset class="stack" id={id}>
      <legend>{legend}</legend>
      {offered.map((method) => (
        <CheckBox
          class="check"
          key={method}
          value={method}
          disabled={some && methods.length === 1 && methods.includes(method)}
          on={inOtherForm(methods.includes(method), (on) => choose(method, on))}
        >
          <span>
            {method} {some && <span class="index">{METHOD_HELP[method]}</span>}
          </span>
        </CheckBox>
      ))}
    </fieldset>
  );
}

interface AskAreaProps {
  id: string;
  label: string;
  text: Signal<string>;
  children: ComponentChildren;
}

/** The text field of a request; Enter submits it. */
const AskArea = ({ id, label, text, children }: AskAreaProps) => (
  <div class="ask">
    <label class="visually-hidden" for={id}>
      {label}
    </label>
    <textarea
      id={id}
      rows={2}
      dir="auto"
      value={text.value}
      aria-describedby="server-problem ask-length"
      onInput={(event) => (text.value = event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        event.currentTarget.form?.requestSubmit();
      }}
    />
    <div class="ask-buttons">{children}</div>
  </div>
);

interface LineProps<T> extends Omit<InputHTMLAttributes, "value"> {
  id: string;
  label: string;
  value: Signal<T>;
}

const Field = ({ id, label, ...attributes }: InputHTMLAttributes & { id: string; label: string }) => (
  <div class="field">
    <label for={id}>{label}</label>
    <input id={id} {...attributes} />
  </div>
);

const Line = ({ value, ...rest }: LineProps<string>) => (
  <Field
    type="text"
    dir="auto"
    {...rest}
    value={value}
    onInput={(event) => (value.value = event.currentTarget.value)}
  />
);

const NumberLine = ({ value, ...rest }: LineProps<number>) => (
  <Field
    type="number"
    {...rest}
    value={value}
    onInput={({ currentTarget }) => {
      const number = currentTarget.valueAsNumber;
      if (Number.isFinite(number)) value.value = number;
    }}
    // Invalid or empty input is not used: the field shows the current value again.
    onBlur={(event) => (event.currentTarget.value = String(value.value))}
  />
);

const METHOD_HELP: Partial<Record<Method, string>> = { rollout: "live", flow: "slower" };

const PromptFields = ({ question }: { question: Question }) => (
  <AskArea id="ask-prompt" label="Prompt" text={question.prompt}>
    <button type="submit" class="primary" id="continue" disabled={question.prompt.value.trim() === ""}>
      Generate
    </button>
    {question.chosen.value?.chat && (
      <CheckBox
        id="ask-chat"
        class="check"
        title="The prompt is a user's turn, in the model's chat template; otherwise the model continues the text"
        on={inOtherForm(question.chat.value, (on) => question.chooseWith(() => (question.chatChoice.value = on)))}
      >
        Chat
      </CheckBox>
    )}
    <PromptOptions question={question} />
  </AskArea>
);

function PromptOptions({ question }: { question: Question }) {
  const samples = question.temperature.value > 0;
  const changed =
    samples ||
    question.maskFirst.value ||
    question.mixing.value !== "auto" ||
    question.layers.value.trim() !== "" ||
    question.methods.value.join() !== "raw,rollout" ||
    question.tokens.value !== USUAL_TOKENS;
  const offered = METHODS.filter((one) => !isScore(one) || question.chosen.value?.methods.includes(one));
  return (
    <Popover id="sampling" label="Options" title="Options" badge={changed ? "•" : ""}>
      <NumberLine id="ask-tokens" label="Tokens" value={question.tokens} min={1} step={1} />
      <MethodChecks id="ask-methods" legend="Methods" offered={offered} chosen={question.methods} some />
      <MixingField question={question} />
      <Line id="ask-layers" label="Layers (all; e.g. 1-6,8)" value={question.layers} />
      <CheckBox id="ask-mask-first" on={question.maskFirst} class="check">
        Mask the first token (the sink)
      </CheckBox>
      <NumberLine
        id="ask-temperature"
        label="Temperature (0: the most probable)"
        value={question.temperature}
        min={0}
        step={0.1}
      />
      {samples && (
        <>
          <NumberLine id="ask-top-p" label="Top p" value={question.topP} min={0.01} max={1} step={0.01} />
          <NumberLine id="ask-seed" label="Seed" value={question.seed} min={0} step={1} />
        </>
      )}
      {question.chat.value && <Line id="ask-system" label="System prompt" value={question.system} />}
    </Popover>
  );
}

function PictureField({ state }: { state: ServerState }) {
  const sent = state.explanations.sent.value;
  const wanted = state.explanations.wanted.value;
  return (
    <div class="row drop">
      <FileButton
        id="picture"
        label="Choose a picture…"
        accept="image/png,image/jpeg,image/webp"
        name="A picture"
        class="primary"
        take={(picture) => void state.explanations.explainPicture(picture)}
      />
      <Popover id="options" label="Options" title="Options" badge={edgesChanged(state.question) ? "•" : ""}>
        <Edges question={state.question} />
      </Popover>
      <p class="help">or drop one anywhere in the page, or paste it. It goes to this server and nowhere else.</p>
      {wanted && !wanted.there && (
        <p class="notice" id="picture-wanted" role="status">
          Links cannot contain your picture. Choose “<Own text={wanted.name} most={60} />” again to restore this view.
        </p>
      )}
      {sent && (
        <figure id="picture-sent">
          <img src={sent.url} alt="" />
          <figcaption>
            <Own text={sent.name} most={60} /> <span class="index">{bytesText(sent.bytes)}</span>
          </figcaption>
        </figure>
      )}
    </div>
  );
}

/** "1.4 MB" */
function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const [value, unit] = bytes < 999_500 ? [bytes / 1e3, "kB"] : [bytes / 1e6, "MB"];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

function Status({ state }: { state: ServerState }) {
  const working = state.work.working.value;
  const progress = state.work.progress.value;
  const ending = state.work.ending.value;
  const waiting = progress?.position ?? null;
  let said = working;
  if (working && waiting !== null) {
    said = waiting > 0 ? `Waiting: ${progress?.again ? "at least " : ""}${waiting} ahead of this one` : working;
  } else if (working && progress && progress.total > 0) {
    said = `${working}: ${progress.phase} ${progress.done} of ${progress.total}`;
  }
  const partial = working !== "" && progress !== null && progress.total > 0;
  return (
    // The row keeps its height, so that answers move nothing.
    <div class="row status" id="status">
      {working && (
        <>
          <progress
            aria-label={working}
            {...(partial && progress ? { value: progress.done, max: progress.total } : {})}
          />
          <span id="status-text">{said} …</span>
          {ending && (
            <button
              type="button"
              id="stop"
              disabled={ending === "asked"}
              title="Stop here and show the results for the tokens so far"
              onClick={() => void state.generations.stop()}
            >
              {ending === "asked" ? "Stopping…" : "Stop"}
            </button>
          )}
          <button type="button" id="cancel" onClick={() => (ending ? state.work.discard() : state.work.cancel())}>
            {ending ? "Discard" : "Cancel"}
          </button>
        </>
      )}
    </div>
  );
}

function LongText({ question }: { question: Question }) {
  return (
    <div class="row problem-line" id="long-text">
      <p class="help">
        {question.onlyLast.value
          ? "A long text: only its last token is explained."
          : "A long text: this takes minutes."}
      </p>
      {(question.onlyLast.value || question.allTokens.value) && (
        <CheckBox class="check" id="ask-all-tokens" on={question.allTokens}>
          All tokens
        </CheckBox>
      )}
    </div>
  );
}

/** Below the field concerned: what went wrong, or that the text is too long for the model; and how to resolve it. */
function Problem({ state }: { state: ServerState }) {
  const { problem, cuttable, working } = state.work;
  const { task, chosen, text, pair } = state.question;
  const least = task.value === "text" ? leastTokens(text.value, pair.value) : 0;
  const limit = chosen.value?.max_tokens ?? 0;
  const beyond = limit > 0 && least > limit;
  const cut = (
    <button
      type="button"
      id="cut-text"
      disabled={working.value !== ""}
      title={`Explain only its first ${limit} tokens`}
      onClick={() => void state.explanations.explainText(true)}
    >
      Truncate the text
    </button>
  );
  if (problem.value) {
    return (
      <div class="row problem-line">
        <p class="problem" role="alert" id="server-problem">
          {problem.value}
        </p>
        {cuttable.value && cut}
      </div>
    );
  }
  if (limit === 0 || 2 * least < limit) return null;
  return (
    <div class="row problem-line">
      <p class={beyond ? "problem" : "help"} id="ask-length">
        {beyond ? "Too long: at least" : "At least"} {least} tokens; {chosen.value?.name} takes at most {limit}.
      </p>
      {beyond && cut}
    </div>
  );
}
