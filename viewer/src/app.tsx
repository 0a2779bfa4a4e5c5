// The page of one report: text or picture; a generation has its own (generation_app.tsx).
import { Controls } from "./components/controls";
import { Own } from "./components/own_text";
import { useViewer, Viewer, ViewerContext } from "./context";
import { Strip } from "./views/strip";

export function ReportApp({ viewer }: { viewer: Viewer }) {
  return (
    <ViewerContext.Provider value={viewer}>
      <div id="page">
        <Header />
        <Controls />
        <main>
          <p id="live" class="visually-hidden" aria-live="polite">
            {viewer.announcement}
          </p>
          <Notes />
          <Strip />
        </main>
      </div>
    </ViewerContext.Provider>
  );
}

function Header() {
  const { report, state } = useViewer();
  const { model } = report;
  const parts = [model.name, model.architecture && model.architecture !== model.name ? model.architecture : ""];
  parts.push(model.layers ? `${model.layers} ${model.layers === 1 ? "layer" : "layers"} × ${model.heads} heads` : "");
  parts.push(model.causal ? "causal" : "", `${report.n} ${report.n === 1 ? "token" : "tokens"}`);
  return (
    <header>
      <p id="model">{parts.filter(Boolean).join(" · ")}</p>
      <h1 id="heading">
        What <Own class="quote" text={report.tokens[state.choices.token.value].label} /> draws on
      </h1>
    </header>
  );
}

function Notes() {
  const { notes } = useViewer().report.document;
  if (notes.length === 0) return null;
  return (
    <ul id="notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
