// Models to be trained: their configuration, their initial weights, and the folder that they are saved in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/model/model_weights.h"
#include "attnflow/tensor/tensor.h"
#include "training/trainer/trainer.h"

namespace attnflow {

struct EncoderShape {
  std::string model_type = "megatron-bert";   // a row of model/encoder_families.cc
  std::string class_prefix = "MegatronBert";  // prefix of the class that loads it in transformers
  std::size_t layers = 6;
  std::size_t heads = 8;
  std::size_t hidden = 128;
  std::size_t intermediate = 512;
  std::size_t positions = 128;
  std::size_t vocabulary = 10'000;
  std::string activation = "gelu_new";
};

// A ViT (Dosovitskiy et al., ICLR 2021) for square images and patches.
struct VitShape {
  std::size_t layers = 4;
  std::size_t heads = 4;
  std::size_t hidden = 96;
  std::size_t intermediate = 192;
  std::size_t picture = 28;  // pixels per edge
  std::size_t patch = 4;     // likewise; divides `picture`
  std::size_t channels = 1;

  std::size_t tokens() const { return 1 + (picture / patch) * (picture / patch); }
};

// Throw Error(kUsage), in terms of the command line: a size of 0 or beyond a model's limits, a hidden size that is not
// a multiple of the heads, an invalid learning rate or dropout share.
void check_shape(const EncoderShape& shape);
void check_shape(const VitShape& shape);
void check_recipe(double rate, double dropout);

using WeightMap = std::map<std::string, Tensor<float>>;

// Returns the text of a config.json. `labels` is for a classification head.
std::string new_model_config(const EncoderShape& shape, ModelHead head, const std::vector<std::string>& labels = {});

// new_preprocessor_config() goes with it: images are resized to its size, divided by 255, and normalized with this mean
// and deviation, one number per channel.
std::string new_vit_config(const VitShape& shape, const std::vector<std::string>& labels);
std::string new_preprocessor_config(const VitShape& shape, const std::vector<double>& mean,
                                    const std::vector<double>& deviation);

// Returns initial weights: embeddings normal with deviation 0.02 (as in GPT-2), other matrices with 0.5 / sqrt(inputs),
// layer norms 1 and 0, biases 0. Each tensor's generator is seeded by its name, so it starts the same under any head.
WeightMap first_weights(const ModelConfig& config, ModelHead head, std::size_t classes, std::uint64_t seed);

// Replaces the weights that `from` has under the same name and shape.
void take_weights(WeightMap& weights, const WeightMap& from);

// Writes `folder`/config.json and model.safetensors, each completely or not at all; creates the folder. kF32 or kF16.
void write_model(const std::filesystem::path& folder, const std::string& config, const WeightMap& weights, DType dtype);

// Creates a trainer of a model that starts from `weights`, which it also writes to `folder`.
std::unique_ptr<Trainer> start_trainer(const std::filesystem::path& folder, const std::string& config,
                                       const WeightMap& weights, double dropout, std::size_t threads);

// Loads the model in `folder` on the CPU. Throws Error(kBadFile) or Error(kUnsupportedModel) for anything but a model.
std::unique_ptr<Encoder> load_trained(const std::filesystem::path& folder, std::size_t threads = 0);
std::unique_ptr<VisionModel> load_trained_vision(const std::filesystem::path& folder, std::size_t threads = 0);

std::vector<Tensor<float>> classify_trained(const std::filesystem::path& folder,
                                            const std::vector<std::vector<std::int32_t>>& texts, std::size_t threads);

}  // namespace attnflow
