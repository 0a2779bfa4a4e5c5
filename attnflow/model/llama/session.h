// One sequence in libllama: its context, with room that grows, and the chunks that it is computed in.
#ifndef ATTNFLOW_MODEL_LLAMA_SESSION_H_
#define ATTNFLOW_MODEL_LLAMA_SESSION_H_

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

// Queries that are computed together. Attention of a chunk takes heads * kChunk * (positions of the sequence) numbers,
// twice in the library and once here; longer chunks are hardly faster on a processor.
inline constexpr std::size_t kLlamaChunk = 128;

class LlamaSession {
 public:
  // Room for `positions` to begin with (at least 1). Keeps references to both. Throws Error(kOther) where the memory
  // that is free is not enough, or the library cannot get it; the message says how much it takes.
  // `threads`: at most so many compute, 0 for as many as there are processors, and never more than are idle; that is
  // looked at again while it computes, because one thread too many makes it a hundred times slower
  // (base/idle_processors.h).
  LlamaSession(const LlamaWeights& weights, AttentionCapture& capture, std::size_t threads, std::size_t positions);

  std::size_t length() const { return length_; }
  ggml_threadpool* threads() const { return threads_.get(); }
  int thread_count() const { return thread_count_; }
  bool is_causal() const { return llama_get_causal_attn(context_.get()); }

  void clear();
  // Makes room for that many positions. What is there stays, to the bit: it is copied, or, in models with a sliding
  // window, whose cache the library does not hand out whole, computed again. Throws as the constructor does and as
  // append() does, and the sequence is then cleared.
  void reserve(std::size_t positions, const std::stop_token& stop_token);

  // Appends tokens, for which there must be room; `wanted` says of each whether its logits are. Returns those, [number
  // wanted, vocabulary]. Attention goes to `sink` and `observer` (either may be null). Whatever is thrown, the sequence
  // is then cleared: Cancelled, Error(kUnsupportedModel) of AttentionCapture, what the sink throws, Error(kOther) when
  // the library fails.
  std::vector<float> append(std::span<const llama_token> ids, std::span<const std::int8_t> wanted, AttentionSink* sink,
                            NodeObserver* observer, const std::stop_token& stop_token,
                            const ProgressFunction& progress = {});

 private:
  void open(std::size_t positions);
  void choose_threads();
  [[noreturn]] void refuse(std::size_t positions, const std::string& found) const;
  void move_to_more_room(std::size_t positions);
  void run_chunk(std::span<const llama_token> ids, std::span<const std::int8_t> wanted, AttentionSink* sink,
                 NodeObserver* observer, const std::stop_token& stop_token, std::vector<float>& logits);

  const LlamaWeights& weights_;
  AttentionCapture& capture_;
  int max_threads_ = 1;
  int thread_count_ = 1;
  std::chrono::steady_clock::time_point chosen_at_{};
  LlamaThreads threads_;
  LlamaContextHandle context_;  // before the threads that it uses
  std::size_t positions_ = 0;   // room
  std::size_t length_ = 0;
  std::vector<llama_token> ids_;  // of the sequence, and how many were computed together: only with a sliding window
  std::vector<std::size_t> chunks_;
  bool has_window_ = false;
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LLAMA_SESSION_H_
