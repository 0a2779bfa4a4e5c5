// The rollout row of one output token over a long prompt, without any [query, key] matrix.
//
// Problem. Which input tokens does position p after layer l draw on, if n is so large that one layer's matrix (n^2
// numbers per head) is too much?
//
// Definition and method. The row is a product of a vector with matrices, r <- r A_k from layer l down to m + 1
// (rollout.h). An AttentionReplay recomputes rows of any layer from queries and keys, so each A_k is computed in tiles
// of rows that are then discarded:
//
//     r'[j] = rho r[j] + (1 - rho) sum over i <= p of r[i] W_k[i, j].
//
// Rows i with r[i] = 0 are never computed: in the top layer, a single row remains.
//
// Cost. The attention of l - m layers is computed once more: O((l - m) H p^2 d), with O(H t n) memory for tiles of t
// rows. float64 sums in order of positions: tile size matters no more than the replay's own rounding.
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//
// Example:
//
//     const std::size_t last = replay.tokens() - 1;
//     const std::vector<double> row = replay_rollout(replay, {.output_token = last});  // after the last layer
//     const Tensor<double> uniform = uniform_rollout_rows(/*causal*/ true, last, replay.layers(), 0, 0.5);
//     std::printf("token 0: %.1f times what uniform attention gives it\n", row[0] / uniform(replay.layers() - 1, 0));
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_mask.h"
#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {

struct ReplayRolloutOptions {
  std::size_t output_token = 0;
  std::size_t layer = 0;  // l; 0: the last layer
  std::size_t start_layer = 0;
  MixingOptions mixing = {};           // no discard: its smallest weights are those of a whole layer
  std::size_t tile_bytes = 4U << 20U;  // size of one tile of attention, all heads, float32; at least one row
  // Receives layer k - 1 and the row down to it.
  std::function<void(std::size_t, const std::vector<double>&)> layer_done = {};
  ProgressFunction progress = {};  // in layers
  std::stop_token stop_token = {};
};

// Returns R[l, m][output_token]: [n]. Throws Error(kUsage) for an invalid layer, position, head or discard; Cancelled.
std::vector<double> replay_rollout(AttentionReplay& attention, const ReplayRolloutOptions& options);

// The rows of rollout under uniform attention (uniform_graph() of graph/mixing.h), the baseline of receptive-field
// normalization: R[l, start_layer][position] for l from start_layer + 1 to `layer`, [l, position + 1]. No position up
// to that one may see a later one. O(layers * tokens), or O(layers^2 * tokens) if layers differ in their masks.
Tensor<double> uniform_rollout_rows(const AttentionMask& mask, std::size_t position, std::size_t layer,
                                    std::size_t start_layer, double residual);

}  // namespace attnflow
