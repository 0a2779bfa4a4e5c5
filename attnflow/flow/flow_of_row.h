// Flow from one output token, whatever gives the arcs: how the work is shared.
#ifndef ATTNFLOW_FLOW_FLOW_OF_ROW_H_
#define ATTNFLOW_FLOW_FLOW_OF_ROW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/flow_problem.h"

namespace attnflow::internal {

// In units: `below` are layers m + 1 ... as they lie below a top (an empty block has no arcs), `tops` the arcs of the
// output token by layer wanted. Those that lead to the input lead to tokens, also where sinks are groups of them. What
// bounds leave open is divided into parts of the input tokens of each layer wanted. Which networks are made for them is
// a matter of memory: `available` bytes, or as many as it takes.
FlowResult flow_of_row(const FlowProblem& problem, std::vector<const ArcBlock*> below,
                       std::vector<std::vector<std::int64_t>> tops, const FlowSize& size,
                       std::optional<std::size_t> available);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_FLOW_OF_ROW_H_
