// Builds a flow from both ends, which meet at one layer.
//
// Problem. In a causal network (arcs lead to the same or earlier positions), the nodes of layer k hold amounts x[p],
// all at the same time. How much of the total can reach a given input token j? The result is a lower bound; with some
// slack in the network, it is mostly the whole amount.
//
// Method. From below, b_1[p] = A_1[p, j] is what the nodes of layer 1 can pass on simultaneously. If the nodes of layer
// k-1 can pass on b[q], and each divides that among its incoming arcs in proportion to their capacities, then a node of
// layer k can pass on what it is assigned:
//   b_k[p] = sum over q of A_k[p, q] min(1, b_(k-1)[q] / sum over r of A_k[r, q]).
// At the meeting layer, each node p above, from the earliest on (it has the fewest ways), draws on every b[q] below in
// proportion to what its arcs can carry, min(A_k[p, q], remainder of b[q]), until it has passed on x[p]: no b[q] is
// exhausted long before the others. Nodes that found too little go first in the next pass, which leaves about a third
// of the previous remainder. The straight arcs at j's own position often carry most, so they are filled first.
//
// Complexity: O(n^2) per layer, read once and in order. Exact in units: b is rounded down, amounts are not.
// Deterministic for any vector width: only integers are summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/neighbor_columns.h"

namespace attnflow::internal {

class MeetingFlow {
 public:
  // below[k - 1] holds the arcs from layer k to layer k - 1, causal except in the lowest layer, whose columns are input
  // tokens; `columns` belongs to the same layers. All must outlive this object.
  MeetingFlow(const std::vector<const ArcBlock*>& below, NeighborColumns& columns)
      : below_(below), columns_(columns), demand_(below.size()) {}

  // Begins an input token to which no position before `own` has an arc.
  void start(std::size_t input, std::size_t own);
  // Returns how much of the amounts at the nodes of layer k >= 2 (`held`, by position) provably reaches the input
  // token, at most `enough`. Between calls of start(), k must increase.
  std::int64_t value(std::size_t k, const std::vector<std::int64_t>& held, std::int64_t enough);

 private:
  const ArcBlock& layer(std::size_t k) const { return *below_[k - 1]; }
  void climb();
  std::int64_t meet(const ArcBlock& arcs, const std::vector<std::int64_t>& held, std::int64_t enough);

  const std::vector<const ArcBlock*>& below_;
  NeighborColumns& columns_;
  std::vector<std::vector<double>> demand_;  // by layer: column sums
  std::size_t own_ = 0;
  std::size_t level_ = 0;             // the layer of the following members
  std::int64_t chain_ = 0;            // the amount that the straight arcs at `own` are reserved for
  std::vector<std::int64_t> passed_;  // b: what nodes can pass on in addition, simultaneously
  std::vector<std::int64_t> left_;    // the remainder of `passed_` during a pass
  std::vector<std::uint32_t> order_;  // the nodes above, in the order of the pass
  std::vector<bool> short_;           // by node above
  std::vector<double> part_;          // the share of the arcs into a lower node that it can pass on
};

}  // namespace attnflow::internal
