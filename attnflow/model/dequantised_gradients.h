// Computes gradients for a GGUF file, whose engine has none, by running the torch backend on its dequantized weights.
//
// The first call writes the dequantized weights to a temporary folder (convert_gguf.h), has the torch backend map them,
// and unlinks the folder at once, so that nothing is left over. This takes four bytes of disk per parameter during the
// object's lifetime, and as much memory for the parts that are touched. Unlike torch, libllama rounds its activations,
// so a value returned with a gradient differs from libllama's logits.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "attnflow/model/decoder.h"
#include "attnflow/model/gguf_info.h"
#include "attnflow/model/model.h"

namespace attnflow {

class DequantisedGradients : public Gradients<TextInput> {
 public:
  DequantisedGradients(const GgufFile& file, LoadOptions options) : file_(file), options_(std::move(options)) {}

  // Throw as the torch decoder's and convert_gguf() do, and Error(kOther) when the weights would not fit into memory.
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override;
  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override;
  bool takes_embeddings() const override { return true; }  // the torch decoder supports them
  std::size_t preparation_bytes() const override;
  void prepare() override { made(); }

 private:
  Gradients<TextInput>& made();

  GgufFile file_;
  LoadOptions options_;
  std::mutex making_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace attnflow
