// What the report notes about what is shown.
import { NoteList } from "../components/note_list";
import { useViewer, type Viewer } from "../context";
import type { Method } from "../report/document";
import { isOfValues, notesHere, type NotePlace, type ShownNote } from "../report/notes";
import { GenerationReport } from "../report/generation_report";
import { WordReport } from "../report/words";

/** Methods whose values stand in views of their own, not only beside others. */
export function methodsShown({ state, report }: Viewer): Method[] {
  const { method, comparison, sideBySide } = state.choices;
  if (report.document.input.kind === "image" && sideBySide.value) return report.methods;
  return [...new Set([method.value, ...(comparison.value ? [comparison.value.method] : [])])];
}

/** Notes of the report, and of the server's answer where its values are shown. */
export function notesShown(viewer: Viewer): ShownNote[] {
  const { report, state, explanation, askServer } = viewer;
  const { choices } = state;
  const methods = methodsShown(viewer);
  const merged = report instanceof WordReport;
  const place: NotePlace = {
    methods,
    // Pieces merged in the page have other values than the pieces that the notes are about.
    asWritten: explanation.value.asComputed && !merged,
    ownToken: report.document.generation !== undefined || choices.token.value === report.document.output_token,
    words: merged || report.settings.words,
    served: askServer.value !== null || state.served,
    recipe: report.hasGraph || report.hasHeads,
    normalized: report instanceof GenerationReport && report.hasNormalized("rollout"),
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
  // Beside another method the note may be of what is compared.
  return <NoteList notes={notesShown(viewer)} folded={viewer.degenerate() !== null} />;
}
