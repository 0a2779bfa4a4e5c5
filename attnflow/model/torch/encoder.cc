#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/autograd_ops.h"
#include "attnflow/model/torch/encoder_forward.h"
#include "attnflow/model/torch/layered_gradients.h"
#include "attnflow/model/torch/make_models.h"
#include "attnflow/model/torch/model_tensors.h"
#include "attnflow/model/torch/padded_batch.h"
#include "attnflow/model/torch/sink_ops.h"
#include "attnflow/model/torch/split_work.h"

namespace attnflow {

namespace {

using internal::to_host;
using internal::to_signed;

class SequenceOps : public internal::SinkOps {
 public:
  SequenceOps(at::Device device, std::size_t threads, AttentionSink* sink)
      : SinkOps(device, threads, internal::OneRow::kMatrix, sink) {}

  at::Tensor score_bias;                        // [H or 1, n, n]: added to scores; undefined: none
  internal::OccurringBuckets distance_buckets;  // for layers whose form has DistanceTerms

  at::Tensor attend(const internal::LayerForm& form, std::size_t index, at::Tensor query, at::Tensor key,
                    at::Tensor value) {
    const std::int64_t n = query.size(1);
    const std::int64_t heads = form.heads;
    at::Tensor attention = at::empty({heads, n, n}, query.options());
    const bool shared_bias = score_bias.defined() && score_bias.size(0) == 1;
    const at::Tensor of_distances =
        form.distances.defined() ? form.distances(query, key, distance_buckets)[0] : at::Tensor();
    const at::Tensor context = at::empty_like(query);

    const std::int64_t each = 2 * n * n * form.head_width;  // multiply-adds of one head
    const std::int64_t heads_worth = std::max<std::int64_t>(1, internal::kWorthOfAttention / each);
    const internal::Blocks blocks(heads, one_piece() ? heads : heads_worth);
    const std::size_t useful = internal::useful_threads(threads(), heads * each, internal::kWorthOfAttention);
    internal::split_work(useful, blocks.count(), [&](std::int64_t i) {
      const auto some_heads = [&](const at::Tensor& t) {  // [1, n, head, width] to [head, n, width]
        return t[0].transpose(0, 1).narrow(0, blocks.begin(i), blocks.size(i));
      };
      at::Tensor result = attention.narrow(0, blocks.begin(i), blocks.size(i));
      at::Tensor scores = at::bmm(some_heads(query), some_heads(key).transpose(1, 2));
      if (score_bias.defined()) {
        scores.add_(shared_bias ? score_bias : score_bias.narrow(0, blocks.begin(i), blocks.size(i)));
      }
      if (of_distances.defined()) scores.add_(of_distances.narrow(0, blocks.begin(i), blocks.size(i)));
      at::softmax_out(result, scores, -1);
      at::Tensor mixed = some_heads(context);
      at::bmm_out(mixed, result, some_heads(value));
    });
    query.reset();
    key.reset();
    deliver(index, std::move(attention), std::move(value));
    return context.view({1, n, -1});
  }
};

using SequenceForward = internal::EncoderForward<SequenceOps>;
using BatchForward = internal::EncoderForward<internal::AutogradOps>;

internal::BatchItem batch_item(const ModelInfo& info, const TextInput& input) { return {input_tokens(info, input)}; }
internal::BatchItem batch_item(const ModelInfo& info, const PixelInput& input) {
  return {input_tokens(info, input), input.pixels.shape()};
}

void check_input(const ModelConfig& config, const ModelInfo& info, const TextInput& input, const RunOptions& options) {
  check_text_input(info, input, options, config.token_types);
}
void check_input(const ModelConfig&, const ModelInfo& info, const PixelInput& input, const RunOptions& options) {
  check_pixel_input(info, input, options);
}

using Group = std::vector<std::size_t>;

internal::PaddedBatch batch_of(const ModelConfig& config, std::span<const TextInput> inputs, const Group& group,
                               at::Device device) {
  const std::size_t length = inputs[group.front()].ids.size();
  std::vector<std::int64_t> ids(group.size() * length, 0);
  std::vector<std::int64_t> type_ids;
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const TextInput& input = inputs[group[i]];
    std::copy(input.ids.begin(), input.ids.end(), ids.begin() + to_signed(i * length));
    lengths.push_back(input.ids.size());
    if (input.type_ids.empty()) continue;
    type_ids.resize(ids.size(), 0);
    std::copy(input.type_ids.begin(), input.type_ids.end(), type_ids.begin() + to_signed(i * length));
  }
  return internal::make_batch(config, ids, type_ids, lengths, length, device);
}

internal::PaddedBatch batch_of(const ModelConfig& /*config*/, std::span<const PixelInput> inputs, const Group& group,
                               at::Device device) {
  std::vector<at::Tensor> images;
  for (const std::size_t i : group) images.push_back(internal::from_host(inputs[i].pixels.view()));
  internal::PaddedBatch batch;
  batch.pixels = at::stack(images).to(device);
  return batch;
}

template <typename Kind, typename Input>
class TorchEncoder : public Kind, public Gradients<Input> {
 public:
  TorchEncoder(const ModelWeights& weights, const LoadOptions& options)
      : info_(weights.info),
        checkpoint_(weights.checkpoint),
        device_(internal::find_device(options.device)),
        source_(device_, internal::TensorSource::use_of(options)),
        tensors_(source_, weights),
        threads_(resolve_threads(options.threads)) {}

  const ModelInfo& info() const override { return info_; }
  Gradients<Input>* gradients() override { return this; }

  ModelOutput run(const Input& input, AttentionSink* sink, const RunOptions& options) override {
    check_input(tensors_.config, info_, input, options);
    return internal::on_one_thread([&] {
      const c10::InferenceMode no_gradients;
      SequenceOps ops(device_, threads_, sink);
      SequenceForward forward(tensors_, ops);
      return head(forward,
                  forward.encode(forward.embed(batch_of(tensors_.config, std::span(&input, 1), Group(1, 0), device_))),
                  options);
    });
  }

  std::vector<Tensor<float>> classify(std::span<const Input> inputs, const BatchOptions& options) override {
    check_predicts_whole();
    std::vector<Tensor<float>> logits(inputs.size());
    each_batch(inputs, options, [&](const Group& group, const BatchForward& forward, const at::Tensor& embedding) {
      const c10::InferenceMode no_gradients;
      const at::Tensor all = predict_whole(forward, forward.encode(embedding), forward.padding());
      for (std::size_t i = 0; i < group.size(); ++i) logits[group[i]] = to_host(all[to_signed(i)]);
    });
    return logits;
  }

  std::vector<InputGradient> input_gradients(std::span<const Input> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override {
    for (const Input& input : inputs) check_input(tensors_.config, info_, input, {});
    check_targets(info_, inputs, targets);
    std::vector<InputGradient> gradients(inputs.size());
    each_batch(inputs, options, [&](const Group& group, const BatchForward& forward, at::Tensor embedding) {
      for (std::size_t i = 0; i < group.size() && !options.embeddings.empty(); ++i) {
        const auto tokens = to_signed(input_tokens(info_, inputs[group[i]]));
        internal::replace_embedding(embedding[to_signed(i)].narrow(0, 0, tokens), options.embeddings[group[i]]);
      }
      embedding.requires_grad_(true);
      const at::Tensor hidden = forward.encode(embedding);
      std::vector<at::Tensor> values;
      for (std::size_t i = 0; i < group.size(); ++i) {
        const std::size_t tokens = input_tokens(info_, inputs[group[i]]);
        values.push_back(value_at(forward, hidden.narrow(0, to_signed(i), 1), targets[group[i]], tokens, options.rule));
      }
      const at::Tensor stacked = at::stack(values);
      // Sequences in a batch are independent, so the gradient of the sum contains each one's own.
      const at::Tensor gradient = torch::autograd::grad({stacked.sum()}, {embedding}).front();
      for (std::size_t i = 0; i < group.size(); ++i) {
        InputGradient& result = gradients[group[i]];
        const auto tokens = to_signed(input_tokens(info_, inputs[group[i]]));
        result.value = stacked[to_signed(i)].item<double>();
        result.embedding = to_host(embedding[to_signed(i)].narrow(0, 0, tokens));
        result.gradient = to_host(gradient[to_signed(i)].narrow(0, 0, tokens));
      }
    });
    return gradients;
  }

  bool takes_embeddings() const override { return true; }

  void attention_gradients(const Input& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override {
    check_input(tensors_.config, info_, input, {});
    const std::size_t tokens = input_tokens(info_, input);
    check_target(info_, target, tokens);
    internal::on_one_thread([&] {
      internal::AutogradOps ops;
      ops.rule = rule;
      BatchForward forward(tensors_, ops);
      at::Tensor x;
      {
        const c10::NoGradGuard no_gradients;
        x = forward.project(forward.embed(batch_of(tensors_.config, std::span(&input, 1), Group(1, 0), device_)));
      }
      internal::LayeredModel model;
      model.layers = tensors_.config.layers;
      model.rule = rule;
      model.run_layer = [&](std::size_t layer, const at::Tensor& given, internal::LayerTap* tap,
                            std::optional<std::size_t> /*next*/) {
        ops.tap = tap;
        return forward.layer(layer, given);
      };
      const internal::LayeredTarget asked = {
          .value = [&](const at::Tensor& top) { return value_at(forward, forward.finish(top), target, tokens, rule); },
          .sink = &sink,
          .tokens = static_cast<std::size_t>(x.size(1))};
      internal::differentiate_layers(model, x, {&asked, 1});
    });
  }

 protected:
  // Checks the inputs and calls body(group, forward pass, the group's embeddings) for groups of them, on all threads.
  template <typename Body>
  void each_batch(std::span<const Input> inputs, const BatchOptions& options, const Body& body) const {
    for (const Input& input : inputs) check_input(tensors_.config, info_, input, {});
    std::vector<internal::BatchItem> items;
    for (const Input& input : inputs) items.push_back(batch_item(info_, input));
    const std::vector<Group> groups = internal::group_by_length(items, options.max_tokens);
    const ParallelOptions parallel = {.threads = threads_, .stop_token = options.stop_token};
    std::mutex progress;
    std::size_t done = 0;
    internal::on_one_thread([&] {
      parallel_for(groups.size(), parallel, [&](std::size_t g, std::size_t worker) {
        if (worker != 0) at::init_num_threads();
        const Group& group = groups[g];
        const internal::PaddedBatch batch = batch_of(tensors_.config, inputs, group, device_);
        internal::AutogradOps ops;
        ops.padding = batch.padding;
        ops.rule = options.rule;
        BatchForward forward(tensors_, ops);
        const at::Tensor embedding = forward.embed(batch);
        body(group, forward, embedding);
        if (!options.progress) return;
        const std::scoped_lock lock(progress);
        done += group.size();
        options.progress(done, inputs.size());
      });
    });
  }

  ModelInfo info_;
  std::shared_ptr<const Checkpoint> checkpoint_;  // the weights below point into its files
  at::Device device_;
  internal::TensorSource source_;
  internal::ModelTensors tensors_;

 private:
  void check_predicts_whole() const {
    if (predicts_whole(info_.head)) return;
    internal::fail(ErrorKind::kUnsupportedModel,
                   "expected a model with a classification head or an embedding, found neither in {}", info_.name);
  }

  // The classes or the embeddings of whole inputs.
  template <typename Forward>
  at::Tensor predict_whole(const Forward& forward, const at::Tensor& hidden, const at::Tensor& padding = {}) const {
    return info_.head == ModelHead::kEmbedding ? forward.pool(hidden, info_.pooling, padding)
                                               : forward.classify(hidden, padding);
  }

  // `hidden`: the last hidden states [1, T, hidden] of a sequence of `tokens`.
  at::Tensor value_at(const BatchForward& forward, const at::Tensor& hidden, const ScoreTarget& target,
                      std::size_t tokens, BackwardRule rule) const {
    if (predicts_whole(info_.head)) {
      return internal::value_of(target, predict_whole(forward, hidden.narrow(1, 0, to_signed(tokens)))[0], rule);
    }
    if (info_.head == ModelHead::kQuestionAnswering) {
      return internal::value_of(target, forward.predict_answers(hidden.narrow(1, 0, to_signed(tokens)))[0], rule);
    }
    const auto position = to_signed(target.position.value_or(tokens - 1));
    const at::Tensor index = at::full({1}, position, at::TensorOptions(at::kLong)).to(device_);
    return internal::value_of(target, forward.predict_tokens(hidden, index)[0], rule);
  }

  ModelOutput head(const SequenceForward& forward, const at::Tensor& hidden, const RunOptions& options) const {
    if (predicts_whole(info_.head)) return {to_host(predict_whole(forward, hidden)[0])};
    if (info_.head == ModelHead::kQuestionAnswering) return {to_host(forward.predict_answers(hidden))};
    if (info_.head == ModelHead::kNone) return {};
    // One position's logits may be as numerous as the vocabulary.
    if (options.logit_positions.empty()) {
      return {Tensor<float>({0, predicts_classes(info_.head) ? info_.labels.size() : info_.vocabulary})};
    }
    const std::vector<std::int64_t> positions(options.logit_positions.begin(), options.logit_positions.end());
    const at::Tensor indices = at::tensor(positions, at::TensorOptions(at::kLong)).to(device_);
    return {to_host(forward.predict_tokens(hidden, indices))};
  }

  std::size_t threads_;
};

class TorchTextEncoder final : public TorchEncoder<Encoder, TextInput> {
 public:
  using TorchEncoder::TorchEncoder;

  // Batches for tokens, too.
  void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                      const BatchOptions& options, const TakeLogits& take) override {
    const bool of_tokens = info_.head == ModelHead::kMaskedLm || info_.head == ModelHead::kTokenClassification;
    if (!of_tokens || !position) return Encoder::logits_of_each(inputs, position, options, take);
    for (const TextInput& input : inputs) check_input(tensors_.config, info_, input, {.logit_positions = {*position}});
    std::mutex taking;
    each_batch(inputs, options, [&](const Group& group, const BatchForward& forward, const at::Tensor& embedding) {
      const c10::InferenceMode no_gradients;
      const at::Tensor hidden = forward.encode(embedding);
      const at::Tensor rows = at::arange(to_signed(group.size()), hidden.options().dtype(at::kLong));
      const at::Tensor all = forward.predict_tokens(hidden, rows * hidden.size(1) + to_signed(*position));
      const std::scoped_lock lock(taking);
      for (std::size_t i = 0; i < group.size(); ++i) take(group[i], to_host(all[to_signed(i)]).span());
    });
  }
};

}  // namespace

std::unique_ptr<Encoder> make_torch_encoder(const ModelWeights& weights, const LoadOptions& options) {
  return internal::with_torch_errors([&] { return std::make_unique<TorchTextEncoder>(weights, options); });
}

std::unique_ptr<VisionModel> make_torch_vision(const ModelWeights& weights, const LoadOptions& options) {
  return internal::with_torch_errors(
      [&] { return std::make_unique<TorchEncoder<VisionModel, PixelInput>>(weights, options); });
}

}  // namespace attnflow
