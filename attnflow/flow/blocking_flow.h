// The flow of one pair in the network of one sink: a greedy pass, then augmenting paths.
//
// Problem. Find the maximum flow from a source, with arcs to the nodes of layer depth - 1, to the sink, with arcs from
// the nodes of layer 1, through dense blocks of arcs. All capacities are in units (FixedPoint).
//
// Method:
//   1. Greedy pass: depth-first from the source, each node passes on as much as it can, to lower nodes in the network's
//      order (flow/sink_network.h). A node that could not pass on everything is dead: nothing can pass it until flow is
//      taken back, which this pass never does. A full arc, or one to a dead node, is abandoned for good, so the pass
//      takes at most one step per arc. The last step, from layer 2 to layer 1, is most of the work and handles eight
//      arcs at a time.
//   2. Dinic's algorithm (1970) on the remainder: breadth-first search over residual arcs, then a blocking flow on the
//      shortest paths, until the sink is out of reach. The nodes that the last search reached are the source side of a
//      minimum cut. Most pairs need no flows on arcs, so the greedy pass is repeated with recording before step 2.
//
// Complexity: O(depth n^2) for the pass and for each search. Memory: see FlowLayer, plus 8 bytes per arc for flows.
// Vector code is chosen at run time (Highway). Deterministic.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attnflow::internal {

inline constexpr std::size_t kBlock = 8;  // nodes processed at once by vector code; rows are zero-padded to it
inline constexpr std::uint32_t kNoNode = 0xffffffff;

constexpr std::size_t padded(std::size_t nodes) { return (nodes + kBlock - 1) / kBlock * kBlock; }
constexpr std::size_t bit_words(std::size_t nodes) { return (nodes + 63) / 64; }

// Layer k = 1 ... depth - 1. Nodes are numbered in the network's order. "Below" is layer k - 1, "above" is layer k + 1.
struct FlowLayer {
  std::size_t nodes = 0;
  std::size_t stride = 0;                   // row stride of `capacity` and `flow`: padded(nodes below); k >= 2
  const std::int64_t* capacity = nullptr;   // [nodes, stride]; k >= 2
  const std::uint32_t* straight = nullptr;  // [nodes] the node below at the same position, or kNoNode; k >= 3
  // For the greedy pass, [nodes]:
  std::uint32_t* cursor = nullptr;        // first arc not yet abandoned
  std::int64_t* cursor_left = nullptr;    // the remainder of that arc; -1: all of it
  std::int64_t* straight_left = nullptr;  // the remainder of the straight arc; -1: all of it
  std::uint32_t* next_alive = nullptr;    // [nodes + 1] a node's own number while alive; else a larger one (a forest)
  // Recorded flow:
  std::int64_t* flow = nullptr;     // [nodes, stride]; k >= 2; zero between solves
  std::uint64_t* inflow = nullptr;  // nodes above that ever sent flow here; zero between solves
  std::size_t inflow_words = 0;     // bit_words(nodes above)
  // For the search:
  std::int64_t* distance = nullptr;    // from the source; -1: out of reach, -2: dead end
  std::uint64_t* unreached = nullptr;  // [bit_words(nodes)]
  std::uint32_t* arc = nullptr;        // [nodes] current arc: forward arcs first, then backward arcs
};

struct FlowStep {
  std::uint32_t layer;
  std::uint32_t node;
  std::int64_t* flow;  // changed by + or - the amount pushed
  std::int64_t room;
  bool forward;
};

// Which nodes try their straight arc (to the same position one layer down) before all others.
enum class StraightFirst : std::uint8_t { kNone, kSource, kAll };  // kSource: only the source's own position
inline constexpr std::size_t kStraightFirstWays = 3;

struct FlowPass {
  FlowLayer* layers = nullptr;                  // [depth]; index k; 0 is unused
  std::size_t depth = 0;                        // >= 3
  const std::int64_t* supply = nullptr;         // [padded(nodes of layer depth - 1)] the source's arcs
  const std::uint32_t* source_order = nullptr;  // nodes of layer depth - 1 with supply, in the greedy pass's order
  std::size_t sources = 0;
  const std::int64_t* sink_capacity = nullptr;  // [padded(nodes of layer 1)]
  std::int64_t enough = 0;                      // an upper bound: work ends when it is reached
  StraightFirst straight_first = StraightFirst::kNone;
  const std::uint32_t* own = nullptr;  // [depth] node of layer k at the source's position, or kNoNode

  std::int64_t* supply_left = nullptr;   // as supply
  std::int64_t* sink_left = nullptr;     // as sink_capacity
  std::uint64_t* live_blocks = nullptr;  // blocks of layer 1 with a remainder in sink_left, one bit each
  FlowStep* path = nullptr;              // [all nodes + 2]
  std::uint64_t* pushes = nullptr;       // the greedy pass adds its number of pushes, a measure of its work
  std::uint64_t* queue = nullptr;        // [all nodes]
};

// Runs the greedy pass and returns its value. `record` keeps the flow for augment_flow().
std::int64_t greedy_flow(const FlowPass& pass, bool record);

// Continues from the recorded flow of value `flow`; returns the maximum flow, or pass.enough once that is reached.
// Below pass.enough, the nodes with layers[k].distance >= 0 are the source side of a minimum cut.
std::int64_t augment_flow(const FlowPass& pass, std::int64_t flow);

void clear_flow(const FlowPass& pass);

inline void set_bit(std::uint64_t* words, std::size_t bit) { words[bit / 64] |= std::uint64_t{1} << (bit % 64); }

// Calls visit(bit) for each set bit of `words`, in order.
template <typename Visit>
void for_each_bit(std::span<const std::uint64_t> words, const Visit& visit) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    for (std::uint64_t word = words[w]; word != 0; word &= word - 1) {
      visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
    }
  }
}

inline void record_flow(const FlowPass& pass, std::size_t k, std::size_t node, std::size_t end, std::int64_t units) {
  const FlowLayer& below = pass.layers[k - 1];
  pass.layers[k].flow[node * pass.layers[k].stride + end] += units;
  set_bit(below.inflow + end * below.inflow_words, node);
}

// Calls visit(node, end, units) for every arc of layer k, 2 <= k < depth, that has ever carried flow.
template <typename Visit>
void for_each_recorded(const FlowPass& pass, std::size_t k, const Visit& visit) {
  const FlowLayer& layer = pass.layers[k];
  const FlowLayer& below = pass.layers[k - 1];
  for (std::size_t end = 0; end < below.nodes; ++end) {
    for_each_bit({below.inflow + end * below.inflow_words, below.inflow_words},
                 [&](std::size_t node) { visit(node, end, layer.flow[node * layer.stride + end]); });
  }
}

}  // namespace attnflow::internal
