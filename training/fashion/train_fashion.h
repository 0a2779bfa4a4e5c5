// A small vision transformer that tells kinds of clothing apart: `attnflow-train fashion`.
//
// The model is a ViT (Dosovitskiy et al., ICLR 2021) in the layout of Hugging Face transformers: a class token and the
// patches of a 28 x 28 grey picture, layer norms before each half of a layer, a linear head on the class token. It
// starts from random weights and learns from Fashion-MNIST (fashion_data.h) alone. It is made to look at attention
// with: small enough to be built into the program, and good enough that what it attends to means something.
//
// Recipe. AdamW on the cross-entropy of the label, each picture seen `epochs` times, half of the times moved and
// perhaps mirrored (Augmentation); the rate rises over the first twentieth of the steps and falls to 0. The weights of
// the last step are kept; those of the training pictures that are held out measure progress and choose nothing.
//
// The folder that is written: config.json, model.safetensors (half precision), preprocessor_config.json, README.md (the
// model card), training.json (recipe, history, results). What is written is measured: the folder is loaded again and
// classifies the test pictures, through its own image processor. While training runs, its checkpoint lies in the
// folder's "training/", which is removed at the end.
//
// Determinism: the same data, options and seed give the same weights on the same kind of processor with the same
// libtorch and BLAS, whatever the number of threads and however often the run was interrupted.
#ifndef ATTNFLOW_TRAINING_FASHION_TRAIN_FASHION_H_
#define ATTNFLOW_TRAINING_FASHION_TRAIN_FASHION_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "training/agreement/train_agreement.h"
#include "training/trainer/new_model.h"

namespace attnflow {

struct FashionTrainingOptions {
  std::filesystem::path data = "/usr/share/datasets/fashion-mnist";  // where Debian's package puts it
  std::filesystem::path output;
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  VitShape shape;  // its pictures are the data set's: 28 x 28, one channel
  std::size_t epochs = 12;
  double rate = 1.5e-3;  // at its peak
  double dropout = 0.0;
  double augment = 0.5;             // share of the pictures that are moved and mirrored
  std::size_t shift = 2;            // pixels that a picture is moved by at most
  double mirror = 0.5;              // probability that it is mirrored
  std::size_t shard_pictures = 16;  // of a shard, whose gradient is taken on one thread
  std::size_t shards_per_step = 4;
  std::string command;  // for the card: what was typed
  std::string license;  // for the card: of the weights, as SPDX writes it; empty: none is named
};

// Throws what its parts throw: Error(kBadFile) for missing or damaged data, Error(kUsage) for options that do not fit,
// another run's checkpoint or a model in the folder, Error(kOther) when the disk is full, Cancelled when the token was
// set (the checkpoint is saved then, and the same call goes on from it).
void train_fashion(const FashionTrainingOptions& options, const TrainingCallbacks& callbacks,
                   const std::stop_token& stop_token);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_FASHION_TRAIN_FASHION_H_
