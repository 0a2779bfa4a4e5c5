#include "attnflow/attribution/graph_arcs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/base/figures.h"
#include "attnflow/rollout/capacity_rollout.h"

namespace attnflow {

constexpr std::size_t kMaxArcs = internal::figures::kMaxArcs;
constexpr std::size_t kArcsPerNode = internal::figures::kArcsPerNode;
constexpr double kWeakestArc = internal::figures::kWeakestArc;

namespace {

// A_k[p, q]; over relevance, the share of what p passes on that goes to q.
class MixedWeights {
 public:
  MixedWeights(const DrawnWeights& weights, const Settings& settings, std::size_t top_layer, Method method)
      : layers_(weights.layers), raw_(weights.raw), residual_(settings.residual), top_layer_(top_layer) {
    const std::size_t n = layers_.extent(2);
    ResidualRule rule = mixing_info(settings.mixing).rule;
    if (rule == ResidualRule::kContainedNormalized && method != Method::kFlow) {
      carried_.emplace(layers_, top_layer, settings.start_layer);
      return;
    }
    // Published rollout's rows sum to more than 1, so shares would be indistinguishable from the identity.
    if (method == Method::kFlow || rule == ResidualRule::kAdded) rule = flow_rule(rule);
    if (rule != ResidualRule::kConvex) {
      std::vector<double> sums(layers_.size() / n, 0.0);
      for (std::size_t e = 0; e < layers_.size(); ++e) {
        if (std::isfinite(layers_.data()[e])) sums[e / n] += layers_.data()[e];
      }
      for (const double sum : sums) rows_.push_back(row_rule(rule, sum));
    }
    if (settings.heads.is_single() && settings.normalization == Normalization::kNone && !raw_.empty()) {
      raw_rows_.assign(n, std::nullopt);
      for (std::size_t row = 0; row < weights.raw_positions.size(); ++row) raw_rows_[weights.raw_positions[row]] = row;
    }
  }

  // Returns the part of `mass` that a position passes on after a layer. Over relevance, masses are shares of what the
  // output tokens carry.
  double passed(std::size_t layer, std::size_t from, double mass) const {
    return carried_ ? std::min(mass, carried_->carried(layer, from) / scale_) : mass;
  }
  // For masses after the top layer: sets their unit to what the output tokens carry.
  void scale(std::vector<double>& mass) {
    if (!carried_) return;
    scale_ = 0.0;
    for (std::size_t p = 0; p < mass.size(); ++p) scale_ += mass[p] * carried_->carried(top_layer_, p);
    if (scale_ == 0.0) return;
    for (std::size_t p = 0; p < mass.size(); ++p) mass[p] *= carried_->carried(top_layer_, p) / scale_;
  }

  double operator()(std::size_t layer, std::size_t from, std::size_t to) const {
    if (carried_) return carried_->share(layer, from, to);
    double weight = layers_(layer - 1, from, to);
    if (!raw_rows_.empty() && layer == top_layer_ && raw_rows_[from]) weight = raw_(*raw_rows_[from], to);
    if (!std::isfinite(weight)) weight = 0.0;
    if (!rows_.empty()) {
      const RowRule& row = rows_[(layer - 1) * layers_.extent(1) + from];
      return (weight + (from == to ? row.identity : 0.0)) / row.divisor;
    }
    return (1.0 - residual_) * weight + (from == to ? residual_ : 0.0);
  }

 private:
  const TensorView<const double>& layers_;
  const TensorView<const double>& raw_;
  double residual_;
  std::size_t top_layer_;
  double scale_ = 1.0;
  std::optional<CapacityRollout> carried_ = {};            // over relevance, but for flow
  std::vector<std::optional<std::size_t>> raw_rows_ = {};  // by position; empty: raw values are not W
  std::vector<RowRule> rows_ = {};                         // [layer, query]; empty: ResidualRule::kConvex
};

struct Stronger {
  bool operator()(const GraphArc& a, const GraphArc& b) const {
    return std::tuple(-a.weight, a.layer, a.from, a.to) < std::tuple(-b.weight, b.layer, b.from, b.to);
  }
};

}  // namespace

GraphArcs graph_arcs(const DrawnWeights& weights, const Settings& settings, const ArcQuestion& question,
                     std::size_t max_arcs) {
  const std::size_t n = weights.layers.extent(2);
  if (question.layer <= settings.start_layer || question.layer > weights.layers.extent(0)) {
    throw Error(ErrorKind::kUsage, fmt::format("arcs: expected a layer from {} to {}, found {}",
                                               settings.start_layer + 1, weights.layers.extent(0), question.layer));
  }
  if (question.output_token.value_or(0) >= n) {
    throw Error(ErrorKind::kUsage,
                fmt::format("arcs: expected an output token below {}, found {}", n, *question.output_token));
  }
  MixedWeights mixed(weights, settings, question.layer, question.method);
  const bool by_share = question.method == Method::kRollout;
  std::vector<double> start(n, question.output_token ? 0.0 : 1.0 / static_cast<double>(n));
  if (question.output_token) start[*question.output_token] = 1.0;
  mixed.scale(start);

  const std::size_t per_node = question.arcs_per_node.value_or(n);
  // Calls `use` with all arcs of one node that may be shown.
  const auto visit = [&](auto&& use) {
    std::vector<double> mass = start;
    std::vector<GraphArc> node;
    for (std::size_t layer = question.layer; layer > settings.start_layer; --layer) {
      std::vector<double> below(n, 0.0);
      for (std::size_t p = 0; p < n; ++p) {
        const double passed = mixed.passed(layer, p, mass[p]);
        if (passed == 0.0) continue;
        node.clear();
        for (std::size_t q = 0; q < n; ++q) {
          const double weight = mixed(layer, p, q);
          if (weight <= 0.0) continue;
          below[q] += passed * weight;
          if (p == q && question.arcs_per_node) continue;
          node.push_back(GraphArc{by_share ? passed * weight : weight, layer, p, q});
        }
        use(node);
      }
      mass = std::move(below);
    }
  };
  GraphArcs arcs;
  visit([&](const std::vector<GraphArc>& node) {
    for (const GraphArc& arc : node) arcs.strongest = std::max(arcs.strongest, arc.weight);
  });
  // The top of the queue is the weakest arc kept so far.
  std::priority_queue<GraphArc, std::vector<GraphArc>, Stronger> kept;
  visit([&](std::vector<GraphArc>& node) {
    std::erase_if(node, [&](const GraphArc& arc) { return arc.weight < kWeakestArc * arcs.strongest; });
    const auto end = node.begin() + static_cast<std::ptrdiff_t>(std::min(per_node, node.size()));
    std::partial_sort(node.begin(), end, node.end(), Stronger{});
    for (auto arc = node.begin(); arc != end; ++arc) {
      kept.push(*arc);
      if (kept.size() > max_arcs) {
        kept.pop();
        ++arcs.left_out;
      }
    }
  });
  arcs.shown.resize(kept.size());
  for (std::size_t i = kept.size(); i-- > 0; kept.pop()) arcs.shown[i] = kept.top();
  return arcs;
}

}  // namespace attnflow
