#include "attnflow/model/gguf_gradients.h"

#include "attnflow/model/backend.h"
#include "attnflow/model/gguf_weights.h"

namespace attnflow {

Gradients<TextInput>& GgufGradients::made() {
  const std::scoped_lock lock(making_);
  if (decoder_ == nullptr) {
    decoder_ = torch_backend().decoder(find_gguf_weights(file_, options_.copy_weights), options_);
  }
  return *decoder_->gradients();
}

std::vector<InputGradient> GgufGradients::input_gradients(std::span<const TextInput> inputs,
                                                          std::span<const ScoreTarget> targets,
                                                          const BatchOptions& options) {
  return made().input_gradients(inputs, targets, options);
}

void GgufGradients::attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                                        BackwardRule rule) {
  made().attention_gradients(input, target, sink, rule);
}

void GgufGradients::attention_gradients_of_each(const TextInput& input, std::span<const ScoreTarget> targets,
                                                std::span<AttentionGradientSink* const> sinks,
                                                const BatchOptions& options) {
  made().attention_gradients_of_each(input, targets, sinks, options);
}

}  // namespace attnflow
