// How the numbers shown were made, in words, and how that differs from the report's settings.
import { Card } from "../components/card";
import { useViewer, type Viewer } from "../context";
import { arrayName } from "../report/document";
import { recipeOf, type Recipe } from "../report/recipe";
import { GenerationViewer } from "../generation/generation_viewer";
import { pictureOf } from "../export/element_picture";
import { namedToken, undirected } from "../export/name";
import type { GenerationReport } from "../report/generation_report";
import type { Report } from "../report/report";
import { pictureIn } from "../report/picture";
import {
  discardWords,
  downToWords,
  headsWords,
  layersWords,
  maskWords,
  mixingWords,
  normalisationWords,
  pixelWords,
  recipeFacts,
  residualWords,
  targetWords,
} from "../report/setting_words";
import { format, percent } from "../report/text";
import { WordReport } from "../report/words";
import { methodsShown } from "./notes";

const discardText = (report: Report, discard: number) =>
  discard
    ? `${discardWords(discard)}${report.settings.discard_keep_special ? ", except those of special tokens" : ""}`
    : "nothing";

function precision({ report, state, explanation }: Viewer): string {
  const { choices } = state;
  const result = explanation.value.result(choices.method.value, choices.layer.value, choices.token.value);
  const holder = result?.source === "server" && result.from ? result.from : report;
  const { arrays, output_token: own } = holder.document;
  const array = holder.methods.includes(choices.method.value) ? arrays[arrayName(choices.method.value)] : undefined;
  if (result?.source === "page") {
    return result.error > 0
      ? `within ${(100 * result.error).toPrecision(2)}%, like the layers' weights in the report`
      : "";
  }
  const kept = array?.dtype === "top";
  const error = array?.error ?? 0;
  if (error > 0 || kept) {
    const parts = error > 0 ? [`values within ${(100 * error).toPrecision(2)}%`] : [];
    if (kept) parts.push("only the largest of each row are kept; the others share the rest evenly");
    return `${parts.join("; ")}. The values of the output token at position ${own ?? 0} are exact`;
  }
  return array?.dtype === "f16" ? "3 digits" : "";
}

function pictureRows(report: Report): [string, string][] {
  if (!report.document.input.image) return [];
  const { fields, seen, rows, columns } = pictureIn(report);
  const { width, height, model_input: input } = fields;
  const given = input ? `; given to the model as ${pixelWords(input)}` : "";
  const round = (x: number) => Math.round(10 * x) / 10;
  const whole = seen.left <= 0 && seen.top <= 0 && seen.right >= width && seen.bottom >= height;
  const part = `pixel columns ${round(seen.left)} to ${round(seen.right)} and rows ${round(seen.top)} to ${round(seen.bottom)}; the model did not see the rest, which is pale here`;
  return [
    ["Picture", `${width} × ${height} pixels${given}`],
    ["Seen", whole ? "all of it" : part],
    ["Patches", `${rows} rows of ${columns}, rows and columns count from 1`],
  ];
}

export interface Setting {
  term: string;
  text: string;
  /** the report's setting, if it differs */
  report?: string;
  /** restores the report's setting */
  back?: () => void;
}

function source(viewer: Viewer): string {
  const { report, explanation, state } = viewer;
  const { method, layer, token } = state.choices;
  const found = explanation.value.result(method.value, layer.value, token.value)?.source;
  if (found === "document") return "from the report";
  if (found === "server") return "computed by the server for these settings";
  if (found === "page") return `recomputed in the browser from the layers' ${report.mixing.weights}`;
  return `none: ${viewer.whyNoRow() || "the page is computing them"}`;
}

/** Largest distance of a flow shown below its true maximum. */
function flowText(viewer: Viewer): string {
  const { report, state, explanation } = viewer;
  if (!methodsShown(viewer).includes("flow")) return "";
  const result = explanation.value.result("flow", state.choices.layer.value, state.choices.token.value);
  if (result?.source === "page") {
    return state.choices.layer.value > explanation.value.recipe.start_layer + 2
      ? "maximum flows computed in the browser, at most 1e-9 below the true ones"
      : "exact: flow through at most two layers has a closed form";
  }
  const gap = (result?.from ?? report).document.flow_gap_max;
  return result && gap !== undefined ? `certified lower ends, at most ${format(gap)} below the true maximum` : "";
}

/** Units of values that are not shares. */
function unitsText(viewer: Viewer): string {
  const methods = methodsShown(viewer).filter((method) => viewer.inLogits(method));
  return methods.length > 0
    ? `${methods.join(", ")}: logits of ${targetWords(viewer.report)}, not shares of a whole`
    : "";
}

/** The exclusions from rankings and colors, which change no number. */
function excludedText({ state }: Viewer): string {
  const counts = state.counts.value;
  const left = counts.filter((count) => !count).length;
  return left > 0 ? `${left} of ${counts.length} tokens, only from rankings and color scales` : "";
}

const telling = (rows: readonly Setting[]) => rows.filter(({ text }) => text !== "");
const plain = ([term, text]: readonly [string, string]): Setting => ({ term, text });

/** Settings of a generation, whose numbers are all as its report was made. */
export function generationSettings(report: GenerationReport): Setting[] {
  const { document, fields, settings, methods } = report;
  const ends: Record<string, string> = {
    length: "the requested number of tokens was reached",
    end: "the model ended the text",
    context: "the model's context was full",
    interrupted: "it was stopped",
  };
  const { temperature, top_p: topP, seed } = fields;
  const arrays = Object.values(document.arrays);
  const half = arrays.some(({ dtype }) => dtype === "f16");
  const error = Math.max(0, ...arrays.map((array) => array.error ?? 0));
  const sparse = arrays.some(({ dtype }) => dtype === "top");
  const within = `within ${(100 * error).toFixed(1)}%${sparse ? ", only the largest of each row kept; the others share the rest evenly" : ""}`;
  const precision = error > 0 ? within : half ? "3 digits" : "";
  const rows: [string, string][] = [
    ["Sampling", temperature > 0 ? `temperature ${temperature}, top-p ${topP}, seed ${seed}` : "most probable token"],
    ["Ended", ends[fields.stopped] ?? fields.stopped],
    ["Prompt", fields.chat ? "put into the model's chat template" : ""],
    ["Methods", settings.method.join(", ")],
    ...recipeFacts(report, settings),
    ["Layers", layersWords(settings.layers)],
    ["Start layer", downToWords(settings.start_layer)],
    ["Tokens", settings.words ? "pieces of a word merged" : ""],
    ["Flow", methods.includes("flow") ? "lower ends of certified intervals" : ""],
    ["Precision here", precision && `${precision}; a json or npz file has all digits`],
    ["attnflow report", `version ${document.upgraded_from ?? document.version}`],
  ];
  return telling(rows.map(plain));
}

/** Terms and descriptions of what is shown, without empty ones. */
export function settingsShown(viewer: Viewer): Setting[] {
  if (viewer instanceof GenerationViewer) return generationSettings(viewer.report);
  const { report, state, explanation } = viewer;
  const { choices } = state;
  const { settings, layers, document } = report;
  const { recipe } = explanation.value;
  const made = recipeOf(report);
  const [method, layer, token] = [choices.method.value, choices.layer.value, choices.token.value];
  const raw = methodsShown(viewer).every((name) => name === "raw");
  /** A setting of the recipe, next to the report's. */
  const setting = <K extends keyof Recipe>(
    term: string,
    name: K,
    says: (value: Recipe[K]) => string,
    { silent = false, short = says }: { silent?: boolean; short?: (value: Recipe[K]) => string } = {},
  ): Setting => {
    const text = says(recipe[name]);
    if (recipe[name] === made[name]) return { term, text: silent ? "" : text };
    const choice = choices[name] as unknown as { value: Recipe[K] };
    return { term, text, report: short(made[name]), back: () => (choice.value = made[name]) };
  };
  const merged = report instanceof WordReport;
  const held = `${settings.method.join(", ")}; layers ${layersWords(layers)}; version ${document.upgraded_from ?? document.version}`;
  const convex = report.mixing.rule === "convex";
  const threshold = choices.threshold.value;
  const target = targetWords(report);
  if (viewer.scored) {
    return telling([
      ...pictureRows(report).map(plain),
      { term: "Shown", text: `${method}: above 0 argues for ${target}, below 0 against it` },
      { term: "Numbers", text: source(viewer) },
      { term: "Tokens", text: report.ofWords ? "pieces of a word merged" : "" },
      { term: "Excluded", text: excludedText(viewer) },
      { term: "The report holds", text: held },
    ]);
  }
  const rows: Setting[] = [
    ...pictureRows(report).map(plain),
    { term: "Shown", text: `${method} of output token ${namedToken(report, token)}` },
    { term: "Numbers", text: source(viewer) },
    { term: "Mixing", text: mixingWords(report) },
    ...(report.mixing.needs === "attention" ? [setting("Heads", "heads", headsWords)] : []),
    { term: "Units", text: unitsText(viewer) },
    !convex || raw
      ? {
          term: "Residual",
          text: raw && report.mixing.needs === "attention" ? "none: raw attention uses one layer alone" : "",
        }
      : setting("Residual", "residual", residualWords, { short: (part) => String(Number(part.toFixed(4))) }),
    raw
      ? { term: "Layers", text: `${layer} alone` }
      : setting("Layers", "start_layer", (down) => `${layer} down to ${downToWords(down)}`, {
          short: (down) => `down to ${downToWords(down)}`,
        }),
    setting("Discarded", "discard", (part) => discardText(report, part), { silent: recipe.discard === 0 }),
    setting("Masked", "mask_columns", (mask) => maskWords(report, mask) || "nothing", {
      silent: recipe.mask_columns === "none",
    }),
    setting("Normalization", "normalize", normalisationWords),
    merged
      ? { term: "Tokens", text: "pieces of a word merged", report: "pieces", back: () => (choices.words.value = false) }
      : { term: "Tokens", text: settings.words ? "pieces of a word merged" : "" },
    { term: "Excluded", text: excludedText(viewer) },
    { term: "Not drawn", text: threshold > 0 ? `values below ${percent(threshold)} of the largest` : "" },
    {
      term: "[?]",
      text: report.tokens.some(({ unknown }) => unknown)
        ? "marks words that are not in the model's vocabulary; the model cannot tell them apart"
        : "",
    },
    { term: "Flow", text: flowText(viewer) },
    { term: "Precision here", text: precision(viewer) },
    {
      term: "The report holds",
      text: held,
    },
  ];
  return telling(rows);
}

export function SettingsCard() {
  const viewer = useViewer();
  const rows = settingsShown(viewer);
  const changed = rows.filter(({ back }) => back);
  const exporter = {
    svg: () => pictureOf("settings"),
    shown: () => ({ method: null, layers: null, output: null, recipe: false, filters: false, file: [] }),
    rows: () => ({
      columns: ["setting", "value", "in_the_report"],
      rows: rows.map(({ term, text, report }) => [term, text, report ?? text].map(undirected)),
    }),
  };
  /** The button disappears together with what it reverts; the keyboard focus stays in the list. */
  const goBack = (settings: readonly Setting[]) => {
    for (const { back } of settings) back?.();
    requestAnimationFrame(() => document.getElementById("settings")?.focus());
  };
  return (
    <Card id="settings" title="Settings" wide exporter={exporter}>
      {changed.length > 0 && (
        <div class="notice" id="recomputed">
          {changed.length === 1 ? "One setting differs" : `${changed.length} settings differ`} from the report:{" "}
          {changed.map(({ term }) => term.toLowerCase()).join(", ")}.{" "}
          <button type="button" id="settings-reset" onClick={() => goBack(changed)}>
            Reset
          </button>
        </div>
      )}
      <dl id="settings" tabIndex={-1}>
        {rows.map((row) => (
          <>
            <dt>{row.term}</dt>
            <dd class={row.back ? "differs" : undefined} data-setting={row.term}>
              {row.text}
              {row.back && (
                <span class="was">
                  In the report: {row.report}{" "}
                  <button
                    type="button"
                    aria-label={`${row.term}: back to the report's, ${row.report}`}
                    onClick={() => goBack([row])}
                  >
                    Back
                  </button>
                </span>
              )}
            </dd>
          </>
        ))}
      </dl>
    </Card>
  );
}
