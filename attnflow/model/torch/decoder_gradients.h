// Gradients through a decoder.
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_GRADIENTS_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_GRADIENTS_H_

#include <cstdint>
#include <span>
#include <stop_token>

#include "attnflow/model/decoder_config.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/decoder_tensors.h"

namespace attnflow::internal {

// The gradient of a target, a function of the logits behind the last token, with respect to what the first layer is
// given. The inputs of all layers are kept on the way up; on the way down each layer is computed once more and
// differentiated alone, so that the inside of one layer only is in memory: some n x n matrices for each head.
// Runs on the calling thread. Throws Cancelled.
InputGradient differentiate_decoder(const DecoderConfig& config, const DecoderTensors& tensors,
                                    std::span<const std::int64_t> ids, const ScoreTarget& target,
                                    const std::stop_token& stop_token);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_GRADIENTS_H_
