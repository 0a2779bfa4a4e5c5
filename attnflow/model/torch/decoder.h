// The decoder of decoder_architecture.h, computed by libtorch. This header needs no libtorch header.
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_H_

#include <memory>

#include "attnflow/model/decoder.h"
#include "attnflow/model/decoder_weights.h"

namespace attnflow {

// A decoder that computes with `weights` in float32 on the CPU. Float32 weights are used where they lie in the mapped
// files, transposed ones too; other types are converted once.
//
// Memory beside weights and the cache of keys and values, 2 L n G d numbers for n tokens: a prompt runs in chunks of at
// most 256 queries, fewer where the attention of a chunk to all keys would take more than 32 MiB in a layer (but 16 at
// least), whose attention lives until the sink returns. Without a sink no more than 64 rows of a head are there for
// each thread. run_for_replay() keeps the queries too, L n H d numbers. input_gradients() keeps the input of every
// layer, L n x hidden size, and takes a layer apart at a time: a few [H, n, n], for each thread that has a sequence.
//
// Results do not depend on the number of threads (split_work.h). Libtorch and OpenBLAS are set to one thread for the
// whole process whenever a decoder is made or run.
// Throws Error(kUsage) for a device other than the CPU.
std::unique_ptr<Decoder> make_torch_decoder(const DecoderWeights& weights, const LoadOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_H_
