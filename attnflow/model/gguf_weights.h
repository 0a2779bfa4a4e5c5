// Finds a GGUF decoder's weights for the torch backend, which dequantizes them as it needs them.
//
// libllama computes no gradients. The torch backend does, from a Hugging Face folder's names and order; gguf_layout.h
// maps one to the other. Here the tensors stay in the file, which is mapped, and each is read in the folder's order
// when a layer runs (layer_store.h): memory is that of the file and of the layers at hand. Nothing is written to disk.
#pragma once

#include "attnflow/model/gguf_info.h"
#include "attnflow/model/model_weights.h"

namespace attnflow {

// Reads no weights, unless `copy` asks for the whole file to be copied into memory, so that it may change afterwards;
// likewise the other files of a model in several. Throws as plan_conversion() and GgufParts do.
ModelWeights find_gguf_weights(const GgufFile& file, bool copy = false);

}  // namespace attnflow
