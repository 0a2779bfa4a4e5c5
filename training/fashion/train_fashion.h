// Trains a small vision transformer that classifies kinds of clothing: `attnflow-train fashion`.
//
// The model is a ViT (Dosovitskiy et al., ICLR 2021) in the layout of Hugging Face transformers: a class token and the
// patches of a 28 x 28 gray image, a layer norm before each half of a layer, a linear head on the class token. It
// learns only from Fashion-MNIST (fashion_data.h). It is meant for studying attention: small enough to be built into
// the program, and accurate enough that its attention is meaningful.
//
// Recipe. AdamW on the cross-entropy of the label; each image is seen `epochs` times, half of the times altered
// (Augmentation); the rate rises over the first twentieth of the steps and falls to 0. The weights of the last step are
// kept; the held-out training images only measure progress.
//
// The output folder: config.json, model.safetensors (half precision), preprocessor_config.json, README.md (the model
// card), training.json (recipe, history, results). It is evaluated: loaded again, it classifies the test images through
// its own image processor. The checkpoint is in its "training/" until the end.
//
// Determinism: the same data, options and seed give the same weights on the same kind of processor with the same
// libtorch and BLAS, regardless of threads and interruptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "training/agreement/train_agreement.h"
#include "training/trainer/new_model.h"

namespace attnflow {

struct FashionTrainingOptions {
  std::filesystem::path data = "/usr/share/datasets/fashion-mnist";  // installation path of Debian's package
  std::filesystem::path output;
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  VitShape shape;  // its images are the data set's: 28 x 28, one channel
  std::size_t epochs = 12;
  double rate = 1.5e-3;  // at its peak
  double dropout = 0.0;
  double augment = 0.5;             // share of the images that are shifted and mirrored
  std::size_t shift = 2;            // maximum shift of an image in pixels
  double mirror = 0.5;              // probability that it is mirrored
  std::size_t shard_pictures = 16;  // per shard, whose gradient is computed on one thread
  std::size_t shards_per_step = 4;
  std::string command;  // for the card: the command as typed
  std::string license;  // for the card: of the weights, as an SPDX identifier; empty: none named
};

// Throws as its parts do: Error(kBadFile) for missing or damaged data, Error(kUsage) for invalid options, another run's
// checkpoint or a model in the folder, Error(kOther) when the disk is full, Cancelled when the token was set (the
// checkpoint is then saved, and the same call resumes from it).
void train_fashion(const FashionTrainingOptions& options, const TrainingCallbacks& callbacks,
                   const std::stop_token& stop_token);

}  // namespace attnflow
