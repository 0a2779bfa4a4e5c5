// Notes of a report.
import { isOfDegenerateFlow, type ShownNote } from "../report/notes";

/** @param folded whether the head says already what holds of the flow that is shown */
export function NoteList({ notes, folded = false }: { notes: readonly ShownNote[]; folded?: boolean }) {
  if (notes.length === 0) return null;
  return (
    <ul id="notes" class="wide">
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
