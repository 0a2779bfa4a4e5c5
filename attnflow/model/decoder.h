// Decoders: models in which a position sees itself and those before it, and which continue a text token by token.
//
// A decoder is a TextModel: run() is clear() followed by append(). It also caches the keys and values of every layer,
// so the next token costs one row of attention in each layer instead of all rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/tensor/tensor.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// An encoder-decoder (info().target) is also a decoder; its sequence is a source followed by a target. The first
// append() to an empty sequence passes a whole source followed by info().target->begin, and throws Error(kUsage) if the
// ids do not end with these or nothing precedes them; later calls append to the target. All source tokens see one
// another. run() takes a source and any target of at least one token (TextInput::source); run_for_replay() throws
// Error(kUnsupportedModel).
class Decoder : public TextModel {
 public:
  Decoder* decoder() final { return this; }

  virtual std::size_t length() const = 0;
  virtual void clear() = 0;
  // Takes back all tokens after the first `length`, so that others can be appended in their place. Throws Error(kUsage)
  // if there are fewer, and if that would leave a part of an encoder-decoder's source.
  virtual void rewind(std::size_t length) = 0;
  // Reserves room for `tokens` tokens in total (at most the model's number of positions), so that a lack of memory
  // shows before the work begins. Otherwise room grows with the sequence. Throws Error(kOther), which gives the size.
  virtual void reserve(std::size_t tokens) = 0;
  // Appends at least one token and returns the logits of the token that follows the last one, [vocabulary]. Attention
  // of the new rows goes to `sink` (may be null) in chunks of queries, all layers of a chunk before the next chunk, as
  // [head, query, key] with the keys up to the chunk's last query. Every query head has its own matrix, even if heads
  // share keys. Dividing a sequence differently between calls changes results by rounding only.
  // Throws Error(kUsage) for no ids, Error(kUnsupportedModel) for a model that does not predict a next token,
  // Error(kInputTooLong) when the sequence would exceed info().max_tokens, Error(kBadFile) for an id outside the
  // vocabulary, Cancelled (the sequence is then cleared).
  virtual Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink,
                               const std::stop_token& stop_token = {}) = 0;

  // Appends tokens and returns the logits after each of them from ids[first] on, [ids.size() - first, vocabulary]. A
  // backend may take them all at once. Otherwise as append().
  virtual Tensor<float> append_each(std::span<const std::int64_t> ids, std::size_t first, AttentionSink* sink,
                                    const std::stop_token& stop_token = {}) {
    std::vector<float> all;
    for (std::size_t end = first + 1; end <= ids.size(); ++end) {
      const std::size_t begin = end == first + 1 ? 0 : end - 1;
      const Tensor<float> logits = append(ids.subspan(begin, end - begin), sink, stop_token);
      all.insert(all.end(), logits.span().begin(), logits.span().end());
    }
    const std::size_t rows = ids.size() - first;
    const std::size_t vocabulary = all.size() / rows;
    return {Shape{rows, vocabulary}, std::move(all)};
  }

  // Runs a new sequence without holding a whole [query, key] matrix in memory, and returns data from which its
  // attention can be recomputed: O(L n d) numbers. `logits` (may be null) receives those of append(), or those of the
  // classes. The replay is valid until the decoder is used again or destroyed. Progress is in tokens. Throws as
  // append() does, but accepts a model that does not predict a next token if `logits` is null or its logits are those
  // of classes.
  virtual std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                          const std::stop_token& stop_token = {},
                                                          const ProgressFunction& progress = {}) = 0;

  // Inputs that begin alike share what was computed for their beginnings. Runs no token after `position`.
  void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                      const BatchOptions& options, const TakeLogits& take) override;

  // The tokenizer inside a GGUF model, valid for the decoder's lifetime; null if tokenizer files accompany the weights.
  virtual const TextCodec* codec() const { return nullptr; }
};

}  // namespace attnflow
