// Dinic's algorithm on a layered network with dense blocks: one source, one sink, integer capacities.
//
// Problem. The source is a node of layer `depth` with arcs to every node of layer depth - 1; the sink is node s of
// layer 0. Find a maximum flow.
//
// Method (E. A. Dinic, 1970). Phases: a breadth-first search from the source over arcs with residual capacity gives
// each node its distance; a depth-first search over arcs that go one step further saturates all shortest paths; repeat
// until the sink is out of reach. What the last search reached is the source side of a minimum cut. Blocks are scanned
// densely: attention has few zeros.
//
// Complexity: O(L n^2) a search; the number of phases is at most the number of nodes, in practice 2 to 6. O(L n^2)
// memory for the flows, cleared by undoing what was touched. Deterministic: nodes are visited in the order of their
// positions.
#ifndef ATTNFLOW_FLOW_LAYERED_DINIC_H_
#define ATTNFLOW_FLOW_LAYERED_DINIC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/layered_network.h"

namespace attnflow {

class LayeredDinic {
 public:
  // The network must outlive this object. Its blocks are those below the top; any of them can be the top too.
  explicit LayeredDinic(const IntegerNetwork& network);

  // The maximum flow in units from a source whose arcs to layer depth - 1 have the capacities `top_row` [nodes of layer
  // depth - 1], to node `sink` of layer 0; 1 <= depth <= network depth. Stops early once the flow reaches `enough` (an
  // upper bound known otherwise): then on_source_side() says nothing.
  std::int64_t solve(const std::int64_t* top_row, std::size_t depth, std::size_t sink,
                     std::int64_t enough = kManyUnits);

  // Of the last solve(): flow on the arcs that leave the source, on those between layer k and k - 1 (depth > k >= 2),
  // and on those that enter the sink.
  std::int64_t flow_from_source(std::size_t p) const { return source_flow_[p]; }
  std::int64_t flow_between(std::size_t k, std::size_t p, std::size_t q) const { return flow_[k](p, q); }
  std::int64_t flow_to_sink(std::size_t p) const { return sink_flow_[p]; }
  // Whether node (k, p), depth > k >= 1, is on the source side of the minimum cut.
  bool on_source_side(std::size_t k, std::size_t p) const { return distance_[k][p] >= 0; }

 private:
  // An arc as the depth-first search takes it: from `node` of layer `layer`, forwards (one layer down) or back.
  struct Step {
    std::size_t layer;
    std::size_t node;
    std::int64_t* flow;
    std::int64_t room;
    bool forward;
  };

  void clear();
  bool search();
  void block(std::int64_t enough);
  bool advance(std::size_t layer, std::size_t node, Step& step, std::size_t& next_layer, std::size_t& next_node);
  void change(std::int64_t* flow, std::int64_t by) {
    if (*flow == 0) touched_.push_back(flow);
    *flow += by;
  }

  const IntegerNetwork& network_;
  // The problem being solved.
  const std::int64_t* top_row_ = nullptr;
  std::size_t depth_ = 0;
  std::size_t sink_ = 0;
  std::int64_t total_ = 0;

  std::vector<std::int64_t> source_flow_;
  std::vector<Tensor<std::int64_t>> flow_;  // flow_[k]: between layers k and k - 1, k >= 2
  std::vector<std::int64_t> sink_flow_;
  std::vector<std::int64_t*> touched_;

  // Distance from the source, -1 when out of reach; by layer k = 1 ... depth - 1.
  std::vector<std::vector<int>> distance_;
  int sink_distance_ = -1;
  std::vector<std::vector<std::size_t>> current_;  // current arc: forward arcs first, then backward arcs
  std::size_t source_current_ = 0;
  std::vector<std::vector<std::size_t>> unreached_;
  std::vector<std::pair<std::size_t, std::size_t>> queue_;
  std::vector<Step> path_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_FLOW_LAYERED_DINIC_H_
