// The page for a report document: of a generation, or of a single explanation.
import { render } from "preact";
import { ReportApp } from "./app";
import { Viewer } from "./context";
import { EmbeddedGeneration, EmbeddedReport } from "./embedded";
import { isEmbedded } from "./embedding";
import { GenerationApp } from "./generation/generation_app";
import { GenerationViewer } from "./generation/generation_viewer";
import { GenerationReport, readReport } from "./report/generation_report";

/** Renders a parsed report document in `root`. Throws with a sentence for the user. */
export async function showReport(value: unknown, root: HTMLElement) {
  const report = await readReport(value);
  const embedded = isEmbedded(root.ownerDocument.documentElement);
  if (report instanceof GenerationReport) {
    const viewer = new GenerationViewer(report);
    render(embedded ? <EmbeddedGeneration viewer={viewer} /> : <GenerationApp viewer={viewer} />, root);
  } else {
    const viewer = new Viewer(report);
    render(embedded ? <EmbeddedReport viewer={viewer} /> : <ReportApp viewer={viewer} />, root);
  }
}
