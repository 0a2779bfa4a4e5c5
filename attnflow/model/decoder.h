// Decoders: models in which a position sees itself and those before it, and which continue a text token by token.
//
// A decoder is a TextModel, so whatever takes a whole sequence takes it too: run() is clear() and append(). Beyond that
// it keeps what it has computed of a sequence (the keys and values of every layer), so that the next token costs one
// row of attention in each layer instead of all of them.
#ifndef ATTNFLOW_MODEL_DECODER_H_
#define ATTNFLOW_MODEL_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/tensor/tensor.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// An encoder-decoder (info().target) is a decoder, too, whose sequence is a source followed by a target. What is
// appended to an empty sequence is a whole source and the ids that a target begins with; all source tokens see one
// another. It runs in no other way: run() and run_for_replay() throw Error(kUnsupportedModel).
class Decoder : public TextModel {
 public:
  Decoder* decoder() final { return this; }

  // Tokens of the current sequence.
  virtual std::size_t length() const = 0;
  // Forgets the current sequence.
  virtual void clear() = 0;
  // Makes room for a sequence of so many tokens in all (of as many as the model has positions, at most), so that a lack
  // of memory shows before the work and not amid it. Without it room grows with the sequence. Throws Error(kOther): the
  // message says how much memory that takes.
  virtual void reserve(std::size_t tokens) = 0;
  // Appends tokens to the sequence, at least one, and returns the logits of the token that follows the last of them,
  // [vocabulary]. Attention of the new rows goes to `sink` (may be null): the prompt in chunks of queries, all layers
  // of a chunk before the next, as [head, query, key] with the keys up to the chunk's last query; every head of the
  // queries has its own matrix, also where heads share keys. The chunks in which a sequence is appended change results
  // by rounding only.
  // Throws Error(kInputTooLong) when the sequence would be longer than info().max_tokens, Error(kBadFile) for an id
  // outside the vocabulary, Cancelled (the sequence is then cleared).
  virtual Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink,
                               const std::stop_token& stop_token = {}) = 0;

  // Runs a sequence from nothing, without any [query, key] matrix of the whole of it in memory, and gives what its
  // attention can be computed from again: O(L n d) numbers. `logits` (may be null) becomes those of append(), or of the
  // classes. The replay is valid until the decoder is used again. Progress is in tokens. Throws as append() does.
  virtual std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                          const std::stop_token& stop_token = {},
                                                          const ProgressFunction& progress = {}) = 0;

  // The text side of a model that brings its own (GGUF); null where tokenizer files lie beside the weights. Lives as
  // long as the decoder.
  virtual const TextCodec* codec() const { return nullptr; }

  // Those of the engine, or those that it was given.
  Gradients<TextInput>* gradients() override { return gradients_.get(); }
  void take_gradients(std::unique_ptr<Gradients<TextInput>> gradients) { gradients_ = std::move(gradients); }

 private:
  std::unique_ptr<Gradients<TextInput>> gradients_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_DECODER_H_
