// Attention flow: how much of each input token can reach each output token when attention weights are capacities.
//
// Problem. Given the mixing matrices A_1 ... A_L of a Transformer (graph/mixing.h), an output token i after layer l and
// an input token j after layer m < l, how much can flow from i down to j if no arc (k, p) -> (k - 1, q) carries more
// than A_k[p, q]?
//
// Definition (Abnar & Zuidema, ACL 2020, section 3.2): the maximum flow from node (l, i) to node (m, j) of the layered
// network with those capacities. Each pair (i, j) is a separate problem: the values of a row are not shares of a whole,
// and do not sum to 1.
//
// For gradient-adjusted attention (graph/gradient_mixing.h), use ResidualRule::kAddedNormalized: capacities are then
// shares, and the properties below hold.
//
// Properties, for row-stochastic A_k. (Otherwise, replace 1 by the largest row sum; the first property requires row
// sums of at most 1, because proportions above 1 multiply and capacities do not.) Proofs: docs/flow.md.
//   * rollout[i, j] <= flow[i, j] <= min(1, sum_k A_(m+1)[k, j]): routing the rollout mass is a feasible flow.
//   * l = m + 1: flow = A_l.  l = m + 2: flow[i, j] = sum_k min(A_l[i, k], A_(l-1)[k, j]).
//   * Upper bound: flow_l[i, j] <= sum_k min(A_l[i, k], flow_(l-1)[k, j]): the flow through k is at most either one.
//   * Lower bound: flow_l[i, j] >= min over t in {0} and {flow_(l-1)[k, j]} of t + sum of A_l[i, k] over the k with
//     flow_(l-1)[k, j] > t. Proof: let X be the nodes of layer l-1 on the source side of a minimum cut, and t the
//     largest flow_(l-1) among them (0 if X is empty). The part of the cut below layer l-1 separates that node from j,
//     so it costs at least t; the arcs from i to nodes outside X cost at least those to nodes with a larger flow.
//   * The same lower bound holds at a lower layer, for any amounts at its nodes that some flow from i brings there.
//
// Degeneracy. With increasing depth the minimum cut moves to one end of the network, and the layers in between stop
// mattering. In encoders it moves to the first layer's column (every output token then has the same row), in decoders
// to the top row. A pair is degenerate when l - m > 1, a path joins it, and its value equals one of these two end cuts
// within the tolerance, an absolute difference. Each value is marked accordingly (kFirstLayerColumn if it equals both).
//
// Method. Capacities are scaled to integers of 2^-60 (FixedPoint), and all arithmetic on them is exact. Input tokens
// (the sinks) are divided among threads. For one sink, levels are processed from the bottom up, so that the values one
// layer down are known; a pair is settled by the first of these that succeeds: the two bounds above; the lower bound at
// a lower layer; a greedy pass; a cut of a shape that settled another pair; augmenting paths (flow/sink_solver.h). One
// output token is the same problem upside down: the token is the only sink, and each input token is a source
// (flow/row_flow.h).
//
// Wider enclosures. With max_gap, a value of one output token is settled as soon as its bounds, the largest flow and
// the smallest cut found so far, are that close. When all output tokens are computed, max_gap is ignored, because it
// would save nothing: enclosures are then as narrow as rounding allows.
//
// Enclosure. Rounding capacities down loses less than one unit per arc of a minimum cut, so the true value lies in
// [flow, flow + flow_gap] with a gap of at most (n^2 ceil((L - 2) / 2) + 2 n) 2^-60 and two roundings: below 1e-12 for
// 12 layers of 256 tokens, or 6 of 512. (One layer down the value is the capacity, and the gap is 0.) The enclosure
// does not depend on a solver tolerance: there is none (except max_gap).
//
// Complexity. O(L n^2) to search one pair, of which there are L n^2; most pairs are settled in O(n) or by one greedy
// pass. Measurements: docs/flow.md. Memory: O(L n^2) for all pairs of all layers, known before the work starts
// (flow/flow_memory.h).
//
// Time. After `deadline` the remaining pairs keep the bounds that O(n) per pair gives: mostly wide enclosures, all of
// them valid. How many pairs this affects depends on the machine.
//
// Determinism: the same input gives the same bits for any thread count and vector width, unless a deadline passes.
// Cancellable, with progress by input token or, for one output token, by parts of its input tokens.
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
//     const AttentionGraph graph = attention_graph(stack);
//     const FlowResult all = attention_flow(graph);  // [layer, output_token, input_token]
//     const FlowResult one = attention_flow(graph, {.layers = {6}, .output_token = 0});  // one row, much faster
//     const double low = one.flow(0, 0, 3), high = low + one.flow_gap(0, 0, 3);  // enclose the maximum flow
//     assert(all.flow(5, 0, 3) <= high && low <= all.flow(5, 0, 3) + all.flow_gap(5, 0, 3));
//     if (one.degenerate(0, 0, 3) != 0) std::puts("set by the first or last layer alone");
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "attnflow/base/deadline.h"
#include "attnflow/base/progress.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/normalize.h"

namespace attnflow {

enum class FlowDegeneracy : std::uint8_t {
  kNone = 0,
  kFirstLayerColumn = 1,  // the value is what layer m + 1 can carry to j from nodes that i reaches
  kTopRow = 2,            // the value is what i can send to nodes that reach j
};

// The number of pairs settled by each method, among those more than two layers apart and connected by a path. Earlier
// successes change the order of attempts, so these numbers depend on the number of threads; values do not.
struct FlowCounts {
  std::uint64_t bounds = 0;    // the bounds from the values one layer down
  std::uint64_t pushed = 0;    // the lower bound at a lower layer
  std::uint64_t meetings = 0;  // a flow built from both ends
  std::uint64_t greedy = 0;    // a greedy pass that reached an upper bound
  std::uint64_t cuts = 0;      // a greedy pass that reached the capacity of a cut of a known shape
  std::uint64_t search = 0;    // augmenting paths

  FlowCounts& operator+=(const FlowCounts& other) {
    bounds += other.bounds;
    pushed += other.pushed;
    meetings += other.meetings;
    greedy += other.greedy;
    cuts += other.cuts;
    search += other.search;
    return *this;
  }
};

struct FlowOptions {
  std::vector<std::size_t> layers =
      {};                       // the requested l, in (start_layer, L]; results are in increasing order; empty: all
  std::size_t start_layer = 0;  // m
  std::optional<std::size_t> output_token = {};  // compute only this row; absent: all rows
  const TokenGroups* input_groups = nullptr;     // words: pieces that share a sink; columns are then groups
  double tolerance = 1e-6;                       // for a value to count as equal to an end cut
  double max_gap = 0.0;     // for one output token, the allowed width of enclosures; 0: only rounding
  std::size_t threads = 0;  // 0: one per hardware thread
  std::optional<std::size_t> memory_limit = {};  // limit in bytes; absent: the machine's available memory
  ProgressFunction progress = {};                // units of work: input tokens, or parts of them
  std::stop_token stop_token = {};               // when triggered, Cancelled is thrown
  Deadline deadline = {};                        // no further work to close enclosures begins after this
  FlowCounts* counts = nullptr;                  // if set, the numbers of pairs settled by each method are added to it
};

// All arrays are [requested layers, output tokens, input tokens], with one output token if the options name one.
struct FlowResult {
  Tensor<double> flow;              // lower end of the enclosure
  Tensor<double> flow_gap;          // upper end - lower end
  Tensor<std::uint8_t> degenerate;  // FlowDegeneracy
  bool out_of_time = false;         // the deadline passed before all pairs were processed
};

// Throws Error(kUsage) for layers or tokens out of range, more than kMaxFlowLayers layers, a negative tolerance or
// max_gap, negative or non-finite weights, and groups that do not partition the tokens. Throws Error(kOther), before
// any work, if it needs more memory than is available; the message says how much, and what would fit. Throws Cancelled.
FlowResult attention_flow(const AttentionGraph& graph, const FlowOptions& options = {});

}  // namespace attnflow
