#include "attnflow/flow/flow_problem.h"

#include <algorithm>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/fail.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/flow/cut_capacity.h"
#include "attnflow/graph/layers.h"

namespace attnflow::internal {
namespace {

constexpr std::int64_t kSpareOfGap = 1024;

void check_groups(const TokenGroups& groups, std::size_t n) {
  std::vector<bool> seen(n, false);
  std::size_t count = 0;
  for (const auto& group : groups) {
    for (const std::size_t j : group) {
      if (j >= n || seen[j]) {
        fail_with(ErrorKind::kUsage, "input groups: expected each of {} positions once, found {} {}", n, j,
                  j >= n ? "outside" : "twice");
      }
      seen[j] = true;
      ++count;
    }
  }
  if (count != n) fail_with(ErrorKind::kUsage, "input groups: expected each of {} positions once, found {}", n, count);
}

}  // namespace

FlowProblem::FlowProblem(const FlowOptions& asked, std::size_t all_layers, std::size_t n)
    : options(asked), tokens(n), sink_size(n, 1) {
  for (const double tolerance : {options.tolerance, options.max_gap}) {
    if (tolerance >= 0.0) continue;
    fail_with(ErrorKind::kUsage, "flow: expected a tolerance of at least 0, found {}", tolerance);
  }
  layers = resolve_layers(options.layers, options.start_layer, all_layers);
  if (depth() > kMaxFlowLayers)
    fail_with(ErrorKind::kUsage, "flow: expected at most {} layers, found {}", kMaxFlowLayers, depth());
  if (options.output_token) check_output_token(*options.output_token, n);
  if (options.input_groups == nullptr) return;
  check_groups(*options.input_groups, n);
  sink_size.clear();
  for (const auto& group : *options.input_groups) sink_size.push_back(static_cast<std::int64_t>(group.size()));
}

void FlowProblem::set_units(double row_sum) {
  fixed_point = FixedPoint::for_row_sum(row_sum);
  // The rounding contribution to a gap, and a little for its own rounding.
  std::int64_t spare = kSpareOfGap;
  for (std::size_t sink = 0; options.max_gap > 0.0 && sink < sinks(); ++sink) {
    spare = std::max(spare, kSpareOfGap + spare_units(depth(), sink));
  }
  gap_units = std::max(std::int64_t{0}, fixed_point.units(std::min(options.max_gap, row_sum)) - spare);
  tolerance_units = fixed_point.units(std::min(options.tolerance, row_sum));
}

FlowSize FlowProblem::size(bool one_head, bool causal) const {
  return {.tokens = tokens,
          .input_tokens = sinks(),
          .depth = depth(),
          .layers = layers.size(),
          .one_head = one_head,
          .one_output_token = options.output_token.has_value(),
          .causal = causal,
          .threads = resolve_threads(options.threads)};
}

std::optional<std::size_t> FlowProblem::available_memory() const {
  return options.memory_limit ? options.memory_limit : attnflow::available_memory();
}

FlowResult FlowProblem::empty_result(std::size_t rows) const {
  const Shape shape{layers.size(), rows, sinks()};
  return {Tensor<double>(shape), Tensor<double>(shape), Tensor<std::uint8_t>(shape)};
}

// The number of units by which the true value may exceed the value in units: fewer than one per arc of a minimum cut,
// where an arc into a word represents one into each of its pieces. A cut has s_k (n - s_(k-1)) arcs between layers with
// s_k nodes on the source side; that is linear in each s_k, so its maximum has every s_k at 0 or n, and two adjacent
// layers cannot both have all their arcs cut.
std::int64_t FlowProblem::spare_units(std::size_t depth, std::size_t sink) const {
  if (depth == 1) return sink_size[sink];
  const auto n = static_cast<std::int64_t>(tokens);
  const auto inner = static_cast<std::int64_t>((depth - 1) / 2);
  return n + inner * n * n + n * sink_size[sink];
}

void FlowProblem::store(FlowResult& result, std::size_t wanted, std::size_t row, std::size_t sink,
                        const SinkValue& value) const {
  const std::size_t deep = depth_of(wanted);
  const double low = fixed_point.value_below(value.low);
  const double high = fixed_point.value_above(add_units(value.high, spare_units(deep, sink)));
  result.flow(wanted, row, sink) = low;
  result.flow_gap(wanted, row, sink) = gap_between(low, high);
  // A pair without any path cannot be degenerate.
  if (deep > 1 && std::min(value.column_cut, value.row_cut) > 0) {
    FlowDegeneracy kind = FlowDegeneracy::kNone;
    if (value.column_cut - value.low <= tolerance_units) {
      kind = FlowDegeneracy::kFirstLayerColumn;
    } else if (value.row_cut - value.low <= tolerance_units) {
      kind = FlowDegeneracy::kTopRow;
    }
    result.degenerate(wanted, row, sink) = static_cast<std::uint8_t>(kind);
  }
}

std::vector<std::int64_t> merge_row(std::span<const std::int64_t> row, const TokenGroups& groups) {
  std::vector<std::int64_t> sums(groups.size(), 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::size_t j : groups[g]) {
      if (j < row.size()) sums[g] = add_units(sums[g], row[j]);
    }
  }
  return sums;
}

void FlowProblem::check_stop() const {
  if (options.stop_token.stop_requested()) throw Cancelled();
}

}  // namespace attnflow::internal
