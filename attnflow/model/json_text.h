// Parsing JSON that came with a model. For .cc files of this module only: it brings the JSON library in.
#ifndef ATTNFLOW_MODEL_JSON_TEXT_H_
#define ATTNFLOW_MODEL_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace attnflow::internal {

// Parses a JSON object. Nesting is bounded, because writing a value back into a message recurses.
// Throws Error(kBadFile) that starts with `source`: not JSON, not an object, nested more than 64 deep.
nlohmann::json parse_json_object(std::string_view text, const std::string& source);

// A value as it stands in the file, quoted and short enough for a message.
std::string show_json(const nlohmann::json& value);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_JSON_TEXT_H_
