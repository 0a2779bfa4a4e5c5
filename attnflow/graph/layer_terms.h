// The vectors that a layer's attention block writes into the residual stream, separated by the position they come from.
//
// Definition. With x_i the residual stream before the block at position i, a_ij^h the attention of head h, v_j^h the
// value of position j in that head, and O^h the head's rows of the output projection,
//
//     T_ij = sum_h a_ij^h (v_j^h O^h)                 the vector that position j writes into position i
//     y_i = x_i + sum_j T_ij + b                      the residual stream after the block
//
// where b, the projection's bias, comes from no position. There are H heads, of which G have their own values; head h
// uses those of key-value head h G / H. A scale of the block's output (layer scale) is folded into O^h. If an RMS norm
// is applied to the block's output before it is added (Gemma 2), T_ij is the result of that norm with its actual
// sigma_i: its scale is folded into O^h, and T_ij must be multiplied by block_scale_i = 1 / sigma_i.
//
// In layers whose norm comes before the block (GPT-2, Llama, ViT), y_i is passed on as it is; in those whose norm comes
// after it (BERT), y_i is the input of that norm. Contributions (graph/contribution_mixing.h) are computed from these.
//
// In the joint graph of an encoder-decoder a layer works on the source tokens or on the target tokens, and leaves the
// others as they are. Those have block_scale_i = 0: nothing reaches them, and y_i = x_i, which need not be given (zeros
// stand for both). A decoder layer is two of these layers, with one attention block each: attention to the target ends
// with its norm if norms come after their blocks, and the feed-forward net belongs to attention to the source.
//
// References: graph/norm_contributions.h.
//
// Example:
//
//     struct LargestValue : AttentionSink {
//       float largest = 0.0F;
//       bool wants_terms() const override { return true; }
//       void layer(std::size_t, std::size_t, TensorView<const float>) override {}
//       void terms(const LayerTerms& terms) override {
//         for (const float value : terms.values.span()) largest = std::max(largest, std::abs(value));
//       }
//     };
//     LargestValue sink;
//     for (std::size_t l = 1; l <= kLayers; ++l) sink.terms(terms(l));  // as a model does
//     assert(sink.largest > 0.0F);
#pragma once

#include <cstddef>
#include <functional>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// A layer norm or, without a shift, an RMS norm: N(v) = (v - mean v) / sigma scale + shift, sigma^2 = var v + epsilon;
// RMS: v / sigma scale, sigma^2 = mean v^2 + epsilon.
struct NormTerms {
  TensorView<const float> scale;  // [hidden]; empty: there is no norm
  TensorView<const float> shift;  // [hidden]; empty: an RMS norm
  double epsilon = 0.0;
};

// One layer for the queries [query_begin, query_begin + q). Views are valid only during the call.
struct LayerTerms {
  std::size_t layer = 0;  // 1 for the first
  std::size_t query_begin = 0;
  TensorView<const float> attention;  // [head, q, key], after softmax; keys count from the start of the sequence
  TensorView<const float> values;     // [q, key-value head, width]: for these positions; others came earlier
  TensorView<const float> output_projection;  // [head, width, hidden]: O^h; the same in every chunk
  TensorView<const float> block_scale = {};   // [q]: scale of T_ij and b, at least 0; empty: 1
  TensorView<const float> residual;           // [q, hidden]: x
  TensorView<const float> output;             // [q, hidden]: y
  // For layers whose norms come after: the norm of y, and the one after the feed-forward net, if the layer has one.
  // Otherwise, scales are empty.
  NormTerms norm = {};
  NormTerms feed_forward_norm = {};
  // The rest of the layer, from rows of y [rows, hidden] to the layer's output [rows, hidden], each row independently.
  // May be empty if the engine cannot compute it separately.
  std::function<Tensor<float>(TensorView<const float> y)> rest = {};
};

}  // namespace attnflow
