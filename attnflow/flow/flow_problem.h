// What attention flow is asked, in units, whatever gives the arcs.
#ifndef ATTNFLOW_FLOW_FLOW_PROBLEM_H_
#define ATTNFLOW_FLOW_FLOW_PROBLEM_H_

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
  // Of a stack of `all_layers` layers over n tokens. Throws as attention_flow().
  FlowProblem(const FlowOptions& asked, std::size_t all_layers, std::size_t n);

  // Once the largest sum of a row is known.
  void set_units(double row_sum);
  FlowSize size(bool one_head, bool causal) const;
  std::optional<std::size_t> available_memory() const;

  std::size_t sinks() const { return sink_size.size(); }
  // Of the deepest layer wanted.
  std::size_t depth() const { return layers.back() - options.start_layer; }
  std::size_t depth_of(std::size_t wanted) const { return layers[wanted] - options.start_layer; }
  // Room for the values of so many output tokens.
  FlowResult empty_result(std::size_t rows) const;
  void store(FlowResult& result, std::size_t wanted, std::size_t row, std::size_t sink, const SinkValue& value) const;
  void check_stop() const;

  const FlowOptions& options;
  std::size_t tokens;
  std::vector<std::size_t> layers;      // wanted
  std::vector<std::int64_t> sink_size;  // by sink: input tokens that it stands for
  FixedPoint fixed_point;               // one for all layers, so that values of one network bound those of the next
  std::int64_t tolerance_units = 0;
  std::int64_t gap_units = 0;

 private:
  std::int64_t spare_units(std::size_t depth, std::size_t sink) const;
};

// A row's arcs into each group of tokens: summed in units, so that nothing is rounded but the capacities themselves.
// What is beyond its end is 0.
std::vector<std::int64_t> merge_row(std::span<const std::int64_t> row, const TokenGroups& groups);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_FLOW_PROBLEM_H_
