#include "attnflow/model/torch/encoder.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

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

// OpenBLAS, which Debian's libtorch multiplies matrices with, has threads of its own. Weak: absent in a libtorch that
// brings another library.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);

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

// Matrix products take most of the time. Where OpenBLAS computes them they get all threads and libtorch's own loops
// stay on one: its OpenMP threads spin while they wait, in the way of OpenBLAS's, which made two threads several times
// slower than one on a busy machine with two cores. Other libraries share libtorch's threads.
void set_threads(std::size_t threads) {
  const int count = static_cast<int>(resolve_threads(threads));
  if (openblas_set_num_threads != nullptr) {
    openblas_set_num_threads(count);
    at::set_num_threads(1);
  } else {
    at::set_num_threads(count);
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
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

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

class TorchEncoder final : public Model {
 public:
  TorchEncoder(const EncoderWeights& weights, const LoadOptions& options)
      : config_(weights.config),
        info_(weights.info),
        checkpoint_(weights.checkpoint),
        device_(find_device(options.device)) {
    set_threads(options.threads);
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

  // [n, hidden]
  at::Tensor embed(const ModelInput& input) const {
    at::Tensor x = at::embedding(word_embedding_, indices(input.ids));
    if (token_type_embedding_.defined()) {
      const bool given = config_.token_types > 1 && !input.type_ids.empty();
      x.add_(given ? at::embedding(token_type_embedding_, indices(input.type_ids)) : token_type_embedding_[0]);
    }
    x.add_(at::embedding(position_embedding_, indices(position_ids(config_, input.ids))));
    x = embedding_norm_(x);
    return embedding_projection_ ? (*embedding_projection_)(x) : x;
  }

  // Self-attention with its residual and norm: [n, hidden] to [n, hidden].
  at::Tensor mix_positions(const Layer& layer, const at::Tensor& x, std::size_t number, AttentionSink* sink) const {
    const std::int64_t n = x.size(0);
    const std::int64_t width = to_signed(config_.hidden / config_.heads);
    const auto split_heads = [&](const at::Tensor& t) {
      return t.view({n, to_signed(config_.heads), width}).transpose(0, 1);  // [head, n, width]
    };
    at::Tensor query = split_heads(layer.query(x).mul_(1.0 / std::sqrt(static_cast<double>(width))));
    at::Tensor key = split_heads(layer.key(x));
    at::Tensor attention = at::bmm(query, key.transpose(1, 2));  // [head, query, key]
    query.reset();
    key.reset();
    attention = at::softmax(attention, -1);
    deliver(attention, number, sink);

    at::Tensor context = at::bmm(attention, split_heads(layer.value(x)));
    attention.reset();
    context = context.transpose(0, 1).reshape({n, to_signed(config_.hidden)});
    return layer.attention_norm(layer.attention_output(context).add_(x));
  }

  void deliver(const at::Tensor& attention, std::size_t number, AttentionSink* sink) const {
    if (sink == nullptr) return;
    const at::Tensor host = attention.to(at::kCPU).contiguous();
    const auto n = static_cast<std::size_t>(host.size(1));
    sink->layer(number, 0, TensorView<const float>(host.data_ptr<float>(), Shape{config_.heads, n, n}));
  }

  at::Tensor feed_forward(const Layer& layer, const at::Tensor& x) const {
    at::Tensor inner = layer.feed_forward_in(x);
    inner = activate(inner, config_.activation);
    return layer.feed_forward_norm(layer.feed_forward_out(inner).add_(x));
  }

  ModelOutput head(const at::Tensor& x, const RunOptions& options) const {
    ModelOutput output;
    if (info_.head == ModelHead::kClassification) {
      const at::Tensor first = activate(head_dense_(x.narrow(0, 0, 1)), activation_);
      output.logits = to_host(head_output_(first), {info_.labels.size()});
    } else if (info_.head == ModelHead::kMaskedLm) {
      // Logits of one position are as many numbers as the vocabulary has: only those asked for are computed.
      std::vector<std::int64_t> positions;
      for (const std::size_t position : options.logit_positions) positions.push_back(to_signed(position));
      const Shape shape{positions.size(), info_.vocabulary};
      if (positions.empty()) {
        output.logits = Tensor<float>(shape);
      } else {
        const at::Tensor chosen = at::index_select(x, 0, indices(positions));
        output.logits = to_host(head_output_(head_norm_(activate(head_dense_(chosen), activation_))), shape);
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
