// One sequence in libllama: its context, with room that grows, and the chunks in which it is computed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/model/llama/capture.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/weights.h"

namespace attnflow {

// Queries computed together. A chunk's attention takes heads * kLlamaChunk * (positions of the sequence) numbers, twice
// in the library and once here; longer chunks are hardly faster on a CPU.
inline constexpr std::size_t kLlamaChunk = 128;

class LlamaSession {
 public:
  // Creates initial room for `positions` (at least 1). Keeps references to `weights` and `capture`. Throws
  // Error(kOther) if free memory is insufficient or the library cannot allocate it; the message says how much it takes.
  // At most `threads` threads compute (0: the number of processors), and never more than are idle, which is checked
  // again meanwhile, because one thread too many makes it a hundred times slower (base/idle_processors.h).
  LlamaSession(const LlamaWeights& weights, AttentionCapture& capture, std::size_t threads, std::size_t positions);

  std::size_t length() const { return length_; }
  ggml_threadpool* threads() const { return threads_.get(); }
  int thread_count() const { return thread_count_; }
  bool is_causal() const { return llama_get_causal_attn(context_.get()); }

  void clear();
  void rewind(std::size_t length);  // at most length()
  // Makes room for `positions` positions. The contents are preserved bitwise: copied or, in models with a sliding
  // window, whose cache the library does not expose in full, recomputed. Throws as the constructor and append() do, and
  // then clears the sequence.
  void reserve(std::size_t positions, const std::stop_token& stop_token);

  // Appends tokens, for which there must be room; `wanted` selects those whose logits are returned, [number wanted,
  // vocabulary]. Attention goes to `sink` and `recorder` (may be null). Any exception clears the sequence: Cancelled,
  // Error(kUnsupportedModel) from AttentionCapture, the sink's exceptions, Error(kOther) when the library fails.
  std::vector<float> append(std::span<const llama_token> ids, std::span<const std::int8_t> wanted, AttentionSink* sink,
                            ScoreRecorder* recorder, const std::stop_token& stop_token,
                            const ProgressFunction& progress = {});

 private:
  void open(std::size_t positions);
  void choose_threads();
  [[noreturn]] void refuse(std::size_t positions, const std::string& found) const;
  void move_to_more_room(std::size_t positions);
  void run_chunk(std::span<const llama_token> ids, std::span<const std::int8_t> wanted, AttentionSink* sink,
                 ScoreRecorder* recorder, const std::stop_token& stop_token, std::vector<float>& logits);

  const LlamaWeights& weights_;
  AttentionCapture& capture_;
  int max_threads_ = 1;
  int thread_count_ = 1;
  std::chrono::steady_clock::time_point chosen_at_{};
  LlamaThreads threads_;
  LlamaContextHandle context_;  // destroyed before the threads that it uses
  std::size_t positions_ = 0;   // room
  std::size_t length_ = 0;
  std::vector<llama_token> ids_;  // the ids, and below how many ran together; only with a sliding window
  std::vector<std::size_t> chunks_;
  bool has_window_ = false;
};

}  // namespace attnflow
