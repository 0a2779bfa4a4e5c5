// Settings that change the numbers, where these come from, and how to get those that the page cannot compute.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { isHeavy, mixingOf, prepare } from "../compute/mixing";
import { inSlices } from "../compute/slices";
import { useViewer } from "../context";
import { recipeOf, type Normalize, type Recipe } from "../report/recipe";
import type { Report } from "../report/report";
import { downToWords, maskWords } from "../report/setting_words";
import { WordReport } from "../report/words";
import { AskFor, Close } from "./ask_for";
import { CheckControl } from "./check_box";
import { Info } from "./guide";
import { MixingChoice, mixingsOf } from "./mixing_choice";
import { Choice, SliderControl, type Option } from "./fields";
import "../styles/pictures.css";

/** Applies settings whose matrices are fused first without blocking the page; says whether that is under way. */
function useFusing(pieces: Report, recipe: Recipe) {
  const fusing = useSignal(false);
  const stop = useRef<(() => void) | null>(null);
  useEffect(() => () => stop.current?.(), []);
  const afterFusing = (change: Partial<Recipe>, apply: () => void) => {
    stop.current?.();
    stop.current = null;
    fusing.value = false;
    const wanted = { ...recipe, ...change };
    if (!isHeavy(pieces, wanted)) return apply();
    fusing.value = true;
    stop.current = inSlices(prepare(pieces, wanted), () => {
      fusing.value = false;
      apply();
    });
  };
  return { fusing: fusing.value, afterFusing };
}

const NORMALISATIONS: readonly Option<Normalize>[] = [
  ["none"],
  ["row", "rows"],
  ["receptive-field", "by receptive field"],
];

/** Applies settings, or refuses those that cannot be computed here: then the control reverts, and a line says how. */
function useRecipe() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const { choices } = state;
  const { recipe } = viewer.explanation.value;
  const refused = useSignal<Refused | null>(null);
  const { fusing, afterFusing } = useFusing(report.pieces, recipe);
  const choose = (change: Partial<Recipe>, apply: (now: () => void) => void = (now) => now()) => {
    const wanted = { ...recipe, ...change };
    // Layers at or below the start layer have no explanation.
    const above = report.layers.find((layer) => layer > wanted.start_layer);
    const layer = choices.layer.value > wanted.start_layer ? choices.layer.value : (above ?? choices.layer.value);
    const possible = viewer.whyNotBy(wanted, layer) === null;
    refused.value = possible ? null : { recipe: wanted, layer };
    if (possible) apply(() => state.restore({ ...state.snapshot(), ...change, layer }));
  };
  return {
    recipe,
    fusing,
    refused,
    can: (change: Partial<Recipe>) => typeof mixingOf(report.pieces, { ...recipe, ...change }) !== "string",
    choose,
    chooseFused: (change: Partial<Recipe>) => choose(change, (now) => afterFusing(change, now)),
  };
}

export function RecipeControls() {
  const viewer = useViewer();
  const { report, state } = viewer;
  const controls = useRecipe();
  const { fusing, refused } = controls;
  const folded = useRef<HTMLDetailsElement>(null);
  const changed = !viewer.explanation.value.asComputed;
  // Changed settings are opened once; the user may still fold them away.
  useLayoutEffect(() => {
    if (changed && folded.current) folded.current.open = true;
  }, [changed]);
  const anything = report.hasGraph || report.hasHeads;
  const hasWords = report instanceof WordReport || viewer.merged.value !== null;
  const mixes = mixingsOf(viewer).length > 0;
  if (!anything && !hasWords && !mixes) return null;
  if (viewer.scored) return hasWords ? <WordsOnly /> : null;
  return (
    <form
      id="recipe"
      class="row"
      aria-label="How the numbers are computed"
      onSubmit={(event) => event.preventDefault()}
    >
      <MixingChoice />
      {hasWords && <Words />}
      {anything && (
        <details id="recompute" ref={folded}>
          <summary>Recompute with…</summary>
          <div class="row">
            <Settings {...controls} />
            <button
              type="button"
              id="recipe-reset"
              disabled={!changed}
              onClick={() => state.restore({ ...state.snapshot(), ...recipeOf(report) })}
            >
              Reset
            </button>
            <Info about="these settings" place="recompute" />
          </div>
        </details>
      )}
      <Source fusing={fusing} refused={refused.value} forget={() => (refused.value = null)} />
    </form>
  );
}

function fusionsOf({ settings, model }: Report, can: (change: Partial<Recipe>) => boolean): Option<string>[] {
  const single = Array.from({ length: model.heads }, (_, h): Option<string> => [String(h), `head ${h}`]);
  const all: Option<string>[] = [["mean"], ["max"], ["min"], ...single];
  return all.filter(([heads]) => heads === settings.heads || can({ heads }));
}

function masksOf({ settings, hasSpecial }: Report, recipe: Recipe, can: (change: Partial<Recipe>) => boolean) {
  const masks = ["none", "first", ...(hasSpecial ? ["special"] : [])].filter((mask) => can({ mask_columns: mask }));
  return [...new Set([...masks, settings.mask_columns, recipe.mask_columns])];
}

function Settings({ recipe, fusing, can, choose, chooseFused }: ReturnType<typeof useRecipe>) {
  const { report, state } = useViewer();
  const { choices } = state;
  const fusions = fusionsOf(report, can);
  const masks = masksOf(report, recipe, can);
  const lowest = Math.max(0, Math.min(...report.layers) - 1);
  const highest = Math.max(lowest, (report.layers.at(-1) ?? 1) - 1);
  return (
    <>
      {report.mixing.rule === "convex" && (
        <SliderControl
          id="residual"
          label="Residual weight"
          value={choices.residual.value}
          choose={(residual) => choose({ residual })}
          words={choices.residual.value.toFixed(2)}
          max={1}
          step={0.01}
          disabled={!can({})}
        />
      )}
      {fusions.length > 1 && (
        <Choice
          id="head-fusion"
          label="Heads"
          value={choices.heads.value}
          disabled={fusing}
          options={fusions}
          choose={(heads) => chooseFused({ heads })}
        />
      )}
      {highest > 0 && (
        <Choice
          id="to-layer"
          label="Start layer"
          value={choices.start_layer.value}
          disabled={!can({})}
          options={Array.from({ length: highest + 1 }, (_, m) => [m, downToWords(m)])}
          choose={(start_layer) => choose({ start_layer })}
        />
      )}
      {masks.length > 1 && (
        <Choice
          id="mask-columns"
          label="Mask columns"
          value={choices.mask_columns.value}
          disabled={fusing}
          options={masks.map((mask) => [mask, maskWords(report, mask) || "nothing"])}
          choose={(mask) => chooseFused({ mask_columns: mask })}
        />
      )}
      {can({ discard: 0.5 }) && (
        <SliderControl
          id="discard"
          label="Discard smallest"
          value={choices.discard.value}
          choose={(discard) => choose({ discard })}
          words={`${(100 * choices.discard.value).toFixed(0)}%`}
          max={0.95}
          step={0.05}
        />
      )}
      <Choice
        id="normalize"
        label="Normalize"
        value={choices.normalize.value}
        disabled={!can({})}
        options={NORMALISATIONS}
        choose={(normalize) => choose({ normalize })}
      />
    </>
  );
}

const Words = () => (
  <CheckControl id="words" on={useViewer().state.choices.words}>
    Whole words
  </CheckControl>
);

/** For a method that no other setting affects. */
const WordsOnly = () => (
  <form id="recipe" class="row" aria-label="How the numbers are computed" onSubmit={(event) => event.preventDefault()}>
    <Words />
  </form>
);

interface Refused {
  recipe: Recipe;
  layer: number;
}

function Source({ fusing, refused, forget }: { fusing: boolean; refused: Refused | null; forget: () => void }) {
  const viewer = useViewer();
  const { report, state, explanation } = viewer;
  const { method, layer, token } = state.choices;
  // It may be possible with another method.
  const whyRefused = refused && viewer.whyNotBy(refused.recipe, refused.layer);
  if (refused && whyRefused !== null) {
    return (
      <p id="recipe-source" aria-live="polite">
        {whyRefused} <AskFor id="ask-server" method={method.value} token={token.value} recipe={refused.recipe} />{" "}
        <Close close={forget} />
      </p>
    );
  }
  const explained = explanation.value;
  const result = explained.result(method.value, layer.value, token.value);
  const why = result ? "" : viewer.whyNoRow();
  const rounded = (result?.error ?? 0) > 0;
  const origins = {
    document: "Rounded to two digits in this page.",
    server: "From the server, rounded to two digits.",
    page: `Recomputed in the browser from the layers' ${report.mixing.weights}${
      rounded ? ", to two digits: the report holds it rounded" : ""
    }.`,
  };
  return (
    <p id="recipe-source" aria-live="polite">
      {fusing && "Fusing heads … "}
      {result && (result.source === "page" || rounded) && origins[result.source]}
      {why && (
        <>
          {why} <AskFor id="ask-server" method={method.value} token={token.value} />
        </>
      )}
      {!result && !why && "Computing flow in the browser …"}
      <Progress />
    </p>
  );
}

/** Progress of the flow computation: for the row shown, or for another layer's. */
function Progress() {
  const { computing, state } = useViewer();
  if (!computing.value) return null;
  const { layer, done, of } = computing.value;
  return (
    <span id="flow-progress" aria-live="off">
      {layer !== state.choices.layer.value && ` Layer ${layer} …`}{" "}
      <progress aria-label={`Flow after layer ${layer}`} value={done} max={of} />
    </span>
  );
}
