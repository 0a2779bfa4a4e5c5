#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnflow/attribution/note.h"

namespace attnflow::test {

inline std::vector<Note> notes_of(const std::vector<Note>& notes, NoteCode code) {
  std::vector<Note> found;
  std::copy_if(notes.begin(), notes.end(), std::back_inserter(found),
               [&](const Note& one) { return one.code == code; });
  return found;
}

inline bool has_note(const std::vector<Note>& notes, NoteCode code) { return !notes_of(notes, code).empty(); }

inline std::vector<NoteCode> codes_of(const std::vector<Note>& notes) {
  std::vector<NoteCode> codes;
  for (const Note& note : notes) codes.push_back(note.code);
  return codes;
}

// Throws if there is no such value, or its type differs.
template <typename T>
T value_of(const Note& note, std::string_view name) {
  return std::get<T>(*note.find(name));
}

}  // namespace attnflow::test
