// The trainer of trainer.h, computed by libtorch's autograd. This header needs no libtorch header.
#ifndef ATTNFLOW_MODEL_TORCH_TRAINER_H_
#define ATTNFLOW_MODEL_TORCH_TRAINER_H_

#include <memory>

#include "attnflow/model/encoder_weights.h"
#include "attnflow/model/trainer.h"

namespace attnflow {

// On the CPU. The weights are copied. Throws as make_trainer does.
std::unique_ptr<Trainer> make_torch_trainer(const EncoderWeights& weights, const TrainerOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_TORCH_TRAINER_H_
