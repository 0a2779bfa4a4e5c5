// The entry point of the page in a frame, such as a notebook's cell: without the server's and the whole page's parts,
// because every cell holds it.
import { render } from "preact";
import { Viewer } from "./context";
import { EmbeddedGeneration, EmbeddedReport } from "./embedded";
import { GenerationViewer } from "./generation/generation_viewer";
import { GenerationReport, readReport } from "./report/generation_report";
import { start } from "./start";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/cards.css";

start(async (value, root) => {
  const report = await readReport(value);
  if (report instanceof GenerationReport) render(<EmbeddedGeneration viewer={new GenerationViewer(report)} />, root);
  else render(<EmbeddedReport viewer={new Viewer(report)} />, root);
});
