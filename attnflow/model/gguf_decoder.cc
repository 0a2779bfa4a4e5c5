#include "attnflow/model/gguf_decoder.h"

#include "attnflow/model/backend.h"
#include "attnflow/model/gguf_weights.h"

namespace attnflow {

Decoder& GgufDecoder::converted() const {
  const std::scoped_lock lock(making_);
  if (converted_ == nullptr) {
    converted_ = torch_backend().decoder(find_gguf_weights(file_, options_.copy_weights), options_);
  }
  return *converted_;
}

bool GgufDecoder::can_convert() const {
  if (!can_convert_) {
    try {
      converted();
      can_convert_ = true;
    } catch (const Error&) {  // a family without a counterpart, no torch backend, no room
      can_convert_ = false;
    }
  }
  return *can_convert_;
}

void GgufDecoder::start(const AttentionSink* sink) {
  const bool lacks_terms = sink != nullptr && sink->wants_terms() && !engine_->has_terms();
  running_ = lacks_terms && can_convert() ? &converted() : engine_.get();
}

void GgufDecoder::clear() {
  engine_->clear();
  if (converted_ != nullptr) converted_->clear();
  running_ = engine_.get();
}

Tensor<float> GgufDecoder::append(std::span<const std::int64_t> ids, AttentionSink* sink,
                                  const std::stop_token& stop_token) {
  if (length() == 0) start(sink);
  return running_->append(ids, sink, stop_token);
}

ModelOutput GgufDecoder::run(const TextInput& input, AttentionSink* sink, const RunOptions& options) {
  clear();
  start(sink);
  return running_->run(input, sink, options);
}

void GgufDecoder::logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                                 const BatchOptions& options, const TakeLogits& take) {
  clear();
  Decoder& runs = can_convert() ? converted() : *engine_;
  runs.logits_of_each(inputs, position, options, take);
}

std::unique_ptr<AttentionReplay> GgufDecoder::run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                             const std::stop_token& stop_token,
                                                             const ProgressFunction& progress) {
  clear();
  return engine_->run_for_replay(ids, logits, stop_token, progress);
}

std::vector<InputGradient> GgufDecoder::input_gradients(std::span<const TextInput> inputs,
                                                        std::span<const ScoreTarget> targets,
                                                        const BatchOptions& options) {
  return gradients_of<TextInput>(converted()).input_gradients(inputs, targets, options);
}

void GgufDecoder::attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                                      BackwardRule rule) {
  gradients_of<TextInput>(converted()).attention_gradients(input, target, sink, rule);
}

void GgufDecoder::attention_gradients_of_each(const TextInput& input, std::span<const ScoreTarget> targets,
                                              std::span<AttentionGradientSink* const> sinks,
                                              const BatchOptions& options) {
  gradients_of<TextInput>(converted()).attention_gradients_of_each(input, targets, sinks, options);
}

}  // namespace attnflow
