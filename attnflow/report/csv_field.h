// Text in a comma-separated table; not part of the library's interface.
#ifndef ATTNFLOW_REPORT_CSV_FIELD_H_
#define ATTNFLOW_REPORT_CSV_FIELD_H_

#include <string>

namespace attnflow::internal {

// One field of text: in quotes, with quotes doubled, where it holds anything that a reader could take for structure.
// Spaces at the ends are quoted too, because some readers strip them.
inline std::string csv_field(const std::string& text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string::npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace attnflow::internal

#endif  // ATTNFLOW_REPORT_CSV_FIELD_H_
