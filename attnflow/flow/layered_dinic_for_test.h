// Dinic's algorithm on a layered network with dense blocks: one source, one sink, integer capacities. A simple,
// independent solver for tests at sizes where flow/naive_flow_for_test.h is too slow.
//
// Problem. The source is a node of layer `depth` with arcs to every node of layer depth - 1; the sink is node s of
// layer 0. Find a maximum flow.
//
// Method (E. A. Dinic, 1970): phases in which a breadth-first search from the source over arcs with residual capacity
// gives each node its distance, and a depth-first search over arcs that go one step further saturates all shortest
// paths, until the sink is out of reach. The nodes reached by the last search are the source side of a minimum cut.
// Blocks are scanned densely because attention has few zeros.
//
// Complexity: O(L n^2) per search; the number of phases is at most the number of nodes, in practice 2 to 6. O(L n^2)
// memory for the flows, cleared by undoing what was touched. Deterministic: nodes are visited in order of position.
#ifndef ATTNFLOW_FLOW_LAYERED_DINIC_FOR_TEST_H_
#define ATTNFLOW_FLOW_LAYERED_DINIC_FOR_TEST_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "attnflow/flow/layered_network.h"

namespace attnflow {

class LayeredDinic {
 public:
  // The network must outlive this object. Its blocks are those below the top, and any of them can also be the top.
  explicit LayeredDinic(const IntegerNetwork& network);

  // Returns the maximum flow in units from a source, whose arcs to layer depth - 1 have the capacities `top_row` [nodes
  // of layer depth - 1], to node `sink` of layer 0; 1 <= depth <= network depth. Stops early once the flow reaches
  // `enough` (an upper bound known from elsewhere); on_source_side() is then meaningless.
  std::int64_t solve(const std::int64_t* top_row, std::size_t depth, std::size_t sink,
                     std::int64_t enough = kManyUnits);

  // For the last solve(): the flow on the arcs that leave the source, on those between layers k and k - 1 (depth > k >=
  // 2), and on those that enter the sink.
  std::int64_t flow_from_source(std::size_t p) const { return source_flow_[p]; }
  std::int64_t flow_between(std::size_t k, std::size_t p, std::size_t q) const { return flow_[k](p, q); }
  std::int64_t flow_to_sink(std::size_t p) const { return sink_flow_[p]; }
  // Whether node (k, p), depth > k >= 1, is on the source side of the minimum cut.
  bool on_source_side(std::size_t k, std::size_t p) const { return distance_[k][p] >= 0; }

 private:
  // An arc taken by the depth-first search: from `node` of layer `layer`, forward (one layer down) or backward.
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

inline LayeredDinic::LayeredDinic(const IntegerNetwork& network) : network_(network) {
  const std::size_t depth = network.depth();
  distance_.resize(depth);
  current_.resize(depth);
  unreached_.resize(depth);
  flow_.resize(depth);
  std::size_t widest = 0;
  for (std::size_t k = 1; k < depth; ++k) {
    const std::size_t nodes = network.layers[k - 1].extent(0);
    distance_[k].assign(nodes, -1);
    current_[k].assign(nodes, 0);
    widest = std::max(widest, nodes);
    if (k >= 2) flow_[k] = Tensor<std::int64_t>(network.layers[k - 1].shape());
  }
  source_flow_.assign(std::max(widest, network.layers[0].extent(1)), 0);
  sink_flow_.assign(network.layers[0].extent(0), 0);
}

inline void LayeredDinic::clear() {
  for (std::int64_t* flow : touched_) *flow = 0;
  touched_.clear();
  total_ = 0;
}

inline std::int64_t LayeredDinic::solve(const std::int64_t* top_row, std::size_t depth, std::size_t sink,
                                        std::int64_t enough) {
  assert(depth >= 1 && depth <= network_.depth());
  clear();
  top_row_ = top_row;
  depth_ = depth;
  sink_ = sink;
  if (depth == 1) {
    if (top_row[sink] > 0) change(&source_flow_[sink], top_row[sink]);
    return top_row[sink];
  }
  while (total_ < enough && search()) block(enough);
  return total_;
}

// Breadth-first search from the source over residual arcs. Returns whether the sink was reached; if so, nodes farther
// away than the sink have no distance.
inline bool LayeredDinic::search() {
  for (std::size_t k = 1; k < depth_; ++k) {
    std::fill(distance_[k].begin(), distance_[k].end(), -1);
    std::fill(current_[k].begin(), current_[k].end(), 0);
    unreached_[k].resize(distance_[k].size());
    std::iota(unreached_[k].begin(), unreached_[k].end(), std::size_t{0});
  }
  source_current_ = 0;
  sink_distance_ = -1;
  queue_.clear();

  // Moves the nodes of layer k for which `open` holds from unreached to reached, keeping the order of the rest.
  const auto reach = [this](std::size_t k, int distance, auto&& open) {
    std::vector<std::size_t>& left = unreached_[k];
    std::size_t kept = 0;
    for (const std::size_t p : left) {
      if (open(p)) {
        distance_[k][p] = distance;
        queue_.emplace_back(k, p);
      } else {
        left[kept++] = p;
      }
    }
    left.resize(kept);
  };

  reach(depth_ - 1, 1, [this](std::size_t p) { return top_row_[p] > source_flow_[p]; });
  const Tensor<std::int64_t>& bottom = network_.layers[0];
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const auto [k, p] = queue_[head];
    const int distance = distance_[k][p];
    if (sink_distance_ >= 0 && distance + 1 > sink_distance_) break;
    if (k == 1) {
      if (bottom(p, sink_) > sink_flow_[p]) sink_distance_ = distance + 1;
    } else if (!unreached_[k - 1].empty()) {
      const std::int64_t* capacity = network_.layers[k - 1].data() + p * network_.layers[k - 1].extent(1);
      const std::int64_t* flow = flow_[k].data() + p * flow_[k].extent(1);
      reach(k - 1, distance + 1, [&](std::size_t q) { return capacity[q] > flow[q]; });
    }
    if (k + 1 < depth_ && !unreached_[k + 1].empty()) {
      const Tensor<std::int64_t>& flow = flow_[k + 1];
      reach(k + 1, distance + 1, [&flow, node = p](std::size_t r) { return flow(r, node) > 0; });
    }
  }
  return sink_distance_ >= 0;
}

// Moves a node's current arc to the next admissible one: with residual capacity, and one step farther from the source.
inline bool LayeredDinic::advance(std::size_t layer, std::size_t node, Step& step, std::size_t& next_layer,
                                  std::size_t& next_node) {
  const int wanted = distance_[layer][node] + 1;
  std::size_t& arc = current_[layer][node];
  std::size_t forward_arcs = 1;
  if (layer == 1) {
    if (arc == 0) {
      const std::int64_t room = network_.layers[0](node, sink_) - sink_flow_[node];
      if (room > 0 && sink_distance_ == wanted) {
        step = {layer, node, &sink_flow_[node], room, true};
        next_layer = 0;
        next_node = sink_;
        return true;
      }
      arc = 1;
    }
  } else {
    const Tensor<std::int64_t>& block = network_.layers[layer - 1];
    forward_arcs = block.extent(1);
    const std::int64_t* capacity = block.data() + node * forward_arcs;
    std::int64_t* flow = flow_[layer].data() + node * forward_arcs;
    const int* distance = distance_[layer - 1].data();
    for (; arc < forward_arcs; ++arc) {
      if (distance[arc] == wanted && capacity[arc] > flow[arc]) {
        step = {layer, node, flow + arc, capacity[arc] - flow[arc], true};
        next_layer = layer - 1;
        next_node = arc;
        return true;
      }
    }
  }
  if (layer + 1 < depth_) {
    Tensor<std::int64_t>& above = flow_[layer + 1];
    for (; arc - forward_arcs < above.extent(0); ++arc) {
      const std::size_t r = arc - forward_arcs;
      if (distance_[layer + 1][r] == wanted && above(r, node) > 0) {
        step = {layer, node, &above(r, node), above(r, node), false};
        next_layer = layer + 1;
        next_node = r;
        return true;
      }
    }
  }
  return false;
}

// Finds a blocking flow on the arcs that the search made admissible.
inline void LayeredDinic::block(std::int64_t enough) {
  const std::size_t first_nodes = distance_[depth_ - 1].size();
  while (source_current_ < first_nodes && total_ < enough) {
    const std::size_t p = source_current_;
    const std::int64_t room = top_row_[p] - source_flow_[p];
    if (room <= 0 || distance_[depth_ - 1][p] != 1) {
      ++source_current_;
      continue;
    }
    path_.clear();
    path_.push_back({depth_, 0, &source_flow_[p], room, true});
    std::size_t layer = depth_ - 1;
    std::size_t node = p;
    while (!path_.empty()) {
      if (layer == 0) {
        std::int64_t push = path_.front().room;
        for (const Step& step : path_) push = std::min(push, step.room);
        push = std::min(push, enough - total_);
        std::size_t first_full = path_.size();
        for (std::size_t s = 0; s < path_.size(); ++s) {
          Step& step = path_[s];
          if (step.forward) {
            change(step.flow, push);
          } else {
            *step.flow -= push;
          }
          step.room -= push;
          if (step.room == 0 && first_full == path_.size()) first_full = s;
        }
        total_ += push;
        if (total_ >= enough) return;
        layer = path_[first_full].layer;
        node = path_[first_full].node;
        path_.resize(first_full);
        continue;
      }
      Step step{};
      std::size_t next_layer = 0;
      std::size_t next_node = 0;
      if (advance(layer, node, step, next_layer, next_node)) {
        path_.push_back(step);
        layer = next_layer;
        node = next_node;
        continue;
      }
      // A dead end: nothing can pass here in this phase, so undo the step that led here and never take it again.
      distance_[layer][node] = -1;
      layer = path_.back().layer;
      node = path_.back().node;
      path_.pop_back();
    }
    // The source's arc is full, or the node it leads to is dead.
  }
}

}  // namespace attnflow

#endif  // ATTNFLOW_FLOW_LAYERED_DINIC_FOR_TEST_H_
