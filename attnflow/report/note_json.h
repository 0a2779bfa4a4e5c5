// Notes in documents (docs/report-format.md, "Notes"); internal.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/report_json_field.h"

namespace attnflow::internal {

// `option_names`: in the notes' advice.
nlohmann::ordered_json notes_json(const std::vector<Note>& notes, OptionNames option_names = OptionNames::kShell);

// An object since version 3, a sentence before. Keeps the document's words; unknown codes, from a newer attnflow,
// become NoteCode::kText.
Note read_note(const Field& json);

}  // namespace attnflow::internal
