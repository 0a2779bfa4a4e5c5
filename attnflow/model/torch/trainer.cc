#include "attnflow/model/torch/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "attnflow/base/parallel_for.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/batch_forward.h"
#include "attnflow/model/torch/split_work.h"

namespace attnflow {

namespace {

using internal::to_signed;

[[noreturn]] void bad_batch(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

// A parameter with its moments.
struct Parameter {
  std::string name;
  at::Tensor value;
  at::Tensor first;
  at::Tensor second;
  bool decays = false;
};

std::vector<std::int64_t> shape_of(const Tensor<float>& tensor) {
  std::vector<std::int64_t> shape;
  for (const std::size_t extent : tensor.shape()) shape.push_back(to_signed(extent));
  return shape;
}

Tensor<float> copy_out(const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().contiguous();
  Shape shape;
  for (const std::int64_t extent : host.sizes()) shape.push_back(static_cast<std::size_t>(extent));
  const float* const begin = host.data_ptr<float>();
  return Tensor<float>(std::move(shape), std::vector<float>(begin, begin + host.numel()));
}

void copy_in(const std::map<std::string, Tensor<float>>& tensors, const std::string& name, at::Tensor& to,
             const char* what) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    throw Error(ErrorKind::kBadFile, fmt::format("expected the {} \"{}\" in the checkpoint, found none; it belongs to "
                                                 "another model. Start again in an empty folder",
                                                 what, name));
  }
  Shape shape;
  for (const std::int64_t extent : to.sizes()) shape.push_back(static_cast<std::size_t>(extent));
  if (found->second.shape() != shape) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{} \"{}\": expected shape {}, found {}; the checkpoint belongs to another model", what,
                            name, shape_to_string(shape), shape_to_string(found->second.shape())));
  }
  std::copy(found->second.span().begin(), found->second.span().end(), to.data_ptr<float>());
}

class TorchTrainer final : public Trainer {
 public:
  TorchTrainer(const EncoderWeights& weights, const TrainerOptions& options)
      : config_(weights.config),
        info_(weights.info),
        options_(options),
        source_(at::Device(at::kCPU), internal::TensorSource::Use::kTraining),
        tensors_(source_, weights),
        encoder_(config_, tensors_) {
    internal::keep_calls_on_one_thread();
    for (const auto& [name, value] : source_.by_name()) {
      Parameter parameter{name, value, at::zeros_like(value), at::zeros_like(value), value.dim() > 1};
      parameter.first.set_requires_grad(false);
      parameter.second.set_requires_grad(false);
      values_.push_back(value);
      parameters_.push_back(std::move(parameter));
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
      const double cost = sum(costs);
      update(add_up(gradients), cost, rate);
      return cost;
    });
  }

  double cost(std::span<const TrainingBatch> shards) override {
    const auto count = static_cast<double>(check(shards));
    return internal::with_torch_errors([&] {
      std::vector<double> costs(shards.size(), 0.0);
      each_shard(shards, [&](std::size_t s) {
        const at::NoGradGuard no_gradients;
        costs[s] = cost_of(shards[s], nullptr).item<double>() / count;
      });
      return sum(costs);
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
        const at::NoGradGuard no_gradients;
        logits[s] = copy_out(encoder_.classify(hidden_of(shards[s], nullptr)));
      });
      return logits;
    });
  }

  TrainerState state() const override {
    TrainerState state;
    state.steps = steps_;
    for (const Parameter& parameter : parameters_) {
      state.weights[parameter.name] = copy_out(parameter.value);
      state.first_moments[parameter.name] = copy_out(parameter.first);
      state.second_moments[parameter.name] = copy_out(parameter.second);
    }
    return state;
  }

  void set_state(const TrainerState& state) override {
    const at::NoGradGuard no_gradients;
    for (Parameter& parameter : parameters_) {
      copy_in(state.weights, parameter.name, parameter.value, "weight");
      copy_in(state.first_moments, parameter.name, parameter.first, "first moment");
      copy_in(state.second_moments, parameter.name, parameter.second, "second moment");
    }
    steps_ = state.steps;
  }

 private:
  // The number of answers in all shards.
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

  // All of a shard but that there is an answer for each question.
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
      bad_batch(fmt::format("expected sequences of tokens for the model of text {}, found pixels of shape {}",
                            info_.name, shape_to_string(shard.pixels.shape())));
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

  // Calls body(shard) for every shard, on threads whose libtorch calls stay on them.
  void each_shard(std::span<const TrainingBatch> shards, const std::function<void(std::size_t)>& body) const {
    internal::keep_calls_on_one_thread();
    ParallelOptions parallel;
    parallel.threads = options_.threads;
    parallel_for(shards.size(), parallel, [&](std::size_t s, std::size_t worker) {
      if (worker != 0) at::init_num_threads();
      body(s);
    });
  }

  static double sum(const std::vector<double>& values) {
    double total = 0.0;
    for (const double value : values) total += value;
    return total;
  }

  at::Tensor hidden_of(const TrainingBatch& shard, internal::Dropout* dropout) const {
    const at::Device cpu(at::kCPU);
    const internal::PaddedBatch batch =
        info_.image ? internal::make_batch(shard.pixels.span(), shape_of(shard.pixels), cpu)
                    : internal::make_batch(config_, shard.ids, {}, shard.lengths, shard.length, cpu);
    return encoder_.encode(encoder_.embed(batch), batch.mask, dropout);
  }

  // The sum of the cross-entropies of a shard.
  at::Tensor cost_of(const TrainingBatch& shard, internal::Dropout* dropout) const {
    const at::Tensor hidden = hidden_of(shard, dropout);
    at::Tensor logits;
    at::Tensor answers;
    if (info_.head == ModelHead::kMaskedLm) {
      logits = encoder_.predict_tokens(hidden, at::tensor(shard.positions, at::TensorOptions(at::kLong)));
      answers = at::tensor(shard.targets, at::TensorOptions(at::kLong));
    } else {
      logits = encoder_.classify(hidden);
      const std::vector<std::int64_t> labels(shard.labels.begin(), shard.labels.end());
      answers = at::tensor(labels, at::TensorOptions(at::kLong));
    }
    return at::cross_entropy_loss(logits, answers, {}, at::Reduction::Sum);
  }

  // The shards' gradients added in their order; undefined where a parameter took no part.
  static std::vector<at::Tensor> add_up(std::vector<std::vector<at::Tensor>>& gradients) {
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> sums = std::move(gradients.front());
    for (std::size_t s = 1; s < gradients.size(); ++s) {
      for (std::size_t p = 0; p < sums.size(); ++p) {
        if (!gradients[s][p].defined()) continue;
        sums[p] = sums[p].defined() ? sums[p].add_(gradients[s][p]) : gradients[s][p];
      }
    }
    return sums;
  }

  void update(const std::vector<at::Tensor>& gradients, double cost, double rate) {
    const at::NoGradGuard no_gradients;
    double square = 0.0;
    for (const at::Tensor& gradient : gradients) {
      if (gradient.defined()) square += std::pow(gradient.norm().item<double>(), 2);
    }
    const double norm = std::sqrt(square);
    if (!std::isfinite(cost) || !std::isfinite(norm)) {
      throw Error(
          ErrorKind::kOther,
          fmt::format("expected a finite cost and gradient in training, found a cost of {} "
                      "and a gradient of norm {} at step {}; use a smaller learning rate (--rate, --masked-rate)",
                      cost, norm, steps_ + 1));
    }
    ++steps_;
    const double scale = norm > options_.clip ? options_.clip / norm : 1.0;
    const auto t = static_cast<double>(steps_);
    const double first_correction = 1.0 - std::pow(options_.beta1, t);
    const double second_correction = std::sqrt(1.0 - std::pow(options_.beta2, t));
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (!gradients[p].defined()) continue;
      Parameter& parameter = parameters_[p];
      const at::Tensor gradient = gradients[p] * scale;
      parameter.first.mul_(options_.beta1).add_(gradient, 1.0 - options_.beta1);
      parameter.second.mul_(options_.beta2).addcmul_(gradient, gradient, 1.0 - options_.beta2);
      if (parameter.decays) parameter.value.mul_(1.0 - rate * options_.decay);
      const at::Tensor denominator = parameter.second.sqrt().div_(second_correction).add_(options_.eps);
      parameter.value.addcdiv_(parameter.first, denominator, -rate / first_correction);
    }
  }

  ModelConfig config_;
  ModelInfo info_;
  TrainerOptions options_;
  internal::TensorSource source_;
  internal::EncoderTensors tensors_;
  internal::BatchEncoder encoder_;
  std::vector<Parameter> parameters_;  // by name
  std::vector<at::Tensor> values_;     // theirs, in the same order
  std::uint64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<Trainer> make_torch_trainer(const EncoderWeights& weights, const TrainerOptions& options) {
  return internal::with_torch_errors(
      [&]() -> std::unique_ptr<Trainer> { return std::make_unique<TorchTrainer>(weights, options); });
}

}  // namespace attnflow
