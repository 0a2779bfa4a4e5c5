// The report's notes about what is shown.
import { Card } from "../components/card";
import { useViewer, type Viewer } from "../context";
import { inFrame } from "../embedding";
import type { Method } from "../report/document";
import { isOfDegenerateFlow, isOfValues, notesHere, type NotePlace, type ShownNote } from "../report/notes";
import { GenerationReport } from "../report/generation_report";
import { WordReport } from "../report/words";

/** Methods with values in views of their own, not only next to others. */
export function methodsShown({ state, report }: Viewer): Method[] {
  const { method, comparison, sideBySide } = state.choices;
  if (report.document.input.kind === "image" && sideBySide.value) return report.methods;
  return [...new Set([method.value, ...(comparison.value ? [comparison.value.method] : [])])];
}

/** The report's notes, and those of the server's answer if its values are shown. */
export function notesShown(viewer: Viewer): ShownNote[] {
  const { report, state, explanation, askServer } = viewer;
  const { choices } = state;
  const methods = methodsShown(viewer);
  const merged = report instanceof WordReport;
  const embedded = inFrame();
  const place: NotePlace = {
    methods,
    // Words merged in the page have other values than the tokens that the notes are about.
    asWritten: explanation.value.asComputed && !merged,
    ownToken: report.document.generation !== undefined || choices.token.value === report.document.output_token,
    words: report.ofWords,
    served: askServer.value !== null || state.served,
    recipe: !embedded && (report.hasGraph || report.hasHeads),
    embedded,
    normalized: !embedded && report instanceof GenerationReport && report.hasNormalized("rollout"),
  };
  const answers = methods.flatMap((method) => {
    const result = explanation.value.result(method, choices.layer.value, choices.token.value);
    return result?.source === "server" && result.from ? [result.from] : [];
  });
  const own = notesHere(report.document.notes, place);
  const values = answers.flatMap(({ document }) => document.notes.filter(isOfValues));
  const others = notesHere(values, { ...place, asWritten: true });
  return [...own, ...others.filter(({ text }) => !own.some((note) => note.text === text))];
}

export function Notes() {
  const viewer = useViewer();
  const notes = notesShown(viewer);
  if (notes.length === 0) return null;
  // The head already covers the flow shown; with another method, the note may be about the comparison.
  const folded = viewer.degenerate() !== null;
  return (
    <ul id="notes">
      {notes.map((note) =>
        folded && isOfDegenerateFlow(note) ? (
          <li key={note.text} class="folded">
            <details>
              <summary>Flow of other layers and tokens</summary>
              {note.text}
            </details>
          </li>
        ) : (
          <li key={note.text}>{note.text}</li>
        ),
      )}
    </ul>
  );
}

export function NotesCard() {
  const { length } = notesShown(useViewer());
  if (length === 0) return null;
  return (
    <Card id="notes" title={length === 1 ? "One note" : `${length} notes`} wide>
      <Notes />
    </Card>
  );
}
