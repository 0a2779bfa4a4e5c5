// Trains an encoder: gradient steps on batches supplied by the caller.
//
// Problem. Given weights w and batches of token sequences or images with answers, find weights whose predictions have a
// lower cost: the mean cross-entropy of a class for each of them (classification head) or of the right token at each
// chosen position (masked-language-model head).
//
// Method. libtorch's autograd computes the gradient, its clip_grad_norm_ limits the gradient's norm to `clip`, and its
// AdamW (Loshchilov & Hutter, 2019) makes the step: with g the clipped gradient,
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
//   w = w - rate (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + decay w),
// with no decay for biases and layer norms.
//
// Determinism. The same weights, shards, rates and seeds give bitwise the same results regardless of the number of
// threads, and a resumed run gives those of an uninterrupted one. A step's batch consists of the caller's shards; each
// is computed on one thread, their gradients are added in the shards' order, and clipping and AdamW run on one thread.
// Dropout is the encoder's own (model/torch/autograd_ops.h) with a seeded generator for each shard, not libtorch's,
// whose one generator serves all threads. Results may differ between kinds of processor, and versions of libtorch and
// its BLAS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/model/model_weights.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Sequences padded to one length; or images of one size, in `pixels` alone.
struct TrainingBatch {
  std::size_t rows = 0;
  std::size_t length = 0;            // of the padded sequences
  std::vector<std::int64_t> ids;     // [rows, length]; any id of the vocabulary as padding
  std::vector<std::size_t> lengths;  // [rows]: tokens before the padding, at least 1
  // Classification: one label per sequence.
  std::vector<std::size_t> labels;  // [rows]
  // The positions, as row * length + position, and the right token at each, for a masked language model.
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> targets;  // same number as positions
  // An image model, with labels; length, ids and lengths stay empty. As in PixelInput.
  Tensor<float> pixels = {};  // [rows, channels, height, width]
};

struct TrainerOptions {
  std::size_t threads = 0;  // 0: one per hardware thread
  double dropout = 0.1;     // of the embeddings and of the output of each half of a layer
  double beta1 = 0.9;
  double beta2 = 0.98;
  double eps = 1e-8;
  double decay = 0.01;
  double clip = 1.0;  // maximum norm of a step's gradient
};

// Everything needed to resume training.
struct TrainerState {
  std::uint64_t steps = 0;
  std::map<std::string, Tensor<float>> weights;         // by the names in the model's files
  std::map<std::string, Tensor<float>> first_moments;   // m, by the same names
  std::map<std::string, Tensor<float>> second_moments;  // v
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Makes one update and returns the mean cross-entropy before it, over all sequences or positions. Throws
  // Error(kUsage) for batches that do not match each other or the model, Error(kOther) when the cost or the gradient is
  // no longer finite (the weights are then as before the step).
  virtual double step(std::span<const TrainingBatch> shards, double rate, std::uint64_t seed) = 0;

  // Returns the mean cross-entropy without dropout and without an update.
  virtual double cost(std::span<const TrainingBatch> shards) = 0;

  // Returns logits [rows, classes] of each shard, without dropout.
  virtual std::vector<Tensor<float>> classify(std::span<const TrainingBatch> shards) = 0;

  virtual TrainerState state() const = 0;
  // Throws Error(kBadFile) when names or shapes do not match this model.
  virtual void set_state(const TrainerState& state) = 0;
};

// Trains the model in `weights`, which is only read: its head determines the task. Throws Error(kUnsupportedModel)
// without a head.
std::unique_ptr<Trainer> make_trainer(const ModelWeights& weights, const TrainerOptions& options = {});

}  // namespace attnflow
