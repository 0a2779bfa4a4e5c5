// The page that fits a report document: of a generation, or of one explanation.
import { render } from "preact";
import { ReportApp } from "./app";
import { Viewer } from "./context";
import { GenerationApp } from "./generation/generation_app";
import { GenerationReport } from "./generation/generation_report";
import { GenerationState } from "./generation/generation_state";
import { checkDocument } from "./report/document";
import { Report } from "./report/report";

/** Draws a parsed report document in `root`. Throws with a sentence for the user. */
export async function showReport(value: unknown, root: HTMLElement) {
  const document = checkDocument(value);
  if (document.input.kind === "generation") {
    render(<GenerationApp state={new GenerationState(await GenerationReport.read(document))} />, root);
  } else {
    render(<ReportApp viewer={new Viewer(await Report.read(document))} />, root);
  }
}
