// How the numbers were made.
import { Card } from "../components/card";
import { asideWords, downToWords, headsWords, layersWords, residualWords } from "../report/setting_words";
import type { GenerationReport } from "./generation_report";
import { useGeneration } from "./generation_state";

/** [term, text]; rows with nothing to say are left out. */
export function settingsRows({ document, fields, settings, methods }: GenerationReport): [string, string][] {
  const ends: Record<string, string> = {
    length: "the number of tokens asked for was reached",
    end: "the model ended the text",
    context: "the model's context was full",
    interrupted: "it was interrupted",
  };
  const { temperature, top_p: topP, seed } = fields;
  const arrays = Object.values(document.arrays);
  const half = arrays.some(({ dtype }) => dtype === "f16");
  const error = Math.max(0, ...arrays.map((array) => array.error ?? 0));
  const sparse = arrays.some(({ dtype }) => dtype === "top");
  const within = `within ${(100 * error).toFixed(1)}%${sparse ? ", of each row the largest; the others share the rest evenly" : ""}`;
  const precision = error > 0 ? within : half ? "3 digits" : "";
  const rows: [string, string][] = [
    ["Sampling", temperature > 0 ? `temperature ${temperature}, top-p ${topP}, seed ${seed}` : "most probable token"],
    ["Ended", ends[fields.stopped] ?? fields.stopped],
    ["Prompt", fields.chat ? "put into the model's chat template" : ""],
    ["Methods", settings.method.join(", ")],
    ["Heads", headsWords(settings.heads)],
    ["Residual", residualWords(settings.residual)],
    ["Layers", layersWords(settings.layers)],
    ["Down to", downToWords(settings.to_layer)],
    ["Columns set aside", asideWords(settings.set_aside)],
    ["Tokens", settings.words ? "pieces of a word merged" : ""],
    ["Flow", methods.includes("flow") ? "lower ends of certified enclosures" : ""],
    ["Precision here", precision && `${precision}; a json or npz file has all digits`],
    ["attnflow report", `version ${document.version}`],
  ];
  return rows.filter(([, text]) => text !== "");
}

export function GenerationSettings() {
  const { report } = useGeneration();
  return (
    <Card id="settings" title="How these numbers were made" wide>
      <dl id="settings">
        {settingsRows(report).map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
