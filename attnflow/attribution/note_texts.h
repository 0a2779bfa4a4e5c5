// The one table of notes: their names in documents and their words. Not part of the library's interface.
#ifndef ATTNFLOW_ATTRIBUTION_NOTE_TEXTS_H_
#define ATTNFLOW_ATTRIBUTION_NOTE_TEXTS_H_

#include <span>
#include <string>
#include <string_view>

#include "attnflow/attribution/note.h"

namespace attnflow::internal {

struct NoteRow {
  NoteCode code;
  std::string_view name;
  std::string_view values;  // their names, separated by spaces; "?" behind those that may be missing
  // A format of the values: {name}, {name:.1e}, {name:%} for a share as a percentage; lists are joined by commas. Where
  // that is not enough, a function makes the text.
  std::string_view text;
  std::string_view advice = {};  // such a format
  std::string (*made)(const Note&) = nullptr;
};

// In the order of the codes.
std::span<const NoteRow> note_rows();

}  // namespace attnflow::internal

#endif  // ATTNFLOW_ATTRIBUTION_NOTE_TEXTS_H_
