#include "attnflow/attribution/running_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "attnflow/attribution/question_rows.h"
#include "attnflow/base/error.h"

namespace attnflow {
namespace {

std::optional<std::size_t> place_of(const std::vector<std::size_t>& layers, std::size_t layer) {
  const auto found = std::find(layers.begin(), layers.end(), layer);
  if (found == layers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - layers.begin());
}

void keep_matrix(TensorView<const double> matrix, std::size_t place, std::size_t layers, Tensor<double>& kept) {
  if (kept.empty()) kept = Tensor<double>({layers, matrix.extent(0), matrix.extent(1)});
  std::copy_n(matrix.data(), matrix.size(), kept[place].data());
}

}  // namespace

RunningSource::RunningSource(RunningOptions options)
    : options_(std::move(options)),
      running_(MixingOptions{.residual = options_.residual}, RolloutSink::LayerFunction{}, options_.threads) {
  std::sort(options_.layers.begin(), options_.layers.end());
}

void RunningSource::add(Tensor<double> weights, bool causal) {
  if (weights.rank() != 2 || weights.extent(0) != weights.extent(1)) {
    throw Error(ErrorKind::kBadFile, fmt::format("expected a layer of shape [tokens, tokens], found {} for layer {}",
                                                 shape_to_string(weights.shape()), layers() + 1));
  }
  const std::size_t n = weights.extent(0);
  if (tokens_ != 0 && n != tokens_) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("expected layers of one shape, {} tokens, found {} in layer {}", tokens_, n, layers() + 1));
  }
  tokens_ = n;
  causal_ = causal_ && causal;
  std::vector<double>& first = first_.emplace_back(n);
  for (std::size_t q = 0; q < n; ++q) first[q] = weights(q, 0);
  const std::size_t layer = layers();
  const bool last_alone = options_.layers.empty();
  const std::size_t wanted = last_alone ? 1 : options_.layers.size();
  const std::optional<std::size_t> place = last_alone ? std::size_t{0} : place_of(options_.layers, layer);
  if (options_.raw && place) keep_matrix(weights.view(), *place, wanted, raw_);
  if (!options_.rollout || layer <= options_.start_layer) return;
  if (!last_alone && layer > options_.layers.back()) return;
  running_.fused_layer(layer, weights.view());
  if (last_alone) rollout_ = {};  // belongs to the previous layer
  if (place && !last_alone) keep_matrix(running_.result().view(), *place, wanted, rollout_);
}

std::vector<double> RunningSource::on_first(std::size_t position) const {
  std::vector<double> weights;
  for (const std::vector<double>& layer : first_) weights.push_back(layer.at(position));
  return weights;
}

Tensor<double> RunningSource::rows_of(const RowQuestion& question, Tensor<double>& kept, const char* what) const {
  const std::vector<std::size_t> layers = options_.layers.empty() ? std::vector{this->layers()} : options_.layers;
  if (kept.rank() == 3 && question.layers == layers && internal::is_every(question.positions, tokens_)) {
    return std::exchange(kept, {});
  }
  return internal::rows_of(question, tokens_, [&](std::size_t layer, std::size_t position) {
    const std::optional<std::size_t> place = place_of(layers, layer);
    if (!place || kept.empty() || layer > this->layers()) {
      throw Error(ErrorKind::kUsage, fmt::format("{}: expected a layer whose matrix was kept as the layers arrived and "
                                                 "has not been taken since, found layer {}",
                                                 what, layer));
    }
    return std::span<const double>(kept[*place][position].data(), tokens_);
  });
}

Tensor<double> RunningSource::raw(const RowQuestion& question, const AttributeOptions&) {
  return rows_of(question, raw_, "raw");
}

Tensor<double> RunningSource::rollout(const RowQuestion& question, const AttributeOptions&) {
  if (question.start_layer != options_.start_layer || question.layers.front() <= options_.start_layer) {
    throw Error(ErrorKind::kUsage, fmt::format("rollout: expected layers above {}, where the running product of the "
                                               "layers begins, found layer {} from {}",
                                               options_.start_layer, question.layers.front(), question.start_layer));
  }
  if (options_.layers.empty() && rollout_.empty() && !running_.result().empty()) {
    keep_matrix(running_.result().view(), 0, 1, rollout_);
  }
  return rows_of(question, rollout_, "rollout");
}

FlowResult RunningSource::flow(const RowQuestion&, const TokenGroups*, double, const AttributeOptions&) {
  throw Error(ErrorKind::kUsage, "flow: expected the matrices of all layers, found only the product of the layers");
}

std::unique_ptr<AttentionSource> RunningSource::uniform() const {
  auto source = std::make_unique<RunningSource>(options_);
  const AttentionGraph graph = uniform_graph(1, tokens_, causal_, options_.residual);
  const std::span<const double> weights = graph.weights.span();
  for (std::size_t l = 0; l < layers(); ++l) {
    source->add(Tensor<double>({tokens_, tokens_}, {weights.begin(), weights.end()}), causal_);
  }
  return source;
}

}  // namespace attnflow
