// An encoder-decoder run by libtorch, as weights that were found and checked (encoder_decoder_weights.h).
#ifndef ATTNFLOW_MODEL_TORCH_ENCODER_DECODER_H_
#define ATTNFLOW_MODEL_TORCH_ENCODER_DECODER_H_

#include <memory>

#include "attnflow/model/decoder.h"
#include "attnflow/model/encoder_decoder_weights.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Throws Error(kUsage) for another device than the CPU, on which decoders run.
std::unique_ptr<Decoder> make_torch_encoder_decoder(const EncoderDecoderWeights& weights, const LoadOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_TORCH_ENCODER_DECODER_H_
