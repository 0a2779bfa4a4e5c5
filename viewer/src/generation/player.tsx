// Chooses which generated token is explained, by which method and layers.
import { effect, signal, untracked } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { CheckControl } from "../components/check_box";
import { Controls } from "../components/controls";
import { Select, Slider } from "../components/fields";
import { MethodChoice } from "../components/method_choice";
import { inFrame } from "../embedding";
import type { Method } from "../report/document";
import type { Span, State } from "../state";
import { useGeneration, type GenerationViewer } from "./generation_viewer";

const PACES: readonly [number, string][] = [
  [1800, "½×"],
  [900, "1×"],
  [450, "2×"],
  [225, "4×"],
];

const SPANS: readonly [Span["kind"], string][] = [
  ["all", "mean over all"],
  ["last", "the last"],
  ["one", "one"],
  ["range", "mean over a range"],
];

/** For an encoder-decoder, also: the decoder layers that attend to the source, or to the target. */
const SPANS_OF_JOINT: typeof SPANS = [
  ["source", "to the source"],
  ["target", "to the target"],
];

/** Milliseconds per token. */
const pace = signal(900);

/** Shows one token after another while the state says so, up to the end. */
function playWhile(state: State): () => void {
  const { token } = state.choices;
  return effect(() => {
    if (!state.playing.value) return;
    const last = () => state.report.choosable - 1;
    if (token.peek() === untracked(last) && !state.arriving.peek()) state.step(0);
    const timer = setInterval(() => {
      state.step(token.peek() + 1);
      // While tokens arrive it waits at the newest.
      if (token.peek() === last() && !state.arriving.peek()) state.playing.value = false;
    }, pace.value);
    return () => clearInterval(timer);
  });
}

function Icon({ path }: { path: string }) {
  return (
    <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" class="icon">
      <path d={path} />
    </svg>
  );
}

/** Steps through the generated tokens, manually or automatically. */
function Steps() {
  const { report, state, output } = useGeneration();
  useEffect(() => playWhile(state), [state]);
  const token = state.choices.token.value;
  const playing = state.playing.value;
  const last = report.choosable - 1;
  const keyed = (words: string, key: string) => (inFrame() ? words : `${words} (${key})`);
  return (
    <div class="control steps" role="group" aria-label="Generated token">
      <button
        type="button"
        id="previous"
        aria-label="Previous generated token"
        title={keyed("Previous", "←")}
        disabled={token === 0}
        onClick={() => state.step(token - 1)}
      >
        <Icon path="M11 2v10L3 7z" />
      </button>
      <button
        type="button"
        id="play"
        aria-pressed={playing}
        title={keyed(playing ? "Pause" : "Play", "space")}
        disabled={last === 0 && !state.arriving.value}
        onClick={() => (state.playing.value = !playing)}
      >
        <Icon path={playing ? "M3 2h3v10H3zM8 2h3v10H8z" : "M3 1v12l9-6z"} /> <span>{playing ? "Pause" : "Play"}</span>
      </button>
      <button
        type="button"
        id="next"
        aria-label="Next generated token"
        title={keyed("Next", "→")}
        disabled={token === last}
        onClick={() => state.step(token + 1)}
      >
        <Icon path="M3 2v10l8-5z" />
      </button>
      <Slider
        id="token"
        min={0}
        max={last}
        step={1}
        value={token}
        disabled={last === 0}
        aria-label="Generated token"
        aria-valuetext={`${token + 1} of ${report.choosable}: ${report.tokens[report.namedBy(output)].label}`}
        choose={(one) => state.step(one)}
      />
      <output id="step" for="previous play next token">
        {token + 1} of {report.choosable}
      </output>
      <Select
        id="pace"
        aria-label="Speed"
        value={pace.value}
        options={PACES}
        choose={(milliseconds) => (pace.value = milliseconds)}
      />
    </div>
  );
}

function LayersChoice() {
  const viewer = useGeneration();
  const { report, state } = viewer;
  const { method, span } = state.choices;
  const { kind, from, to } = viewer.span.value;
  const layers = viewer.heldLayers(method.value);
  const options = layers.map((layer): readonly [number, string?] =>
    report.joint ? [layer, report.layerName(layer)] : [layer],
  );
  const only = viewer.scored
    ? "none: it explains the prediction as a whole"
    : layers.length === 1
      ? `${layers[0]} alone`
      : "";
  const chooseRange = (first: number, last: number) =>
    (span.value = { kind, from: kind === "one" ? first : Math.min(first, last), to: Math.max(first, last) });
  return (
    <div class="control" id="layer-control">
      <label for="layers">Layers</label>
      <Select
        id="layers"
        value={kind}
        disabled={only !== "" || state.growing.value}
        options={only ? [[kind, only]] : report.joint ? [...SPANS, ...SPANS_OF_JOINT] : SPANS}
        choose={(other) => (span.value = { from, to, kind: other })}
      />
      {!only && (kind === "one" || kind === "range") && (
        <span id="layer-range">
          <label for="from-layer">{kind === "one" ? "layer" : "from"}</label>{" "}
          <Select id="from-layer" value={from} options={options} choose={(layer) => chooseRange(layer, to)} />
          {kind === "range" && (
            <>
              {" "}
              <label for="to-layer">to</label>{" "}
              <Select id="to-layer" value={to} options={options} choose={(layer) => chooseRange(from, layer)} />
            </>
          )}
        </span>
      )}
    </div>
  );
}

export function GenerationChoices() {
  const viewer = useGeneration();
  return (
    <>
      <Steps />
      <MethodChoice has={(one) => viewer.has(one)} missing={(one) => missing(one, viewer)} />
      <LayersChoice />
    </>
  );
}

export function GenerationControls() {
  const viewer = useGeneration();
  const { report, state } = viewer;
  const { method, normalized } = state.choices;
  return (
    <Controls>
      <GenerationChoices />
      {report.methods.some((one) => report.hasNormalized(one)) && (
        <CheckControl
          control="normalized-control"
          id="normalized"
          disabled={!report.hasNormalized(method.value)}
          checked={viewer.normalized}
          on={normalized}
        >
          Normalized by receptive field
        </CheckControl>
      )}
    </Controls>
  );
}

function missing(method: Method, { state, check }: GenerationViewer): string {
  if (state.arriving.value) return `${method} may arrive with the report once the text is complete`;
  return state.growing.value
    ? `The text ended before its report, which would have included ${method}`
    : method === "flow" && check.value
      ? "“Check this token” computes the token's flow, too; for all tokens tick flow under Options and continue again"
      : state.served
        ? `The server was not asked for ${method}: check it under Options and generate again`
        : `This report was made without ${method}; attnflow generate --method ${method} computes it`;
}
