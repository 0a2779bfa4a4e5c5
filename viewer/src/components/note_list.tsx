// Notes of a report, as sentences.
import { isOfDegenerateFlow } from "../report/notes";

/** @param flow what holds of the flow that is shown; the note on flow of the whole report folds below it */
export function NoteList({ notes, flow = "" }: { notes: readonly string[]; flow?: string }) {
  if (notes.length === 0) return null;
  return (
    <ul id="notes" class="wide">
      {notes.map((note) => (
        <li key={note}>
          {flow && isOfDegenerateFlow(note) ? (
            <details>
              <summary>{flow}</summary>
              {note}
            </details>
          ) : (
            note
          )}
        </li>
      ))}
    </ul>
  );
}
