// The attention weights of a whole model, and their properties.
//
// Example:
//
//     // 2 layers of 1 head over 2 tokens.
//     const AttentionStack stack(Tensor<float>({2, 1, 2, 2}, {0.5F, 0.5F, 0.25F, 0.75F,  //
//                                                             1.0F, 0.0F, 0.50F, 0.50F}));
//     assert(stack.layers() == 2 && stack.heads() == 1 && stack.tokens() == 2);
//     assert(!is_causal(stack.layer(1)) && is_causal(stack.layer(2)));
//     assert(inspect_row_sums(stack.weights().view()).largest_error < kRowSumTolerance);
#pragma once

#include <concepts>
#include <cstddef>
#include <set>
#include <span>
#include <string_view>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Attention [layer, head, query, key], after softmax, without padding. weight(l, h, q, k) is how much position q of
// layer l + 1 takes from position k of layer l through head h. L H n^2 weights, in float32 as models compute them
// (AttentionStack), or in float64 as some files store them (WideAttentionStack).
template <typename Weight>
class BasicAttentionStack {
 public:
  BasicAttentionStack() = default;
  // Throws Error(kBadFile) unless `weights` has rank 4, at least one layer, head and position, square layers, and only
  // finite nonnegative values. The message names the first offending element.
  explicit BasicAttentionStack(Tensor<Weight> weights);

  std::size_t layers() const { return weights_.extent(0); }
  std::size_t heads() const { return weights_.extent(1); }
  std::size_t tokens() const { return weights_.extent(2); }
  const Tensor<Weight>& weights() const { return weights_; }
  // [head, query, key] of layer l, from 1. Valid while the stack lives.
  TensorView<const Weight> layer(std::size_t l) const { return weights_[l - 1]; }

  void send_to(AttentionSink& sink) const requires std::same_as<Weight, float>;

 private:
  Tensor<Weight> weights_;
};

using AttentionStack = BasicAttentionStack<float>;
using WideAttentionStack = BasicAttentionStack<double>;

// Throws Error(kBadFile) as the constructor of AttentionStack does. In the message, `what` names the source, and layers
// are numbered from layers_before + 1.
void validate_attention(TensorView<const float> weights, std::string_view what, std::size_t layers_before = 0);
void validate_attention(TensorView<const double> weights, std::string_view what, std::size_t layers_before = 0);

struct RowSums {
  double largest_error = 0.0;  // the largest |row sum - 1|
  std::size_t layer = 1;       // its layer (from 1), head and query (from 0)
  std::size_t head = 0;
  std::size_t query = 0;
  double sum = 1.0;                 // that row's sum
  std::size_t zero_rows = 0;        // number of all-zero rows; if positive, the location above is that of the first one
  bool columns_sum_to_one = false;  // within kRowSumTolerance, and rows do not: query and key are swapped
};
RowSums inspect_row_sums(TensorView<const float> weights);
RowSums inspect_row_sums(TensorView<const double> weights);

// Float32 softmax deviates from 1 by about 1e-7 and half precision by about 1e-3; more is not softmax output.
inline constexpr double kRowSumTolerance = 1e-3;

// True if no query attends to a later key: every weight above the diagonal is exactly 0. A single position is not
// causal. `weights` is [..., query, key].
bool is_causal(TensorView<const float> weights);
bool is_causal(TensorView<const double> weights);

// Divides the row of the query at `position` by its sum, in float64: rounded to float32, it would deviate from 1 again.
// A row of zeros becomes that of the identity: attention brings nothing to the query, so its position holds only its
// own state, carried by the residual connection. Returns whether it was a row of zeros.
bool renormalize_row(std::span<double> row, std::size_t position);

struct ZeroRows {
  std::size_t count = 0;
  std::set<std::size_t> layers;   // from 1
  std::set<std::size_t> heads;    // from 0
  std::set<std::size_t> queries;  // from 0

  void add(const ZeroRows& more);
};

// Renormalizes each row of [layer, head, query, key]. Layers are numbered from layers_before + 1.
ZeroRows renormalize_rows(Tensor<double>& weights, std::size_t layers_before = 0);

// A sink that keeps everything: O(L H n^2). Queries may come in any number of chunks.
class StackSink : public AttentionSink {
 public:
  // `tokens` is n; the number of heads is learned from the calls.
  explicit StackSink(std::size_t layers, std::size_t tokens) : layers_(layers), tokens_(tokens) {}
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override;
  // Returns the validated stack. Call once. Throws Error(kBadFile) as AttentionStack's constructor, also for missing
  // rows.
  AttentionStack take();

 private:
  std::size_t layers_;
  std::size_t tokens_;
  Tensor<float> weights_;
};

}  // namespace attnflow
