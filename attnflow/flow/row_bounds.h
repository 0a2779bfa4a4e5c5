// Bounds on the flow from one output token to every input token, computed all at once.
//
// Problem. One node is above layer D - 1, with arcs of capacity top[p] to its nodes and arcs (k, p) -> (k - 1, q) below
// as in LayeredNetwork. Bound the maximum flow f_k(q) from that node to (k, q) for every q.
//
// Method. Proceed from the top down, one layer at a time, with the proofs of flow/flow.h upside down. A flow that ends
// in (k, q) arrives through the nodes p of layer k + 1, each of which brings at most its arc's capacity and the flow
// that reaches it. So
//   f_k(q) <= sum_p min(A_(k+1)[p, q], high_(k+1)(p)),  and at most the top arcs to nodes from which q can be reached,
//   f_k(q) >= min over t in {0} and {low_(k+1)(p)} of t + sum of A_(k+1)[p, q] over the p with low_(k+1)(p) > t.
// Two layers below the output the sum is exact, since its arcs are not shared with other nodes.
//
// Chains. The source side of a cut may be the output token's own position in the uppermost layers, which often keeps
// more than half of the token's flow. Such a cut costs what those nodes send to others that reach (k, q), plus the
// straight arc below the last of them. In causal stacks, nodes that reach (k, q) are at no earlier position than the
// first one with an arc to it, so suffix sums over one row per layer give all these cuts, in O(n).
//
// Complexity: O(n^2) per layer, read once and in order; n^3 / 64 if its nonzero arcs differ from those of the layer
// above. Memory: n^2 / 4 bytes. Exact in units, and deterministic to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/sink_solver.h"

namespace attnflow::internal {

class RowBounds {
 public:
  // `top`: the arcs of the output token; `own`: the position of the token itself, or kNoNode if it is none of them.
  RowBounds(std::vector<std::int64_t> top, std::size_t own);

  void descend(const ArcBlock& arcs);

  const std::vector<SinkValue>& values() const { return value_; }
  // By node of the current layer: the first position of the layer above with an arc to it, or the number of that
  // layer's nodes if there is none.
  const std::vector<std::uint32_t>& first_above() const { return first_above_; }
  // Whether the arcs of all layers above the last one lead to the same or earlier positions.
  bool causal_above() const { return causal_above_; }

 private:
  void find_arcs(const ArcBlock& arcs);
  void find_reach(std::size_t below);
  // The lowest capacity of a chain's cut for each node below.
  std::vector<std::int64_t> chain_cuts(const ArcBlock& arcs) const;
  void lengthen_chain(const ArcBlock& arcs);

  std::vector<std::int64_t> top_;
  std::size_t own_;
  bool causal_above_ = true, causal_ = true;  // layers above the last one; all layers
  std::vector<std::uint32_t> first_above_;
  // By position p: what the chain's nodes send to other nodes at p or later (without causality: anywhere), and the
  // minimum of that over all chains so far.
  std::vector<std::int64_t> sent_, chain_cut_;
  std::vector<SinkValue> value_;
  std::size_t descended_ = 0;
  // The top arcs that lead to each node of the current layer, as a row of bits.
  std::size_t words_;
  std::vector<std::uint64_t> reach_;
  std::vector<std::int64_t> row_cut_;     // by node: total capacity of those arcs
  std::vector<std::uint64_t> open_arcs_;  // of the last layer: one bit per arc, set if nonzero
  bool same_arcs_ = false;                // the same arcs as in the layer above
  bool reach_settled_ = false;            // the last layer did not change `reach_`
};

}  // namespace attnflow::internal
