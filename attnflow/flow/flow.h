// Attention flow: how much of each input token can reach each output token when attention weights are capacities.
//
// Problem. Given the mixing matrices A_1 ... A_L of a Transformer (graph/mixing.h), an output token i after layer l and
// an input token j after layer m < l: how much can flow from i down to j when no arc (k, p) -> (k - 1, q) carries more
// than A_k[p, q]?
//
// Definition (Abnar & Zuidema, ACL 2020, section 3.2). The maximum flow from node (l, i) to node (m, j) of the layered
// network with those capacities. Each pair (i, j) is a problem of its own: values of a row are not shares of a whole,
// and do not sum to 1.
//
// For gradient-adjusted attention (graph/gradient_mixing.h) take ResidualRule::kAddedNormalized: capacities then are
// shares, and what follows holds.
//
// What holds (let every A_k be row-stochastic, else read the largest row sum for 1; the first law needs row sums of at
// most 1: proportions above 1 multiply, capacities do not). Proofs: docs/flow.md.
//   * rollout[i, j] <= flow[i, j] <= min(1, sum_k A_(m+1)[k, j]): routing the rollout mass is a feasible flow.
//   * l = m + 1: flow = A_l.  l = m + 2: flow[i, j] = sum_k min(A_l[i, k], A_(l-1)[k, j]).
//   * Upper bound: flow_l[i, j] <= sum_k min(A_l[i, k], flow_(l-1)[k, j]): what passes k is at most both.
//   * Lower bound: flow_l[i, j] >= min over t in {0} and {flow_(l-1)[k, j]} of t + sum of A_l[i, k] over the k with
//     flow_(l-1)[k, j] > t. Proof: let X be the nodes of layer l-1 on the source side of a minimum cut, and t the
//     largest flow_(l-1) among them (0 if X is empty). The part of the cut below layer l-1 separates that node from j,
//     so it costs at least t; the arcs from i to nodes outside X cost at least those to nodes with a larger flow.
//   * The same bound holds further down for any amounts at the nodes of a layer that some flow from i brings there.
//
// Degeneracy. With depth the minimum cut moves to an end of the network and the layers between stop mattering: in
// encoders to the first layer's column (then every output token has the same row), in decoders to the top row. A pair
// is degenerate when l - m > 1 and its value equals one of these two end cuts within the tolerance; each value says so.
//
// Method. Capacities are scaled to integers of 2^-60 (FixedPoint), and everything is exact in those. Input tokens (the
// sinks) are independent of each other: threads share them out. For one sink, levels go up from the bottom, so that the
// values one layer down are known; a pair is settled by the first of these that will: the two bounds above; the lower
// bound further down; a greedy pass; a cut of a shape that settled another pair; augmenting paths (Dinic). Each is
// described where it lives: flow/sink_solver.h and what it includes. One output token is the same problem upside down:
// the token is the only sink, and each input token a source. Upper bounds of all of them take O(n^2) a layer together;
// that a flow attains them is mostly shown in the lowest few layers (flow/row_flow.h).
//
// Wider enclosures. With max_gap, a value of one output token is settled as soon as its bounds are that close: the
// largest flow found so far, and the smallest cut. All pairs of a layer are exact whatever it is: they would gain
// nothing.
//
// Enclosure. Rounding capacities down loses less than one unit for each arc of a minimum cut, so the true value lies in
// [flow, flow + flow_gap] with a gap of at most (n^2 ceil((L - 2) / 2) + 2 n) 2^-60 and two roundings: below 1e-12 for
// 12 layers of 256 tokens, or 6 of 512. (One layer down the value is the capacity, and the gap 0.) The enclosure does
// not rest on the solver's tolerance: it has none (max_gap apart).
//
// Complexity. O(L n^2) for a search of one pair, of which there are L n^2; most pairs are settled in O(n) or by one
// greedy pass. Measured: docs/flow.md. Memory: 8 bytes an arc (L n^2 of them) and 17 bytes a value; for each thread
// another 16 bytes an arc of the layers between the first and the last and up to 16 MiB, for one output token up to
// three times the former. That is O(L n^2) for all pairs of all layers, and known before the work starts:
// flow/flow_memory.h.
//
// Time. After `deadline` the pairs that are left keep the bounds that O(n) a pair gives: mostly wide enclosures, each
// of which holds. How many they are depends on the machine.
//
// Determinism: same input, same bits, whatever the thread count and the processor's vector width, unless a deadline
// passes. Cancellable, with progress by input token; for one output token by parts of its input tokens.
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
//     const FlowResult one = attention_flow(graph, {.layers = {6}, .output_token = 0});  // one row, much sooner
//     const double low = one.flow(0, 0, 3), high = low + one.flow_gap(0, 0, 3);  // the maximum flow lies between
//     assert(all.flow(5, 0, 3) <= high && low <= all.flow(5, 0, 3) + all.flow_gap(5, 0, 3));
//     if (one.degenerate(0, 0, 3) != 0) std::puts("set by the first or last layer alone");
#ifndef ATTNFLOW_FLOW_FLOW_H_
#define ATTNFLOW_FLOW_FLOW_H_

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
  kFirstLayerColumn = 1,  // the value is what layer m + 1 can bring to j from nodes that i reaches
  kTopRow = 2,            // the value is what i sends to nodes that reach j
};

// How many pairs each means settled, of those more than two layers apart with a path. What is tried when depends on
// what worked before, so these numbers depend on the number of threads; values do not.
struct FlowCounts {
  std::uint64_t bounds = 0;    // the bounds from the values one layer down
  std::uint64_t pushed = 0;    // the lower bound further down
  std::uint64_t meetings = 0;  // a flow made from both ends
  std::uint64_t greedy = 0;    // a greedy pass that met an upper bound
  std::uint64_t cuts = 0;      // a greedy pass that met a cut of a known shape
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
      {};                       // the l wanted, increasing, in (start_layer, L]; empty: all of start_layer + 1 ... L
  std::size_t start_layer = 0;  // m
  std::optional<std::size_t> output_token = {};  // only this row; all rows when absent
  const TokenGroups* input_groups = nullptr;     // words: pieces with one common sink; columns are then groups
  double tolerance = 1e-6;                       // when a value counts as equal to an end cut
  double max_gap = 0.0;     // of one output token, how wide an enclosure may stay; 0: no more than rounding makes it
  std::size_t threads = 0;  // 0: one per hardware thread
  std::optional<std::size_t> memory_limit = {};  // bytes it may take; absent: what the machine has available
  ProgressFunction progress = {};                // units of work: input tokens, or parts of them
  std::stop_token stop_token = {};               // when triggered, Cancelled is thrown
  Deadline deadline = {};                        // after which no more work is begun to close enclosures
  FlowCounts* counts = nullptr;                  // where to add up how pairs were settled, if anywhere
};

// All arrays are [layers wanted, output tokens, input tokens]; one output token when options name one.
struct FlowResult {
  Tensor<double> flow;              // lower end of the enclosure
  Tensor<double> flow_gap;          // upper end - lower end
  Tensor<std::uint8_t> degenerate;  // FlowDegeneracy
  bool out_of_time = false;         // the deadline passed before all pairs were worked on
};

// Throws Error(kUsage) for layers or tokens out of range, weights that are negative or not finite, and groups that are
// no partition of the tokens; Error(kOther), before any work, when it needs more memory than there is: the message says
// how much, and what would fit.
FlowResult attention_flow(const AttentionGraph& graph, const FlowOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_FLOW_FLOW_H_
