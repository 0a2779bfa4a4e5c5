// One pair's flow in the network of one sink: a greedy pass, then augmenting paths.
//
// Problem. Maximum flow from a source, with arcs to the nodes of layer depth - 1, to the sink, with arcs from the nodes
// of layer 1, through dense blocks of arcs between the layers. All capacities are units (FixedPoint).
//
// Method.
//   1. Greedy pass: depth-first from the source, each node handing on as much as it can, lower layers in the order of
//      the network (flow/sink_network.h). A node that could not hand on all it was given is dead: nothing can pass it
//      until flow is taken back somewhere, which this pass never does. Each arc is left for good once it is full or its
//      end is dead, so the pass costs one step an arc at most. The last step, from layer 2 to layer 1, where most of
//      the work is, handles eight arcs at a time.
//   2. Dinic's algorithm (1970) on what the pass left: breadth-first search over residual arcs, then a blocking flow on
//      the shortest paths, until the sink is out of reach. What the last search reached is the source side of a minimum
//      cut. The greedy pass keeps no flows on arcs (most pairs need none): it is run again, recording, before step 2.
//
// Complexity: O(depth n^2) for the pass, and for each search; memory: see FlowLayer, 8 bytes an arc for flows.
// Vector code is chosen at run time (Highway). Deterministic.
#ifndef ATTNFLOW_FLOW_BLOCKING_FLOW_H_
#define ATTNFLOW_FLOW_BLOCKING_FLOW_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace attnflow::internal {

inline constexpr std::size_t kBlock = 8;  // nodes that vector code takes at once; rows are padded to it with zeros
inline constexpr std::uint32_t kNoNode = 0xffffffff;

constexpr std::size_t padded(std::size_t nodes) { return (nodes + kBlock - 1) / kBlock * kBlock; }
constexpr std::size_t bit_words(std::size_t nodes) { return (nodes + 63) / 64; }

// Layer k = 1 ... depth - 1. Nodes are numbered in the network's order. "Below" is layer k - 1, "above" layer k + 1.
struct FlowLayer {
  std::size_t nodes = 0;
  std::size_t stride = 0;                   // of rows of `capacity` and `flow`: padded(nodes below); k >= 2
  const std::int64_t* capacity = nullptr;   // [nodes, stride]; k >= 2
  const std::uint32_t* straight = nullptr;  // [nodes] the node below at the same position, or kNoNode; k >= 3
  // Of the greedy pass, [nodes]:
  std::uint32_t* cursor = nullptr;        // first arc that is not left yet
  std::int64_t* cursor_left = nullptr;    // what remains of it; -1: all
  std::int64_t* straight_left = nullptr;  // what remains of the straight arc; -1: all
  std::uint32_t* next_alive = nullptr;    // [nodes + 1] a node's own number while alive; else a larger one (a forest)
  // Recorded flow:
  std::int64_t* flow = nullptr;     // [nodes, stride]; k >= 2; zero between solves
  std::uint64_t* inflow = nullptr;  // [nodes, bit_words(nodes above)] nodes above that ever sent; zero between
  std::size_t inflow_words = 0;     // bit_words(nodes above)
  // Of the search:
  std::int64_t* distance = nullptr;    // [padded(nodes)] from the source; -1 out of reach, -2 a dead end
  std::uint64_t* unreached = nullptr;  // [bit_words(nodes)]
  std::uint32_t* arc = nullptr;        // [nodes] current arc: forward ones first, then those back up
};

// An arc as the depth-first search takes it.
struct FlowStep {
  std::uint32_t layer;
  std::uint32_t node;
  std::int64_t* flow;  // to be changed by + or - what is pushed
  std::int64_t room;
  bool forward;
};

// Which node sends along its straight arc (to the same position one layer down) before all others.
enum class StraightFirst : std::uint8_t { kNone, kSource, kAll };  // kSource: only the source's own position
inline constexpr std::size_t kStraightFirstWays = 3;

struct FlowPass {
  FlowLayer* layers = nullptr;                  // [depth]; index k; 0 is unused
  std::size_t depth = 0;                        // >= 3
  const std::int64_t* supply = nullptr;         // [padded(nodes of layer depth - 1)] the source's arcs
  const std::uint32_t* source_order = nullptr;  // nodes of layer depth - 1 with supply, in the order of the greedy pass
  std::size_t sources = 0;
  const std::int64_t* sink_capacity = nullptr;  // [padded(nodes of layer 1)]
  std::int64_t enough = 0;                      // an upper bound: reaching it ends the work
  StraightFirst straight_first = StraightFirst::kNone;
  const std::uint32_t* own = nullptr;  // [depth] node of layer k at the source's position, or kNoNode

  std::int64_t* supply_left = nullptr;   // as supply
  std::int64_t* sink_left = nullptr;     // as sink_capacity
  std::uint64_t* live_blocks = nullptr;  // blocks of layer 1 with something left in sink_left, one bit each
  FlowStep* path = nullptr;              // [all nodes + 2]
  std::uint64_t* pushes = nullptr;       // the greedy pass adds the number of its pushes, a measure of its work
  std::uint64_t* queue = nullptr;        // [all nodes]
};

// The value of the greedy pass. `record` keeps the flow for augment_flow().
std::int64_t greedy_flow(const FlowPass& pass, bool record);

// The maximum flow, or pass.enough when that is reached, from the recorded flow of value `flow`. When the result is
// below pass.enough, nodes with layers[k].distance >= 0 are the source side of a minimum cut.
std::int64_t augment_flow(const FlowPass& pass, std::int64_t flow);

// Forgets the recorded flow.
void clear_flow(const FlowPass& pass);

// Adds to the recorded flow of the arc from node `node` of layer k to node `end` of the layer below.
inline void record_flow(const FlowPass& pass, std::size_t k, std::size_t node, std::size_t end, std::int64_t units) {
  const FlowLayer& below = pass.layers[k - 1];
  pass.layers[k].flow[node * pass.layers[k].stride + end] += units;
  below.inflow[end * below.inflow_words + node / 64] |= std::uint64_t{1} << (node % 64);
}

// Calls visit(k, node, end, units) for every arc below the source that was ever given flow, from node `node` of layer
// k.
template <typename Visit>
void for_each_recorded(const FlowPass& pass, Visit visit) {
  for (std::size_t k = 2; k < pass.depth; ++k) {
    const FlowLayer& layer = pass.layers[k];
    const FlowLayer& below = pass.layers[k - 1];
    for (std::size_t end = 0; end < below.nodes; ++end) {
      const std::uint64_t* senders = below.inflow + end * below.inflow_words;
      for (std::size_t w = 0; w < below.inflow_words; ++w) {
        for (std::uint64_t word = senders[w]; word != 0; word &= word - 1) {
          const std::size_t node = w * 64 + static_cast<std::size_t>(std::countr_zero(word));
          visit(k, node, end, layer.flow[node * layer.stride + end]);
        }
      }
    }
  }
}

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_BLOCKING_FLOW_H_
