// Attention in array files.
#pragma once

#include <filesystem>

#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/explain_options.h"

namespace attnflow {

// Reads .npz (key "attention", and with a mixing of contributions those of contribution_arrays.h; optional "tokens"
// and "special"), .npy (just the array) or .safetensors (tensor "attention"). Any float type. Throws as
// attention_stack(), set_tokens() and the readers of files.
AttentionInput read_attention(const std::filesystem::path& path, const ExplainOptions& options);

}  // namespace attnflow
