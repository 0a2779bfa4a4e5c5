// Shows a second report next to the one of the page.
import { batch } from "@preact/signals";
import { heldLayerBeside } from "../compute/align";
import type { Viewer } from "../context";
import type { Report } from "../report/report";

/** Shows a report as the one to compare with, and scrolls to its card. */
export function compareWith(viewer: Viewer, report: Report, card: "compare-card" | "what-if-card") {
  const { choices } = viewer.state;
  batch(() => {
    viewer.problem.value = "";
    const layer = heldLayerBeside(viewer.report, report, choices.layer.value);
    choices.comparison.value = { method: choices.method.value, layer, shares: false };
    viewer.other.value = report;
  });
  // The card that made the request stays in view above.
  requestAnimationFrame(() =>
    document.getElementById(card)?.scrollIntoView({ block: card === "compare-card" ? "nearest" : "start" }),
  );
}
