// Reads attention out of libllama while it computes.
//
// With flash attention off, the library computes attention as one graph node per layer, softmax(scale q k' + mask), and
// calls back before and after each requested node. The node's result is [head, query, cell], where cells are slots in
// the key cache: position p is in cell p, because sequences are only ever appended to an empty cache, and masked cells
// follow the last position. The node's name gives its layer, from 0: "kq_soft_max-7".
//
// Each requested node ends a run of nodes that are computed together, so the callback requests no others: two more per
// layer if a sink wants terms (terms_capture.h), and none when nobody wants attention.
#pragma once

#include <ggml.h>

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/llama/terms_capture.h"

namespace attnflow {

class ScoreRecorder;

class AttentionCapture {
 public:
  // `source` names the model in messages. Keeps a reference to `matrices`.
  AttentionCapture(std::string source, const StoredMatrices& matrices) : source_(std::move(source)), terms_(matrices) {}

  // Number of heads, known after the first captured chunk; 0 before. Models whose layers differ in it are rejected.
  std::size_t heads() const { return heads_; }

  // If `trying`, looks for the terms of layers in the next chunks, so that check_terms() and has_terms() know the
  // outcome. The sink receives attention, but no terms.
  void try_terms(bool trying) {
    trying_terms_ = trying;
    terms_.record_rests(trying);
  }
  // Sets the threads that compute LayerTerms::rest for sinks; `threads` may be null.
  void use_threads(int count, ggml_threadpool* threads) { terms_.use_threads(count, threads); }
  // Throws Error(kUnsupportedModel) if this model's layers have turned out not to decompose into terms.
  void check_terms() const;
  bool has_terms() const { return terms_.problem().empty(); }

  // Call before computing a chunk of queries [query_begin, query_begin + queries); `sink` and `recorder` (replay.h) may
  // be null.
  void begin(AttentionSink* sink, ScoreRecorder* recorder, std::size_t query_begin, std::size_t queries);
  // Call after it. Rethrows exceptions of the sink or the recorder; throws Error(kUnsupportedModel) when attention did
  // not arrive as promised: not from all `layers`, rows that are not a distribution over the tokens, or terms that are
  // wanted but unavailable.
  void end(std::size_t layers);

  // The library's callback (ggml_backend_sched_eval_callback); `self` is an AttentionCapture.
  static bool callback(ggml_tensor* node, bool ask, void* self);

 private:
  bool is_wanted(const ggml_tensor& node);
  void receive(const ggml_tensor& node);
  void receive_weights(std::size_t layer, const ggml_tensor& node);
  bool sends_terms() const { return sink_ != nullptr && !trying_terms_ && sink_->wants_terms(); }
  [[noreturn]] void refuse(const std::string& found) const;

  std::string source_;
  std::size_t heads_ = 0;
  TermsCapture terms_;
  bool trying_terms_ = false;

  AttentionSink* sink_ = nullptr;
  ScoreRecorder* recorder_ = nullptr;
  std::size_t query_begin_ = 0;
  std::size_t queries_ = 0;
  std::size_t layers_seen_ = 0;
  bool follows_terms_ = false;
  std::exception_ptr error_;

  std::vector<float> values_;  // [head, query, key]
};

}  // namespace attnflow
