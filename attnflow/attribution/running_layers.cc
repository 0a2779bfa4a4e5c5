#include "attnflow/attribution/running_layers.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "attnflow/base/format_error.h"
#include "attnflow/graph/attention_stack.h"

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

RunningLayers::RunningLayers(RunningOptions options)
    : options_(std::move(options)),
      running_(MixingOptions{.residual = options_.residual}, RolloutSink::LayerFunction{}, options_.threads) {
  std::sort(options_.layers.begin(), options_.layers.end());
}

void RunningLayers::add(TensorView<const float> attention) {
  add_fused(attention.extent(0), fuse_heads(attention, options_.fusion).view(), is_causal(attention));
}

void RunningLayers::add(TensorView<const double> attention) {
  add_fused(attention.extent(0), fuse_heads(attention, options_.fusion).view(), is_causal(attention));
}

void RunningLayers::add_fused(std::size_t heads, TensorView<const double> weights, bool causal) {
  const std::size_t layer = layers() + 1;
  const std::size_t n = weights.extent(0);
  if (weights.extent(1) != n) {
    throw internal::file_error(
        "expected a layer of shape [head, query, key] with as many queries as keys, found {} and "
        "{} in layer {}",
        n, weights.extent(1), layer);
  }
  if (layer > 1 && (n != tokens_ || heads != heads_)) {
    throw internal::file_error("expected layers of one shape, {} heads and {} tokens, found {} and {} in layer {}",
                               heads_, tokens_, heads, n, layer);
  }
  heads_ = heads;
  tokens_ = n;
  causal_ = causal_ && causal;
  std::vector<double>& first = first_.emplace_back(n);
  for (std::size_t q = 0; q < n; ++q) first[q] = weights(q, 0);
  const bool last_alone = options_.layers.empty();
  const std::size_t wanted = last_alone ? 1 : options_.layers.size();
  const std::optional<std::size_t> place = last_alone ? std::size_t{0} : place_of(options_.layers, layer);
  if (options_.raw && place) keep_matrix(weights, *place, wanted, raw_);
  if (!options_.rollout || layer <= options_.start_layer) return;
  if (!last_alone && layer > options_.layers.back()) return;
  running_.fused_layer(layer, weights);
  if (last_alone) rollout_ = {};  // belongs to the previous layer
  if (place && !last_alone) keep_matrix(running_.result().view(), *place, wanted, rollout_);
}

std::vector<double> RunningLayers::on_first(std::size_t position) const {
  std::vector<double> weights;
  for (const std::vector<double>& layer : first_) weights.push_back(layer.at(position));
  return weights;
}

std::vector<std::size_t> RunningLayers::kept_layers() const {
  return options_.layers.empty() ? std::vector{layers()} : options_.layers;
}

Tensor<double>& RunningLayers::kept(Method method, const RowQuestion& question) {
  if (method == Method::kRaw) return raw_;
  if (question.start_layer != options_.start_layer || question.layers.front() <= options_.start_layer) {
    throw internal::usage_error(
        "rollout: expected layers above {}, where the running product of the layers begins, found "
        "layer {} from {}",
        options_.start_layer, question.layers.front(), question.start_layer);
  }
  if (options_.layers.empty() && rollout_.empty() && !running_.result().empty()) {
    keep_matrix(running_.result().view(), 0, 1, rollout_);
  }
  return rollout_;
}

GivenRows RunningLayers::rows() {
  const auto row_of = [this](Method method) -> GivenRows::Row {
    return [this, method](const RowQuestion& question, std::size_t layer, std::size_t position) {
      const Tensor<double>& values = kept(method, question);
      const std::optional<std::size_t> place = place_of(kept_layers(), layer);
      if (!place || values.empty() || layer > layers()) {
        throw internal::usage_error(
            "{}: expected a layer whose matrix was kept as the layers arrived and has not been "
            "taken since, found layer {}",
            to_text(method), layer);
      }
      return std::span<const double>(values[*place][position].data(), tokens_);
    };
  };
  return {.layers = layers(),
          .tokens = tokens_,
          .columns = tokens_,
          .raw = row_of(Method::kRaw),
          .rollout = row_of(Method::kRollout),
          .uniform = [this] { return uniform(); },
          .whole =
              [this](Method method, const RowQuestion& question) {
                Tensor<double>& values = kept(method, question);
                return question.layers == kept_layers() ? std::exchange(values, {}) : Tensor<double>();
              }};
}

std::unique_ptr<AttentionSource> RunningLayers::uniform() const {
  const auto even = std::make_shared<RunningLayers>(options_);
  const AttentionGraph graph = uniform_graph(1, tokens_, causal_, options_.residual);
  for (std::size_t l = 0; l < layers(); ++l) even->add_fused(heads_, graph.weights[0], causal_);
  GivenRows rows = even->rows();
  rows.uniform = [even] { return even->uniform(); };  // keeps them
  return std::make_unique<RowsSource>(std::move(rows));
}

}  // namespace attnflow
