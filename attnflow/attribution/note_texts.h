// The table of notes: their names in documents and their words. Not part of the library's interface.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attnflow/attribution/note.h"

namespace attnflow::internal {

// A format of the values ({name}; {name:.1e}; {name:%}, a share as a percentage; lists are joined by commas) or, if
// that is not enough, a function of them.
struct NoteWords {
  constexpr NoteWords(const char* words) : format(words) {}                      // NOLINT(google-explicit-constructor)
  constexpr NoteWords(std::string (*function)(const Note&)) : made(function) {}  // NOLINT(google-explicit-constructor)

  std::string_view format;
  std::string (*made)(const Note&) = nullptr;
};

struct NoteRow {
  NoteCode code;
  std::string_view name;
  std::string_view values;  // names separated by spaces, with "?" after those that may be missing
  NoteWords text;
  NoteWords advice = "";
};

std::span<const NoteRow> note_rows();

}  // namespace attnflow::internal
