// Computes gradients for a GGUF file, whose engine has none, by running the torch backend on the file's own weights.
//
// The torch backend dequantizes each layer when it runs (gguf_weights.h); nothing is written to disk. Unlike torch,
// libllama rounds its activations, so a value returned with a gradient differs from libllama's logits.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "attnflow/model/decoder.h"
#include "attnflow/model/gguf_info.h"
#include "attnflow/model/model.h"

namespace attnflow {

class GgufGradients : public Gradients<TextInput> {
 public:
  GgufGradients(const GgufFile& file, LoadOptions options) : file_(file), options_(std::move(options)) {}

  // Throw as the torch decoder's and find_gguf_weights() do.
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override;
  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override;
  void attention_gradients_of_each(const TextInput& input, std::span<const ScoreTarget> targets,
                                   std::span<AttentionGradientSink* const> sinks, const BatchOptions& options) override;
  bool takes_embeddings() const override { return true; }  // the torch decoder supports them
  void prepare() override { made(); }

 private:
  Gradients<TextInput>& made();

  GgufFile file_;
  LoadOptions options_;
  std::mutex making_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace attnflow
