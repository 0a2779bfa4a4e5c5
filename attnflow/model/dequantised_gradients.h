// Gradients of a GGUF file, whose engine computes none: by the torch backend, of the numbers that its quantised blocks
// stand for.
//
// Nothing is done until the first call. It writes the dequantised weights to a temporary folder (convert_gguf.h), has
// the torch backend map them, and removes the folder's names at once, so that nothing stays behind: four bytes of disk
// for each parameter while the object lives, and as much memory for what is touched. libllama rounds its activations,
// which this does not, so a value that comes with a gradient differs from libllama's logits as explained in
// convert_gguf.h.
#ifndef ATTNFLOW_MODEL_DEQUANTISED_GRADIENTS_H_
#define ATTNFLOW_MODEL_DEQUANTISED_GRADIENTS_H_

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

  // Throw as the torch decoder's, as convert_gguf() does for a family that cannot be converted, and Error(kOther) when
  // the weights would not fit into memory.
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override;
  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override;
  bool takes_embeddings() const override { return true; }  // the torch decoder's do
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

#endif  // ATTNFLOW_MODEL_DEQUANTISED_GRADIENTS_H_
