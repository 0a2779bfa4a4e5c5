// The weights of a decoder, found by name and checked against its config before anything computes with them.
//
// A backend gets this structure and sees neither file names nor architectures: which tensor plays which part, how a
// matrix is laid out, and whether shapes fit is settled here, without the backend.
#ifndef ATTNFLOW_MODEL_DECODER_WEIGHTS_H_
#define ATTNFLOW_MODEL_DECODER_WEIGHTS_H_

#include <cstddef>
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
  NormWeights embedding_norm;                        // of word embeddings; without a scale: none
  const StoredTensor* position_embedding = nullptr;  // [positions, hidden], or null: none is learnt
  const StoredTensor* distance_bias = nullptr;       // [buckets, heads], or null
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  // hidden -> vocabulary, or classes; its weight may be the word embedding, or null: a base model saved without a head.
  LinearWeights output;
  std::vector<const StoredTensor*> unused;  // no part of the model: the masks of old GPT-2 files
};

// Maps the weights of a folder whose config is given, or read, and finds and checks every tensor that the model needs.
// No weight is read. Throws Error(kBadFile): missing tensors (the message names them), a tensor whose shape does not
// follow from the config, a tensor that does not hold floating-point numbers, tensors of the base model that the config
// has no place for unless `options` allow them; and as read_decoder_config and Checkpoint do.
DecoderWeights find_decoder_weights(const Folder& folder, const DecoderConfig& config, const OpenOptions& options = {});
DecoderWeights find_decoder_weights(const Folder& folder, const OpenOptions& options = {});
// The same of a config and tensors that are in no folder; `name` is the model's. What is unused is left to the caller.
DecoderWeights find_decoder_weights(const DecoderConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                                    const std::string& name);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_DECODER_WEIGHTS_H_
