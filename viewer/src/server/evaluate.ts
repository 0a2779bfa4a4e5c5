// Do the methods agree with the effect of blanking tokens? Evaluated for the text shown.
import type { Viewer } from "../context";
import { ServerError } from "./client";
import { Evaluation } from "./evaluation";
import { problemHere } from "./problems";
import type { Results } from "./results";
import type { Work } from "./work";

/** The server's phase while it evaluates. */
export const EVALUATING = "Evaluating";

export async function evaluate(viewer: Viewer, work: Work, results: Results) {
  const { text: asked } = results.asked;
  if (!asked) return;
  const { model, text, pair, truncate } = asked.text;
  results.evaluationProblem.value = "";
  const body = { model, text, ...(pair ? { pair } : {}), ...(truncate ? { truncate } : {}) };
  const found = await work.run(EVALUATING, async (handlers, signal) => {
    try {
      return new Evaluation(await work.client.post("evaluate", body, handlers, signal));
    } catch (error) {
      // Reported where it was requested, unless access is denied or the request was canceled.
      if (!(error instanceof ServerError) || work.client.locked.value) throw error;
      results.evaluationProblem.value = problemHere(error.message);
      return null;
    }
  });
  if (!found) return;
  results.evaluation.value = found;
  viewer.evaluated.value = true;
  viewer.announcement.value = found.summary();
}
