#include "attnflow/explain/special_twice.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {

void note_special_twice(Report& report) {
  const std::vector<InputToken>& tokens = report.input.tokens;
  std::vector<std::string> found;  // without duplicates
  for (std::size_t t = 1; t < tokens.size(); ++t) {
    const InputToken& a = tokens[t - 1];
    const InputToken& b = tokens[t];
    // Exactly one is the user's.
    if (!a.special || !b.special || a.text != b.text || a.begin.has_value() == b.begin.has_value()) continue;
    std::string text = clean_line(a.text);
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(std::move(text));
  }
  if (!found.empty()) report.notes.push_back({NoteCode::kSpecialTokenTwice, {{"tokens", std::move(found)}}});
}

}  // namespace attnflow
