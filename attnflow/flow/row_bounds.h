// Bounds on the flow from one output token to every input token, all of them at once.
//
// Problem. One node above layer D - 1, with arcs of capacity top[p] to its nodes, and arcs (k, p) -> (k - 1, q) below
// as in LayeredNetwork. Between what does the maximum flow f_k(q) from that node to (k, q) lie, for every q?
//
// Method. From the top down, one layer at a time, with the proofs of flow/flow.h read upside down: a flow that ends in
// (k, q) comes there through the nodes p of layer k + 1, each of which can bring what its arc carries and what reaches
// it. So
//   f_k(q) <= sum_p min(A_(k+1)[p, q], high_(k+1)(p)),  and at most the top arcs to nodes from which q can be reached,
//   f_k(q) >= min over t in {0} and {low_(k+1)(p)} of t + sum of A_(k+1)[p, q] over the p with low_(k+1)(p) > t.
// Two layers below the output the sum is exact, since its arcs serve nobody else.
//
// Chains. The source side of a cut may be the output token's own position in the uppermost layers, which often keeps
// more than half of what the token has: it then costs what those nodes send to others that reach (k, q), and the
// straight arc below the last of them. In causal stacks those that reach it stand at no earlier position than the first
// with an arc to it, so that sums from the right over one row a layer give all these cuts, in O(n).
//
// Complexity. O(n^2) a layer, which is read once and in order, and n^3 / 64 where the arcs that are not 0 are others
// than in the layer above; n numbers and n^2 / 4 bytes (which top arcs lead to a node, and which arcs there are) are
// kept. Exact in units; the same bits always.
#ifndef ATTNFLOW_FLOW_ROW_BOUNDS_H_
#define ATTNFLOW_FLOW_ROW_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/sink_solver.h"

namespace attnflow::internal {

class RowBounds {
 public:
  // `top`: the arcs of the output token, whose own position is `own`, or none of them (kNoNode).
  RowBounds(std::vector<std::int64_t> top, std::size_t own);

  // Goes one layer down.
  void descend(const ArcBlock& arcs);

  // What flows to each node here.
  const std::vector<SinkValue>& values() const { return value_; }
  // By node here: the first position of the layer above with an arc to it; as many as that layer has nodes if there is
  // none.
  const std::vector<std::uint32_t>& first_above() const { return first_above_; }
  // Whether the arcs of all layers above the last one lead to the same or earlier positions.
  bool causal_above() const { return causal_above_; }

 private:
  void find_arcs(const ArcBlock& arcs);
  void find_reach(std::size_t below);
  // The least capacity of a chain's cut for each node below.
  std::vector<std::int64_t> chain_cuts(const ArcBlock& arcs) const;
  void lengthen_chain(const ArcBlock& arcs);

  std::vector<std::int64_t> top_;
  std::size_t own_;
  bool causal_above_ = true, causal_ = true;  // layers above the last one; all of them
  std::vector<std::uint32_t> first_above_;
  // By position p: what the chain's nodes send to others at p or later (in networks that are not causal, anywhere), and
  // the least that any of the chains so far sends there.
  std::vector<std::int64_t> sent_, chain_cut_;
  std::vector<SinkValue> value_;
  std::size_t descended_ = 0;
  // Which top arcs lead to a node here: a row of bits for each.
  std::size_t words_;
  std::vector<std::uint64_t> reach_;
  std::vector<std::int64_t> row_cut_;     // by node: what those arcs carry
  std::vector<std::uint64_t> open_arcs_;  // of the last layer: a bit for each that is not 0
  bool same_arcs_ = false;                // as in the layer above it
  bool reach_settled_ = false;            // the last layer changed nothing in it
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_ROW_BOUNDS_H_
