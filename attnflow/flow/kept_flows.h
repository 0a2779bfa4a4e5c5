// Keeps flows of one sink for the next level.
//
// A maximum flow from a position is also a flow from the same position one level up: it first follows the straight arc
// down, if that is wide enough. If straight arcs carry most of a row, as with contributions or a large residual, little
// is missing to the new maximum, and augmenting paths find it faster than from zero. Values do not depend on it.
//
// Memory: 24 bytes for each arc with flow, up to a limit; flows that do not fit are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/blocking_flow.h"

namespace attnflow::internal {

class KeptFlows {
 public:
  static constexpr std::size_t kArcBytes = 24;
  // Keeps at most `most_bytes` bytes; 0: nothing.
  explicit KeptFlows(std::size_t most_bytes) : most_(most_bytes / kArcBytes) {}

  void clear();
  // Keeps the recorded flow of a pass whose source is at `position`.
  void keep(const FlowPass& pass, std::size_t position);
  // Records the flow kept for this position in a higher-level pass that has no flow yet. Returns its value, or 0.
  std::int64_t restore(const FlowPass& pass, std::size_t position) const;

 private:
  struct Arc {
    std::uint32_t layer, node, end;
    std::int64_t units;
  };
  static_assert(sizeof(Arc) == kArcBytes);
  struct Flow {
    std::size_t depth = 0;  // of its pass: arcs of this layer are those that leave the source; 0: nothing is kept
    std::int64_t value = 0;
    std::vector<Arc> arcs;
  };

  std::size_t most_ = 0;     // arcs
  std::size_t kept_ = 0;     // arcs that memory is allocated for
  std::vector<Flow> flows_;  // by position
};

}  // namespace attnflow::internal
