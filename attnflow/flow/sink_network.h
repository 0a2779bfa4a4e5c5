// The part of a layered network that reaches one sink, laid out for the flow solver.
//
// Nodes that cannot send to the sink are left out. A layer's nodes are numbered in the order in which senders should
// try them: those that can deliver much relative to the demand on them first, i.e. by descending F_k[p] / (sum of the
// capacities of the arcs into p), where F_k[p] is the maximum flow from node p of layer k to the sink, or a known upper
// bound. The order depends only on the sink, so each block is permuted once per sink, and all sources then read its
// rows from left to right.
//
// Layers are added from the bottom, once their values, or bounds on them, are known. Memory: 8 bytes per arc, and as
// much again if flow is recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/blocking_flow.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

struct SinkLayer {
  std::size_t nodes = 0;
  std::vector<std::uint32_t> position;  // [nodes] the node's position in the layered network
  std::vector<std::uint32_t> node_at;   // by position: the node, or kNoNode
  std::vector<std::int64_t> low, high;  // [padded(nodes)] bounds on F
  std::vector<std::uint32_t> by_low;    // nodes by descending `low`
  std::vector<std::int64_t> capacity;   // [nodes, padded(nodes below)]; from layer 2
  std::vector<std::int64_t> mass;     // [nodes] total capacity of a node's arcs, saturating at kManyUnits; from layer 2
  std::vector<std::uint32_t> widest;  // [nodes] end of its largest arc; from layer 2
  std::vector<std::uint32_t> straight;  // [nodes] the node below at the same position, or kNoNode; from layer 2
  std::vector<std::uint32_t> cursor, next_alive, arc;
  std::vector<std::int64_t> cursor_left, straight_left, flow, distance;
  std::vector<std::uint64_t> inflow, unreached;
};

class SinkNetwork {
 public:
  // blocks[k - 1] holds the arcs from layer k to layer k - 1; layer 1's are not read. They must outlive this object.
  explicit SinkNetwork(const std::vector<const Tensor<std::int64_t>*>& blocks);

  void clear() { layers_ = 0; }
  // Adds layer k = layers() + 1, whose F is between low and high, by position (equal for layer 1); `demand` holds the
  // sums of the arcs into its nodes.
  void add_layer(const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high,
                 const std::vector<double>& demand);

  std::size_t layers() const { return layers_; }
  const SinkLayer& layer(std::size_t k) const { return layer_[k]; }

  // A view for a problem whose source, at `position`, is above the top layer: depth = layers() + 1.
  FlowPass pass(std::size_t position);
  // From now on passes, including existing ones, have room to record their flow.
  void record();

 private:
  std::size_t largest_capacity(std::size_t k) const;
  void prepare_search(std::size_t k);
  void prepare_record(std::size_t k);

  const std::vector<const Tensor<std::int64_t>*>& blocks_;
  std::size_t layers_ = 0;
  bool records_ = false;
  std::vector<SinkLayer> layer_;  // by layer k; 0 is unused
  std::vector<FlowLayer> view_;   // the same
  std::vector<std::uint32_t> own_;
  std::vector<std::int64_t> supply_left_, sink_left_;
  std::vector<std::uint64_t> live_blocks_, queue_;
  std::vector<FlowStep> path_;
  std::uint64_t pushes_ = 0;
  std::vector<double> key_;
};

}  // namespace attnflow::internal
