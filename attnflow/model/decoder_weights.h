// Finds a decoder's weights by name and checks them against its config before anything computes with them.
//
// A backend gets this structure, where the role of each tensor, the layout of each matrix and all shapes are settled.
#pragma once

#include <memory>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/checkpoint.h"
#include "attnflow/model/decoder_config.h"
#include "attnflow/model/layer_weights.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct DecoderWeights {
  DecoderConfig config;
  ModelInfo info;
  std::shared_ptr<const Checkpoint> checkpoint;  // keeps the mapped files alive

  const StoredTensor* word_embedding = nullptr;      // [vocabulary, hidden]
  NormWeights embedding_norm;                        // for word embeddings; without a scale: none
  const StoredTensor* position_embedding = nullptr;  // [positions, hidden], or null: none is learned
  const StoredTensor* distance_bias = nullptr;       // [buckets, heads], or null
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  // hidden -> vocabulary or classes. Its weight may be the word embedding, or null for a base model without a head.
  LinearWeights output;
  std::vector<const StoredTensor*> unused;  // not part of the model: the masks of old GPT-2 files
};

// Maps a folder's weights, and finds and checks every tensor that the model needs. Reads no weights. Throws
// Error(kBadFile): missing tensors (the message names them), a tensor of another shape or not floating-point,
// base-model tensors that the config lacks unless `options` allow them; and as Checkpoint and read_decoder_config do.
DecoderWeights find_decoder_weights(const Folder& folder, const DecoderConfig& config, const OpenOptions& options = {});
DecoderWeights find_decoder_weights(const Folder& folder, const OpenOptions& options = {});
// Does the same for a config and tensors that are not in a folder; `name` is the model's.
DecoderWeights find_decoder_weights(const DecoderConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                                    const std::string& name, const OpenOptions& options);

}  // namespace attnflow
