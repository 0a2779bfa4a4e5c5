// Gradients of an encoder-decoder, layer by layer, as those of one graph over source and target tokens.
//
// Problem. A decoder layer has two blocks: attention to the target, then to the source. In the joint graph each is a
// layer (TargetInfo of model/model.h), after the encoder's. What is each layer's attention, and what are the gradients
// of a score with respect to it and to the residual stream after it?
//
// Definition. With x_k the residual stream before block k and y_k after it (graph/attention_gradient_sink.h), a layer
// of the joint graph has
//
//     rows of target tokens    the block's attention, its gradient, x_k, and ds/dy_k
//     rows of source tokens    no attention; what stays with them: the encoder's output e, and the part of ds/de that
//                              has come from the blocks above
//
// and in the encoder's layers it is the other way round: the target keeps its embedding and the gradient there. So a
// token that a layer leaves alone carries its relevance to the layer below.
//
// Method. As layered_gradients.h: forward, the layers' inputs are kept; backward, each decoder layer runs again with
// gradients to its input and to e, whose parts are added up; then the norm after the encoder, and its layers. Memory:
// O(L n d) for inputs, O(H n^2) for one layer. The gradient at both embeddings is what arrives below the lowest layers.
// Runs on the calling thread.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>

#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/model_tensors.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

struct JointGradientQuestion {
  const ModelTensors& encoder;
  const ModelTensors& decoder;
  std::span<const std::int64_t> source;
  std::span<const std::int64_t> target;
  at::Tensor source_bias;  // added to scores, [H, T, T]; or undefined
  at::Tensor target_bias;
  const ScoreTarget& score;  // its position is among all tokens; absent: the last one
  BackwardRule rule = BackwardRule::kGradient;
  const Tensor<float>* embedding = nullptr;  // [m + n, hidden], in place of the tokens' own; null: those
};

// `sink` may be null. If it wants no layers, the pass ends above the last one, and the gradient stays empty.
InputGradient differentiate_joint(const JointGradientQuestion& question, AttentionGradientSink* sink);

}  // namespace attnflow::internal
