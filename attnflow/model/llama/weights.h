// A GGUF file, checked and loaded.
#ifndef ATTNFLOW_MODEL_LLAMA_WEIGHTS_H_
#define ATTNFLOW_MODEL_LLAMA_WEIGHTS_H_

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
  ModelInfo info;             // heads: what the file says of its first layer
  std::size_t cache_row = 0;  // numbers that one position takes in the cache of keys and values, all layers together
  StoredMatrices matrices;    // of all its files
};

// The header is checked before the library sees the file; of a model in several files (name-00001-of-00003.gguf), which
// is named by the first, every one. Weights are mapped, not copied, where the library can use them as they are, unless
// `copy` is set.
// Throws Error(kBadFile): what read_gguf() throws, files that are missing, tensors that are missing or of a wrong
// shape; Error(kUnsupportedModel): an architecture that this libllama does not know, or that is no decoder with
// attention in every layer.
LlamaWeights load_llama_weights(const GgufFile& file, bool copy = false);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LLAMA_WEIGHTS_H_
