// Gradients through a decoder.
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_GRADIENTS_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_GRADIENTS_H_

#include <cstdint>
#include <span>
#include <stop_token>

#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/decoder_tensors.h"

namespace attnflow::internal {

// The gradient of a target, a function of the logits behind the last token, with respect to what the first layer is
// given; and, where `sink` is not null, with respect to the attention of every layer, all heads of the queries, also of
// the keys that a query does not see, whose weight is 0. In memory: layered_gradients.h.
// Runs on the calling thread. Throws Cancelled.
InputGradient differentiate_decoder(const DecoderTensors& tensors, std::span<const std::int64_t> ids,
                                    const ScoreTarget& target, const std::stop_token& stop_token,
                                    AttentionGradientSink* sink = nullptr);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_GRADIENTS_H_
