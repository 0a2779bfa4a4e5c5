// The models that libtorch computes. This header needs no libtorch header.
//
// Float32 weights are used on the CPU where they lie in the mapped files, transposed ones too; other types are
// converted once. Each model has its own number of threads and shares its work out among them itself, in pieces that
// depend on the input's length alone, so that its bits do not depend on the threads (split_work.h). Libtorch and
// OpenBLAS are set to one thread for the whole process whenever a model is made or run.
#ifndef ATTNFLOW_MODEL_TORCH_MAKE_MODELS_H_
#define ATTNFLOW_MODEL_TORCH_MAKE_MODELS_H_

#include <memory>

#include "attnflow/model/decoder.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/encoder_decoder_weights.h"
#include "attnflow/model/encoder_weights.h"
#include "attnflow/model/model.h"

namespace attnflow {

// An encoder, of texts or of images, that computes with `weights` in float32. Attention of a layer lives until the sink
// returns and no longer: with n tokens a run on the CPU needs one [head, n, n] at its peak and one head more for each
// thread, whatever the number of layers.
// Throws Error(kUsage) for a device that this libtorch or this machine does not have.
std::unique_ptr<Encoder> make_torch_encoder(const EncoderWeights& weights, const LoadOptions& options);
std::unique_ptr<VisionModel> make_torch_vision(const EncoderWeights& weights, const LoadOptions& options);

// A decoder that computes with `weights` in float32 on the CPU.
//
// Memory beside weights and the cache of keys and values, 2 L n G d numbers for n tokens: a prompt runs in chunks of at
// most 256 queries, fewer where the attention of a chunk to all keys would take more than 32 MiB in a layer (but 16 at
// least), whose attention lives until the sink returns. Without a sink no more than 64 rows of a head are there for
// each thread. run_for_replay() keeps the queries too, L n H d numbers. input_gradients() keeps the input of every
// layer, L n x hidden size, and takes a layer apart at a time: a few [H, n, n], for each thread that has a sequence.
// Throws Error(kUsage) for a device other than the CPU.
std::unique_ptr<Decoder> make_torch_decoder(const DecoderWeights& weights, const LoadOptions& options);
// The same for an encoder-decoder.
std::unique_ptr<Decoder> make_torch_encoder_decoder(const EncoderDecoderWeights& weights, const LoadOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_TORCH_MAKE_MODELS_H_
