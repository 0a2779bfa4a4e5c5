#include "attnflow/flow/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/flow/cut_capacity.h"
#include "attnflow/flow/flow_memory.h"
#include "attnflow/flow/row_flow.h"
#include "attnflow/flow/sink_solver.h"
#include "attnflow/graph/layers.h"

namespace attnflow {
namespace {

using internal::RowFlow;
using internal::SinkProblem;
using internal::SinkSolver;
using internal::SinkValue;
using Block = Tensor<std::int64_t>;

// The question in units.
struct Problem {
  const FlowOptions& options;
  std::vector<std::size_t> layers;           // wanted
  IntegerNetwork below;                      // A_(m+1) ... as layers below a top
  std::vector<Block> tops;                   // by layer wanted; empty unless they differ from `below`
  std::vector<std::int64_t> inner_cut_arcs;  // by depth
  std::vector<std::int64_t> sink_size;       // by sink: input tokens that it stands for
  std::int64_t tolerance_units = 0;
  std::int64_t gap_units = 0;

  std::size_t depth_of(std::size_t wanted) const { return layers[wanted] - options.start_layer; }
  // Arcs that leave the output tokens of the wanted layer.
  const Block& top(std::size_t wanted) const {
    return tops.empty() ? below.layers[depth_of(wanted) - 1] : tops[wanted];
  }
  // How many units the true value may lie above the value in units: fewer than one for each arc of a minimum cut, and
  // an arc into a word stands for one into each of its pieces.
  std::int64_t spare_units(std::size_t depth, std::size_t sink) const {
    if (depth == 1) return sink_size[sink];
    const auto above = static_cast<std::int64_t>(below.layers[depth - 1].extent(1));
    const auto bottom = static_cast<std::int64_t>(below.layers[0].extent(0));
    return above + inner_cut_arcs[depth] + bottom * sink_size[sink];
  }

  void store(FlowResult& result, std::size_t wanted, std::size_t row, std::size_t sink, const SinkValue& value) const {
    const std::size_t depth = depth_of(wanted);
    const FixedPoint& fixed_point = below.fixed_point;
    const double low = fixed_point.value_below(value.low);
    const double high = fixed_point.value_above(add_units(value.high, spare_units(depth, sink)));
    result.flow(wanted, row, sink) = low;
    result.flow_gap(wanted, row, sink) = internal::gap_between(low, high);
    // A pair without any path has nothing to be degenerate about.
    if (depth > 1 && std::min(value.column_cut, value.row_cut) > 0) {
      FlowDegeneracy kind = FlowDegeneracy::kNone;
      if (value.column_cut - value.low <= tolerance_units) {
        kind = FlowDegeneracy::kFirstLayerColumn;
      } else if (value.row_cut - value.low <= tolerance_units) {
        kind = FlowDegeneracy::kTopRow;
      }
      result.degenerate(wanted, row, sink) = static_cast<std::uint8_t>(kind);
    }
  }
};

constexpr std::int64_t kSpareOfGap = 1024;

void check_stop(const FlowOptions& options) {
  if (options.stop_token.stop_requested()) throw Cancelled();
}

std::vector<std::int64_t> column_of(const Block& block, std::size_t column) {
  std::vector<std::int64_t> values(block.extent(0));
  for (std::size_t p = 0; p < values.size(); ++p) values[p] = block(p, column);
  return values;
}

// All output tokens: one input token at a time, from the bottom layer up.
void solve_all(const Problem& problem, FlowResult& result) {
  std::vector<const Block*> blocks;
  for (const Block& block : problem.below.layers) blocks.push_back(&block);
  SinkProblem shared(blocks);
  std::vector<std::vector<std::uint32_t>> top_classes;  // by layer wanted
  for (std::size_t w = 0; w < problem.tops.size(); ++w) {
    top_classes.push_back(shared.classes_of(problem.tops[w], problem.depth_of(w)));
  }
  const std::size_t sinks = problem.sink_size.size();
  const std::size_t deepest = problem.depth_of(problem.layers.size() - 1);
  const std::size_t threads = std::min(sinks, resolve_threads(problem.options.threads));
  const std::size_t kept_bytes = internal::kept_flow_bytes(problem.below.layers[0].extent(0), deepest);
  std::vector<std::unique_ptr<SinkSolver>> solvers(threads);

  const auto value_of = [&](SinkSolver& solver, const Block& block, std::uint32_t reach_class, std::size_t i) {
    const std::int64_t* row = block.data() + i * block.extent(1);
    return problem.options.deadline.passed() ? solver.bounds(row, reach_class) : solver.value(row, reach_class, i);
  };
  const auto solve_sink = [&](std::size_t sink, std::size_t worker) {
    if (!solvers[worker]) solvers[worker] = std::make_unique<SinkSolver>(shared, kept_bytes);
    SinkSolver& solver = *solvers[worker];
    std::size_t wanted = 0;
    if (problem.depth_of(0) == 1) {
      for (std::size_t i = 0; i < problem.top(0).extent(0); ++i) {
        const std::int64_t arc = problem.top(0)(i, sink);
        problem.store(result, 0, i, sink, {.low = arc, .high = arc});
      }
      ++wanted;
    }
    if (deepest == 1) return;
    solver.start(column_of(problem.below.layers[0], sink));
    std::vector<std::int64_t> low, high;
    for (std::size_t depth = 2; depth <= deepest; ++depth) {
      const Block& block = problem.below.layers[depth - 1];
      const bool is_wanted = problem.depth_of(wanted) == depth;
      low.assign(block.extent(0), 0);
      high.assign(block.extent(0), 0);
      if (depth < deepest || problem.tops.empty()) {
        // The last tokens first: of a causal network they reach most (flow/cut_templates.h).
        for (std::size_t i = block.extent(0); i-- > 0;) {
          check_stop(problem.options);
          const SinkValue value = value_of(solver, block, shared.reach_class[depth][i], i);
          low[i] = value.low;
          high[i] = value.high;
          if (is_wanted && problem.tops.empty()) problem.store(result, wanted, i, sink, value);
        }
      }
      if (is_wanted && !problem.tops.empty()) {
        const Block& top = problem.tops[wanted];
        for (std::size_t i = 0; i < top.extent(0); ++i) {
          check_stop(problem.options);
          problem.store(result, wanted, i, sink, value_of(solver, top, top_classes[wanted][i], i));
        }
      }
      wanted += is_wanted;
      if (depth < deepest) solver.climb(low, high);
    }
  };
  parallel_for(sinks, {threads, problem.options.progress, problem.options.stop_token}, solve_sink);
  for (const auto& solver : solvers) {
    if (solver && problem.options.counts != nullptr) *problem.options.counts += solver->counts();
  }
}

// One output token. What bounds leave open is divided into parts of the input tokens of each layer wanted.
void solve_row(const Problem& problem, FlowResult& result) {
  const FlowOptions& options = problem.options;
  const std::size_t wanted_layers = problem.layers.size();
  std::vector<std::unique_ptr<const RowFlow>> flows(wanted_layers);
  parallel_for(wanted_layers, {options.threads, {}, options.stop_token}, [&](std::size_t wanted, std::size_t) {
    const Block& top = problem.top(wanted);
    const std::int64_t* arcs = top.data() + *options.output_token * top.extent(1);
    if (problem.depth_of(wanted) == 1) {
      for (std::size_t j = 0; j < top.extent(1); ++j) {
        problem.store(result, wanted, 0, j, {.low = arcs[j], .high = arcs[j]});
      }
      return;
    }
    std::vector<const Block*> below;
    for (std::size_t k = 1; k < problem.depth_of(wanted); ++k) below.push_back(&problem.below.layers[k - 1]);
    flows[wanted] = std::make_unique<const RowFlow>(
        std::vector<std::int64_t>(arcs, arcs + top.extent(1)), *options.output_token, std::move(below),
        resolve_threads(options.threads), problem.gap_units, options.stop_token, options.deadline);
    for (std::size_t j = 0; j < flows[wanted]->bounds().size(); ++j) {
      problem.store(result, wanted, 0, j, flows[wanted]->bounds()[j]);
    }
  });

  struct Unit {
    std::size_t wanted, part;
  };
  std::vector<Unit> units;
  for (std::size_t wanted = 0; wanted < wanted_layers; ++wanted) {
    for (std::size_t part = 0; flows[wanted] && part < flows[wanted]->parts(); ++part) units.push_back({wanted, part});
  }
  const std::size_t threads = std::min(resolve_threads(options.threads), std::max<std::size_t>(units.size(), 1));
  struct Worker {
    std::size_t wanted = 0;
    std::optional<RowFlow::Worker> solver = {};
    FlowCounts counts = {};
    void finish() {
      if (solver) counts += solver->counts();
      solver.reset();
    }
  };
  std::vector<Worker> workers(threads);
  parallel_for(units.size(), {threads, options.progress, options.stop_token}, [&](std::size_t u, std::size_t number) {
    const Unit& unit = units[u];
    Worker& worker = workers[number];
    if (!worker.solver || worker.wanted != unit.wanted) {
      worker.finish();
      worker.wanted = unit.wanted;
      worker.solver.emplace(*flows[unit.wanted]);
    }
    worker.solver->solve(unit.part, [&](std::size_t input, const SinkValue& value) {
      problem.store(result, unit.wanted, 0, input, value);
    });
  });
  for (Worker& worker : workers) {
    worker.finish();
    if (options.counts != nullptr) *options.counts += worker.counts;
  }
}

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

void check_shape(const AttentionGraph& graph) {
  const auto fits = [](const Tensor<double>& weights) {
    return weights.rank() == 3 && weights.extent(0) > 0 && weights.extent(1) > 0 &&
           weights.extent(1) == weights.extent(2);
  };
  if (!fits(graph.weights) || (graph.one_head() && graph.weights_below.shape() != graph.weights.shape())) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("flow: expected weights of at least one layer and one token, the same number of queries and keys, "
                    "and the same below the top; found shapes {} and {}",
                    shape_to_string(graph.weights.shape()), shape_to_string(graph.weights_below.shape())));
  }
}

void check_memory(const AttentionGraph& graph, const Problem& problem) {
  const FlowOptions& options = problem.options;
  const internal::FlowSize size{
      .tokens = graph.tokens(),
      .input_tokens = options.input_groups != nullptr ? options.input_groups->size() : graph.tokens(),
      .depth = problem.layers.back() - options.start_layer,
      .layers = problem.layers.size(),
      .one_head = graph.one_head(),
      .one_output_token = options.output_token.has_value(),
      .threads = resolve_threads(options.threads)};
  const bool small = internal::flow_bytes(size).value_or(SIZE_MAX) <= internal::kFlowBytesThatAlwaysFit;
  if (options.memory_limit || !small) {
    internal::check_flow_memory(size, options.memory_limit ? options.memory_limit : available_memory());
  }
}

}  // namespace

FlowResult attention_flow(const AttentionGraph& graph, const FlowOptions& options) {
  check_shape(graph);
  for (const double tolerance : {options.tolerance, options.max_gap}) {
    if (tolerance >= 0.0) continue;
    throw Error(ErrorKind::kUsage, fmt::format("flow: expected a tolerance of at least 0, found {}", tolerance));
  }
  Problem problem{.options = options,
                  .layers = resolve_layers(options.layers, options.start_layer, graph.layers()),
                  .below = {},
                  .tops = {},
                  .inner_cut_arcs = {},
                  .sink_size = {},
                  .tolerance_units = 0,
                  .gap_units = 0};
  const std::size_t n = graph.tokens();
  if (options.output_token && *options.output_token >= n) {
    throw Error(ErrorKind::kUsage,
                fmt::format("output token: expected a position from 0 to {}, found {}", n - 1, *options.output_token));
  }

  if (options.input_groups != nullptr) check_groups(*options.input_groups, n);
  check_memory(graph, problem);

  // One fixed point for all layers, so that values of one network bound those of the next.
  const std::size_t depth = problem.layers.back() - options.start_layer;
  const std::size_t blocks = depth + (graph.one_head() ? problem.layers.size() : 0);
  // Those below a top, then the tops. Made twice, because all of them as numbers take as much memory as all in units.
  const auto block_of = [&](std::size_t b) {
    return b < depth ? graph.below(options.start_layer + b + 1) : graph.top(problem.layers[b - depth]);
  };
  const auto layer_of = [&](std::size_t b) { return b < depth ? b + 1 : problem.layers[b - depth]; };
  const ParallelOptions parallel{options.threads, {}, options.stop_token};
  std::vector<double> row_sums(blocks);
  parallel_for(blocks, parallel,
               [&](std::size_t b, std::size_t) { row_sums[b] = largest_row_sum(block_of(b), layer_of(b)); });
  const double row_sum = *std::max_element(row_sums.begin(), row_sums.end());
  const FixedPoint fixed_point = FixedPoint::for_row_sum(row_sum);
  problem.below = {fixed_point, std::vector<Block>(depth)};
  problem.tops.resize(blocks - depth);
  parallel_for(blocks, parallel, [&](std::size_t b, std::size_t) {
    (b < depth ? problem.below.layers[b] : problem.tops[b - depth]) = to_units(block_of(b), fixed_point);
  });
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
  for (std::size_t k = 0; k <= depth; ++k) {
    problem.inner_cut_arcs.push_back(max_inner_cut_arcs(problem.below, k));
  }
  // What rounding adds to a gap, and a bit for its own roundings.
  std::int64_t spare = kSpareOfGap;
  for (std::size_t sink = 0; options.max_gap > 0.0 && sink < problem.sink_size.size(); ++sink) {
    spare = std::max(spare, kSpareOfGap + problem.spare_units(problem.below.depth(), sink));
  }
  problem.gap_units =
      std::max(std::int64_t{0}, problem.below.fixed_point.units(std::min(options.max_gap, row_sum)) - spare);
  problem.tolerance_units = problem.below.fixed_point.units(std::min(options.tolerance, row_sum));

  const std::size_t sinks = problem.sink_size.size();
  const std::size_t rows = options.output_token ? 1 : n;
  FlowResult result;
  result.flow = Tensor<double>({problem.layers.size(), rows, sinks});
  result.flow_gap = Tensor<double>({problem.layers.size(), rows, sinks});
  result.degenerate = Tensor<std::uint8_t>({problem.layers.size(), rows, sinks});

  options.output_token ? solve_row(problem, result) : solve_all(problem, result);
  // One layer down the capacity itself is the value, with all its digits.
  for (std::size_t w = 0; w < problem.layers.size(); ++w) {
    if (problem.depth_of(w) != 1 || options.input_groups != nullptr) continue;
    const Tensor<double> block = graph.top(problem.layers[w]);
    const double* values = block.data() + (options.output_token ? *options.output_token * sinks : 0);
    std::copy_n(values, rows * sinks, result.flow.data() + w * rows * sinks);
    std::fill_n(result.flow_gap.data() + w * rows * sinks, rows * sinks, 0.0);
  }
  return result;
}

}  // namespace attnflow
