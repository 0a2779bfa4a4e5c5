// Selects the arcs that a picture of the attention graph shows.
//
// Problem. The graph has an arc (k, p) -> (k - 1, q) for every weight A_k[p, q] of the mixing matrices: (l - m) n^2
// arcs between the layer shown, l, and the start layer, m. 12 layers of 128 tokens have 196,608: too many to draw.
//
// Definition. A_k is the matrix that the report's values use (graph/mixing.h): (1 - rho) W_k + rho I; for
// gradient-adjusted attention, I + W_k with each row divided by its sum, so that arcs carry shares; for relevance, the
// share of what p passes on that goes to q (rollout/capacity_rollout.h; r_k is then reduced to what p carries, as a
// share of what the output token carries). With a single head, layer l uses that head's matrix and lower layers the
// mean over heads. Let r_l = e_t for the output token t (the mean, 1 / n each, for all tokens) and r_(k-1) = r_k A_k,
// the rollout of t down to layer k - 1 (rollout/rollout.h). An arc is reached if r_k[p] > 0 and A_k[p, q] > 0. Its
// weight is
//
//     rollout          r_k[p] A_k[p, q], the output token's share that runs through it,
//     raw and flow     A_k[p, q], which is flow's capacity.
//
// Three steps select the arcs: (1) the kArcsPerNode strongest reached arcs from each node (k, p) to other tokens (or
// all reached arcs, even from a token to itself); (2) those with at least kWeakestArc times the strongest arc's weight;
// (3) the kMaxArcs strongest. Ties go to the lower layer, then the smaller p, then the smaller q.
//
// The limits keep pictures readable: a token's arc to itself is the strongest, by the residual connection, but says
// nothing about the text; lines below 0.5% of the strongest are hardly visible; 1200 arcs are 100 between adjacent
// layers of 12. The page (viewer/src/compute/graph_arcs.ts) has the same limits, from attnflow/base/figures.json.
//
// Method. Two passes from the top down: one finds the largest weight, one queues the strongest of each node's strongest
// arcs. O((l - m) n^2 (log n + log kMaxArcs)) time at worst, O(n + kMaxArcs) memory plus the weights.
//
// Determinism. float64 sums in order of positions, one thread, a total order of arcs. The page's last bits may differ.
//
// Example:
//
//     const Tensor<double> layer({1, 2, 2}, {0.25, 0.75, 1.0, 0.0});  // W_1 of two tokens
//     const GraphArcs arcs = graph_arcs({.layers = layer.view()}, Settings{},
//                                       {.method = Method::kRaw, .layer = 1, .output_token = 0});
//     assert(arcs.shown.size() == 1);         // from token 0 to 1
//     assert(arcs.shown[0].weight == 0.375);  // 0.5 * 0.75
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "attnflow/attribution/settings.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Limits: arcs per picture, arcs per node, and the smallest weight relative to the strongest.
extern const std::size_t kMaxArcs;
extern const std::size_t kArcsPerNode;
extern const double kWeakestArc;

// From (layer, from) down to (layer - 1, to).
struct GraphArc {
  double weight = 0.0;
  std::size_t layer = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

struct GraphArcs {
  std::vector<GraphArc> shown;  // the strongest first
  double strongest = 0.0;       // weight of the strongest arc that may be shown
  std::size_t left_out = 0;     // strong enough, but beyond max_arcs
};

struct DrawnWeights {
  TensorView<const double> layers;  // W_k without the residual, [L, n, n]; non-finite values count as 0
  // Raw attention after layer l, [rows, n], and each row's position. With a single head, these serve as that head's W_l
  // (`layers` holds the mean over heads), unless normalized. May be empty.
  TensorView<const double> raw = {};
  std::span<const std::size_t> raw_positions = {};
};

struct ArcQuestion {
  Method method = Method::kRollout;
  std::size_t layer = 0;                         // l, above settings.start_layer (m) and at most L
  std::optional<std::size_t> output_token = {};  // t; absent: all
  // The strongest arcs of each node to other tokens; absent: every arc, including those from a token to itself.
  std::optional<std::size_t> arcs_per_node = kArcsPerNode;
};

// Throws Error(kUsage) for a layer or output token that does not exist.
GraphArcs graph_arcs(const DrawnWeights& weights, const Settings& settings, const ArcQuestion& question,
                     std::size_t max_arcs = kMaxArcs);

}  // namespace attnflow
