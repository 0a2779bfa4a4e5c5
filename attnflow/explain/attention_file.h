#pragma once

#include <filesystem>

#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/explain_options.h"

namespace attnflow {

// Reads .npz (key "attention", and for contribution mixings the keys of contribution_arrays.h; optional "tokens" and
// "special"), .npy (just the array) or .safetensors (tensor "attention"), of any float type. Throws as
// attention_stack(), set_tokens() and the file readers.
AttentionInput read_attention(const std::filesystem::path& path, const ExplainOptions& options);

}  // namespace attnflow
