// What changes the numbers: heads, residual, layers, set-aside columns, discard, normalisation, words. It says where the
// numbers shown come from, and how to get those that the page cannot compute.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { isHeavy, mixingOf, prepare } from "../compute/mixing";
import { inSlices } from "../compute/slices";
import { useViewer } from "../context";
import type { Normalize, Recipe } from "../report/recipe";
import { asideText, WordReport } from "../report/words";
import { AskFor } from "./ask_for";
import { CheckBox } from "./check_box";
import "../styles/pictures.css";

export function RecipeControls() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices } = state;
  const { settings, model } = report;
  const fusing = useSignal(false);
  const stop = useRef<(() => void) | null>(null);
  useEffect(() => () => stop.current?.(), []);
  const recipe = viewer.explanation.value.recipe;
  const pieces = report instanceof WordReport ? report.pieces : report;
  const can = (change: Partial<Recipe>) => typeof mixingOf(pieces, { ...recipe, ...change }) !== "string";
  /** Matrices that take long to make are made before they are used, without blocking the page. */
  const afterFusing = (change: Partial<Recipe>, apply: () => void) => {
    stop.current?.();
    stop.current = null;
    fusing.value = false;
    const wanted = { ...recipe, ...change };
    if (!isHeavy(pieces, wanted)) return apply();
    fusing.value = true;
    stop.current = inSlices(
      prepare(pieces, wanted),
      () => {
        fusing.value = false;
        apply();
      },
      (error) => {
        throw error;
      },
    );
  };
  const anything = report.hasGraph || report.hasHeads;
  const fusions = ["mean", "max", "min"].filter((heads) => heads === settings.heads || can({ heads }));
  const single = Array.from({ length: model.heads }, (_, h) => String(h)).filter(
    (heads) => heads === settings.heads || can({ heads }),
  );
  const asides = ["none", "first", ...(report.hasSpecial ? ["special"] : [])].filter((setAside) => can({ setAside }));
  for (const positions of [settings.set_aside, recipe.setAside])
    if (!asides.includes(positions)) asides.push(positions);
  const changed = !viewer.explanation.value.asComputed;
  const reset = () => {
    choices.heads.value = settings.heads;
    choices.residual.value = settings.residual;
    choices.toLayer.value = settings.to_layer;
    choices.setAside.value = settings.set_aside;
    choices.discard.value = settings.discard;
    choices.normalize.value = settings.normalize;
  };
  const hasWords = report instanceof WordReport || viewer.merged.value !== null;
  if (!anything && !hasWords) return null;
  const lowest = Math.max(0, Math.min(...report.layers) - 1);
  const highest = Math.max(lowest, (report.layers.at(-1) ?? 1) - 1);
  return (
    <form id="recipe" aria-label="How numbers are made" onSubmit={(event) => event.preventDefault()}>
      {anything && !report.gradient && (
        <div class="control">
          <label for="residual">
            Residual <output for="residual">{choices.residual.value.toFixed(2)}</output>
          </label>
          <input
            id="residual"
            type="range"
            min={0}
            max={1}
            step={0.01}
            value={choices.residual.value}
            disabled={!can({})}
            onInput={(event) => (choices.residual.value = Number(event.currentTarget.value))}
          />
        </div>
      )}
      {fusions.length + single.length > 1 && (
        <div class="control">
          <label for="head-fusion">Heads</label>
          <select
            id="head-fusion"
            value={choices.heads.value}
            disabled={fusing.value}
            onChange={(event) => {
              const heads = event.currentTarget.value;
              afterFusing({ heads }, () => (choices.heads.value = heads));
            }}
          >
            {fusions.map((heads) => (
              <option key={heads} value={heads}>
                {heads}
              </option>
            ))}
            {single.map((heads) => (
              <option key={heads} value={heads}>
                head {heads}
              </option>
            ))}
          </select>
        </div>
      )}
      {anything && highest > 0 && (
        <div class="control">
          <label for="to-layer">Down to</label>
          <select
            id="to-layer"
            value={choices.toLayer.value}
            disabled={!can({})}
            onChange={(event) => {
              choices.toLayer.value = Number(event.currentTarget.value);
              // Layers that are no longer above it have no explanation.
              const above = report.layers.find((layer) => layer > choices.toLayer.value);
              if (choices.layer.value <= choices.toLayer.value && above) choices.layer.value = above;
            }}
          >
            {Array.from({ length: highest + 1 }, (_, m) => (
              <option key={m} value={m}>
                {m === 0 ? "the input" : `layer ${m}`}
              </option>
            ))}
          </select>
        </div>
      )}
      {asides.length > 1 && (
        <div class="control">
          <label for="set-aside">Set aside</label>
          <select
            id="set-aside"
            value={choices.setAside.value}
            disabled={fusing.value}
            onChange={(event) => {
              const setAside = event.currentTarget.value;
              afterFusing({ setAside }, () => (choices.setAside.value = setAside));
            }}
          >
            {asides.map((setAside) => (
              <option key={setAside} value={setAside}>
                {asideText(report, setAside)}
              </option>
            ))}
          </select>
        </div>
      )}
      {can({ discard: 0.5 }) && (
        <div class="control">
          <label for="discard">
            Discard <output for="discard">{(100 * choices.discard.value).toFixed(0)}%</output>
          </label>
          <input
            id="discard"
            type="range"
            min={0}
            max={0.95}
            step={0.05}
            value={choices.discard.value}
            onInput={(event) => (choices.discard.value = Number(event.currentTarget.value))}
          />
        </div>
      )}
      {anything && (
        <div class="control">
          <label for="normalize">Normalise</label>
          <select
            id="normalize"
            value={choices.normalize.value}
            disabled={!can({})}
            onChange={(event) => (choices.normalize.value = event.currentTarget.value as Normalize)}
          >
            <option value="none">not at all</option>
            <option value="row">rows</option>
            <option value="receptive-field">by receptive field</option>
          </select>
        </div>
      )}
      {hasWords && (
        <div class="control check">
          <CheckBox id="words" on={choices.words}>
            Whole words
          </CheckBox>
        </div>
      )}
      {anything && (
        <button type="button" id="recipe-reset" disabled={!changed} onClick={reset}>
          As computed
        </button>
      )}
      <Source fusing={fusing.value} />
    </form>
  );
}

/** Where the numbers of the chosen method come from. */
function Source({ fusing }: { fusing: boolean }) {
  const viewer = useViewer();
  const { state, explanation } = viewer;
  const { method, layer, token } = state.choices;
  const explained = explanation.value;
  const result = explained.result(method.value, layer.value, token.value);
  const why = result ? null : explained.whyNot(method.value, layer.value);
  const rounded = (result?.error ?? 0) > 0;
  return (
    <p id="recipe-source" aria-live="polite">
      {fusing && "Fusing heads … "}
      {result?.source === "document" &&
        (rounded ? "Attnflow's numbers, to two digits here." : "Numbers as attnflow computed them.")}
      {result?.source === "server" && rounded && "The server's numbers, to two digits here."}
      {result?.source === "page" &&
        (rounded
          ? "Computed in this page from the layers' attention, which the report holds rounded: to two digits here."
          : "Computed in this page from the layers' attention.")}
      {!result && why}
      {!result && !why && `The report holds ${method.value} of other output tokens only.`}
      {!result && (
        <>
          {" "}
          <AskFor id="ask-server" method={method.value} token={token.value} />
        </>
      )}
    </p>
  );
}
