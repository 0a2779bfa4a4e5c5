// The maximum flow of one pair, restricted to nodes on a path.
//
// Nodes that the output token does not reach, or that do not reach the input token, are left out: most of a causal
// network. The rest is converted to units once, and solved by a greedy pass that tries straight arcs first, then by
// augmenting paths (flow/blocking_flow.h). Sorting nodes by value (flow/sink_network.h) is not worth it for one pair.
//
// O(depth n^2) for the layout, and for each search; 16 bytes per arc on a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attnflow/flow/blocking_flow.h"
#include "attnflow/flow/layered_network.h"

namespace attnflow::internal {

class PairSolver {
 public:
  // The network, whose blocks must fit together, must outlive this object. Throws Error(kUsage) for a capacity that is
  // negative or not finite.
  PairSolver(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token);
  PairSolver(const PairSolver&) = delete;
  PairSolver& operator=(const PairSolver&) = delete;

  // Whether any path leads from the output token to the input token. The functions below require a joined pair.
  bool joined() const { return joined_; }
  FixedPoint fixed_point() const { return fixed_point_; }
  // Returns the maximum flow in units. May be called only once.
  std::int64_t solve();

  // Positions of the nodes of layer k (0 to depth) on a path, increasing. Below, "node" is an index into this list.
  const std::vector<std::uint32_t>& positions(std::size_t k) const { return positions_[k]; }
  // After solve(): the flow on the arc from node p of layer k to node q of layer k - 1.
  std::int64_t flow(std::size_t k, std::size_t p, std::size_t q) const;
  // Calls visit(p, q, units) for each arc from layer k that carries flow; for each p, with increasing q.
  template <typename Visit>
  void for_each_flow(std::size_t k, const Visit& visit) const {
    const auto visit_used = [&](std::size_t p, std::size_t q, std::int64_t units) {
      if (units > 0) visit(p, q, units);
    };
    if (k > 1 && k < depth()) return for_each_recorded(pass_, k, visit_used);
    for (std::size_t p = 0; p < positions(k).size(); ++p) {
      for (std::size_t q = 0; q < positions(k - 1).size(); ++q) visit_used(p, q, flow(k, p, q));
    }
  }

  // [k][p]: whether the source reaches node p of layer k over arcs with residual capacity (the cut nearest the source).
  using Sides = std::vector<std::vector<bool>>;
  Sides reached_by_source() const;
  // Whether each node cannot reach the sink: the source side of the minimum cut nearest the sink.
  Sides not_reaching_sink() const;

 private:
  void find_paths();
  void choose_unit();
  void lay_out();
  std::size_t depth() const { return network_.depth(); }
  std::int64_t units(double capacity) const { return static_cast<std::int64_t>(capacity * scale_); }
  std::int64_t capacity(std::size_t k, std::size_t p, std::size_t q) const;

  const LayeredNetwork& network_;
  std::size_t output_token_;
  std::size_t input_token_;
  bool joined_ = false;
  FixedPoint fixed_point_;
  double scale_ = 1.0;  // units in 1: a power of two, so that products are exact
  std::vector<std::vector<std::uint32_t>> positions_;
  std::vector<FlowLayer> view_;
  std::vector<std::int64_t> supply_, supply_left_;  // by node of layer depth - 1
  std::vector<std::int64_t> sink_, sink_left_;  // by node of layer 1; empty for depth 1, whose only arc is the supply
  std::vector<std::uint32_t> source_order_;
  std::vector<std::uint64_t> live_blocks_, queue_;
  std::vector<FlowStep> path_;
  std::uint64_t pushes_ = 0;
  std::unique_ptr<std::int64_t[]> filled_;
  std::vector<std::int64_t> zeroed_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> numbers_;
  FlowPass pass_;
};

}  // namespace attnflow::internal
