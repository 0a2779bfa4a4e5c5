// Parsing JSON that came with a model. For .cc files only: it brings the JSON library in.
#ifndef ATTNFLOW_FILES_JSON_TEXT_H_
#define ATTNFLOW_FILES_JSON_TEXT_H_

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace attnflow::internal {

// Parses a JSON object. JSON leaves open what a key means that stands twice in an object, and readers differ, so it is
// refused; so is whatever stands behind the object. Nesting is bounded, because writing a value back into a message
// recurses.
// Throws Error(kBadFile) that starts with `source`: not JSON, not an object, a key twice, nested more than 64 deep.
nlohmann::json parse_json_object(std::string_view text, const std::string& source);
// The same of any JSON value.
nlohmann::json parse_json(std::string_view text, const std::string& source);

// What the JSON library says is wrong with a text, without its own name for that: "parse error at line 1, column 7:
// ...".
std::string json_reason(const std::exception& error);

// A value as it stands in the file, short enough for a message; quoted, but for numbers, true, false and null.
std::string show_json(const nlohmann::json& value);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_JSON_TEXT_H_
