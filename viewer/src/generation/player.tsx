// Which generated token is explained, by which method and layers.
import { effect, untracked } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { METHODS, type Method } from "../report/document";
import { FromLeast, LookPanel } from "../components/look";
import { GenerationFilters, GenerationSpecialCheck } from "./filters_view";
import { followGenerationKeys } from "./generation_keys";
import { useGeneration, type GenerationState, type Span } from "./generation_state";

const PACES: readonly [number, string][] = [
  [1800, "½×"],
  [900, "1×"],
  [450, "2×"],
  [225, "4×"],
];

const SPANS: readonly [Span, string][] = [
  ["all", "mean over all"],
  ["last", "the last"],
  ["one", "one"],
  ["range", "mean over a range"],
];

/** Shows one token after another while the state says so; stops at the end. */
export function playWhile(state: GenerationState): () => void {
  return effect(() => {
    if (!state.playing.value) return;
    const pace = state.pace.value;
    const last = () => state.report.n - 1;
    if (state.token.peek() === untracked(last) && !state.arriving.peek()) state.step(0);
    const timer = setInterval(() => {
      state.step(state.token.peek() + 1);
      // While tokens arrive it waits at the newest.
      if (state.token.peek() === last() && !state.arriving.peek()) state.playing.value = false;
    }, pace);
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

export function GenerationControls() {
  const state = useGeneration();
  const { report } = state;
  useEffect(() => playWhile(state), [state]);
  useEffect(() => followGenerationKeys(state), [state]);
  const token = state.token.value;
  const last = report.n - 1;
  const playing = state.playing.value;
  const span = state.span.value;
  const method = state.method.value;
  const layers = report.layersOf(method);
  const offersNormalized = report.methods.some((one) => report.hasNormalized(one));
  const layerList = (id: string, value: number, choose: (layer: number) => void) => (
    <select id={id} value={value} onChange={(event) => choose(Number(event.currentTarget.value))}>
      {layers.map((layer) => (
        <option key={layer} value={layer}>
          {layer}
        </option>
      ))}
    </select>
  );
  const chooseRange = (from: number, to: number) => {
    state.from.value = span === "one" ? from : Math.min(from, to);
    state.to.value = Math.max(from, to);
  };
  return (
    <form id="controls" aria-label="What is shown" onSubmit={(event) => event.preventDefault()}>
      <div class="control steps" role="group" aria-label="Generated token">
        <button
          type="button"
          id="previous"
          aria-label="Previous generated token"
          title="Previous (←)"
          disabled={token === 0}
          onClick={() => state.step(token - 1)}
        >
          <Icon path="M11 2v10L3 7z" />
        </button>
        <button
          type="button"
          id="play"
          aria-pressed={playing}
          title={playing ? "Pause (space)" : "Play (space)"}
          disabled={last === 0 && !state.arriving.value}
          onClick={() => (state.playing.value = !playing)}
        >
          <Icon path={playing ? "M3 2h3v10H3zM8 2h3v10H8z" : "M3 1v12l9-6z"} />{" "}
          <span>{playing ? "Pause" : "Play"}</span>
        </button>
        <button
          type="button"
          id="next"
          aria-label="Next generated token"
          title="Next (→)"
          disabled={token === last}
          onClick={() => state.step(token + 1)}
        >
          <Icon path="M3 2v10l8-5z" />
        </button>
        <input
          id="token"
          type="range"
          min={0}
          max={last}
          step={1}
          value={token}
          disabled={last === 0}
          aria-label="Generated token"
          aria-valuetext={`${token + 1} of ${report.n}: ${report.columns[report.m + token].name.text}`}
          onInput={(event) => state.step(Number(event.currentTarget.value))}
        />
        <output id="step" for="previous play next token">
          {token + 1} of {report.n}
        </output>
        <select
          id="pace"
          aria-label="Speed"
          value={state.pace.value}
          onChange={(event) => (state.pace.value = Number(event.currentTarget.value))}
        >
          {PACES.map(([pace, name]) => (
            <option key={pace} value={pace}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <fieldset id="methods">
        <legend class="visually-hidden">Method</legend>
        {METHODS.map((one) => (
          <label key={one} title={report.methods.includes(one) ? undefined : missing(one, state)}>
            <input
              type="radio"
              name="method"
              value={one}
              disabled={!report.methods.includes(one)}
              checked={method === one}
              onChange={() => state.choose(one)}
            />
            <span>{one}</span>
          </label>
        ))}
      </fieldset>
      <div class="control" id="layer-control">
        <label for="layers">Layers</label>
        <select
          id="layers"
          value={span}
          disabled={layers.length < 2 || state.growing.value}
          onChange={(event) => (state.span.value = event.currentTarget.value as Span)}
        >
          {SPANS.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
        {(span === "one" || span === "range") && (
          <span id="layer-range">
            <label for="from-layer">{span === "one" ? "layer" : "from"}</label>{" "}
            {layerList("from-layer", state.from.value, (layer) => chooseRange(layer, state.to.value))}
            {span === "range" && (
              <>
                {" "}
                <label for="to-layer">to</label>{" "}
                {layerList("to-layer", state.to.value, (layer) => chooseRange(state.from.value, layer))}
              </>
            )}
          </span>
        )}
      </div>
      {offersNormalized && (
        <div class="control check" id="normalized-control">
          <label>
            <input
              id="normalized"
              type="checkbox"
              disabled={!report.hasNormalized(method)}
              checked={state.selection.value.normalized}
              onChange={(event) => (state.normalized.value = event.currentTarget.checked)}
            />{" "}
            Normalised by receptive field
          </label>
        </div>
      )}
      <GenerationSpecialCheck />
      <div class="panels">
        <GenerationFilters />
        <LookPanel palette={state.palette} threshold={state.threshold}>
          <FromLeast on={state.fromLeast} />
        </LookPanel>
      </div>
    </form>
  );
}

/** Why a method cannot be chosen. */
function missing(method: Method, { growing, arriving, served }: GenerationState): string {
  if (arriving.value) return `${method} may come with the report, when the text is complete`;
  return growing.value
    ? `The text ended before its report, which would have held ${method}`
    : served
      ? `The server was not asked for ${method}: tick it under Options and continue again`
      : `This report holds no ${method}: attnflow generate --method raw,rollout,flow computes all three`;
}
