// Recomputes the attention of a finished sequence from libllama's queries and keys.
//
// The keys of every layer stay in the library's cache as long as the sequence; the queries are copied while they exist,
// O(L n d) numbers. A row of attention is then softmax(mask + scale q k'), with tanh(s q k') in between if scores are
// capped, computed by the same operations of the same library. The model is rejected if the graph contains any other
// operation on queries and keys, or if a recomputed row differs from the one that the model used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/graph/attention_replay.h"

struct ggml_tensor;
struct ggml_threadpool;

namespace attnflow {

struct LayerScores {
  std::vector<float> queries;  // [query, head, width]
  // Keys in the library's cache: number c for position p and head h is c floats after keys + p * key_step + h *
  // head_step.
  const char* keys = nullptr;
  std::size_t key_step = 0;
  std::size_t head_step = 0;
  std::size_t key_heads = 0;
  std::size_t width = 0;
  std::size_t heads = 0;
  float scale = 1.0F;                // inside the softmax
  std::vector<float> caps;           // scores become caps[1] * tanh(caps[0] * score); empty: unchanged
  std::vector<float> sinks;          // [head]: one more score in the softmax, of no token; empty: none
  std::vector<std::uint32_t> first;  // [query]: the first key that it sees; it sees all keys from there to its own
};

// The learned sinks of a softmax node, one for each head: scores that belong to no token. Null: none.
const ggml_tensor* softmax_sinks(const ggml_tensor& node);

// Collects the scores of a sequence run from its start; in every chunk and layer, checks that the last row
// can be recomputed.
class ScoreRecorder {
 public:
  ScoreRecorder(std::string source, std::size_t layers) : source_(std::move(source)), layers_(layers) {}

  // The node q k' of a layer (from 1), once computed; its sources are still in place.
  void scores(std::size_t layer, const ggml_tensor& node);
  // Its softmax node, once computed; its mask is still in place. `attention` is its result [head, query, key].
  void weights(std::size_t layer, const ggml_tensor& node, TensorView<const float> attention);

  std::vector<LayerScores> take() { return std::move(layers_); }

 private:
  [[noreturn]] void refuse(std::size_t layer, const std::string& found) const;

  std::string source_;
  std::vector<LayerScores> layers_;
};

// Computes rows [query_begin, query_end) of a layer, [head, query, key] with the keys up to query_end. `threads` may be
// null. O(heads * queries * keys * width).
void compute_rows(const LayerScores& layer, std::size_t query_begin, std::size_t query_end, int thread_count,
                  ggml_threadpool* threads, std::vector<float>& rows);

class LlamaReplay : public AttentionReplay {
 public:
  // `now` is the decoder's use count; once it has changed, the keys are gone. Throws nothing.
  LlamaReplay(std::vector<LayerScores> layers, int thread_count, ggml_threadpool* threads,
              std::shared_ptr<const std::size_t> now)
      : layers_(std::move(layers)),
        thread_count_(thread_count),
        threads_(threads),
        now_(std::move(now)),
        made_(*now_) {}

  std::size_t layers() const override { return layers_.size(); }
  std::size_t heads() const override { return layers_.front().heads; }
  std::size_t tokens() const override { return layers_.front().first.size(); }
  // Also throws Error(kUsage) when the decoder has been used since.
  void rows(std::size_t layer, std::size_t query_begin, std::size_t query_end, AttentionSink& sink) override;

 private:
  std::vector<LayerScores> layers_;
  int thread_count_;
  ggml_threadpool* threads_;
  std::shared_ptr<const std::size_t> now_;
  std::size_t made_;
  std::vector<float> rows_;
};

}  // namespace attnflow
