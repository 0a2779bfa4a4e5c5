// Attention flow of one pair: its value, the flow that attains it, and the cut that proves it.
//
// Problem. Maximum flow from node i of the network's top layer to node j of layer 0 (flow/layered_network.h).
//
// Why two proofs. A feasible flow shows that the maximum is at least its value; a cut, that it is at most its capacity
// (weak duality: every path from source to sink crosses the cut). Both can be checked without trusting the solver that
// found them: certify() does, in exact arithmetic, in time linear in the network.
//
// Method. Capacities are rounded down to a fixed point (FixedPoint), the maximum flow in units is found by Dinic's
// algorithm, and the minimum cut of that solution is priced with the capacities rounded up. O(L n^2) a phase.
//
// Source: S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020, section 3.2.
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

// Throws Error(kUsage) for a bad network, or nodes that are not there.
PairFlow flow_of_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token);

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
// Exact (128-bit sums of units). Units so small that a row sum would not fit into 61 bits prove nothing. O(L n^2).
FlowCertificate certify(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                        const PairFlow& flow);

}  // namespace attnflow

#endif  // ATTNFLOW_FLOW_PAIR_FLOW_H_
