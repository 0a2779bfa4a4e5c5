// Attention flow of one pair: its value, the flow that attains it, and the cut that proves it.
//
// Problem. Maximum flow from node i of the network's top layer to node j of layer 0 (flow/layered_network.h): the
// attention flow of Abnar & Zuidema (ACL 2020, section 3.2).
//
// Why two proofs. A feasible flow shows that the maximum is at least its value; a cut, that it is at most its capacity
// (weak duality: every path from source to sink crosses the cut). Both can be checked without trusting the solver that
// found them: certify() does, in exact arithmetic, in time linear in the network.
//
// Method. Nodes and arcs that lie on no path from i to j are left out. The rest is rounded down to a fixed point
// (FixedPoint); a greedy pass and Dinic's algorithm find the maximum flow in units, and the minimum cut of that
// solution is priced with the capacities rounded up. O(L n^2) a search, 2 to 6 searches in practice.
//
// Which minimum cut. There may be many. Two of them are the same whatever maximum flow was found, and are offered: the
// one nearest the output token (its source side is what the source still reaches over arcs with room) and the one
// nearest the input token (its sink side is what still reaches the sink). Where they agree the minimum cut is unique.
// (In units: capacities that agree to 2^-60 count as equal.)
//
// Where a cut lies. cut_shares() says how much of its capacity each layer holds. When all of it is at one end, the pair
// is degenerate (flow/flow.h). Otherwise read it with care: an interior minimum cut usually takes a little from every
// layer, and another one of the same capacity may divide it otherwise, so "the" layer of a cut means nothing.
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//   L. R. Ford and D. R. Fulkerson, Maximal Flow Through a Network, Canadian J. Math. 8, 1956:
//     https://doi.org/10.4153/CJM-1956-045-5
//   E. A. Dinic, Algorithm for Solution of a Problem of Maximum Flow in Networks with Power Estimation, Soviet Math.
//     Doklady 11, 1970
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
#ifndef ATTNFLOW_FLOW_PAIR_FLOW_H_
#define ATTNFLOW_FLOW_PAIR_FLOW_H_

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
  std::int64_t units = 0;  // flow on it, in units of 2^-exponent; 0 for arcs of a cut
  friend bool operator==(const FlowArc&, const FlowArc&) = default;
};

struct PairFlow {
  double flow = 0.0;      // at most the maximum flow
  double flow_gap = 0.0;  // the maximum flow is at most flow + flow_gap
  FixedPoint fixed_point;
  std::vector<FlowArc> arc_flows;    // arcs with a positive flow, from the top layer down, by position
  std::vector<FlowArc> minimum_cut;  // arcs from the source side to the sink side, same order
};

enum class MinimumCut {
  kNearestOutput,
  kNearestInput,
};

struct PairFlowOptions {
  MinimumCut minimum_cut = MinimumCut::kNearestOutput;
};

// Throws Error(kUsage) for blocks that do not fit, nodes that are not there, and capacities that are negative or not
// finite. (Capacities that no path from the output to the input token meets are not looked at.)
PairFlow flow_of_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                      const PairFlowOptions& options = {});

// A layer's part of a cut.
struct CutShare {
  std::size_t layer = 0;
  std::size_t arcs = 0;   // of the cut
  double capacity = 0.0;  // of those, summed exactly and rounded up once
  double share = 0.0;     // of the capacity of the whole cut
};

// Of flow.minimum_cut, for every layer from the top down; shares sum to 1 (or are 0 when nothing joins the pair).
// Throws Error(kUsage) for arcs that the network does not have.
std::vector<CutShare> cut_shares(const LayeredNetwork& network, const PairFlow& flow);

// What a flow and a cut prove together.
struct FlowCertificate {
  bool feasible = false;   // every arc exists, is named once, and carries no more than its capacity
  bool conserves = false;  // what enters an inner node leaves it; nothing leaves the source's layer elsewhere
  bool separates = false;  // without the arcs of the cut, no arc with capacity leads from the source to the sink
  double low = 0.0;        // value of the flow, rounded down (0 unless feasible and conserving)
  double high = 0.0;       // capacity of the cut, rounded up (infinite unless separating)
  std::string problem;     // the first thing found wrong, as a sentence; empty when the certificate holds
  bool holds() const { return feasible && conserves && separates; }
};

// Checks arcs that anyone may have made: `arc_flows` in units of 2^-fixed_point.exponent, and a cut as a list of arcs.
// Exact (128-bit sums of units). Units so small that what leaves one node on the way would not fit into 61 bits prove
// nothing. O(L n^2 log n). Throws Error(kUsage) for a bad network, or nodes that are not there.
FlowCertificate certify(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                        const PairFlow& flow);

}  // namespace attnflow

#endif  // ATTNFLOW_FLOW_PAIR_FLOW_H_
