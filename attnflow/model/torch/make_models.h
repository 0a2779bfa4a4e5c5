// Creates the models that libtorch computes; needs no libtorch header.
//
// On the CPU, float32 weights are used in place in the mapped files, including transposed ones; other types are
// converted once. Each model has its own number of threads and divides its work itself, in pieces that depend only on
// the input's length, so results are bitwise independent of the threads (split_work.h). Creating or running a model
// sets libtorch and OpenBLAS to one thread for the whole process.
#pragma once

#include <memory>

#include "attnflow/model/decoder.h"
#include "attnflow/model/model.h"
#include "attnflow/model/model_weights.h"

namespace attnflow {

// Creates an encoder, for texts or images, that computes with `weights` in float32. A layer's attention exists only
// until the sink returns: with n tokens, a run on the CPU needs one [head, n, n] at its peak and one more head for each
// thread, regardless of the number of layers. Throws Error(kUsage) for a device that this libtorch or machine lacks.
std::unique_ptr<Encoder> make_torch_encoder(const ModelWeights& weights, const LoadOptions& options);
std::unique_ptr<VisionModel> make_torch_vision(const ModelWeights& weights, const LoadOptions& options);

// Creates a decoder that computes with `weights` in float32 on the CPU.
//
// Memory in addition to the weights and the cache of keys and values, which takes 2 L n G d numbers for n tokens: a
// prompt runs in chunks of at most 256 queries, fewer (but at least 16) if a chunk's attention to all keys would exceed
// 32 MiB in a layer, and that attention exists until the sink returns. Without a sink, each thread holds at most 64
// rows of a head. run_for_replay() also keeps the queries, L n H d numbers. input_gradients() keeps every layer's
// input, L n x hidden size, and differentiates one layer at a time: a few [H, n, n] for each thread that has a
// sequence. Throws Error(kUsage) for a device other than the CPU.
std::unique_ptr<Decoder> make_torch_decoder(const ModelWeights& weights, const LoadOptions& options);
std::unique_ptr<Decoder> make_torch_encoder_decoder(const EncoderDecoderWeights& weights, const LoadOptions& options);

}  // namespace attnflow
