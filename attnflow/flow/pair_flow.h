// The attention flow of one pair: its value, a flow that attains it, and a cut that proves it.
//
// Problem. Find the maximum flow from node i of the network's top layer to node j of layer 0 (flow/layered_network.h):
// the attention flow of Abnar & Zuidema (ACL 2020, section 3.2).
//
// Two proofs. A feasible flow shows that the maximum is at least its value, and a cut that it is at most its capacity
// (weak duality: every path from source to sink crosses the cut). Neither requires trust in the solver: certify()
// checks both in exact arithmetic, in nearly linear time.
//
// Method. Nodes and arcs on no path from i to j are left out, and the rest is rounded down to fixed point (FixedPoint).
// A greedy pass and Dinic's algorithm find the maximum flow in units; the capacity of that solution's minimum cut is
// computed from the capacities rounded up. O(L n^2) per search, 2 to 6 searches in practice.
//
// Choice of the minimum cut. Two minimum cuts are independent of the maximum flow found: the one nearest the output
// token (its source side is what the source still reaches over arcs with residual capacity) and the one nearest the
// input token (its sink side is what still reaches the sink). If they agree, the minimum cut is unique. (In units:
// capacities that agree to 2^-60 count as equal.)
//
// Location of a cut. cut_shares() computes the share of its capacity in each layer. If all of it is at one end, the
// pair is degenerate (flow/flow.h). Otherwise "the" layer of a cut means nothing: an interior minimum cut usually has a
// small part in every layer, and another one of the same capacity may be divided differently.
//
// References: those of flow/flow.h.
//
// Example:
//
//     const LayeredNetwork network = attention_network(graph, 6, 0);  // output tokens after layer 6, input tokens
//     const PairFlow pair = flow_of_pair(network, 0, 3);
//     const FlowCertificate proof = certify(network, 0, 3, pair);
//     assert(proof.holds() && pair.flow <= proof.low && proof.high <= pair.flow + pair.flow_gap);
//     for (const CutShare& part : cut_shares(network, pair)) {
//       std::printf("layer %zu: %.0f%% of the minimum cut\n", part.layer, 100.0 * part.share);
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attnflow/flow/layered_network.h"

namespace attnflow {

// The arc (layer, from) -> (layer - 1, to).
struct FlowArc {
  std::size_t layer = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t units = 0;  // flow on the arc, in units of 2^-exponent; 0 for arcs of a cut
  friend bool operator==(const FlowArc&, const FlowArc&) = default;
};

struct PairFlow {
  double flow = 0.0;      // at most the maximum flow
  double flow_gap = 0.0;  // the maximum flow is at most flow + flow_gap
  FixedPoint fixed_point;
  std::vector<FlowArc> arc_flows;    // arcs with positive flow, from the top layer down, by position
  std::vector<FlowArc> minimum_cut;  // arcs from the source side to the sink side, in the same order
};

enum class MinimumCut {
  kNearestOutput,
  kNearestInput,
};

struct PairFlowOptions {
  MinimumCut minimum_cut = MinimumCut::kNearestOutput;
};

// Throws Error(kUsage) for blocks that do not fit together, nodes that do not exist, and capacities, on paths from the
// output to the input token, that are negative or not finite.
PairFlow flow_of_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                      const PairFlowOptions& options = {});

struct CutShare {
  std::size_t layer = 0;
  std::size_t arcs = 0;   // in the cut
  double capacity = 0.0;  // of those arcs, summed exactly and rounded up once
  double share = 0.0;     // of the whole cut's capacity
};

// Returns the shares of flow.minimum_cut, for every layer from the top down; they sum to 1 (or are 0 when no path joins
// the pair). Throws Error(kUsage) for arcs that the network does not have.
std::vector<CutShare> cut_shares(const LayeredNetwork& network, const PairFlow& flow);

struct FlowCertificate {
  bool feasible = false;   // every arc exists, is listed once, and carries at most its capacity
  bool conserves = false;  // flow into an inner node equals flow out of it; nothing else leaves the source's layer
  bool separates = false;  // without the cut's arcs, no path with capacity leads from the source to the sink
  double low = 0.0;        // value of the flow, rounded down (0 unless feasible and conserving)
  double high = 0.0;       // capacity of the cut, rounded up (infinite unless separating)
  // The first problem found, as a sentence, or empty. A certificate that holds can report an ignored arc of the cut
  // that is not in the network.
  std::string problem;
  bool holds() const { return feasible && conserves && separates; }
};

// Checks a flow and a cut from any source: `arc_flows` in units of 2^-fixed_point.exponent, and the cut as a list of
// arcs. Exact (128-bit sums of units). If units are so small that the flow leaving a node on the way would not fit into
// 61 bits, nothing is proven. O(L n^2 log n). Throws Error(kUsage) for an invalid network, or nodes that do not exist.
FlowCertificate certify(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                        const PairFlow& flow);

}  // namespace attnflow
