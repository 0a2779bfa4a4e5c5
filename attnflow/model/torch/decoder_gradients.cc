#include "attnflow/model/torch/decoder_gradients.h"

#include <ATen/ATen.h>

#include "attnflow/model/torch/autograd_ops.h"
#include "attnflow/model/torch/layered_gradients.h"

namespace attnflow::internal {

InputGradient differentiate_decoder(const DecoderTensors& tensors, std::span<const std::int64_t> ids,
                                    const ScoreTarget& target, const std::stop_token& stop_token,
                                    AttentionGradientSink* sink) {
  AutogradOps ops;
  ops.causal = true;
  ops.rotation = tensors.rotation(0, ids.size());
  LayeredModel model;
  model.layers = tensors.layers.size();
  model.run_layer = [&](std::size_t layer, const at::Tensor& x, at::Tensor* weights) {
    ops.weights = weights;
    return run_layer(ops, tensors.layers[layer], layer, x);
  };
  model.value = [&](const at::Tensor& x) {
    const at::Tensor last = x[0].narrow(0, x.size(1) - 1, 1);
    return value_of(target, ops.linear(tensors.output, tensors.final_norm(last))[0]);
  };
  at::Tensor embedding;
  {
    const at::NoGradGuard no_gradients;
    embedding = tensors.embed(ids, 0);
  }
  const LayeredGradient found = differentiate_layers(model, embedding, sink, stop_token);
  InputGradient result;
  result.value = found.value;
  result.embedding = to_host(embedding[0]);
  result.gradient = to_host(found.gradient[0]);
  return result;
}

}  // namespace attnflow::internal
