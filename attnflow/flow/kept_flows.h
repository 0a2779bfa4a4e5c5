// Flows of one sink, kept for the next level.
//
// A maximum flow from a position of one level is a flow from the same position one level up: it goes down the straight
// arc first, if that is wide enough. Where the straight arcs take most of a row, as with contributions or a large
// residual, only a little is missing from there to the new maximum, and augmenting paths find it sooner than from
// nothing. Values do not depend on where the search began.
//
// Memory: 24 bytes for each arc with flow, up to a limit; what does not fit is not kept.
#ifndef ATTNFLOW_FLOW_KEPT_FLOWS_H_
#define ATTNFLOW_FLOW_KEPT_FLOWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/blocking_flow.h"

namespace attnflow::internal {

class KeptFlows {
 public:
  static constexpr std::size_t kArcBytes = 24;
  // Keeps at most so many bytes; none: nothing.
  explicit KeptFlows(std::size_t most_bytes) : most_(most_bytes / kArcBytes) {}

  // Begins a new sink.
  void clear();
  // Keeps the recorded flow of a pass, whose source is at `position`.
  void keep(const FlowPass& pass, std::size_t position);
  // Records the flow that is kept for this position, in a pass of a higher level that has none, and returns its value;
  // 0 when there is none that fits.
  std::int64_t restore(const FlowPass& pass, std::size_t position) const;

 private:
  struct Arc {
    std::uint32_t layer, node, end;
    std::int64_t units;
  };
  static_assert(sizeof(Arc) == kArcBytes);
  struct Flow {
    std::size_t depth = 0;  // of its pass: what left the source are arcs of this layer; 0: nothing is kept
    std::int64_t value = 0;
    std::vector<Arc> arcs;
  };

  std::size_t most_ = 0;     // arcs
  std::size_t kept_ = 0;     // arcs that there is memory for
  std::vector<Flow> flows_;  // by position
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_KEPT_FLOWS_H_
