// Mixing: from attention weights to one nonnegative matrix per layer.
//
// Problem. A layer has H heads, each with a row-stochastic matrix over positions, and a residual connection around
// them. Rollout and flow need one matrix A_l per layer that says how much of position q after the layer comes from
// position k before it.
//
// Definition (Abnar & Zuidema, ACL 2020, section 3). With W_l the attention of layer l fused over heads,
//
//     A_l = (1 - rho) W_l + rho I,        rho = 0.5 in the paper.
//
// Only the attention block's residual is modeled; the feed-forward block moves nothing between positions.
//
// Order of steps, all optional except the first and the last:
//   1. fuse heads: mean (as in the paper), a single head, or max or min with every row then divided by its sum, even if
//      there is only one head;
//   2. mask columns: weights of chosen keys (a sink, special tokens) become 0;
//   3. discard: of the n^2 weights after step 2, the floor(q n^2) smallest become 0. Weights that are 0 already count;
//      of equal weights, the one later in [query, key] goes first;
//   4. divide by their sum the rows in which step 2 or 3 set a nonzero weight to 0; a row left with nothing becomes
//      that of the identity, as does a row of zeros in step 1 after max or min (renormalize_row());
//   5. add the residual.
// W_l is the result of steps 1 to 4. Rows that no step changed are not renormalized, so rows of A_l sum to 1 only up to
// the rounding of the model's float32 softmax.
//
// W_l may come from elsewhere (graph/gradient_mixing.h). If its rows do not sum to 1, the residual is added by another
// rule (ResidualRule), which is stored in the graph: top() and below() give the matrices.
//
// A single head follows the paper's appendix: head k in the top layer, the mean over heads below it. So a layer has two
// matrices: one for when it is the top layer of a query, and one for when it is below the top.
//
// All arithmetic is float64, in a fixed order: the same input gives the same bits.
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//
// Example:
//
//     const AttentionGraph paper = attention_graph(stack);  // mean over heads, rho = 0.5
//     const AttentionGraph without_first = attention_graph(stack, {.heads = HeadFusion::kMax, .mask_columns = {0}});
//     assert(without_first.weights(5, 1, 0) == 0.0);  // W_6: nothing comes from position 0
//     const Tensor<double> matrix = paper.top(6);     // A_6, [query, key], with the residual
//
//     GraphSink sink(stack.layers(), MixingOptions{});  // the same while a model runs, without keeping all heads
//     stack.send_to(sink);
//     assert(sink.take().weights == paper.weights);
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attnflow/graph/attention_mask.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Weights to remove from a layer's matrix: steps 2 and 3.
struct WeightRemoval {
  std::vector<std::size_t> mask_columns = {};   // key positions whose weights become 0
  double discard = 0.0;                         // q in [0, 1)
  std::vector<std::size_t> discard_keeps = {};  // key positions exempt from discard
};

enum class HeadFusion { kMean, kMax, kMin, kSingle };

struct MixingOptions {
  HeadFusion heads = HeadFusion::kMean;
  std::size_t head = 0;                         // kSingle: the head, from 0
  double residual = 0.5;                        // rho in [0, 1]
  std::vector<std::size_t> mask_columns = {};   // key positions whose weights become 0
  double discard = 0.0;                         // q in [0, 1)
  std::vector<std::size_t> discard_keeps = {};  // key positions exempt from discard

  WeightRemoval removal() const { return {mask_columns, discard, discard_keeps}; }
};

void check_residual(double residual);

// How a layer is mixed when it is below the top layer: there, a single head becomes the mean of all heads.
MixingOptions below_top(MixingOptions options);

// Step 1 alone: [head, query, key] -> [query, key], for queries from `query_begin` on. O(H n^2). Throws Error(kUsage)
// if kSingle names a head that does not exist.
Tensor<double> fuse_heads(TensorView<const float> attention, HeadFusion fusion, std::size_t head = 0,
                          std::size_t query_begin = 0);
Tensor<double> fuse_heads(TensorView<const double> attention, HeadFusion fusion, std::size_t head = 0,
                          std::size_t query_begin = 0);

// Steps 1 to 4: W_l, [query, key], for the queries from `query_begin` on. O(H n^2), plus O(n^2) for discard. Throws
// Error(kUsage) for a position or share that is out of range, and Error(kBadFile) for weights that are negative or not
// finite.
Tensor<double> fused_weights(TensorView<const float> attention, const MixingOptions& options,
                             std::size_t query_begin = 0);
Tensor<double> fused_weights(TensorView<const double> attention, const MixingOptions& options,
                             std::size_t query_begin = 0);

// Steps 2 to 4 on the result of fuse_heads(), for callers that must drop the heads before they know the columns to
// mask. O(n^2). Throws Error(kUsage) as above.
Tensor<double> finish_fused(Tensor<double> weights, const MixingOptions& options, std::size_t query_begin = 0);

// fused_weights() for some rows of a layer, for models that process a prompt in chunks: keys may end before the last
// position, and masked positions may lie beyond them. The result is, to the bit, what fused_weights() gives for these
// rows of the whole layer. Throws Error(kUsage) for discard, whose smallest weights are those of a whole layer, and for
// positions in discard_keeps beyond the keys; Error(kBadFile) as above.
Tensor<double> fused_rows(TensorView<const float> attention, const MixingOptions& options, std::size_t query_begin);

// Step 5 for one row, of the query at `position`: (1 - rho) W + rho I. Throws as below.
void add_residual(std::span<double> row, std::size_t position, double residual);
// Step 5: A = (1 - rho) W + rho I. Throws Error(kUsage) unless 0 <= rho <= 1.
Tensor<double> add_residual(TensorView<const double> weights, double residual);

// How the residual connection enters A_l.
enum class ResidualRule {
  kConvex,               // (1 - rho) W + rho I: preserves row sums if W's are 1
  kAdded,                // I + W: rows sum to 1 + those of W
  kAddedNormalized,      // I + W, each row divided by its sum, which is at least 1
  kContained,            // W: the diagonal of W is what stays at a position
  kContainedNormalized,  // likewise, with each row divided by its sum; a row of zeros becomes that of the identity
};

// Step 5 for a row whose weights sum to `sum`, by a rule other than kConvex: A = (W + identity I) / divisor.
struct RowRule {
  double identity = 0.0;
  double divisor = 1.0;
};
RowRule row_rule(ResidualRule rule, double sum);

// The rule that flow uses for a graph with `rule`: kAdded becomes normalized, so that no row sum exceeds 1;
// kContainedNormalized becomes unnormalized, so that capacities keep their size. Other rules are unchanged.
ResidualRule flow_rule(ResidualRule rule);

// Step 5 by any rule; only kConvex uses rho.
Tensor<double> add_residual(TensorView<const double> weights, ResidualRule rule, double residual);

struct AttentionGraph {
  Tensor<double> weights;        // W_l, [layer, query, key], as the top layer of a query: the values of `raw`
  Tensor<double> weights_below;  // W_l when it is below the top layer; empty if that is the same
  double residual = 0.5;         // rho, for ResidualRule::kConvex
  ResidualRule residual_rule = ResidualRule::kConvex;
  // What a weight of 1 stands for, a power of two: 1 for shares; for relevance (graph/relevance_mixing.h), an amount of
  // the target's logit, so large that no row sums to more than 1. Callers of attention_flow() multiply by it.
  double unit = 1.0;

  std::size_t layers() const { return weights.extent(0); }
  std::size_t tokens() const { return weights.extent(1); }
  bool one_head() const { return !weights_below.empty(); }
  // A_l with the residual, with l from 1.
  Tensor<double> top(std::size_t l) const { return add_residual(weights[l - 1], residual_rule, residual); }
  Tensor<double> below(std::size_t l) const {
    return add_residual(one_head() ? weights_below[l - 1] : weights[l - 1], residual_rule, residual);
  }
};

// A sink that keeps the fused matrices: O(L n^2) memory, not O(L H n^2). `tokens`: n if layers come in chunks of
// queries (without discard); 0 if they come whole.
class GraphSink : public AttentionSink {
 public:
  GraphSink(std::size_t layers, MixingOptions options, std::size_t tokens = 0)
      : layers_(layers), tokens_(tokens), options_(std::move(options)) {}
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override;
  void layer(std::size_t layer, TensorView<const double> attention);
  // Returns the graph. Call once. Missing rows are not an error: they are 0. Without any layer, the graph is empty.
  AttentionGraph take();

 private:
  // `fused`: MixingOptions -> the result of fused_weights() for these queries with those options.
  void keep(std::size_t layer, std::size_t query_begin, const Shape& attention, const auto& fused);

  std::size_t layers_;
  std::size_t tokens_;
  MixingOptions options_;
  AttentionGraph graph_;
};

AttentionGraph attention_graph(const AttentionStack& stack, const MixingOptions& options = {});
AttentionGraph attention_graph(const WideAttentionStack& stack, const MixingOptions& options = {});

// The graph of uniform attention under the same mask: W[q, k] = 1 / (number of keys that q attends to). The baseline of
// receptive-field normalization.
AttentionGraph uniform_graph(std::size_t layers, std::size_t tokens, const AttentionMask& mask, double residual);

}  // namespace attnflow
