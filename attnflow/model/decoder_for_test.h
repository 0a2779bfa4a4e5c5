// Shared by decoder tests: the small random models of tests/golden/decoders.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "attnflow/model/model_for_test.h"

namespace attnflow::test {

inline std::filesystem::path golden_decoders() {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "decoders";
}

// Returns the "models" of tests/golden/decoders/index.json.
inline nlohmann::json decoder_index() {
  return nlohmann::json::parse(get(golden_decoders() / "index.json")).at("models");
}

inline ModelCopy decoder_copy(const std::string& name) { return {golden_decoders(), name}; }

}  // namespace attnflow::test
