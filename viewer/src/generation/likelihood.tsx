// The probability of the chosen token, next to its alternatives.
import { Bar } from "../components/bar";
import { Card } from "../components/card";
import { Piece } from "../components/own_text";
import { pictureOf } from "../export/element_picture";
import { alternatives } from "../report/answer";
import { percentage } from "../report/text";
import { pieceName } from "../report/piece";
import { useGeneration } from "./generation_viewer";

export function Likelihood() {
  const { report, state, branch } = useGeneration();
  const { token } = state.choices;
  const fields = report.fields.tokens[token.value];
  const { choices, chosen } = alternatives(fields);
  const ask = state.growing.value ? null : branch.value;
  return (
    <Card
      id="choices"
      title="Next-token probabilities"
      exporter={{
        svg: () => pictureOf("choices"),
        shown: () => ({ method: null, layers: null, recipe: false, filters: false, file: [`token${token.value}`] }),
        rows: () => ({
          columns: ["output_token", "text", "probability", "chosen"],
          rows: choices.map(({ label, probability }, k) => [token.value, label, probability, k === chosen]),
        }),
      }}
    >
      <ol class="bars" id="choices">
        {choices.map(({ label, probability, id }, k) => {
          const { text, space } = pieceName("", label, k);
          const piece = <Piece label={text} space={space} />;
          const able = ask && id !== undefined && k !== chosen;
          const marks = k === chosen ? ({ class: "chosen", "aria-current": "true" } as const) : {};
          return (
            <Bar key={k} share={probability} words={percentage(probability)} {...marks}>
              {able ? (
                <button
                  type="button"
                  class="quiet branch"
                  title={`Continue with “${text}” instead`}
                  onClick={() => ask(token.value, id)}
                >
                  {piece}
                </button>
              ) : (
                piece
              )}
            </Bar>
          );
        })}
      </ol>
      <p class="help key" id="choices-help">
        Probability of the chosen token {percentage(fields.probability)}, with the most probable alternatives
        {report.fields.temperature > 0 && ", before temperature and top-p"}.
        {token.value < (report.fields.given ?? 0) && " This token was given; the model did not choose it."}
        {ask && choices.length > 1 && " Click an alternative to continue with it instead."}
      </p>
    </Card>
  );
}
