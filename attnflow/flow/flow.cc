#include "attnflow/flow/flow.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/flow/flow_of_row.h"
#include "attnflow/flow/flow_problem.h"
#include "attnflow/flow/sink_solver.h"

namespace attnflow {
namespace {

using internal::ArcBlock;
using internal::FlowProblem;
using internal::SinkProblem;
using internal::SinkSolver;
using internal::SinkValue;
using Block = Tensor<std::int64_t>;

struct AllArcs {
  std::vector<Block> below;  // A_(m+1) ..., in their form below a top
  std::vector<Block> tops;   // by requested layer; empty unless they differ from `below`

  const Block& top(const FlowProblem& problem, std::size_t wanted) const {
    return tops.empty() ? below[problem.depth_of(wanted) - 1] : tops[wanted];
  }
};

std::vector<std::int64_t> column_of(const Block& block, std::size_t column) {
  std::vector<std::int64_t> values(block.extent(0));
  for (std::size_t p = 0; p < values.size(); ++p) values[p] = block(p, column);
  return values;
}

void solve_all(const FlowProblem& problem, const AllArcs& arcs, FlowResult& result) {
  std::vector<const Block*> blocks;
  for (const Block& block : arcs.below) blocks.push_back(&block);
  SinkProblem shared(blocks);
  std::vector<std::vector<std::uint32_t>> top_classes;  // by requested layer
  for (std::size_t w = 0; w < arcs.tops.size(); ++w) {
    top_classes.push_back(shared.classes_of(arcs.tops[w], problem.depth_of(w)));
  }
  const std::size_t sinks = problem.sinks();
  const std::size_t deepest = problem.depth();
  const std::size_t threads = std::min(sinks, resolve_threads(problem.options.threads));
  const std::size_t kept_bytes = internal::kept_flow_bytes(arcs.below[0].extent(0), deepest);
  std::vector<std::unique_ptr<SinkSolver>> solvers(threads);
  std::atomic<bool> out_of_time = false;

  const auto value_of = [&](SinkSolver& solver, const Block& block, std::uint32_t reach_class, std::size_t i) {
    const std::int64_t* row = block.data() + i * block.extent(1);
    if (!problem.options.deadline.passed()) return solver.value(row, reach_class, i);
    out_of_time = true;
    return solver.bounds(row, reach_class);
  };
  const auto solve_sink = [&](std::size_t sink, std::size_t worker) {
    if (!solvers[worker]) solvers[worker] = std::make_unique<SinkSolver>(shared, kept_bytes);
    SinkSolver& solver = *solvers[worker];
    std::size_t wanted = 0;
    if (problem.depth_of(0) == 1) {
      for (std::size_t i = 0; i < arcs.top(problem, 0).extent(0); ++i) {
        const std::int64_t arc = arcs.top(problem, 0)(i, sink);
        problem.store(result, 0, i, sink, {.low = arc, .high = arc});
      }
      ++wanted;
    }
    if (deepest == 1) return;
    solver.start(column_of(arcs.below[0], sink));
    std::vector<std::int64_t> low, high;
    for (std::size_t depth = 2; depth <= deepest; ++depth) {
      const Block& block = arcs.below[depth - 1];
      const bool is_wanted = problem.depth_of(wanted) == depth;
      low.assign(block.extent(0), 0);
      high.assign(block.extent(0), 0);
      if (depth < deepest || arcs.tops.empty()) {
        // The last tokens first: in a causal network they reach the most nodes (flow/cut_templates.h).
        for (std::size_t i = block.extent(0); i-- > 0;) {
          problem.check_stop();
          const SinkValue value = value_of(solver, block, shared.reach_class[depth][i], i);
          low[i] = value.low;
          high[i] = value.high;
          if (is_wanted && arcs.tops.empty()) problem.store(result, wanted, i, sink, value);
        }
      }
      if (is_wanted && !arcs.tops.empty()) {
        const Block& top = arcs.tops[wanted];
        for (std::size_t i = 0; i < top.extent(0); ++i) {
          problem.check_stop();
          problem.store(result, wanted, i, sink, value_of(solver, top, top_classes[wanted][i], i));
        }
      }
      wanted += is_wanted;
      if (depth < deepest) solver.climb(low, high);
    }
  };
  parallel_for(sinks, {threads, problem.options.progress, problem.options.stop_token}, solve_sink);
  result.out_of_time = out_of_time;
  for (const auto& solver : solvers) {
    if (solver && problem.options.counts != nullptr) *problem.options.counts += solver->counts();
  }
}

void merge_columns(Block& block, const TokenGroups& groups) {
  Block result({block.extent(0), groups.size()});
  for (std::size_t p = 0; p < block.extent(0); ++p) {
    const std::vector<std::int64_t> row = internal::merge_row(block[p].span(), groups);
    std::copy(row.begin(), row.end(), result[p].data());
  }
  block = std::move(result);
}

void check_shape(const AttentionGraph& graph) {
  const auto fits = [](const Tensor<double>& weights) {
    return weights.rank() == 3 && weights.extent(0) > 0 && weights.extent(1) > 0 &&
           weights.extent(1) == weights.extent(2);
  };
  if (!fits(graph.weights) || (graph.one_head() && graph.weights_below.shape() != graph.weights.shape())) {
    fail_with(ErrorKind::kUsage,
              "flow: expected weights of at least one layer and one token, the same number of queries and keys, "
              "and the same below the top; found shapes {} and {}",
              shape_to_string(graph.weights.shape()), shape_to_string(graph.weights_below.shape()));
  }
}

// The matrices below a top, then the tops if they differ: recomputed for each use, because they double the memory.
class Blocks {
 public:
  Blocks(const AttentionGraph& graph, const FlowProblem& problem)
      : graph_(graph), problem_(problem), depth_(problem.depth()) {}
  std::size_t below() const { return depth_; }
  std::size_t size() const { return depth_ + (graph_.one_head() ? problem_.layers.size() : 0); }
  Tensor<double> operator[](std::size_t b) const {
    return b < depth_ ? graph_.below(problem_.options.start_layer + b + 1) : graph_.top(problem_.layers[b - depth_]);
  }
  std::size_t layer(std::size_t b) const { return b < depth_ ? b + 1 : problem_.layers[b - depth_]; }

 private:
  const AttentionGraph& graph_;
  const FlowProblem& problem_;
  std::size_t depth_;
};

ArcBlock arc_block(const Tensor<double>& block, FixedPoint fixed_point, bool causal) {
  const std::size_t n = block.extent(1);
  ArcBlock arcs = causal ? ArcBlock::causal(n) : ArcBlock(n, n);
  for (std::size_t p = 0; p < n; ++p) {
    const std::span<std::int64_t> row = arcs.row(p);
    fixed_point.units({block.data() + p * n, row.size()}, row.data());
  }
  return arcs;
}

struct RowArcs {
  std::vector<ArcBlock> below;
  std::vector<std::vector<std::int64_t>> tops;  // by requested layer
};

RowArcs row_arcs(const FlowProblem& problem, const Blocks& blocks, bool causal, std::size_t threads) {
  const std::size_t output = *problem.options.output_token;
  RowArcs arcs{std::vector<ArcBlock>(blocks.below()), std::vector<std::vector<std::int64_t>>(problem.layers.size())};
  for (auto& row : arcs.tops) row.resize(problem.tokens);
  parallel_for(blocks.size(), {threads, {}, problem.options.stop_token}, [&](std::size_t b, std::size_t) {
    const Tensor<double> block = blocks[b];
    if (b < blocks.below()) {
      arcs.below[b] = arc_block(block, problem.fixed_point, causal);
    } else {
      problem.fixed_point.units(block[output].span(), arcs.tops[b - blocks.below()].data());
    }
  });
  if (blocks.size() > blocks.below()) return arcs;
  for (std::size_t w = 0; w < arcs.tops.size(); ++w) {
    const auto row = std::as_const(arcs.below[problem.depth_of(w) - 1]).row(output);
    std::copy(row.begin(), row.end(), arcs.tops[w].begin());
  }
  return arcs;
}

AllArcs all_arcs(const FlowProblem& problem, const Blocks& blocks) {
  AllArcs arcs{std::vector<Block>(blocks.below()), std::vector<Block>(blocks.size() - blocks.below())};
  parallel_for(blocks.size(), {problem.options.threads, {}, problem.options.stop_token},
               [&](std::size_t b, std::size_t) {
                 const bool is_top = b >= blocks.below();
                 (is_top ? arcs.tops[b - blocks.below()] : arcs.below[b]) = to_units(blocks[b], problem.fixed_point);
               });
  if (problem.options.input_groups != nullptr) {
    merge_columns(arcs.below[0], *problem.options.input_groups);
    if (!arcs.tops.empty() && problem.depth_of(0) == 1) merge_columns(arcs.tops[0], *problem.options.input_groups);
  }
  return arcs;
}

}  // namespace

FlowResult attention_flow(const AttentionGraph& graph, const FlowOptions& options) {
  check_shape(graph);
  FlowProblem problem(options, graph.layers(), graph.tokens());
  const std::size_t n = graph.tokens();
  const Blocks blocks(graph, problem);
  const auto check_memory = [&](bool causal) {
    const internal::FlowSize size = problem.size(graph.one_head(), causal);
    const bool small = internal::flow_bytes(size).value_or(SIZE_MAX) <= internal::kFlowBytesThatAlwaysFit;
    const auto available = options.memory_limit || !small ? problem.available_memory() : std::nullopt;
    internal::check_flow_memory(size, available);
    return available;
  };
  // Before any work. Whether an output token's network takes half as much is found out while sums are computed.
  auto available = check_memory(/*causal=*/options.output_token.has_value());
  // Each thread holds one layer in floating point here; networks for one output token are built later.
  const auto making_threads = [&](bool causal) {
    internal::FlowSize size = problem.size(graph.one_head(), causal);
    if (options.output_token) size.most_layers = 0;
    return threads_that_fit(size, available);
  };
  std::vector<double> row_sums(blocks.size());
  std::vector<std::uint8_t> causal(blocks.size());
  parallel_for(blocks.size(), {making_threads(true), {}, options.stop_token}, [&](std::size_t b, std::size_t) {
    const Tensor<double> block = blocks[b];
    row_sums[b] = largest_row_sum(block, blocks.layer(b));
    causal[b] = options.output_token && is_causal(block.view());
  });
  problem.set_units(*std::max_element(row_sums.begin(), row_sums.end()));

  FlowResult result;
  if (options.output_token) {
    const bool all_causal = std::count(causal.begin(), causal.end(), 0) == 0;
    if (!all_causal) available = check_memory(false);
    RowArcs arcs = row_arcs(problem, blocks, all_causal, making_threads(all_causal));
    std::vector<const ArcBlock*> below;
    for (const ArcBlock& block : arcs.below) below.push_back(&block);
    result = internal::flow_of_row(problem, std::move(below), std::move(arcs.tops),
                                   problem.size(graph.one_head(), all_causal), available);
  } else {
    result = problem.empty_result(n);
    solve_all(problem, all_arcs(problem, blocks), result);
  }
  // One layer down the value is the capacity itself, with all its digits.
  if (problem.depth_of(0) == 1 && options.input_groups == nullptr) {
    const Tensor<double> block = graph.top(problem.layers[0]);
    const std::size_t rows = result.flow.extent(1);
    std::copy_n(block.data() + (options.output_token ? *options.output_token * n : 0), rows * n, result.flow.data());
    std::fill_n(result.flow_gap.data(), rows * n, 0.0);
  }
  return result;
}

}  // namespace attnflow
