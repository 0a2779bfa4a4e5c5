// Any decoder in a GGUF file, run by libllama on the CPU.
//
// The prompt is computed in chunks of 128 queries; keys and values are kept as float32. Flash attention is off with and
// without a sink, so that both compute the same numbers. Weights stay quantized as in the file, and libllama rounds
// their multiplicands to 8 bits if they are: attention is the quantized model's, within its arithmetic's precision.
//
// A sink that wants the terms of layers receives them (terms_capture.h) for architectures whose layers decompose into
// terms; others are rejected before anything is computed.
//
// Results are bitwise reproducible for the same ids in the same calls of append(), regardless of the number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "attnflow/model/decoder.h"
#include "attnflow/model/llama/capture.h"
#include "attnflow/model/llama/codec.h"
#include "attnflow/model/llama/session.h"
#include "attnflow/model/llama/weights.h"

namespace attnflow {

class LlamaDecoder : public Decoder {
 public:
  // Runs two tokens, to reject a model whose attention cannot be read. Throws as ModelFiles::load_decoder() does.
  LlamaDecoder(LlamaWeights weights, const LoadOptions& options);
  ~LlamaDecoder() override;

  const ModelInfo& info() const override { return weights_.info; }
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options = {}) override;
  bool has_terms() const override { return capture_.has_terms(); }
  std::size_t length() const override { return session_.length(); }
  void reserve(std::size_t tokens) override;
  void clear() override;
  void rewind(std::size_t length) override;
  Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink,
                       const std::stop_token& stop_token = {}) override;
  std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                  const std::stop_token& stop_token = {},
                                                  const ProgressFunction& progress = {}) override;
  const TextCodec* codec() const override { return &codec_; }

 private:
  std::vector<float> append_wanted(std::span<const std::int64_t> ids, std::span<const std::int8_t> wanted,
                                   AttentionSink* sink, ScoreRecorder* recorder, const std::stop_token& stop_token,
                                   const ProgressFunction& progress = {});
  void try_out();

  LlamaWeights weights_;
  LlamaCodec codec_;
  AttentionCapture capture_;
  LlamaSession session_;
  std::shared_ptr<std::size_t> uses_ = std::make_shared<std::size_t>(0);  // compared by replays
};

}  // namespace attnflow
