// Finds a model's weights by name and checks them against its config before anything computes with them.
//
// A backend gets these structures, where each tensor's role, its name ("weight" or "gamma"), the layout of each matrix
// and all shapes are settled.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/checkpoint.h"
#include "attnflow/model/layer_weights.h"
#include "attnflow/model/model.h"
#include "attnflow/model/model_config.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow {

struct ImageWeights {
  const StoredTensor* class_token = nullptr;         // [1, 1, hidden] or [hidden], or null
  const StoredTensor* distillation_token = nullptr;  // [1, 1, hidden], or null
  const StoredTensor* register_tokens = nullptr;     // [1, registers, hidden], or null
  LinearWeights patches;                             // weight [hidden, channels, patch height, patch width]
  const StoredTensor* position = nullptr;            // [1, positions, hidden] or [positions, hidden], or null
};

struct HeadWeights {
  LinearWeights dense;  // hidden -> hidden, or -> the embedding width in a masked language model; or none
  Activation activation = Activation::kTanh;
  NormWeights norm;  // after dense and activation
  // -> vocabulary (its weight may be the word embedding), classes, or the begin and end of an answer; none for a base
  // model. The input has twice the hidden size for ClassifierInput::kFirstTokenAndPatches.
  LinearWeights output;
  LinearWeights second;  // hidden -> classes, for the second token: logits are the mean of both; or none
};

// A map without a weight or a norm without a scale is absent.
struct ModelWeights {
  ModelConfig config;
  ModelInfo info;
  std::shared_ptr<const Checkpoint> checkpoint;  // keeps the mapped files alive

  std::optional<ImageWeights> image;                   // set for an image model; the tables below are then null
  const StoredTensor* word_embedding = nullptr;        // [vocabulary, embedding]
  const StoredTensor* position_embedding = nullptr;    // [positions and their offset, embedding], or null
  const StoredTensor* token_type_embedding = nullptr;  // [token_types, embedding], or null
  NormWeights embedding_norm;
  LinearWeights embedding_projection;                // embedding -> hidden
  const StoredTensor* distance_bias = nullptr;       // [buckets, heads], or null
  const StoredTensor* distance_embedding = nullptr;  // [2 span, hidden], or null
  NormWeights distance_norm;                         // applied to distance_embedding
  std::vector<LayerWeights> layers;                  // inner layer i of group g is at g * inner_layers + i
  NormWeights final_norm;                            // after the last layer
  HeadWeights head;                                  // for info.head
  std::vector<const StoredTensor*> unused;           // not part of the model: the masks of old GPT-2 files

  const LayerWeights& layer(std::size_t index) const { return layers[config.stored_layer(index)]; }
};

struct EncoderDecoderWeights {
  ModelInfo info;
  std::shared_ptr<const Checkpoint> checkpoint;  // keeps the mapped files alive
  ModelWeights encoder;                          // without a map to logits
  ModelWeights decoder;
  std::vector<std::int64_t> never;  // EncoderDecoderConfig::never
};

// Maps a folder's weights, and finds and checks every tensor that the model and its head need. Reads no weights. The
// tensors determine an encoder's head; if config.json's "architectures" names a task, it decides, so that the
// "classifier" of each token is not mistaken for a sentence classifier. Throws Error(kBadFile): missing tensors (the
// message names them), a tensor of another shape or without floating-point numbers, base-model tensors that the config
// has no place for unless `options` allow them; and as read_model_config and Checkpoint do.
ModelWeights find_weights(const Folder& folder, const ModelConfig& config, const OpenOptions& options = {});
ModelWeights find_weights(const Folder& folder, const OpenOptions& options = {});
// Does the same for a decoder whose config and tensors are not in a folder; `name` is the model's.
ModelWeights find_weights(const ModelConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                          const std::string& name, const OpenOptions& options);
EncoderDecoderWeights find_encoder_decoder_weights(const Folder& folder, const EncoderDecoderConfig& config,
                                                   const OpenOptions& options = {});

// Returns the tensors that a file with this config of an encoder and this head must hold for find_weights, by their
// usual names in a fixed order, without a masked-LM decoder tied to the word embedding. `classes` is for a
// classification head.
std::vector<PlannedTensor> plan_tensors(const ModelConfig& config, ModelHead head, std::size_t classes = 0);

}  // namespace attnflow
