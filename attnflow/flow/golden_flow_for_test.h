// The small real stacks of tests/golden: attention of MiniLM on short sentences (see tests/golden/README.md).
#pragma once

#include <filesystem>
#include <string>

#include "attnflow/files/array_file.h"
#include "attnflow/graph/attention_stack.h"

namespace attnflow {

inline constexpr const char* kGoldenStacks[] = {"tokens_8", "author", "cabinets"};

inline std::filesystem::path golden_folder() { return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden"; }

inline AttentionStack golden_stack(const std::string& name) {
  return AttentionStack(read_npz(golden_folder() / "minilm" / (name + ".npz"), "attention").to_float("attention"));
}

inline Tensor<double> golden_flow(const std::string& name, const std::string& key) {
  return read_npz(golden_folder() / "flow" / (name + ".npz"), key).to_double(key);
}

}  // namespace attnflow
