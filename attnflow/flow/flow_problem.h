// The problem that attention flow solves, in units, for any source of arcs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnflow/flow/flow.h"
#include "attnflow/flow/flow_memory.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/flow/sink_solver.h"

namespace attnflow::internal {

struct FlowProblem {
  // A problem on a stack of `all_layers` layers over n tokens. Throws as attention_flow() does.
  FlowProblem(const FlowOptions& asked, std::size_t all_layers, std::size_t n);

  // To be called once the largest row sum is known.
  void set_units(double row_sum);
  FlowSize size(bool one_head, bool causal) const;
  std::optional<std::size_t> available_memory() const;

  std::size_t sinks() const { return sink_size.size(); }
  std::size_t depth() const { return layers.back() - options.start_layer; }
  std::size_t depth_of(std::size_t wanted) const { return layers[wanted] - options.start_layer; }
  FlowResult empty_result(std::size_t rows) const;
  void store(FlowResult& result, std::size_t wanted, std::size_t row, std::size_t sink, const SinkValue& value) const;
  void check_stop() const;

  const FlowOptions& options;
  std::size_t tokens;
  std::vector<std::size_t> layers;      // the requested layers
  std::vector<std::int64_t> sink_size;  // by sink: the number of input tokens that it represents
  FixedPoint fixed_point;               // shared by all layers, so that values of one network bound those of the next
  std::int64_t tolerance_units = 0;
  std::int64_t gap_units = 0;

 private:
  std::int64_t spare_units(std::size_t depth, std::size_t sink) const;
};

// Sums a row's arcs into each group of tokens, in units: only capacities are rounded. Arcs beyond `row` are 0.
std::vector<std::int64_t> merge_row(std::span<const std::int64_t> row, const TokenGroups& groups);

}  // namespace attnflow::internal
