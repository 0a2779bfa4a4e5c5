#include "attnflow/model/torch/encoder.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/split_work.h"

namespace attnflow {

namespace {

std::int64_t to_signed(std::size_t size) { return static_cast<std::int64_t>(size); }

// Runs `work` and turns libtorch's own exceptions (out of memory, mostly) into ours.
template <typename Work>
auto with_torch_errors(Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kOther, std::string("libtorch cannot run the model: ") + error.what_without_backtrace());
  }
}

at::Device find_device(const std::string& name) {
  const at::Device device(name);
  if (device.is_cpu()) return device;
  if (!at::hasCUDA()) {
    throw Error(ErrorKind::kUsage, fmt::format("device {}: expected a libtorch with CUDA and a GPU, found none. Use "
                                               "--device cpu, or build against a libtorch with CUDA",
                                               name));
  }
  try {
    at::empty({1}, at::TensorOptions(at::kFloat).device(device));
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kUsage, fmt::format("device {}: expected a GPU that libtorch can use, found: {}", name,
                                               error.what_without_backtrace()));
  }
  return device;
}

// Stored tensors as float32 on the device, each made once however many parts of the model share it.
class TensorSource {
 public:
  explicit TensorSource(at::Device device) : device_(device) {}

  at::Tensor get(const StoredTensor& stored) {
    at::Tensor& tensor = made_[&stored];
    if (!tensor.defined()) tensor = make(stored);
    return tensor;
  }

 private:
  static at::ScalarType type_of(const StoredTensor& stored) {
    switch (stored.dtype) {
      case DType::kF16:
        return at::kHalf;
      case DType::kBF16:
        return at::kBFloat16;
      case DType::kF64:
        return at::kDouble;
      default:
        return at::kFloat;  // find_encoder_weights lets no other type through
    }
  }

  at::Tensor make(const StoredTensor& stored) const {
    std::vector<std::int64_t> shape;
    for (const std::size_t extent : stored.shape) shape.push_back(to_signed(extent));
    const at::ScalarType type = type_of(stored);
    // The mapping is read-only and nothing here writes to weights; libtorch has no tensor of const elements.
    void* const data = const_cast<std::byte*>(stored.bytes.data());
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) % c10::elementSize(type) == 0;
    at::Tensor tensor;
    if (aligned) {
      tensor = at::from_blob(data, shape, at::TensorOptions(type));
    } else {
      tensor = at::empty(shape, at::TensorOptions(type));
      std::memcpy(tensor.data_ptr(), data, stored.bytes.size());
    }
    return tensor.to(device_, at::kFloat);
  }

  at::Device device_;
  std::map<const StoredTensor*, at::Tensor> made_;
};

struct Linear {
  Linear() = default;
  Linear(TensorSource& source, const LinearWeights& weights)
      : weight(source.get(*weights.weight)), bias(source.get(*weights.bias)) {}

  at::Tensor weight;
  at::Tensor bias;
};

struct Norm {
  Norm() = default;
  Norm(TensorSource& source, const NormWeights& weights, double epsilon)
      : scale(source.get(*weights.scale)), shift(source.get(*weights.shift)), eps(epsilon) {}
  at::Tensor operator()(const at::Tensor& x) const { return at::layer_norm(x, scale.sizes(), scale, shift, eps); }

  at::Tensor scale;
  at::Tensor shift;
  double eps = 0.0;
};

struct Layer {
  Layer(TensorSource& source, const LayerWeights& weights, double eps)
      : query(source, weights.query),
        key(source, weights.key),
        value(source, weights.value),
        attention_output(source, weights.attention_output),
        attention_norm(source, weights.attention_norm, eps),
        feed_forward_in(source, weights.feed_forward_in),
        feed_forward_out(source, weights.feed_forward_out),
        feed_forward_norm(source, weights.feed_forward_norm, eps) {}

  Linear query, key, value;
  Linear attention_output;
  Norm attention_norm;
  Linear feed_forward_in, feed_forward_out;
  Norm feed_forward_norm;
};

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kTanh:
      return at::tanh(x);
  }
  return x;
}

// The multiply-adds that are worth a thread and a block of their own: a few tenths of a millisecond, when starting a
// thread takes a tenth of that on an idle machine and much more on a busy one. Attention's products are small and come
// with a softmax, so it takes longer over each.
constexpr std::int64_t kWorthOfProduct = 8'000'000;
constexpr std::int64_t kWorthOfAttention = 2'000'000;

// How matrix products and attention are cut, by their shapes alone. On a CPU blocks are worth a thread and, of a large
// matrix, large enough that few numbers are packed for the BLAS more than once. Other devices share work out themselves
// and get it in one piece. `multiply_adds_each`: what one column of a block of rows takes, or one head.
class BlockSizes {
 public:
  explicit BlockSizes(at::Device device) : one_piece_(!device.is_cpu()) {}

  // The rows and columns of [n, in] times [in, out].
  internal::Blocks rows(std::int64_t n) const { return {n, one_piece_ ? n : 128}; }
  internal::Blocks columns(std::int64_t out, std::int64_t multiply_adds_each) const {
    return {out, one_piece_ ? out : std::max<std::int64_t>(256, kWorthOfProduct / multiply_adds_each)};
  }
  internal::Blocks heads(std::int64_t count, std::int64_t multiply_adds_each) const {
    return {count, one_piece_ ? count : std::max<std::int64_t>(1, kWorthOfAttention / multiply_adds_each)};
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
        device_(find_device(options.device)),
        threads_(resolve_threads(options.threads)),
        block_sizes_(device_) {
    internal::keep_calls_on_one_thread();
    const double eps = config_.norm_eps;
    TensorSource source(device_);
    word_embedding_ = source.get(*weights.word_embedding);
    position_embedding_ = source.get(*weights.position_embedding);
    if (weights.token_type_embedding != nullptr) token_type_embedding_ = source.get(*weights.token_type_embedding);
    embedding_norm_ = Norm(source, weights.embedding_norm, eps);
    if (weights.embedding_projection) embedding_projection_.emplace(source, *weights.embedding_projection);

    std::map<const LayerWeights*, std::size_t> place;
    for (const LayerWeights& layer : weights.layers) {
      place[&layer] = layers_.size();
      layers_.emplace_back(source, layer, eps);
    }
    for (std::size_t index = 0; index < config_.layers; ++index) layer_order_.push_back(place[&weights.layer(index)]);

    if (weights.masked_lm) {
      activation_ = weights.masked_lm->activation;
      head_dense_ = Linear(source, weights.masked_lm->dense);
      head_norm_ = Norm(source, weights.masked_lm->norm, eps);
      head_output_ = Linear(source, weights.masked_lm->decoder);
    } else if (weights.classifier) {
      activation_ = weights.classifier->activation;
      head_dense_ = Linear(source, weights.classifier->dense);
      head_output_ = Linear(source, weights.classifier->output);
    }
  }

  const ModelInfo& info() const override { return info_; }

  ModelOutput run(const ModelInput& input, AttentionSink* sink, const RunOptions& options) override {
    check_model_input(config_, info_, input, options);
    return with_torch_errors([&] {
      internal::keep_calls_on_one_thread();
      const c10::InferenceMode no_gradients;
      at::Tensor x = embed(input);
      for (std::size_t index = 0; index < layer_order_.size(); ++index) {
        const Layer& layer = layers_[layer_order_[index]];
        x = mix_positions(layer, x, index + 1, sink);
        x = feed_forward(layer, x);
      }
      return head(x, options);
    });
  }

 private:
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
    const std::size_t threads = useful_threads(to_signed(Count) * x.numel() * out / kWorthOfProduct);
    internal::split_work(threads, to_signed(Count) * each, [&](std::int64_t block) {
      const auto which = static_cast<std::size_t>(block / each);
      const std::int64_t row = block % each / columns.count();
      const std::int64_t column = block % columns.count();
      const auto some_rows = [&](const at::Tensor& t) { return t.narrow(0, rows.begin(row), rows.size(row)); };
      const auto some_columns = [&](const at::Tensor& t, std::int64_t dimension) {
        return t.narrow(dimension, columns.begin(column), columns.size(column));
      };
      at::Tensor result = some_columns(some_rows(results[which]), 1);
      const at::Tensor bias = some_columns(layers[which]->bias, 0);
      const at::Tensor weight = some_columns(layers[which]->weight, 0).t();
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
    at::Tensor x = at::embedding(word_embedding_, indices(input.ids));
    if (token_type_embedding_.defined()) {
      const bool given = config_.token_types > 1 && !input.type_ids.empty();
      x.add_(given ? at::embedding(token_type_embedding_, indices(input.type_ids)) : token_type_embedding_[0]);
    }
    x.add_(at::embedding(position_embedding_, indices(position_ids(config_, input.ids))));
    x = embedding_norm_(x);
    return embedding_projection_ ? apply(*embedding_projection_, x) : x;
  }

  // Self-attention with its residual and norm: [n, hidden] to [n, hidden].
  at::Tensor mix_positions(const Layer& layer, const at::Tensor& x, std::size_t number, AttentionSink* sink) const {
    const std::int64_t n = x.size(0);
    const std::int64_t heads = to_signed(config_.heads);
    const std::int64_t width = to_signed(config_.hidden) / heads;
    auto [query, key, value] = apply(std::array{&layer.query, &layer.key, &layer.value}, x);
    query.mul_(1.0 / std::sqrt(static_cast<double>(width)));
    at::Tensor attention = at::empty({heads, n, n}, x.options());
    at::Tensor context = at::empty_like(query);

    const std::int64_t each = 2 * n * n * width;  // multiply-adds of one head
    const internal::Blocks blocks = block_sizes_.heads(heads, each);
    const std::size_t threads = useful_threads(heads * each / kWorthOfAttention);
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
    return layer.attention_norm(apply(layer.attention_output, context).add_(x));
  }

  void deliver(const at::Tensor& attention, std::size_t number, AttentionSink* sink) const {
    if (sink == nullptr) return;
    const at::Tensor host = attention.to(at::kCPU).contiguous();
    const auto n = static_cast<std::size_t>(host.size(1));
    sink->layer(number, 0, TensorView<const float>(host.data_ptr<float>(), Shape{config_.heads, n, n}));
  }

  at::Tensor feed_forward(const Layer& layer, const at::Tensor& x) const {
    const at::Tensor inner = apply(layer.feed_forward_in, x, config_.activation);
    return layer.feed_forward_norm(apply(layer.feed_forward_out, inner).add_(x));
  }

  ModelOutput head(const at::Tensor& x, const RunOptions& options) const {
    ModelOutput output;
    if (info_.head == ModelHead::kClassification) {
      const at::Tensor first = apply(head_dense_, x.narrow(0, 0, 1), activation_);
      output.logits = to_host(apply(head_output_, first), {info_.labels.size()});
    } else if (info_.head == ModelHead::kMaskedLm) {
      // Logits of one position are as many numbers as the vocabulary has: only those asked for are computed.
      std::vector<std::int64_t> positions;
      for (const std::size_t position : options.logit_positions) positions.push_back(to_signed(position));
      const Shape shape{positions.size(), info_.vocabulary};
      if (positions.empty()) {
        output.logits = Tensor<float>(shape);
      } else {
        const at::Tensor chosen = at::index_select(x, 0, indices(positions));
        output.logits = to_host(apply(head_output_, head_norm_(apply(head_dense_, chosen, activation_))), shape);
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
  std::size_t threads_;
  BlockSizes block_sizes_;

  at::Tensor word_embedding_;
  at::Tensor position_embedding_;
  at::Tensor token_type_embedding_;  // undefined where there is none
  Norm embedding_norm_;
  std::optional<Linear> embedding_projection_;
  std::vector<Layer> layers_;
  std::vector<std::size_t> layer_order_;  // the element of layers_ that each layer of the model runs

  // Masked language model: dense, activation, norm, output. Classification: dense, activation, output.
  Activation activation_ = Activation::kTanh;
  Linear head_dense_;
  Norm head_norm_;
  Linear head_output_;
};

}  // namespace

std::unique_ptr<Model> make_torch_encoder(const EncoderWeights& weights, const LoadOptions& options) {
  return with_torch_errors(
      [&]() -> std::unique_ptr<Model> { return std::make_unique<TorchEncoder>(weights, options); });
}

}  // namespace attnflow
