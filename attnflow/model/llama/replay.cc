#include "attnflow/model/llama/replay.h"

#include <fmt/format.h>
#include <ggml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "attnflow/model/fail.h"
#include "attnflow/model/llama/library.h"

namespace attnflow {
namespace {

// Difference between weights from the same operations for one row and for a chunk of rows.
constexpr double kReplayTolerance = 1e-4;

constexpr std::size_t kScaleParameters = 2;  // for GGML_OP_SCALE and GGML_OP_SOFT_MAX, both float32
using Parameters = std::array<float, kScaleParameters>;

Parameters parameters_of(const ggml_tensor& node) {
  Parameters values{};
  std::memcpy(values.data(), node.op_params, sizeof(values));
  return values;
}

bool is_plain_scale(const ggml_tensor* node) {
  return node != nullptr && node->op == GGML_OP_SCALE && parameters_of(*node)[1] == 0.0F;
}

std::size_t extent(const ggml_tensor& tensor, std::size_t dimension) {
  return static_cast<std::size_t>(tensor.ne[dimension]);
}

}  // namespace

void ScoreRecorder::refuse(std::size_t layer, const std::string& found) const {
  internal::fail(ErrorKind::kUnsupportedModel,
                 "{}: expected a model whose attention can be computed again from its queries and keys, found {} "
                 "in layer {}; use a shorter text, whose attention fits in memory",
                 source_, found, layer);
}

const ggml_tensor* softmax_sinks(const ggml_tensor& node) { return node.src[2]; }

void ScoreRecorder::scores(std::size_t layer, const ggml_tensor& node) {
  if (layer == 0 || layer > layers_.size()) refuse(layer, "scores of a layer that does not exist");
  LayerScores& scores = layers_[layer - 1];
  const ggml_tensor* const keys = node.src[0];
  const ggml_tensor* const queries = node.src[1];
  if (keys == nullptr || queries == nullptr || keys->type != GGML_TYPE_F32 || queries->type != GGML_TYPE_F32 ||
      keys->nb[0] != sizeof(float) || queries->nb[0] != sizeof(float) || keys->ne[3] != 1 || queries->ne[3] != 1 ||
      keys->data == nullptr || queries->data == nullptr) {
    refuse(layer, "queries or keys in another layout");
  }
  const ggml_tensor* const cache = keys->view_src;
  if (cache == nullptr || !std::string_view(cache->name).starts_with("cache_"))
    refuse(layer, "keys that are not kept in the cache");
  scores.keys = static_cast<const char*>(keys->data);
  scores.key_step = keys->nb[1];
  scores.head_step = keys->nb[2];
  scores.key_heads = extent(*keys, 2);
  scores.width = extent(*keys, 0);
  scores.heads = extent(*queries, 2);

  const std::size_t count = extent(*queries, 1);
  std::vector<float>& to = scores.queries;
  const std::size_t old_size = to.size();
  to.resize(old_size + count * scores.heads * scores.width);
  for (std::size_t query = 0; query < count; ++query) {
    for (std::size_t head = 0; head < scores.heads; ++head) {
      std::memcpy(to.data() + old_size + (query * scores.heads + head) * scores.width,
                  static_cast<const char*>(queries->data) + query * queries->nb[1] + head * queries->nb[2],
                  scores.width * sizeof(float));
    }
  }
}

void ScoreRecorder::weights(std::size_t layer, const ggml_tensor& node, TensorView<const float> attention) {
  LayerScores& scores = layers_.at(layer - 1);
  const std::size_t queries = attention.extent(1);
  const std::size_t end = attention.extent(2);
  const std::size_t begin = end - queries;

  const Parameters softmax = parameters_of(node);
  scores.scale = softmax[0];
  if (softmax[1] != 0.0F) refuse(layer, "scores that a slope lowers by distance (ALiBi)");
  scores.sinks.clear();
  if (const ggml_tensor* const sinks = softmax_sinks(node)) {
    if (sinks->type != GGML_TYPE_F32 || sinks->data == nullptr || extent(*sinks, 0) != scores.heads)
      refuse(layer, "learned sinks in another layout");
    const auto* const from = static_cast<const float*>(sinks->data);
    scores.sinks.assign(from, from + scores.heads);
  }
  const ggml_tensor* source = node.src[0];
  scores.caps.clear();
  if (is_plain_scale(source)) {
    const ggml_tensor* const tanh = source->src[0];
    const bool capped = tanh != nullptr && tanh->op == GGML_OP_UNARY && ggml_get_unary_op(tanh) == GGML_UNARY_OP_TANH &&
                        is_plain_scale(tanh->src[0]);
    if (!capped) refuse(layer, "an unknown operation on scores");
    scores.caps = {parameters_of(*tanh->src[0])[0], parameters_of(*source)[0]};
    source = tanh->src[0]->src[0];
  }
  if (source == nullptr || source->op != GGML_OP_MUL_MAT) refuse(layer, "an unknown operation on scores");
  if (scores.heads * scores.width == 0 || scores.queries.size() != end * scores.heads * scores.width)
    refuse(layer, "attention without scores before it");

  const ggml_tensor* const mask = node.src[1];
  if (mask == nullptr || mask->type != GGML_TYPE_F32 || mask->data == nullptr || extent(*mask, 0) < end ||
      extent(*mask, 1) < queries) {
    refuse(layer, "a mask in another layout");
  }
  for (std::size_t query = 0; query < queries; ++query) {
    const auto* const row = reinterpret_cast<const float*>(static_cast<const char*>(mask->data) + query * mask->nb[1]);
    const float* const last = row + begin + query + 1;
    const float* const first = std::find(row, last, 0.0F);
    if (first == last || !std::all_of(first, last, [](float value) { return value == 0.0F; }))
      refuse(layer, "queries that see the tokens before them with gaps");
    scores.first.push_back(static_cast<std::uint32_t>(first - row));
  }

  std::vector<float> again;
  compute_rows(scores, end - 1, end, 1, nullptr, again);
  for (std::size_t head = 0; head < scores.heads; ++head) {
    const TensorView<const float> matrix = attention[head];
    for (std::size_t key = 0; key < end; ++key) {
      const double difference = std::abs(double{again[head * end + key]} - double{matrix(queries - 1, key)});
      if (!(difference <= kReplayTolerance)) {
        refuse(layer, fmt::format("weights that differ by {:.2g} when they are computed again", difference));
      }
    }
  }
}

void compute_rows(const LayerScores& layer, std::size_t query_begin, std::size_t query_end, int thread_count,
                  ggml_threadpool* threads, std::vector<float>& rows) {
  const std::size_t queries = query_end - query_begin;
  const auto size = [](std::size_t count) { return static_cast<std::int64_t>(count); };
  constexpr std::size_t kNodes = 16;
  const GgmlContextHandle context = make_ggml_context(kNodes);

  ggml_tensor* const keys =
      ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, size(layer.width), size(query_end), size(layer.key_heads));
  keys->data = const_cast<char*>(layer.keys);
  keys->nb[1] = layer.key_step;
  keys->nb[2] = layer.head_step;
  keys->nb[3] = layer.head_step * layer.key_heads;
  ggml_tensor* const asked =
      ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, size(layer.width), size(queries), size(layer.heads));
  asked->data = const_cast<float*>(layer.queries.data() + query_begin * layer.heads * layer.width);
  asked->nb[1] = layer.heads * layer.width * sizeof(float);
  asked->nb[2] = layer.width * sizeof(float);
  asked->nb[3] = asked->nb[1] * queries;

  std::vector<float> mask(queries * query_end, -std::numeric_limits<float>::infinity());
  for (std::size_t query = 0; query < queries; ++query) {
    const std::size_t position = query_begin + query;
    float* const row = mask.data() + query * query_end;
    std::fill(row + layer.first[position], row + position + 1, 0.0F);
  }
  ggml_tensor* const masked = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, size(query_end), size(queries));
  masked->data = mask.data();

  rows.resize(layer.heads * queries * query_end);
  ggml_tensor* node = ggml_mul_mat(context.get(), keys, asked);
  node->data = rows.data();
  if (!layer.caps.empty()) {
    node = ggml_scale_inplace(context.get(), node, layer.caps[0]);
    node = ggml_tanh_inplace(context.get(), node);
    node = ggml_scale_inplace(context.get(), node, layer.caps[1]);
  }
  node = ggml_soft_max_ext_inplace(context.get(), node, masked, layer.scale, 0.0F);
  if (!layer.sinks.empty()) {
    ggml_tensor* const sinks = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, size(layer.heads));
    sinks->data = const_cast<float*>(layer.sinks.data());
    ggml_soft_max_add_sinks(node, sinks);
  }
  compute_again(context.get(), kNodes, node, thread_count, threads, "attention");
}

void LlamaReplay::rows(std::size_t layer, std::size_t query_begin, std::size_t query_end, AttentionSink& sink) {
  if (*now_ != made_) {
    throw Error(ErrorKind::kUsage,
                "expected the decoder to hold the sequence that is replayed, found that it has been used since; run it "
                "again");
  }
  if (layer == 0 || layer > layers() || query_begin >= query_end || query_end > tokens()) {
    internal::fail(ErrorKind::kUsage, "expected a layer from 1 to {} and rows below {}, found layer {}, rows {} to {}",
                   layers(), tokens(), layer, query_begin, query_end);
  }
  compute_rows(layers_[layer - 1], query_begin, query_end, thread_count_, threads_, rows_);
  sink.layer(layer, query_begin, TensorView<const float>(rows_.data(), {heads(), query_end - query_begin, query_end}));
}

}  // namespace attnflow
