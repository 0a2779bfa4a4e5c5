#include "attnflow/flow/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "attnflow/base/parallel_for.h"
#include "attnflow/flow/layered_dinic.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

// Which nodes of layer m + 1 each node of a layer can send to: one row of bits a node.
class Reach {
 public:
  Reach(std::size_t nodes, std::size_t targets) : words_((targets + 63) / 64), bits_(nodes * words_, 0) {}
  void set(std::size_t node, std::size_t target) {
    bits_[node * words_ + target / 64] |= std::uint64_t{1} << target % 64;
  }
  bool test(std::size_t node, std::size_t target) const {
    return (bits_[node * words_ + target / 64] >> target % 64 & 1) != 0;
  }
  // The reach of nodes whose arcs lead to nodes of `below`.
  static Reach through(const Tensor<std::int64_t>& block, const Reach& below, std::size_t targets) {
    Reach reach(block.extent(0), targets);
    for (std::size_t i = 0; i < block.extent(0); ++i) {
      std::uint64_t* row = reach.bits_.data() + i * reach.words_;
      for (std::size_t k = 0; k < block.extent(1); ++k) {
        if (block(i, k) == 0) continue;
        const std::uint64_t* other = below.bits_.data() + k * below.words_;
        for (std::size_t w = 0; w < reach.words_; ++w) row[w] |= other[w];
      }
    }
    return reach;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

// What all input tokens share.
struct Problem {
  const FlowOptions& options;
  std::vector<std::size_t> layers;
  IntegerNetwork below;                      // A_(m+1) ... as layers below a top
  std::vector<Tensor<std::int64_t>> tops;    // by layer wanted; empty unless they differ from `below`
  std::vector<Reach> reach;                  // by depth - 1, of the nodes of `below`
  std::vector<Reach> top_reach;              // by layer wanted; empty unless tops are
  std::vector<std::int64_t> inner_cut_arcs;  // by depth
  std::vector<std::int64_t> sink_size;       // by sink: input tokens that it stands for
  std::int64_t tolerance_units = 0;

  std::size_t depth_of(std::size_t wanted) const { return layers[wanted] - options.to_layer; }
  // Arcs that leave node i when it is the output token of the wanted layer.
  const std::int64_t* top_row(std::size_t wanted, std::size_t i) const {
    const Tensor<std::int64_t>& block = tops.empty() ? below.layers[depth_of(wanted) - 1] : tops[wanted];
    return block.data() + i * block.extent(1);
  }
  // How many units the true value may lie above the value in units: fewer than one for each arc of a minimum cut, and
  // an arc into a word stands for one into each of its pieces.
  std::int64_t spare_units(std::size_t depth, std::size_t sink) const {
    if (depth == 1) return sink_size[sink];
    const auto top = static_cast<std::int64_t>(below.layers[depth - 1].extent(1));
    const auto bottom = static_cast<std::int64_t>(below.layers[0].extent(0));
    return top + inner_cut_arcs[depth] + bottom * sink_size[sink];
  }
  const Reach& reach_of_top(std::size_t wanted) const {
    return tops.empty() ? reach[depth_of(wanted) - 1] : top_reach[wanted];
  }
};

// One input token: all its output tokens, from the bottom layer up.
class SinkSolver {
 public:
  explicit SinkSolver(const Problem& problem) : problem_(problem), dinic_(problem.below) {}

  void solve(std::size_t sink, FlowResult& result) {
    sink_ = sink;
    const std::optional<std::size_t> row = problem_.options.output_token;
    const std::size_t deepest = problem_.depth_of(problem_.layers.size() - 1);
    std::size_t wanted = 0;
    for (std::size_t depth = 1; depth <= deepest; ++depth) {
      const bool is_wanted = problem_.depth_of(wanted) == depth;
      const bool needed_above = depth < deepest && !row;
      const Tensor<std::int64_t>& block = problem_.below.layers[depth - 1];
      const std::size_t nodes = block.extent(0);
      if (!row) sort_values_below(depth);
      std::vector<std::int64_t> next(nodes, 0);
      if (needed_above || (is_wanted && problem_.tops.empty() && !row)) {
        for (std::size_t i = 0; i < nodes; ++i) {
          next[i] = value(block.data() + i * block.extent(1), problem_.reach[depth - 1], i, depth);
          if (is_wanted && problem_.tops.empty()) store(result, wanted, i, depth, next[i]);
        }
      }
      if (is_wanted && row) {
        store(result, wanted, 0, depth,
              value(problem_.top_row(wanted, *row), problem_.reach_of_top(wanted), *row, depth));
      } else if (is_wanted && !problem_.tops.empty()) {
        for (std::size_t i = 0; i < nodes; ++i) {
          store(result, wanted, i, depth, value(problem_.top_row(wanted, i), problem_.reach_of_top(wanted), i, depth));
        }
      }
      if (!row) values_ = std::move(next);
      if (is_wanted) ++wanted;
    }
  }

 private:
  // values_ holds the exact flow in units of every node of layer depth - 1 to the sink.
  void sort_values_below(std::size_t depth) {
    if (depth == 1) return;
    order_.resize(values_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [this](std::size_t a, std::size_t b) { return values_[a] > values_[b]; });
  }

  // What layer m + 1 brings to the sink from nodes that node i can reach.
  std::int64_t column_cut(const Reach& reach, std::size_t i) const {
    const Tensor<std::int64_t>& bottom = problem_.below.layers[0];
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < bottom.extent(0); ++b) {
      if (reach.test(i, b)) sum = add_units(sum, bottom(b, sink_));
    }
    return sum;
  }

  // Whether node k of layer depth - 1 can send to the sink.
  bool reaches_sink(std::size_t k, std::size_t depth) const {
    const Tensor<std::int64_t>& bottom = problem_.below.layers[0];
    const Reach& reach = problem_.reach[depth - 2];
    for (std::size_t b = 0; b < bottom.extent(0); ++b) {
      if (bottom(b, sink_) > 0 && reach.test(k, b)) return true;
    }
    return false;
  }

  std::int64_t row_cut(const std::int64_t* row, std::size_t depth) const {
    const std::size_t width = problem_.below.layers[depth - 1].extent(1);
    const bool known = !values_.empty();
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < width; ++k) {
      if (row[k] > 0 && (known ? values_[k] > 0 : reaches_sink(k, depth))) sum = add_units(sum, row[k]);
    }
    return sum;
  }

  // The exact maximum flow in units. Leaves the two end cuts in column_cut_ and row_cut_.
  std::int64_t value(const std::int64_t* row, const Reach& reach, std::size_t i, std::size_t depth) {
    if (depth == 1) return row[sink_];
    column_cut_ = column_cut(reach, i);
    row_cut_ = row_cut(row, depth);
    std::int64_t upper = std::min(column_cut_, row_cut_);
    if (upper == 0) return 0;
    if (!values_.empty()) {
      const std::size_t width = values_.size();
      std::int64_t through = 0;
      for (std::size_t k = 0; k < width; ++k) through = add_units(through, std::min(row[k], values_[k]));
      if (depth == 2) return through;  // exact: below are single arcs, which nothing else uses
      upper = std::min(upper, through);
      if (lower_bound(row) >= upper) return upper;
    }
    return dinic_.solve(row, depth, sink_, upper);
  }

  // The threshold bound (flow.h): thresholds from the largest value down, with the arcs to larger values summed up.
  std::int64_t lower_bound(const std::int64_t* row) const {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::int64_t above = 0;
    std::size_t k = 0;
    while (k < order_.size() && values_[order_[k]] > 0) {
      const std::int64_t threshold = values_[order_[k]];
      best = std::min(best, add_units(threshold, above));
      for (; k < order_.size() && values_[order_[k]] == threshold; ++k) above = add_units(above, row[order_[k]]);
    }
    return std::min(best, above);  // threshold 0
  }

  void store(FlowResult& result, std::size_t wanted, std::size_t row, std::size_t depth, std::int64_t units) {
    const FixedPoint& fixed_point = problem_.below.fixed_point;
    const double low = fixed_point.value_below(units);
    const double high = fixed_point.value_above(add_units(units, problem_.spare_units(depth, sink_)));
    double gap = high - low;
    while (low + gap < high) gap = std::nextafter(gap, std::numeric_limits<double>::infinity());
    result.flow(wanted, row, sink_) = low;
    result.flow_gap(wanted, row, sink_) = gap;
    // A pair without any path has nothing to be degenerate about.
    if (depth > 1 && std::min(column_cut_, row_cut_) > 0) {
      FlowDegeneracy kind = FlowDegeneracy::kNone;
      if (column_cut_ - units <= problem_.tolerance_units) {
        kind = FlowDegeneracy::kFirstLayerColumn;
      } else if (row_cut_ - units <= problem_.tolerance_units) {
        kind = FlowDegeneracy::kTopRow;
      }
      result.degenerate(wanted, row, sink_) = static_cast<std::uint8_t>(kind);
    }
  }

  const Problem& problem_;
  LayeredDinic dinic_;
  std::size_t sink_ = 0;
  std::vector<std::int64_t> values_;
  std::vector<std::size_t> order_;
  std::int64_t column_cut_ = 0;
  std::int64_t row_cut_ = 0;
};

// Sums the columns of each group.
void merge_columns(Tensor<std::int64_t>& block, const TokenGroups& groups) {
  Tensor<std::int64_t> merged({block.extent(0), groups.size()});
  for (std::size_t p = 0; p < block.extent(0); ++p) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::size_t j : groups[g]) merged(p, g) = add_units(merged(p, g), block(p, j));
    }
  }
  block = std::move(merged);
}

void check_groups(const TokenGroups& groups, std::size_t n) {
  std::vector<bool> seen(n, false);
  std::size_t count = 0;
  for (const auto& group : groups) {
    for (const std::size_t j : group) {
      if (j >= n || seen[j]) {
        throw Error(ErrorKind::kUsage, fmt::format("input groups: expected each of {} positions once, found {} {}", n,
                                                   j, j >= n ? "outside" : "twice"));
      }
      seen[j] = true;
      ++count;
    }
  }
  if (count != n) {
    throw Error(ErrorKind::kUsage, fmt::format("input groups: expected each of {} positions once, found {}", n, count));
  }
}

}  // namespace

FlowResult attention_flow(const AttentionGraph& graph, const FlowOptions& options) {
  Problem problem{.options = options,
                  .layers = resolve_layers(options.layers, options.to_layer, graph.layers()),
                  .below = {},
                  .tops = {},
                  .reach = {},
                  .top_reach = {},
                  .inner_cut_arcs = {},
                  .sink_size = {},
                  .tolerance_units = 0};
  const std::size_t n = graph.tokens();
  if (options.output_token && *options.output_token >= n) {
    throw Error(ErrorKind::kUsage,
                fmt::format("output token: expected a position from 0 to {}, found {}", n - 1, *options.output_token));
  }

  if (options.input_groups != nullptr) check_groups(*options.input_groups, n);

  // One fixed point for all layers, so that values of one network bound those of the next.
  LayeredNetwork below;
  LayeredNetwork tops;
  for (std::size_t k = options.to_layer + 1; k <= problem.layers.back(); ++k) below.layers.push_back(graph.below(k));
  validate_network(below);
  if (graph.one_head()) {
    for (const std::size_t l : problem.layers) tops.layers.push_back(graph.top(l));
    validate_network(tops);
  }
  const double row_sum = std::max(largest_row_sum(below), largest_row_sum(tops));
  problem.below = to_units(below, FixedPoint::for_row_sum(row_sum));
  problem.tops = to_units(tops, problem.below.fixed_point).layers;
  problem.sink_size.assign(n, 1);
  if (options.input_groups != nullptr) {
    // Summed in units, so that nothing is rounded but the capacities themselves.
    merge_columns(problem.below.layers[0], *options.input_groups);
    for (std::size_t w = 0; w < problem.tops.size(); ++w) {
      if (problem.depth_of(w) == 1) merge_columns(problem.tops[w], *options.input_groups);
    }
    problem.sink_size.clear();
    for (const auto& group : *options.input_groups)
      problem.sink_size.push_back(static_cast<std::int64_t>(group.size()));
  }
  const std::size_t bottom = below.layers[0].extent(0);
  problem.reach.emplace_back(bottom, bottom);
  for (std::size_t k = 0; k < bottom; ++k) problem.reach[0].set(k, k);
  for (std::size_t depth = 2; depth <= below.depth(); ++depth) {
    problem.reach.push_back(Reach::through(problem.below.layers[depth - 1], problem.reach.back(), bottom));
  }
  for (std::size_t w = 0; w < problem.tops.size(); ++w) {
    const std::size_t depth = problem.depth_of(w);
    problem.top_reach.push_back(depth == 1 ? problem.reach[0]
                                           : Reach::through(problem.tops[w], problem.reach[depth - 2], bottom));
  }
  for (std::size_t depth = 0; depth <= below.depth(); ++depth) {
    problem.inner_cut_arcs.push_back(most_inner_cut_arcs(problem.below, depth));
  }
  problem.tolerance_units = problem.below.fixed_point.units(std::min(options.tolerance, row_sum));

  const std::size_t sinks = problem.sink_size.size();
  const std::size_t rows = options.output_token ? 1 : n;
  FlowResult result;
  result.flow = Tensor<double>({problem.layers.size(), rows, sinks});
  result.flow_gap = Tensor<double>({problem.layers.size(), rows, sinks});
  result.degenerate = Tensor<std::uint8_t>({problem.layers.size(), rows, sinks});

  const std::size_t threads = std::min(sinks, resolve_threads(options.threads));
  std::vector<std::unique_ptr<SinkSolver>> solvers(threads);
  parallel_for(sinks, {threads, options.progress, options.stop_token}, [&](std::size_t sink, std::size_t worker) {
    if (!solvers[worker]) solvers[worker] = std::make_unique<SinkSolver>(problem);
    solvers[worker]->solve(sink, result);
  });
  // One layer down the capacity itself is the value, with all its digits.
  for (std::size_t w = 0; w < problem.layers.size(); ++w) {
    if (problem.depth_of(w) != 1 || options.input_groups != nullptr) continue;
    const Tensor<double>& block = tops.layers.empty() ? below.layers[0] : tops.layers[w];
    const double* values = block.data() + (options.output_token ? *options.output_token * sinks : 0);
    std::copy_n(values, rows * sinks, result.flow.data() + w * rows * sinks);
    std::fill_n(result.flow_gap.data() + w * rows * sinks, rows * sinks, 0.0);
  }
  return result;
}

}  // namespace attnflow
