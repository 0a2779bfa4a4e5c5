// A flow made from both ends, which meet at one layer.
//
// Problem. In a causal network (arcs lead to the same or earlier positions), amounts x[p] lie at the nodes of layer k,
// all at the same time. How much of them can reach one input token j together? At least as much as this finds, and
// where there is some room, mostly all.
//
// Method. From below, b_1[p] = A_1[p, j] is what nodes of layer 1 can pass on, all at once. If those of layer k-1 can
// pass on b[q], and each shares that out among the arcs into it in proportion to their capacities, nodes of layer k can
// pass on what they are given in all:
//   b_k[p] = sum over q of A_k[p, q] min(1, b_(k-1)[q] / sum over r of A_k[r, q]).
// At the layer where both ends meet, each node p above, the earliest first (it has the fewest ways), takes of every
// b[q] below in proportion to what its arcs could carry, min(A_k[p, q], what is left of b[q]), until it has passed on
// x[p]. So no b[q] runs out long before the others. Nodes that found too little go first in the next pass, which leaves
// about a third of what the last one left. The straight arcs at j's own position, by which a large part mostly goes,
// are filled before all else.
//
// A pass that sends depth-first uses up whatever comes first, and leaves the last few percent without a way where all
// amounts have to arrive. Here nothing is used up early, and layers are read as they are, without copies.
//
// Complexity: O(n^2) a layer, read once and in order. Exact in units: b is rounded down, amounts are not.
// Deterministic, whatever the vector width: only integers are summed.
#ifndef ATTNFLOW_FLOW_MEETING_FLOW_H_
#define ATTNFLOW_FLOW_MEETING_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/neighbor_columns.h"

namespace attnflow::internal {

class MeetingFlow {
 public:
  // below[k - 1] holds the arcs from layer k to layer k - 1, causal but for the lowest, whose columns are input tokens.
  // `columns` are theirs. All must outlive this.
  MeetingFlow(const std::vector<const ArcBlock*>& below, NeighborColumns& columns)
      : below_(below), columns_(columns), demand_(below.size()) {}

  // Begins with an input token to which no position before `own` has an arc.
  void start(std::size_t input, std::size_t own);
  // Of what lies at the nodes of layer k >= 2 (`held`, by position), how much is shown to reach the input token, at
  // most `enough`. Until the next start(), k must grow from call to call.
  std::int64_t value(std::size_t k, const std::vector<std::int64_t>& held, std::int64_t enough);

 private:
  const ArcBlock& layer(std::size_t k) const { return *below_[k - 1]; }
  void climb();
  // One pass, over nodes in order_; notes which found too little.
  std::int64_t meet(const ArcBlock& arcs, const std::vector<std::int64_t>& held, std::int64_t enough);

  const std::vector<const ArcBlock*>& below_;
  NeighborColumns& columns_;
  std::vector<std::vector<double>> demand_;  // by layer: sums of its columns
  std::size_t own_ = 0;
  std::size_t level_ = 0;             // the layer of what follows
  std::int64_t chain_ = 0;            // what the straight arcs at `own` are kept for
  std::vector<std::int64_t> passed_;  // b: what nodes can pass on besides, all at once
  std::vector<std::int64_t> left_;    // of that, during a pass
  std::vector<std::uint32_t> order_;  // the nodes above, in the order of the pass
  std::vector<bool> short_;           // by node above
  std::vector<double> part_;          // of the arcs into a node below, how much it can pass on
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_MEETING_FLOW_H_
