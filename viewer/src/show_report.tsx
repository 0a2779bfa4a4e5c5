// The page for a report document: of a generation, or of a single explanation.
import { render } from "preact";
import { ReportApp } from "./app";
import { Viewer } from "./context";
import { GenerationApp } from "./generation/generation_app";
import { GenerationViewer } from "./generation/generation_viewer";
import { GenerationReport, readReport } from "./report/generation_report";

/** Renders a parsed report document in `root`. Throws with a sentence for the user. */
export async function showReport(value: unknown, root: HTMLElement) {
  const report = await readReport(value);
  if (report instanceof GenerationReport) render(<GenerationApp viewer={new GenerationViewer(report)} />, root);
  else render(<ReportApp viewer={new Viewer(report)} />, root);
}
