// Checks and loads a GGUF file.
#pragma once

#include <cstddef>
#include <string>

#include "attnflow/model/gguf_info.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/output_projections.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct LlamaWeights {
  std::string source;  // the file, for messages
  LlamaModelHandle model;
  ModelInfo info;             // heads: the file's number for its first layer
  std::size_t cache_row = 0;  // numbers per position in the cache of keys and values, for all layers together
  StoredMatrices matrices;    // from all of its files
};

// Checks the header before the library sees the file; for a model in several files (name-00001-of-00003.gguf), named by
// the first, checks every header. Weights are mapped, not copied, if the library can use them as they are, unless
// `copy` is set. Throws Error(kBadFile) as read_gguf() does, and for missing files and tensors that are missing or have
// the wrong shape; Error(kUnsupportedModel) for an architecture that this libllama does not know, or that is not a
// decoder with attention in every layer.
LlamaWeights load_llama_weights(const GgufFile& file, bool copy = false);

}  // namespace attnflow
