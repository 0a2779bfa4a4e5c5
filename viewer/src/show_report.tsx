// The page that fits a report document: of a generation, or of one explanation.
import { render } from "preact";
import { ReportApp } from "./app";
import { Viewer } from "./context";
import { EmbeddedReport, isEmbedded } from "./embedded";
import { GenerationApp } from "./generation/generation_app";
import { GenerationViewer } from "./generation/generation_viewer";
import { GenerationReport, readReport } from "./report/generation_report";

/** Draws a parsed report document in `root`. Throws with a sentence for the user. */
export async function showReport(value: unknown, root: HTMLElement) {
  const report = await readReport(value);
  const generation = report instanceof GenerationReport ? new GenerationViewer(report) : null;
  if (generation) render(<GenerationApp viewer={generation} />, root);
  else if (isEmbedded(root.ownerDocument.documentElement)) render(<EmbeddedReport viewer={new Viewer(report)} />, root);
  else render(<ReportApp viewer={new Viewer(report)} />, root);
}
