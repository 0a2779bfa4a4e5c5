// Notes in documents (docs/report-format.md, "Notes"); not part of the library's interface.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/report_json_field.h"

namespace attnflow::internal {

nlohmann::ordered_json notes_json(const std::vector<Note>& notes);

// Of version 3 an object, before it a sentence. The words are the document's, and a code that is not known here becomes
// NoteCode::kText: that of a newer attnflow.
Note read_note(const Field& json);

}  // namespace attnflow::internal
