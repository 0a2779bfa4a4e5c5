// A decoder in a GGUF file: two engines for one model.
//
// libllama runs the file as it is and gives predictions and attention. What it does not give comes from the torch
// backend, which runs the file's own weights, dequantizing each layer when it needs it (gguf_weights.h): gradients, and
// the terms of layers whose attention libllama does not add to the residual stream in one step (Gemma 2 and 3 and OLMo
// 2 normalize it first). A sequence whose first tokens go to a sink that wants such terms runs there as a whole, until
// it is cleared. Nothing is written to disk.
//
// libllama rounds its activations and torch does not, so logits that come with gradients or such terms differ from
// libllama's by that.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attnflow/model/decoder.h"
#include "attnflow/model/gguf_info.h"
#include "attnflow/model/model.h"

namespace attnflow {

class GgufDecoder final : public Decoder, public Gradients<TextInput> {
 public:
  // `engine` is libllama's. The torch backend and its weights are opened when they are first needed.
  GgufDecoder(std::unique_ptr<Decoder> engine, const GgufFile& file, LoadOptions options)
      : engine_(std::move(engine)), file_(file), options_(std::move(options)), running_(engine_.get()) {}

  const ModelInfo& info() const override { return engine_->info(); }
  bool has_terms() const override { return engine_->has_terms() || can_convert(); }
  const TextCodec* codec() const override { return engine_->codec(); }
  Gradients<TextInput>* gradients() override { return this; }

  std::size_t length() const override { return running_->length(); }
  void clear() override;
  void rewind(std::size_t length) override { running_->rewind(length); }
  void reserve(std::size_t tokens) override { running_->reserve(tokens); }
  Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink,
                       const std::stop_token& stop_token) override;
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options) override;
  // By the torch backend, if there is one: libllama multiplies a few rows at a time, and much more slowly.
  void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                      const BatchOptions& options, const TakeLogits& take) override;
  std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                  const std::stop_token& stop_token,
                                                  const ProgressFunction& progress) override;

  // Throw as the torch decoder's and find_gguf_weights() do.
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override;
  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override;
  void attention_gradients_of_each(const TextInput& input, std::span<const ScoreTarget> targets,
                                   std::span<AttentionGradientSink* const> sinks, const BatchOptions& options) override;
  bool takes_embeddings() const override { return true; }  // the torch decoder supports them
  void prepare() override { converted(); }

 private:
  // The torch backend's decoder for the file's weights.
  Decoder& converted() const;
  // Whether there is one; only this object's own refusals count as no.
  bool can_convert() const;
  // Chooses the engine of a new sequence.
  void start(const AttentionSink* sink);

  std::unique_ptr<Decoder> engine_;
  GgufFile file_;
  LoadOptions options_;
  Decoder* running_;  // the engine of the sequence
  mutable std::mutex making_;
  mutable std::unique_ptr<Decoder> converted_;
  mutable std::optional<bool> can_convert_;
};

}  // namespace attnflow
