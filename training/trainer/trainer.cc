#include "training/trainer/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/adamw.h>
// This header uses those above without including them.
#include <torch/nn/utils/clip_grad.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "attnflow/base/parallel_for.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/autograd_ops.h"
#include "attnflow/model/torch/encoder_forward.h"
#include "attnflow/model/torch/split_work.h"

namespace attnflow {

namespace {

using internal::to_host;
using internal::to_signed;
using BatchForward = internal::EncoderForward<internal::AutogradOps>;

[[noreturn]] void bad_batch(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

void copy_in(const std::map<std::string, Tensor<float>>& tensors, const std::string& name, const at::Tensor& to,
             const char* what) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    throw Error(ErrorKind::kBadFile, fmt::format("expected the {} \"{}\" in the checkpoint, found none; it belongs to "
                                                 "another model. Start again in an empty folder",
                                                 what, name));
  }
  const Shape shape(to.sizes().begin(), to.sizes().end());
  if (found->second.shape() != shape) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{} \"{}\": expected shape {}, found {}; the checkpoint belongs to another model", what,
                            name, shape_to_string(shape), shape_to_string(found->second.shape())));
  }
  std::copy(found->second.span().begin(), found->second.span().end(), to.data_ptr<float>());
}

class TorchTrainer final : public Trainer {
 public:
  TorchTrainer(const ModelWeights& weights, const TrainerOptions& options)
      : info_(weights.info),
        options_(options),
        source_(at::Device(at::kCPU), internal::TensorSource::Use::kTraining),
        tensors_(source_, weights) {
    internal::keep_calls_on_one_thread();
    std::vector<at::Tensor> matrices;
    std::vector<at::Tensor> vectors;
    for (const auto& [name, value] : source_.by_name()) {
      names_.push_back(name);
      values_.push_back(value);
      (value.dim() > 1 ? matrices : vectors).push_back(value);
    }
    torch::optim::AdamWOptions usual;
    usual.betas({options_.beta1, options_.beta2}).eps(options_.eps).weight_decay(options_.decay);
    auto undecayed = std::make_unique<torch::optim::AdamWOptions>(usual);
    undecayed->weight_decay(0.0);
    optimizer_ = std::make_unique<torch::optim::AdamW>(
        std::vector<torch::optim::OptimizerParamGroup>{{std::move(matrices)},
                                                       {std::move(vectors), std::move(undecayed)}},
        usual);
    for (const at::Tensor& value : values_) {
      auto moments = std::make_unique<Moments>();
      moments->exp_avg(at::zeros_like(value).set_requires_grad(false));
      moments->exp_avg_sq(at::zeros_like(value).set_requires_grad(false));
      moments_.push_back(moments.get());
      optimizer_->state()[c10::guts::to_string(value.unsafeGetTensorImpl())] = std::move(moments);
    }
  }

  double step(std::span<const TrainingBatch> shards, double rate, std::uint64_t seed) override {
    const auto count = static_cast<double>(check(shards));
    return internal::with_torch_errors([&] {
      std::vector<double> costs(shards.size(), 0.0);
      std::vector<std::vector<at::Tensor>> gradients(shards.size());
      each_shard(shards, [&](std::size_t s) {
        internal::Dropout dropout(options_.dropout, seed + s);
        const at::Tensor cost = cost_of(shards[s], &dropout) / count;
        costs[s] = cost.item<double>();
        gradients[s] = torch::autograd::grad({cost}, values_, {}, false, false, true);
      });
      const double cost = std::accumulate(costs.begin(), costs.end(), 0.0);
      give_gradients(gradients);
      update(cost, rate);
      return cost;
    });
  }

  double cost(std::span<const TrainingBatch> shards) override {
    const auto count = static_cast<double>(check(shards));
    return internal::with_torch_errors([&] {
      std::vector<double> costs(shards.size(), 0.0);
      each_shard(shards, [&](std::size_t s) {
        const c10::NoGradGuard no_gradients;
        costs[s] = cost_of(shards[s], nullptr).item<double>() / count;
      });
      return std::accumulate(costs.begin(), costs.end(), 0.0);
    });
  }

  std::vector<Tensor<float>> classify(std::span<const TrainingBatch> shards) override {
    if (info_.head != ModelHead::kClassification) {
      bad_batch(fmt::format("expected a model with a classification head, found none in {}", info_.name));
    }
    for (const TrainingBatch& shard : shards) check_sequences(shard);
    return internal::with_torch_errors([&] {
      std::vector<Tensor<float>> logits(shards.size());
      each_shard(shards, [&](std::size_t s) {
        const c10::NoGradGuard no_gradients;
        internal::AutogradOps ops;
        logits[s] = to_host(BatchForward(tensors_, ops).classify(hidden_of(shards[s], ops)));
      });
      return logits;
    });
  }

  TrainerState state() const override {
    TrainerState state;
    state.steps = steps_;
    for (std::size_t p = 0; p < names_.size(); ++p) {
      state.weights[names_[p]] = to_host(values_[p]);
      state.first_moments[names_[p]] = to_host(moments_[p]->exp_avg());
      state.second_moments[names_[p]] = to_host(moments_[p]->exp_avg_sq());
    }
    return state;
  }

  void set_state(const TrainerState& state) override {
    const c10::NoGradGuard no_gradients;
    for (std::size_t p = 0; p < names_.size(); ++p) {
      copy_in(state.weights, names_[p], values_[p], "weight");
      copy_in(state.first_moments, names_[p], moments_[p]->exp_avg(), "first moment");
      copy_in(state.second_moments, names_[p], moments_[p]->exp_avg_sq(), "second moment");
      moments_[p]->step(static_cast<std::int64_t>(state.steps));
    }
    steps_ = state.steps;
  }

 private:
  // Returns the number of answers in the shards.
  std::size_t check(std::span<const TrainingBatch> shards) const {
    const bool masked_lm = info_.head == ModelHead::kMaskedLm;
    std::size_t answers = 0;
    for (const TrainingBatch& shard : shards) {
      check_sequences(shard);
      const std::size_t given = masked_lm ? shard.targets.size() : shard.labels.size();
      const std::size_t wanted = masked_lm ? shard.positions.size() : shard.rows;
      if (given == 0 || given != wanted) {
        bad_batch(fmt::format("expected an answer for each of {} {}, found {}", wanted,
                              masked_lm ? "positions" : "sequences", given));
      }
      answers += given;
    }
    if (answers == 0) bad_batch("expected at least one shard, found none");
    return answers;
  }

  void check_sequences(const TrainingBatch& shard) const {
    if (info_.image) {
      check_pictures(shard);
    } else {
      check_texts(shard);
    }
    if (info_.head != ModelHead::kClassification) return;
    for (const std::size_t label : shard.labels) {
      if (label >= info_.labels.size()) {
        bad_batch(fmt::format("expected a label below {}, found {}", info_.labels.size(), label));
      }
    }
  }

  void check_pictures(const TrainingBatch& shard) const {
    const Shape& shape = shard.pixels.shape();
    if (shape.size() != 4 || shape[0] != shard.rows || shard.rows == 0 || !shard.ids.empty()) {
      bad_batch(
          fmt::format("expected pixels of shape [rows, channels, height, width] with {} rows and no ids, found "
                      "shape {} and {} ids",
                      shard.rows, shape_to_string(shape), shard.ids.size()));
    }
    check_pixels(*info_.image, {shape.begin() + 1, shape.end()}, shard.pixels.span());
  }

  void check_texts(const TrainingBatch& shard) const {
    if (!shard.pixels.empty()) {
      bad_batch(fmt::format("expected sequences of tokens for the text model {}, found pixels of shape {}", info_.name,
                            shape_to_string(shard.pixels.shape())));
    }
    if (shard.rows == 0 || shard.length == 0 || shard.ids.size() != shard.rows * shard.length ||
        shard.lengths.size() != shard.rows) {
      bad_batch(
          fmt::format("expected [rows, length] ids and a length for each row, found {} rows, length {}, {} ids, "
                      "{} lengths",
                      shard.rows, shard.length, shard.ids.size(), shard.lengths.size()));
    }
    const auto outside = [](std::int64_t value, std::size_t limit) {
      return value < 0 || static_cast<std::uint64_t>(value) >= limit;
    };
    if (shard.length > info_.max_tokens) {
      bad_batch(fmt::format("expected at most {} tokens in a sequence, found {}", info_.max_tokens, shard.length));
    }
    for (const std::size_t length : shard.lengths) {
      if (length == 0 || length > shard.length) {
        bad_batch(fmt::format("expected sequences of from 1 to {} tokens, found {}", shard.length, length));
      }
    }
    for (const auto* ids : {&shard.ids, &shard.targets}) {
      for (const std::int64_t id : *ids) {
        if (outside(id, info_.vocabulary)) {
          bad_batch(fmt::format("expected token ids below {}, found {}", info_.vocabulary, id));
        }
      }
    }
    for (const std::int64_t position : shard.positions) {
      if (outside(position, shard.rows * shard.length)) {
        bad_batch(fmt::format("expected positions below {}, found {}", shard.rows * shard.length, position));
      }
    }
  }

  // On threads that keep their libtorch calls.
  void each_shard(std::span<const TrainingBatch> shards, const std::function<void(std::size_t)>& body) const {
    internal::keep_calls_on_one_thread();
    parallel_for(shards.size(), {.threads = options_.threads}, [&](std::size_t s, std::size_t worker) {
      if (worker != 0) at::init_num_threads();
      body(s);
    });
  }

  at::Tensor hidden_of(const TrainingBatch& shard, internal::AutogradOps& ops) const {
    internal::PaddedBatch batch;
    if (info_.image) {
      batch.pixels = internal::from_host(shard.pixels.view());
    } else {
      batch = internal::make_batch(tensors_.config, shard.ids, {}, shard.lengths, shard.length, at::kCPU);
    }
    ops.padding = batch.padding;
    BatchForward forward(tensors_, ops);
    return forward.encode(forward.embed(batch));
  }

  at::Tensor cost_of(const TrainingBatch& shard, internal::Dropout* dropout) const {
    internal::AutogradOps ops;
    ops.dropout = dropout;
    const at::Tensor hidden = hidden_of(shard, ops);
    const BatchForward forward(tensors_, ops);
    at::Tensor logits;
    at::Tensor answers;
    if (info_.head == ModelHead::kMaskedLm) {
      logits = forward.predict_tokens(hidden, at::tensor(shard.positions, at::TensorOptions(at::kLong)));
      answers = at::tensor(shard.targets, at::TensorOptions(at::kLong));
    } else {
      logits = forward.classify(hidden);
      const std::vector<std::int64_t> labels(shard.labels.begin(), shard.labels.end());
      answers = at::tensor(labels, at::TensorOptions(at::kLong));
    }
    return at::cross_entropy_loss(logits, answers, {}, at::Reduction::Sum);
  }

  // Passes the sum, in the shards' order, to the optimizer; undefined for a parameter that took no part.
  void give_gradients(std::vector<std::vector<at::Tensor>>& gradients) const {
    const c10::NoGradGuard no_gradients;
    for (std::size_t p = 0; p < values_.size(); ++p) {
      at::Tensor sum;
      for (std::vector<at::Tensor>& shard : gradients) {
        if (!shard[p].defined()) continue;
        sum = sum.defined() ? sum.add_(shard[p]) : shard[p];
      }
      values_[p].mutable_grad() = sum;
    }
  }

  void update(double cost, double rate) {
    const double norm = torch::nn::utils::clip_grad_norm_(values_, options_.clip);
    if (!std::isfinite(cost) || !std::isfinite(norm)) {
      throw Error(
          ErrorKind::kOther,
          fmt::format("expected a finite cost and gradient in training, found a cost of {} "
                      "and a gradient of norm {} at step {}; use a smaller learning rate (--rate, --masked-rate)",
                      cost, norm, steps_ + 1));
    }
    for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) group.options().set_lr(rate);
    optimizer_->step();
    ++steps_;
  }

  using Moments = torch::optim::AdamWParamState;

  ModelInfo info_;
  TrainerOptions options_;
  internal::TensorSource source_;
  internal::ModelTensors tensors_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> values_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  std::vector<Moments*> moments_;  // the optimizer's own
  std::uint64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<Trainer> make_trainer(const ModelWeights& weights, const TrainerOptions& options) {
  if (weights.info.head == ModelHead::kNone || weights.info.head == ModelHead::kEmbedding) {
    throw Error(ErrorKind::kUnsupportedModel,
                fmt::format("{}: expected a model with a masked-language-model or classification head to train, found "
                            "none",
                            weights.info.name));
  }
  const bool of_tokens =
      weights.info.head == ModelHead::kTokenClassification || weights.info.head == ModelHead::kQuestionAnswering;
  if (of_tokens || weights.distance_embedding != nullptr) {
    throw Error(
        ErrorKind::kUnsupportedModel,
        fmt::format("{}: expected a model whose class is of the whole text and whose scores know no embeddings of "
                    "distances, found {}",
                    weights.info.name, weights.info.architecture));
  }
  return internal::with_torch_errors(
      [&]() -> std::unique_ptr<Trainer> { return std::make_unique<TorchTrainer>(weights, options); });
}

}  // namespace attnflow
