#include "attnflow/model/torch/batch_forward.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/image_embedding.h"

namespace attnflow::internal {

Dropout::Dropout(double probability, std::uint64_t seed)
    : probability_(probability), generator_(at::detail::createCPUGenerator(seed)) {}

at::Tensor Dropout::operator()(const at::Tensor& x) {
  if (probability_ <= 0.0) return x;
  const double kept = 1.0 - probability_;
  const at::Tensor mask = at::empty(x.sizes(), x.options().requires_grad(false)).bernoulli_(kept, generator_);
  return x * mask.mul_(1.0 / kept);
}

PaddedBatch make_batch(const ModelConfig& config, std::span<const std::int64_t> ids,
                       std::span<const std::int64_t> type_ids, std::span<const std::size_t> lengths, std::size_t length,
                       at::Device device) {
  const std::size_t rows = lengths.size();
  std::vector<std::int64_t> positions(rows * length, 0);
  std::vector<float> mask(rows * length, 0.0F);
  bool padded = false;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<std::int64_t> row = position_ids(config, ids.subspan(r * length, lengths[r]));
    std::copy(row.begin(), row.end(), positions.begin() + to_signed(r * length));
    if (lengths[r] == length) continue;
    padded = true;
    std::fill(mask.begin() + to_signed(r * length + lengths[r]), mask.begin() + to_signed((r + 1) * length),
              -std::numeric_limits<float>::infinity());
  }
  const std::vector<std::int64_t> shape = {to_signed(rows), to_signed(length)};
  const auto indices = [&](std::span<const std::int64_t> values) {
    return at::tensor(at::ArrayRef<std::int64_t>(values.data(), values.size()), at::TensorOptions(at::kLong))
        .view(shape)
        .to(device);
  };
  PaddedBatch batch;
  batch.ids = indices(ids);
  if (!type_ids.empty()) batch.type_ids = indices(type_ids);
  batch.position_ids = indices(positions);
  if (padded) batch.mask = at::tensor(mask).view({shape[0], 1, 1, shape[1]}).to(device);
  return batch;
}

PaddedBatch make_batch(std::span<const float> pixels, const std::vector<std::int64_t>& shape, at::Device device) {
  PaddedBatch batch;
  batch.pixels = at::empty(shape, at::TensorOptions(at::kFloat));
  std::copy(pixels.begin(), pixels.end(), batch.pixels.data_ptr<float>());
  batch.pixels = batch.pixels.to(device);
  return batch;
}

at::Tensor BatchEncoder::embed(const PaddedBatch& batch) const {
  if (batch.pixels.defined()) {
    const ImageInfo& image = *config_.image;
    const Linear map = patch_map(*tensors_.image);
    const at::Tensor patches = at::linear(cut_patches(image, batch.pixels), map.weight, map.bias);
    return join_tokens(config_, *tensors_.image, patches, batch.pixels.size(2) / to_signed(image.patch_height),
                       batch.pixels.size(3) / to_signed(image.patch_width));
  }
  at::Tensor x = at::embedding(tensors_.word_embedding, batch.ids);
  if (const at::Tensor& types = tensors_.token_type_embedding; types.defined()) {
    x = x + (batch.type_ids.defined() && config_.token_types > 1 ? at::embedding(types, batch.type_ids) : types[0]);
  }
  x = x + at::embedding(tensors_.position_embedding, batch.position_ids);
  return tensors_.embedding_norm ? (*tensors_.embedding_norm)(x) : x;
}

at::Tensor BatchEncoder::encode(const at::Tensor& embedding, const at::Tensor& mask, Dropout* dropout) const {
  at::Tensor x = project(dropout != nullptr ? (*dropout)(embedding) : embedding);
  for (std::size_t index = 0; index < config_.layers; ++index) x = run_layer(index, x, mask, dropout);
  return finish(x);
}

at::Tensor BatchEncoder::project(const at::Tensor& embedding) const {
  const auto& projection = tensors_.embedding_projection;
  return projection ? at::linear(embedding, projection->weight, projection->bias) : embedding;
}

at::Tensor BatchEncoder::run_layer(std::size_t index, const at::Tensor& x, const at::Tensor& mask, Dropout* dropout,
                                   at::Tensor* weights) const {
  const auto drop = [&](const at::Tensor& added) { return dropout != nullptr ? (*dropout)(added) : added; };
  const EncoderLayer& layer = tensors_.layer(index);
  if (config_.architecture->norm_place == NormPlace::kBefore) {
    const at::Tensor mixed = x + drop(mix_positions(layer, layer.attention_norm(x), mask, weights));
    return mixed + drop(feed_forward(layer, layer.feed_forward_norm(mixed)));
  }
  const at::Tensor mixed = layer.attention_norm(x + drop(mix_positions(layer, x, mask, weights)));
  return layer.feed_forward_norm(mixed + drop(feed_forward(layer, mixed)));
}

at::Tensor BatchEncoder::finish(const at::Tensor& x) const {
  return tensors_.final_norm ? (*tensors_.final_norm)(x) : x;
}

at::Tensor BatchEncoder::mix_positions(const EncoderLayer& layer, const at::Tensor& x, const at::Tensor& mask,
                                       at::Tensor* weights) const {
  const std::int64_t rows = x.size(0);
  const std::int64_t length = x.size(1);
  const std::int64_t heads = to_signed(config_.heads);
  const std::int64_t width = to_signed(config_.hidden) / heads;
  const auto by_head = [&](const Linear& linear) {  // [B, head, T, width]
    return at::linear(x, linear.weight, linear.bias).view({rows, length, heads, width}).transpose(1, 2);
  };
  const at::Tensor query = by_head(layer.query) * (1.0 / std::sqrt(static_cast<double>(width)));
  at::Tensor scores = at::matmul(query, by_head(layer.key).transpose(2, 3));
  if (mask.defined()) scores = scores + mask;
  const at::Tensor attention = at::softmax(scores, -1);
  if (weights != nullptr) *weights = attention;
  const at::Tensor context = at::matmul(attention, by_head(layer.value));
  const at::Tensor joined = context.transpose(1, 2).reshape({rows, length, heads * width});
  const at::Tensor mixed = at::linear(joined, layer.attention_output.weight, layer.attention_output.bias);
  return layer.attention_scale.defined() ? mixed * layer.attention_scale : mixed;
}

at::Tensor BatchEncoder::feed_forward(const EncoderLayer& layer, const at::Tensor& x) const {
  at::Tensor inner = at::linear(x, layer.feed_forward_in.weight, layer.feed_forward_in.bias);
  if (config_.gated) {
    const std::int64_t width = inner.size(2) / 2;
    inner = at::silu(inner.narrow(2, 0, width)) * inner.narrow(2, width, width);
  } else {
    inner = activate(inner, config_.activation);
  }
  const at::Tensor result = at::linear(inner, layer.feed_forward_out.weight, layer.feed_forward_out.bias);
  return layer.feed_forward_scale.defined() ? result * layer.feed_forward_scale : result;
}

at::Tensor BatchEncoder::classify(const at::Tensor& hidden) const {
  at::Tensor x = hidden.select(1, 0);
  if (config_.architecture->classifier.input == ClassifierInput::kFirstTokenAndPatches) {
    const std::int64_t leading = to_signed(config_.image->leading.size());
    x = at::cat({x, hidden.narrow(1, leading, hidden.size(1) - leading).mean(1)}, 1);
  }
  if (tensors_.head_dense.weight.defined()) {
    x = activate(at::linear(x, tensors_.head_dense.weight, tensors_.head_dense.bias), tensors_.head_activation);
  }
  const at::Tensor logits = at::linear(x, tensors_.head_output.weight, tensors_.head_output.bias);
  const Linear& second = tensors_.head_second;
  return second.weight.defined() ? (logits + at::linear(hidden.select(1, 1), second.weight, second.bias)) / 2 : logits;
}

at::Tensor BatchEncoder::predict_tokens(const at::Tensor& hidden, const at::Tensor& positions) const {
  const at::Tensor chosen = at::index_select(hidden.reshape({-1, hidden.size(2)}), 0, positions);
  const at::Tensor dense =
      activate(at::linear(chosen, tensors_.head_dense.weight, tensors_.head_dense.bias), tensors_.head_activation);
  return at::linear(tensors_.head_norm(dense), tensors_.head_output.weight, tensors_.head_output.bias);
}

std::vector<std::vector<std::size_t>> group_by_length(const ModelInfo& info, std::span<const ModelInput> inputs,
                                                      std::size_t max_tokens) {
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::size_t> lengths;
  for (const ModelInput& input : inputs) lengths.push_back(input_tokens(info, input));
  const auto length = [&](std::size_t i) { return lengths[i]; };
  const auto size = [&](std::size_t i) -> const Shape& { return inputs[i].pixels.shape(); };  // texts: all the same
  // Longest first, so that the largest batches do not come last; pictures of one size side by side.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return length(a) != length(b) ? length(a) > length(b) : size(a) > size(b);
  });
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t i : order) {
    if (groups.empty() || (groups.back().size() + 1) * length(groups.back().front()) > max_tokens ||
        size(i) != size(groups.back().front())) {
      groups.emplace_back();
    }
    groups.back().push_back(i);
  }
  return groups;
}

}  // namespace attnflow::internal
