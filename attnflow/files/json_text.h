// Parsing of JSON that came with a model. For .cc files only, because it includes the JSON library.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace attnflow::internal {

// Parses a JSON object. Duplicate keys, which readers treat differently, are rejected, as is anything after the object.
// Nesting is bounded, because writing a value back into a message recurses. Throws Error(kBadFile), with a message
// starting with `source`, if the text is not JSON, is not an object, has a duplicate key, or is nested more than 64
// deep.
nlohmann::json parse_json_object(std::string_view text, const std::string& source);
nlohmann::json parse_json(std::string_view text, const std::string& source);

// The JSON library's description of an error, without its internal prefix: "parse error at line 1, column 7: ...".
std::string json_reason(const std::exception& error);

// A value as it appears in the file, shortened for a message; quoted unless it is a number, true, false or null.
std::string show_json(const nlohmann::json& value);

}  // namespace attnflow::internal
