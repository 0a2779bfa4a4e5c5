#include "attnflow/model/llama/capture.h"

#include <fmt/format.h>
#include <ggml-backend.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "attnflow/base/parse_number.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/llama/replay.h"

namespace attnflow {
namespace {

constexpr std::string_view kWeightsName = "kq_soft_max-";
constexpr std::string_view kScoresName = "kq-";
// Float32 sums of thousands of weights stay within 1e-5 of 1.
constexpr double kSumTolerance = 1e-3;

// The layer number (from 0) after `prefix`.
std::optional<std::size_t> layer_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  return internal::parse_number(name);
}

// Uses several running sums, which vector instructions process in parallel.
double sum_of(const float* values, std::size_t count) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  double sum = 0.0;
  for (const float lane : lanes) sum += lane;
  for (; i < count; ++i) sum += values[i];
  return sum;
}

}  // namespace

void AttentionCapture::refuse(const std::string& found) const {
  internal::fail(ErrorKind::kUnsupportedModel,
                 "{}: expected a model with softmax attention over the tokens in every layer and head, found {}",
                 source_, found);
}

void AttentionCapture::check_terms() const {
  if (terms_.problem().empty()) return;
  internal::fail(ErrorKind::kUnsupportedModel,
                 "{}: expected layers whose attention is projected and added to the residual stream, found {}: "
                 "contributions cannot be read out of this model. --mixing attention works; for models of the "
                 "Llama, Qwen2 and GPT-2 families, attnflow model FILE.gguf -o FOLDER writes a folder, which has "
                 "contributions",
                 source_, terms_.problem());
}

void AttentionCapture::begin(AttentionSink* sink, ScoreRecorder* recorder, std::size_t query_begin,
                             std::size_t queries) {
  sink_ = sink;
  recorder_ = recorder;
  query_begin_ = query_begin;
  queries_ = queries;
  layers_seen_ = 0;
  error_ = nullptr;
  follows_terms_ = sends_terms() || (trying_terms_ && sink_ != nullptr);
  if (follows_terms_) terms_.begin(query_begin, queries);
}

void AttentionCapture::end(std::size_t layers) {
  const bool captured = sink_ != nullptr || recorder_ != nullptr;
  const bool wanted_terms = sends_terms();
  sink_ = nullptr;
  recorder_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  if (captured && layers_seen_ != layers) {
    refuse(
        fmt::format("attention in {} of its {} layers; recurrent layers and the like have none", layers_seen_, layers));
  }
  if (std::exchange(follows_terms_, false)) terms_.end(layers);
  if (wanted_terms) check_terms();
}

bool AttentionCapture::is_wanted(const ggml_tensor& node) {
  if (error_ || (sink_ == nullptr && recorder_ == nullptr)) return false;
  if (node.op == GGML_OP_SOFT_MAX) return std::string_view(node.name).starts_with(kWeightsName);
  if (follows_terms_) {
    if (terms_.is_wanted(node)) return true;
    if (!terms_.problem().empty()) {
      follows_terms_ = false;
      if (sends_terms()) check_terms();
    }
  }
  return recorder_ != nullptr && node.op == GGML_OP_MUL_MAT && layer_of(node.name, kScoresName).has_value();
}

bool AttentionCapture::callback(ggml_tensor* node, bool ask, void* self) {
  auto& capture = *static_cast<AttentionCapture*>(self);
  // The library's frames are between here and the caller, so exceptions wait in error_ until they return.
  try {
    if (ask) return capture.is_wanted(*node);
    if (!capture.error_) capture.receive(*node);
  } catch (...) {
    capture.error_ = std::current_exception();
    if (ask) return true;  // so that it stops after this node
  }
  return !capture.error_;
}

void AttentionCapture::receive(const ggml_tensor& node) {
  if (node.op == GGML_OP_SOFT_MAX) {
    const auto layer = layer_of(node.name, kWeightsName);
    if (!layer || *layer != layers_seen_) {
      refuse(fmt::format("\"{}\" where layer {} was expected", std::string_view(node.name), layers_seen_ + 1));
    }
    receive_weights(++layers_seen_, node);
  } else if (follows_terms_ && terms_.receive(node)) {
    if (sends_terms()) sink_->terms(terms_.terms());
  } else if (recorder_ != nullptr && layer_of(node.name, kScoresName)) {
    recorder_->scores(*layer_of(node.name, kScoresName) + 1, node);
  }
}

void AttentionCapture::receive_weights(std::size_t layer, const ggml_tensor& node) {
  const std::size_t keys = query_begin_ + queries_;
  const auto cells = static_cast<std::size_t>(node.ne[0]);
  const auto heads = static_cast<std::size_t>(node.ne[2]);
  const bool layout =
      node.type == GGML_TYPE_F32 && ggml_is_contiguous(&node) && node.ne[3] == 1 && node.data != nullptr;
  if (!layout || cells < keys || static_cast<std::size_t>(node.ne[1]) != queries_ || heads == 0) {
    refuse(
        fmt::format("attention of another layout in layer {}: {} of shape [{}, {}, {}, {}] for {} queries and {} "
                    "keys",
                    layer, ggml_type_name(node.type), node.ne[3], node.ne[2], node.ne[1], node.ne[0], queries_, keys));
  }
  if (heads_ == 0) heads_ = heads;
  if (heads != heads_) refuse(fmt::format("{} heads in layer {} and {} in the first", heads, layer, heads_));

  const std::size_t rows = heads * queries_;
  values_.resize(rows * keys);
  const bool has_sink = softmax_sinks(node) != nullptr;
  const auto* from = static_cast<const float*>(node.data);
  for (std::size_t row = 0; row < rows; ++row) {
    float* const to = values_.data() + row * keys;
    std::memcpy(to, from + row * cells, keys * sizeof(float));
    const double sum = sum_of(to, keys);
    const double missing = 1.0 - sum;
    if (!(missing >= -kSumTolerance && (has_sink || missing <= kSumTolerance))) {
      refuse(fmt::format(
          "weights of layer {} whose sum is {:.4f} and not 1: part of its attention goes to keys that are not kept in "
          "order",
          layer, sum));
    }
    const std::size_t position = query_begin_ + row % queries_;
    if (position + 1 < keys && std::any_of(to + position + 1, to + keys, [](float weight) { return weight != 0.0F; }))
      refuse(fmt::format("tokens that attend to later ones in layer {}: it is not a decoder", layer));
  }
  const TensorView<const float> attention(values_.data(), {heads, queries_, keys});
  if (recorder_ != nullptr) recorder_->weights(layer, node, attention);
  if (follows_terms_) terms_.weights(layer, node, attention);
  if (sink_ != nullptr && !sends_terms()) sink_->layer(layer, query_begin_, attention);
}

}  // namespace attnflow
