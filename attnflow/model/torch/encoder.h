// The encoder of architecture.h, computed by libtorch. This header needs no libtorch header.
#ifndef ATTNFLOW_MODEL_TORCH_ENCODER_H_
#define ATTNFLOW_MODEL_TORCH_ENCODER_H_

#include <memory>

#include "attnflow/model/encoder_weights.h"
#include "attnflow/model/model.h"

namespace attnflow {

// An encoder, of texts or of images, that computes with `weights` in float32. On the CPU, float32 weights are used
// where they lie in the mapped files; other types are converted once. Attention of a layer lives until the sink returns
// and no longer: with n tokens a run on the CPU needs one [head, n, n] at its peak and one head more for each thread,
// whatever the number of layers.
//
// Each model has its own number of threads and shares its work out among them itself, in pieces that depend on the
// input's length alone, so that its bits do not depend on the threads (split_work.h). Libtorch and OpenBLAS are set to
// one thread for the whole process whenever a model is made or run.
// Throws Error(kUsage) for a device that this libtorch or this machine does not have.
std::unique_ptr<Encoder> make_torch_encoder(const EncoderWeights& weights, const LoadOptions& options);
std::unique_ptr<VisionModel> make_torch_vision(const EncoderWeights& weights, const LoadOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_TORCH_ENCODER_H_
