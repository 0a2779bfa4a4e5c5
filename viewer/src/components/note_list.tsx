// Notes of a report.
import { isOfDegenerateFlow, type ShownNote } from "../report/notes";

/** @param flow what holds of the flow that is shown; the note on flow of the whole report folds below it */
export function NoteList({ notes, flow = "" }: { notes: readonly ShownNote[]; flow?: string }) {
  if (notes.length === 0) return null;
  return (
    <ul id="notes" class="wide">
      {notes.map((note) => (
        <li key={note.text}>
          {flow && isOfDegenerateFlow(note) ? (
            <details>
              <summary>{flow}</summary>
              {note.text}
            </details>
          ) : (
            note.text
          )}
        </li>
      ))}
    </ul>
  );
}
