// The weights of an encoder, found by name and checked against its config before anything computes with them.
//
// A backend gets this structure and sees neither file names nor architectures: which tensor plays which part, whether
// the file spells a layer norm "weight" or "gamma", and whether shapes fit is settled here, without the backend.
#ifndef ATTNFLOW_MODEL_ENCODER_WEIGHTS_H_
#define ATTNFLOW_MODEL_ENCODER_WEIGHTS_H_

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

// The embeddings of a model of pictures.
struct ImageWeights {
  const StoredTensor* class_token = nullptr;         // [1, 1, hidden] or [hidden], or null
  const StoredTensor* distillation_token = nullptr;  // [1, 1, hidden], or null
  const StoredTensor* register_tokens = nullptr;     // [1, registers, hidden], or null
  LinearWeights patches;                             // weight [hidden, channels, patch height, patch width]
  const StoredTensor* position = nullptr;            // [1, positions, hidden] or [positions, hidden], or null
};

struct HeadWeights {
  LinearWeights dense;  // hidden -> hidden, or the embedding's width of a masked language model; or none
  Activation activation = Activation::kTanh;
  NormWeights norm;  // after both
  // -> vocabulary, and its weight may be the word embedding; -> classes, or the begin and end of an answer; of
  // ClassifierInput::kFirstTokenAndPatches, from twice hidden
  LinearWeights output;
  LinearWeights second;  // hidden -> classes, of the second token: logits are the mean of both; or none
};

// Of maps and norms those without a weight, or a scale, are not there.
struct EncoderWeights {
  ModelConfig config;
  ModelInfo info;
  std::shared_ptr<const Checkpoint> checkpoint;  // keeps the mapped files alive

  std::optional<ImageWeights> image;                   // of a model of pictures; the tables below are then null
  const StoredTensor* word_embedding = nullptr;        // [vocabulary, embedding]
  const StoredTensor* position_embedding = nullptr;    // [positions, embedding], or null
  const StoredTensor* token_type_embedding = nullptr;  // [token_types, embedding], or null
  NormWeights embedding_norm;
  LinearWeights embedding_projection;                // embedding -> hidden
  const StoredTensor* distance_bias = nullptr;       // [buckets, heads], or null
  const StoredTensor* distance_embedding = nullptr;  // [2 span, hidden], or null
  NormWeights distance_norm;                         // of those
  std::vector<LayerWeights> layers;                  // group g's inner layer i is at g * inner_layers + i
  NormWeights final_norm;                            // after the last layer
  HeadWeights head;                                  // of info.head

  // The weights of layer `index`, from 0.
  const LayerWeights& layer(std::size_t index) const { return layers[config.stored_layer(index)]; }
};

// Maps the weights of a folder whose config is given, or read, and finds and checks every tensor that the model and its
// head need. No weight is read. Which head the files hold follows from the tensors; config.json's "architectures"
// decides when it names a task, so that the "classifier" of each token is not taken for one of the
// sentence. Throws Error(kBadFile): missing tensors (the message names them), a tensor whose shape does not follow from
// the config, a tensor that does not hold floating-point numbers, tensors of the base model that the config has no
// place for unless `options` allow them; and as read_model_config and Checkpoint do.
EncoderWeights find_encoder_weights(const Folder& folder, const ModelConfig& config, const OpenOptions& options = {});
EncoderWeights find_encoder_weights(const Folder& folder, const OpenOptions& options = {});

// The tensors of a model of this config with this head, by their usual names in a fixed order: what a file must hold
// for find_encoder_weights. A masked-LM decoder that is the word embedding is not among them where the config ties the
// two. `classes`: of a classification head.
std::vector<PlannedTensor> plan_tensors(const ModelConfig& config, ModelHead head, std::size_t classes = 0);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_ENCODER_WEIGHTS_H_
