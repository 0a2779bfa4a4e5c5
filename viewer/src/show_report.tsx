// The page that fits a report document: of a generation, or of one explanation.
import { render } from "preact";
import { ReportApp } from "./app";
import { Viewer } from "./context";
import { GenerationApp } from "./generation/generation_app";
import { GenerationViewer } from "./generation/generation_viewer";
import { GenerationReport, readReport } from "./report/generation_report";

/** Draws a parsed report document in `root`. Throws with a sentence for the user. */
export async function showReport(value: unknown, root: HTMLElement) {
  const report = await readReport(value);
  const generation = report instanceof GenerationReport ? new GenerationViewer(report) : null;
  render(generation ? <GenerationApp viewer={generation} /> : <ReportApp viewer={new Viewer(report)} />, root);
}
