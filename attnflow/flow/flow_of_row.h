// Divides the work of computing the flow from one output token, for any source of arcs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/flow_problem.h"

namespace attnflow::internal {

// All capacities are in units: `below` holds layers m + 1 ... as they are below other layers (an empty block has no
// arcs), and `tops` the output token's arcs for each requested layer. Arcs into the input lead to single tokens even
// when sinks are groups. Values that bounds leave open are divided into parts of each requested layer's input tokens.
// Their networks depend on memory: `available` bytes, or no limit.
FlowResult flow_of_row(const FlowProblem& problem, std::vector<const ArcBlock*> below,
                       std::vector<std::vector<std::int64_t>> tops, const FlowSize& size,
                       std::optional<std::size_t> available);

}  // namespace attnflow::internal
