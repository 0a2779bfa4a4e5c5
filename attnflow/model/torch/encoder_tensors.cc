#include "attnflow/model/torch/encoder_tensors.h"

#include <cstring>

namespace attnflow::internal {

namespace {

at::ScalarType type_of(const StoredTensor& stored) {
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

}  // namespace

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

const at::Tensor& TensorSource::get(const StoredTensor& stored) {
  at::Tensor& tensor = made_[&stored];
  if (!tensor.defined()) tensor = make(stored);
  return tensor;
}

std::map<std::string, at::Tensor> TensorSource::by_name() const {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [stored, tensor] : made_) tensors[stored->name] = tensor;
  return tensors;
}

at::Tensor TensorSource::make(const StoredTensor& stored) const {
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
  tensor = tensor.to(device_, at::kFloat, /*non_blocking=*/false, /*copy=*/use_ != Use::kRunning);
  return use_ == Use::kTraining ? tensor.set_requires_grad(true) : tensor;
}

EncoderLayer::EncoderLayer(TensorSource& source, const LayerWeights& weights, double eps)
    : query(source, weights.query),
      key(source, weights.key),
      value(source, weights.value),
      attention_output(source, weights.attention_output),
      attention_norm(source, weights.attention_norm, eps),
      feed_forward_in(source, weights.feed_forward_in),
      feed_forward_out(source, weights.feed_forward_out),
      feed_forward_norm(source, weights.feed_forward_norm, eps) {
  if (weights.attention_scale != nullptr) attention_scale = source.get(*weights.attention_scale);
  if (weights.feed_forward_scale != nullptr) feed_forward_scale = source.get(*weights.feed_forward_scale);
}

ImageTensors::ImageTensors(TensorSource& source, const ImageWeights& weights)
    : class_token(source.get(*weights.class_token)),
      patches(source, weights.patches),
      position(source.get(*weights.position)) {
  if (weights.distillation_token != nullptr) distillation_token = source.get(*weights.distillation_token);
  if (weights.register_tokens != nullptr) register_tokens = source.get(*weights.register_tokens);
}

EncoderTensors::EncoderTensors(TensorSource& source, const EncoderWeights& weights) {
  const double eps = weights.config.norm_eps;
  if (weights.image) image.emplace(source, *weights.image);
  if (weights.word_embedding != nullptr) word_embedding = source.get(*weights.word_embedding);
  if (weights.position_embedding != nullptr) position_embedding = source.get(*weights.position_embedding);
  if (weights.token_type_embedding != nullptr) token_type_embedding = source.get(*weights.token_type_embedding);
  if (weights.embedding_norm) embedding_norm.emplace(source, *weights.embedding_norm, eps);
  if (weights.embedding_projection) embedding_projection.emplace(source, *weights.embedding_projection);

  std::map<const LayerWeights*, std::size_t> place;
  for (const LayerWeights& one : weights.layers) {
    place[&one] = layers.size();
    layers.emplace_back(source, one, eps);
  }
  for (std::size_t index = 0; index < weights.config.layers; ++index) {
    layer_order.push_back(place[&weights.layer(index)]);
  }
  if (weights.final_norm) final_norm.emplace(source, *weights.final_norm, eps);

  if (weights.masked_lm) {
    head_activation = weights.masked_lm->activation;
    head_dense = Linear(source, weights.masked_lm->dense);
    head_norm = Norm(source, weights.masked_lm->norm, eps);
    head_output = Linear(source, weights.masked_lm->decoder);
  } else if (weights.classifier) {
    head_activation = weights.classifier->activation;
    if (weights.classifier->dense) head_dense = Linear(source, *weights.classifier->dense);
    head_output = Linear(source, weights.classifier->output);
    if (weights.classifier->second) head_second = Linear(source, *weights.classifier->second);
  }
}

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

}  // namespace attnflow::internal
