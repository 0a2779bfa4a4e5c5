// Models that are yet to be trained: their configuration, their first weights, and the folder they are saved in.
#ifndef ATTNFLOW_TRAIN_NEW_MODEL_H_
#define ATTNFLOW_TRAIN_NEW_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/model/encoder_weights.h"
#include "attnflow/model/model.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct EncoderShape {
  std::string model_type = "megatron-bert";   // a row of model/architecture.h
  std::string class_prefix = "MegatronBert";  // of the class that loads it in transformers
  std::size_t layers = 6;
  std::size_t heads = 8;
  std::size_t hidden = 128;
  std::size_t intermediate = 512;
  std::size_t positions = 128;
  std::size_t vocabulary = 10'000;
  std::string activation = "gelu_new";
};

// Throws Error(kUsage), in the words of the command line: a size of 0 or beyond what a model may have, or a hidden size
// that is no multiple of the heads.
void check_shape(const EncoderShape& shape);
// The same for a learning rate and a dropout share.
void check_recipe(double rate, double dropout);

using WeightMap = std::map<std::string, Tensor<float>>;

// The text of a config.json. `labels`: of a classification head.
std::string new_model_config(const EncoderShape& shape, ModelHead head, const std::vector<std::string>& labels = {});

// Weights to start from: embeddings normal with deviation 0.02 (as GPT-2), other matrices with 0.5 / sqrt(inputs),
// layer norms 1 and 0, biases 0. Each tensor draws from a generator of its own, seeded by its name, so the same tensor
// starts the same under any head.
WeightMap first_weights(const ModelConfig& config, ModelHead head, std::size_t classes, std::uint64_t seed);

// Replaces those weights that `from` has under the same name and shape; returns how many.
std::size_t take_weights(WeightMap& weights, const WeightMap& from);

// Writes `folder`/config.json and model.safetensors, each whole or not at all; creates the folder. kF32 or kF16.
void write_model(const std::filesystem::path& folder, const std::string& config, const WeightMap& weights, DType dtype);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAIN_NEW_MODEL_H_
