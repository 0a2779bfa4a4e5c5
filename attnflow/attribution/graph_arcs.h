// The arcs that a picture of the attention graph shows.
//
// Problem. The graph has an arc (k, p) -> (k - 1, q) for every weight A_k[p, q] of the mixing matrices: (l - m) n^2 of
// them between the layer looked at, l, and the layer where the explanation ends, m. 12 layers of 128 tokens make
// 196,608: drawn all, they are one grey ground. Which few say what the report says?
//
// Definition. A_k is what the report's values are made of (graph/mixing.h): (1 - rho) W_k + rho I; of
// gradient-adjusted attention I + W_k with each row divided by its sum, so that what runs through an arc is a share.
// With a single head, that head's matrix holds in the layer looked at and the mean over heads below it. Let
// r_l = e_t for the output token t (for all output tokens their mean, 1 / n each) and r_(k-1) = r_k A_k, which is the
// rollout of t down to layer k - 1 (rollout/rollout.h). An arc is reached when r_k[p] > 0 and A_k[p, q] > 0, and its
// weight is
//
//     rollout          r_k[p] A_k[p, q]: the share of the output token that runs through it,
//     raw and flow     A_k[p, q]: the weight itself, which is flow's capacity.
//
// The arcs shown are selected in three steps: first, from each node (k, p), the kArcsPerNode strongest reached arcs to
// other tokens (or, if requested, all reached arcs, including those from a token to itself); of these, the arcs that
// have at least kWeakestArc times the weight of the strongest arc in the picture; and of these, the kMaxArcs strongest.
// Of equal arcs, those in lower layers come first, then those with smaller p, then those with smaller q.
//
// The limits stand for what stays readable, on paper and on the page alike. The residual makes a token's arcs to itself
// the strongest of all, which says nothing about the text, and the paths that decide are a few per node. Below 0.5% of
// the strongest, a line of a weight is hardly darker than paper. 1200 arcs are 100 between each two of 12 layers: with
// more, lines cover each other and no arc can be followed. All stand in attnflow/base/figures.json, which the page
// reads, too: page (viewer/src/compute/graph_arcs.ts) and figure of one report show the same arcs.
//
// Method. Two walks from the top down: the first finds the strongest weight, the second sorts out each node's strongest
// arcs and keeps the strongest of all in a queue. O((l - m) n^2 (log n + log kMaxArcs)) time at worst, O(n + kMaxArcs)
// memory beside the weights; no matrix is made.
//
// Determinism. float64 sums in the order of positions, one thread, and a total order of arcs: the same input gives the
// same arcs. The page adds in another order, so that weights differ in the last bits.
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

// At most this many arcs in a picture and of each node, and none weaker than this share of the strongest.
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
  std::size_t left_out = 0;     // not weak, but beyond the number that a picture may have
};

// What a report holds of the layers' matrices.
struct DrawnWeights {
  TensorView<const double> layers;  // W_k without the residual, [L, n, n]; what is not finite counts as 0
  // Values of raw attention after layer l, [rows, n], and the position of each row. Used only with a single head, as
  // that head's W_l (`layers` holds the mean over heads), and only if they are not normalized. May be empty.
  TensorView<const double> raw = {};
  std::span<const std::size_t> raw_positions = {};
};

struct ArcQuestion {
  Method method = Method::kRollout;
  std::size_t layer = 0;                         // l, above settings.start_layer (m) and at most L
  std::optional<std::size_t> output_token = {};  // t; nothing: all
  // The strongest of each node to other tokens; nothing: every arc, also those from a token to itself.
  std::optional<std::size_t> arcs_per_node = kArcsPerNode;
};

// Throws Error(kUsage) for a layer or output token that is not there.
GraphArcs graph_arcs(const DrawnWeights& weights, const Settings& settings, const ArcQuestion& question,
                     std::size_t max_arcs = kMaxArcs);

}  // namespace attnflow
