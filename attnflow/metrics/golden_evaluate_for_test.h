// Reference results from SciPy (tests/golden/evaluate, made by tools/golden/evaluate.py).
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace attnflow {

// Returns the cases of one kind. Throws if there are none, so that no test passes without them.
inline nlohmann::json golden_cases(const std::string& kind) {
  const std::string path = std::string(ATTNFLOW_SOURCE_DIR) + "/tests/golden/evaluate/statistics.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  nlohmann::json cases = nlohmann::json::parse(file).at(kind);
  if (cases.empty()) throw std::runtime_error(path + " holds no " + kind);
  return cases;
}

}  // namespace attnflow
