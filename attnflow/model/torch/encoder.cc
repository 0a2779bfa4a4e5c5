#include "attnflow/model/torch/encoder.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/batch_forward.h"
#include "attnflow/model/torch/encoder_tensors.h"
#include "attnflow/model/torch/image_embedding.h"
#include "attnflow/model/torch/layered_gradients.h"
#include "attnflow/model/torch/split_work.h"

namespace attnflow {

namespace {

using internal::activate;
using internal::EncoderLayer;
using internal::Linear;
using internal::to_signed;

// The multiply-adds that are worth a thread and a block of their own: a few tenths of a millisecond, when starting a
// thread takes a tenth of that on an idle machine and much more on a busy one. Attention's products are small and come
// with a softmax, so it takes longer over each.
constexpr std::int64_t kWorthOfEncoderProduct = 8'000'000;
constexpr std::int64_t kWorthOfEncoderAttention = 2'000'000;

// How matrix products and attention are cut, by their shapes alone. On a CPU blocks are worth a thread and, of a large
// matrix, large enough that few numbers are packed for the BLAS more than once. Other devices share work out themselves
// and get it in one piece. `multiply_adds_each`: what one column of a block of rows takes, or one head.
class BlockSizes {
 public:
  explicit BlockSizes(at::Device device) : one_piece_(!device.is_cpu()) {}

  // The rows and columns of [n, in] times [in, out].
  internal::Blocks rows(std::int64_t n) const { return {n, one_piece_ ? n : 128}; }
  internal::Blocks columns(std::int64_t out, std::int64_t multiply_adds_each) const {
    return {out, one_piece_ ? out : std::max<std::int64_t>(256, kWorthOfEncoderProduct / multiply_adds_each)};
  }
  internal::Blocks heads(std::int64_t count, std::int64_t multiply_adds_each) const {
    return {count, one_piece_ ? count : std::max<std::int64_t>(1, kWorthOfEncoderAttention / multiply_adds_each)};
  }

 private:
  bool one_piece_;
};

class TorchEncoder final : public Model {
 public:
  TorchEncoder(const EncoderWeights& weights, const LoadOptions& options)
      : config_(weights.config),
        info_(weights.info),
        checkpoint_(weights.checkpoint),
        device_(internal::find_device(options.device)),
        source_(device_, internal::TensorSource::use_of(options)),
        tensors_(source_, weights),
        batches_(config_, tensors_),
        threads_(resolve_threads(options.threads)),
        block_sizes_(device_) {
    internal::keep_calls_on_one_thread();
  }

  const ModelInfo& info() const override { return info_; }

  ModelOutput run(const ModelInput& input, AttentionSink* sink, const RunOptions& options) override {
    check_model_input(config_, info_, input, options);
    return internal::with_torch_errors([&] {
      internal::keep_calls_on_one_thread();
      const c10::InferenceMode no_gradients;
      const bool norm_before = config_.architecture->norm_place == NormPlace::kBefore;
      at::Tensor x = embed(input);
      for (std::size_t index = 0; index < config_.layers; ++index) {
        const EncoderLayer& layer = tensors_.layer(index);
        if (norm_before) {
          x = mix_positions(layer, layer.attention_norm(x), index + 1, sink).add_(x);
          x = feed_forward(layer, layer.feed_forward_norm(x)).add_(x);
        } else {
          x = layer.attention_norm(mix_positions(layer, x, index + 1, sink).add_(x));
          x = layer.feed_forward_norm(feed_forward(layer, x).add_(x));
        }
      }
      if (tensors_.final_norm) x = (*tensors_.final_norm)(x);
      return head(x, options);
    });
  }

  std::vector<Tensor<float>> classify(std::span<const ModelInput> inputs, const BatchOptions& options) override {
    std::vector<Tensor<float>> logits(inputs.size());
    each_batch(inputs, options, [&](const Group& group, const internal::PaddedBatch& batch) {
      const c10::InferenceMode no_gradients;
      const at::Tensor all = batches_.classify(batches_.encode(batches_.embed(batch), batch.mask));
      for (std::size_t i = 0; i < group.size(); ++i) logits[group[i]] = to_host(all[to_signed(i)]);
    });
    return logits;
  }

  std::vector<InputGradient> input_gradients(std::span<const ModelInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override {
    if (targets.size() != inputs.size()) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("expected a target for each of {} inputs, found {}", inputs.size(), targets.size()));
    }
    for (const ScoreTarget& target : targets) check_target(target);
    std::vector<InputGradient> gradients(inputs.size());
    each_batch(inputs, options, [&](const Group& group, const internal::PaddedBatch& batch) {
      const at::Tensor embedding = batches_.embed(batch).detach().requires_grad_(true);
      const at::Tensor logits = batches_.classify(batches_.encode(embedding, batch.mask));
      std::vector<at::Tensor> values;
      for (std::size_t i = 0; i < group.size(); ++i) {
        values.push_back(internal::value_of(targets[group[i]], logits[to_signed(i)]));
      }
      const at::Tensor stacked = at::stack(values);
      // Sequences of a batch do not touch each other, so the gradient of the sum holds each one's own.
      const at::Tensor gradient = torch::autograd::grad({stacked.sum()}, {embedding}).front();
      for (std::size_t i = 0; i < group.size(); ++i) {
        InputGradient& result = gradients[group[i]];
        const auto tokens = to_signed(input_tokens(info_, inputs[group[i]]));
        result.value = stacked[to_signed(i)].item<double>();
        result.embedding = to_host(embedding.detach()[to_signed(i)].narrow(0, 0, tokens));
        result.gradient = to_host(gradient[to_signed(i)].narrow(0, 0, tokens));
      }
    });
    return gradients;
  }

  void attention_gradients(const ModelInput& input, const ScoreTarget& target, AttentionGradientSink& sink) override {
    check_classifies();
    check_model_input(config_, info_, input, {});
    check_target(target);
    internal::with_torch_errors([&] {
      internal::keep_calls_on_one_thread();
      const Group only(1, 0);
      at::Tensor x;
      {
        const at::NoGradGuard no_gradients;
        const std::span<const ModelInput> inputs(&input, 1);
        x = batches_.project(
            batches_.embed(info_.image ? batch_of_pictures(inputs, only) : batch_of_texts(inputs, only)));
      }
      internal::LayeredModel model;
      model.layers = config_.layers;
      model.run_layer = [&](std::size_t layer, const at::Tensor& given, at::Tensor* weights) {
        return batches_.run_layer(layer, given, {}, nullptr, weights);
      };
      model.value = [&](const at::Tensor& top) {
        return internal::value_of(target, batches_.classify(batches_.finish(top))[0]);
      };
      internal::differentiate_layers(model, x, &sink);
    });
  }

 private:
  using Group = std::vector<std::size_t>;

  // Checks the inputs and calls body(group, padded batch) for groups of them, on all threads.
  template <typename Body>
  void each_batch(std::span<const ModelInput> inputs, const BatchOptions& options, const Body& body) const {
    check_classifies();
    for (const ModelInput& input : inputs) check_model_input(config_, info_, input, {});
    const std::vector<Group> groups = internal::group_by_length(info_, inputs, options.max_tokens);
    ParallelOptions parallel;
    parallel.threads = threads_;
    parallel.stop_token = options.stop_token;
    std::mutex progress;
    std::size_t done = 0;
    internal::with_torch_errors([&] {
      internal::keep_calls_on_one_thread();
      parallel_for(groups.size(), parallel, [&](std::size_t g, std::size_t worker) {
        if (worker != 0) at::init_num_threads();
        const Group& group = groups[g];
        body(group, info_.image ? batch_of_pictures(inputs, group) : batch_of_texts(inputs, group));
        if (!options.progress) return;
        const std::scoped_lock lock(progress);
        done += group.size();
        options.progress(done, inputs.size());
      });
    });
  }

  void check_classifies() const {
    if (info_.head == ModelHead::kClassification) return;
    throw Error(ErrorKind::kUnsupportedModel,
                fmt::format("expected a model with a classification head, found none in {}", info_.name));
  }

  internal::PaddedBatch batch_of_texts(std::span<const ModelInput> inputs, const Group& group) const {
    const std::size_t length = inputs[group.front()].ids.size();
    std::vector<std::int64_t> ids(group.size() * length, 0);
    std::vector<std::int64_t> type_ids;
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const ModelInput& input = inputs[group[i]];
      std::copy(input.ids.begin(), input.ids.end(), ids.begin() + to_signed(i * length));
      lengths.push_back(input.ids.size());
      if (input.type_ids.empty()) continue;
      type_ids.resize(ids.size(), 0);
      std::copy(input.type_ids.begin(), input.type_ids.end(), type_ids.begin() + to_signed(i * length));
    }
    return internal::make_batch(config_, ids, type_ids, lengths, length, device_);
  }

  internal::PaddedBatch batch_of_pictures(std::span<const ModelInput> inputs, const Group& group) const {
    std::vector<float> pixels;
    for (const std::size_t i : group) {
      pixels.insert(pixels.end(), inputs[i].pixels.span().begin(), inputs[i].pixels.span().end());
    }
    std::vector<std::int64_t> shape = {to_signed(group.size())};
    for (const std::size_t extent : inputs[group.front()].pixels.shape()) shape.push_back(to_signed(extent));
    return internal::make_batch(pixels, shape, device_);
  }

  void check_target(const ScoreTarget& target) const {
    const std::size_t labels = info_.labels.size();
    const bool both = target.kind == ScoreTarget::Kind::kProbabilityDifference;
    if (target.label < labels && (!both || target.other < labels)) return;
    throw Error(ErrorKind::kUsage, fmt::format("expected labels below {}, as many as {} has, found {}", labels,
                                               info_.name, target.label < labels ? target.other : target.label));
  }

  static Tensor<float> to_host(const at::Tensor& values) {
    Shape shape;
    for (const std::int64_t extent : values.sizes()) shape.push_back(static_cast<std::size_t>(extent));
    return to_host(values, std::move(shape));
  }

  at::Tensor indices(const std::vector<std::int64_t>& values) const {
    return at::tensor(values, at::TensorOptions(at::kLong)).to(device_);
  }

  // As many as there is work for; the result does not depend on it.
  std::size_t useful_threads(std::int64_t worth) const {
    return std::min(threads_, static_cast<std::size_t>(std::max<std::int64_t>(1, worth)));
  }

  // x W^T + b for each of `layers`, which have one shape: x is [n, in], each result [n, out]. Blocks of rows and
  // columns of all results are shared out among the threads; the activation, if any, follows in the same block.
  template <std::size_t Count>
  std::array<at::Tensor, Count> apply(const std::array<const Linear*, Count>& layers, const at::Tensor& x,
                                      std::optional<Activation> activation = {}) const {
    const std::int64_t out = layers[0]->weight.size(0);
    std::array<at::Tensor, Count> results;
    for (at::Tensor& result : results) result = at::empty({x.size(0), out}, x.options());
    const internal::Blocks rows = block_sizes_.rows(x.size(0));
    const internal::Blocks columns = block_sizes_.columns(out, rows.size(0) * x.size(1));
    const std::int64_t each = rows.count() * columns.count();
    const std::size_t threads = useful_threads(to_signed(Count) * x.numel() * out / kWorthOfEncoderProduct);
    internal::split_work(threads, to_signed(Count) * each, [&](std::int64_t block) {
      const auto which = static_cast<std::size_t>(block / each);
      const std::int64_t row = block % each / columns.count();
      const std::int64_t column = block % columns.count();
      const auto some_rows = [&](const at::Tensor& t) { return t.narrow(0, rows.begin(row), rows.size(row)); };
      const auto some_columns = [&](const at::Tensor& t, std::int64_t dimension) {
        return t.narrow(dimension, columns.begin(column), columns.size(column));
      };
      at::Tensor result = some_columns(some_rows(results[which]), 1);
      const at::Tensor weight = some_columns(layers[which]->weight, 0).t();
      if (!layers[which]->bias.defined()) {
        at::mm_out(result, some_rows(x), weight);
        if (activation) result.copy_(activate(result.contiguous(), *activation));
        return;
      }
      const at::Tensor bias = some_columns(layers[which]->bias, 0);
      if (activation) {
        // Not in place: activations are faster on numbers without gaps between rows.
        result.copy_(activate(at::addmm(bias, some_rows(x), weight), *activation));
      } else {
        at::addmm_out(result, bias, some_rows(x), weight);
      }
    });
    return results;
  }

  at::Tensor apply(const Linear& layer, const at::Tensor& x, std::optional<Activation> activation = {}) const {
    return apply(std::array{&layer}, x, activation)[0];
  }

  // [n, hidden]
  at::Tensor embed(const ModelInput& input) const {
    if (info_.image) return embed_picture(input);
    at::Tensor x = at::embedding(tensors_.word_embedding, indices(input.ids));
    if (const at::Tensor& types = tensors_.token_type_embedding; types.defined()) {
      const bool given = config_.token_types > 1 && !input.type_ids.empty();
      x.add_(given ? at::embedding(types, indices(input.type_ids)) : types[0]);
    }
    x.add_(at::embedding(tensors_.position_embedding, indices(position_ids(config_, input.ids))));
    if (tensors_.embedding_norm) x = (*tensors_.embedding_norm)(x);
    return tensors_.embedding_projection ? apply(*tensors_.embedding_projection, x) : x;
  }

  at::Tensor embed_picture(const ModelInput& input) const {
    const at::Tensor pixels = batch_of_pictures({&input, 1}, Group(1, 0)).pixels;
    const Linear map = internal::patch_map(*tensors_.image);
    const at::Tensor patches = apply(map, internal::cut_patches(*info_.image, pixels)[0]);
    const ImageTokens tokens = image_tokens(*info_.image, input.pixels.extent(1), input.pixels.extent(2));
    return internal::join_tokens(config_, *tensors_.image, patches.unsqueeze(0), to_signed(tokens.rows),
                                 to_signed(tokens.columns))[0];
  }

  // Self-attention: [n, hidden] to [n, hidden].
  at::Tensor mix_positions(const EncoderLayer& layer, const at::Tensor& x, std::size_t number,
                           AttentionSink* sink) const {
    const std::int64_t n = x.size(0);
    const std::int64_t heads = to_signed(config_.heads);
    const std::int64_t width = to_signed(config_.hidden) / heads;
    auto [query, key, value] = apply(std::array{&layer.query, &layer.key, &layer.value}, x);
    query.mul_(1.0 / std::sqrt(static_cast<double>(width)));
    at::Tensor attention = at::empty({heads, n, n}, x.options());
    at::Tensor context = at::empty_like(query);

    const std::int64_t each = 2 * n * n * width;  // multiply-adds of one head
    const internal::Blocks blocks = block_sizes_.heads(heads, each);
    const std::size_t threads = useful_threads(heads * each / kWorthOfEncoderAttention);
    internal::split_work(threads, blocks.count(), [&, &q = query, &k = key, &v = value](std::int64_t i) {
      const auto some_heads = [&](const at::Tensor& t) {  // [n, hidden] to [head, n, width]
        return t.view({n, heads, width}).transpose(0, 1).narrow(0, blocks.begin(i), blocks.size(i));
      };
      at::Tensor result = attention.narrow(0, blocks.begin(i), blocks.size(i));
      at::softmax_out(result, at::bmm(some_heads(q), some_heads(k).transpose(1, 2)), -1);
      at::Tensor mixed = some_heads(context);
      at::bmm_out(mixed, result, some_heads(v));
    });
    query.reset();
    key.reset();
    value.reset();
    deliver(attention, number, sink);
    attention.reset();
    at::Tensor mixed = apply(layer.attention_output, context);
    return layer.attention_scale.defined() ? mixed.mul_(layer.attention_scale) : mixed;
  }

  void deliver(const at::Tensor& attention, std::size_t number, AttentionSink* sink) const {
    if (sink == nullptr) return;
    const at::Tensor host = attention.to(at::kCPU).contiguous();
    const auto n = static_cast<std::size_t>(host.size(1));
    sink->layer(number, 0, TensorView<const float>(host.data_ptr<float>(), Shape{config_.heads, n, n}));
  }

  at::Tensor feed_forward(const EncoderLayer& layer, const at::Tensor& x) const {
    at::Tensor result =
        apply(layer.feed_forward_out,
              config_.gated ? gated(layer.feed_forward_in, x) : apply(layer.feed_forward_in, x, config_.activation));
    return layer.feed_forward_scale.defined() ? result.mul_(layer.feed_forward_scale) : result;
  }

  // silu(a) * b of the two halves of what the map gives.
  at::Tensor gated(const Linear& both, const at::Tensor& x) const {
    const std::int64_t width = both.weight.size(0) / 2;
    const auto half = [&](std::int64_t begin) {
      Linear linear;
      linear.weight = both.weight.narrow(0, begin, width);
      linear.bias = both.bias.narrow(0, begin, width);
      return linear;
    };
    return apply(half(0), x, Activation::kSilu).mul_(apply(half(width), x));
  }

  ModelOutput head(const at::Tensor& x, const RunOptions& options) const {
    ModelOutput output;
    if (info_.head == ModelHead::kClassification && info_.image) {
      output.logits = to_host(batches_.classify(x.unsqueeze(0))[0]);
    } else if (info_.head == ModelHead::kClassification) {
      const at::Tensor first = apply(tensors_.head_dense, x.narrow(0, 0, 1), tensors_.head_activation);
      output.logits = to_host(apply(tensors_.head_output, first), {info_.labels.size()});
    } else if (info_.head == ModelHead::kMaskedLm) {
      // Logits of one position are as many numbers as the vocabulary has: only those asked for are computed.
      std::vector<std::int64_t> positions;
      for (const std::size_t position : options.logit_positions) positions.push_back(to_signed(position));
      const Shape shape{positions.size(), info_.vocabulary};
      if (positions.empty()) {
        output.logits = Tensor<float>(shape);
      } else {
        const at::Tensor chosen = at::index_select(x, 0, indices(positions));
        const at::Tensor dense = apply(tensors_.head_dense, chosen, tensors_.head_activation);
        output.logits = to_host(apply(tensors_.head_output, tensors_.head_norm(dense)), shape);
      }
    }
    return output;
  }

  static Tensor<float> to_host(const at::Tensor& values, Shape shape) {
    const at::Tensor host = values.to(at::kCPU).contiguous();
    const float* const begin = host.data_ptr<float>();
    return Tensor<float>(std::move(shape), std::vector<float>(begin, begin + host.numel()));
  }

  ModelConfig config_;
  ModelInfo info_;
  std::shared_ptr<const Checkpoint> checkpoint_;  // the weights below point into its files
  at::Device device_;
  internal::TensorSource source_;
  internal::EncoderTensors tensors_;
  internal::BatchEncoder batches_;
  std::size_t threads_;
  BlockSizes block_sizes_;
};

}  // namespace

std::unique_ptr<Model> make_torch_encoder(const EncoderWeights& weights, const LoadOptions& options) {
  return internal::with_torch_errors(
      [&]() -> std::unique_ptr<Model> { return std::make_unique<TorchEncoder>(weights, options); });
}

}  // namespace attnflow
