// Reads the terms of a layer (graph/layer_terms.h) out of libllama while it computes.
//
// Architectures name their nodes differently, so the capture follows the graph, not names. After a layer's softmax,
// each node that consumes the previous node's result is one of
//
//     kqv = v softmax        v is a view of the cache: the values
//     its heads side by side [head * width, query]
//     o = O kqv              O is a weight in the file, whose name the node gives (output_projections.h)
//     + a bias, or times a number, any of them or none
//     rows that are wanted   in the last layer only; the same rows of the residual stream
//     + x                    x comes from before the layer's attention: the residual stream
//
// Anything else, such as a norm in between (Gemma, OLMo 2), a gate, or a feed-forward network parallel to attention
// (Falcon, Phi-2), is rejected, because x + sum_j T_ij + b = y_i does not hold there. The last layer computes y only
// for the positions whose logits are wanted, so y is summed here, from o for all positions; in the other layers the
// result is bitwise the same.
//
// The library reuses memory. While it asks about a node, that node's inputs exist if they were computed before the last
// requested node: values and x are copied then, o once it has been computed.
#pragma once

#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attnflow/graph/layer_terms.h"
#include "attnflow/model/llama/output_projections.h"
#include "attnflow/model/llama/rest_of_layer.h"

namespace attnflow {

class TermsCapture {
 public:
  // Keeps a reference to `matrices`.
  explicit TermsCapture(const StoredMatrices& matrices) : projections_(matrices) {}

  // Whether to also record, in the next chunks, what LayerTerms::rest needs. Required at least once before terms().
  void record_rests(bool recording) { recording_ = recording; }
  // Sets the threads that compute rests; `threads` may be null.
  void use_threads(int count, ggml_threadpool* threads) {
    thread_count_ = count;
    threads_ = threads;
  }
  // Call before computing a chunk of queries.
  void begin(std::size_t query_begin, std::size_t queries);
  // Call after it, with the number of layers.
  void end(std::size_t layers);
  // The softmax node of a layer (from 1), once computed; its result `attention` [head, query, key] outlives the layer.
  void weights(std::size_t layer, const ggml_tensor& node, TensorView<const float> attention);
  // Receives each node other than softmax, in order; returns whether its result is wanted. An unsupported node sets
  // problem(); after that nothing is wanted.
  bool is_wanted(const ggml_tensor& node);
  // A requested node, once computed. Returns true when the layer is complete.
  bool receive(const ggml_tensor& node);

  // The completed layer, valid until the next begin(), weights() or terms(). Throws as OutputProjections::get().
  LayerTerms terms();
  // Why this model's layers do not decompose ("a norm behind the output projection of layer 1"), or empty. Never reset.
  const std::string& problem() const { return problem_; }

 private:
  enum class Step : std::uint8_t { kNone, kWeights, kMixed, kHeads, kProjected, kComplete };

  bool refuse(const std::string& found);
  bool take_values(const ggml_tensor& node);
  bool take_heads(const ggml_tensor& node);
  bool take_projection(const ggml_tensor& node);
  bool take_sum(const ggml_tensor& node);
  bool take_residual(const ggml_tensor& x);

  OutputProjections projections_;
  std::string problem_;
  bool recording_ = false;
  RestRecorder recorder_;
  std::vector<RestOfLayer> rests_;  // for each layer
  int thread_count_ = 1;
  ggml_threadpool* threads_ = nullptr;

  std::size_t query_begin_ = 0;
  std::size_t queries_ = 0;
  std::size_t layers_seen_ = 0;

  // State of the current layer.
  Step step_ = Step::kNone;
  std::size_t layer_ = 0;
  const ggml_tensor* last_ = nullptr;      // the last node followed
  std::vector<const ggml_tensor*> since_;  // nodes after the softmax
  bool rows_chosen_ = false;
  std::size_t key_value_heads_ = 0;
  OutputProjections::Wanted projection_;
  TensorView<const float> attention_;
  std::vector<float> values_;    // [query, key-value head, width]
  std::vector<float> residual_;  // [query, hidden]
  std::vector<float> output_;    // [query, hidden]: o, then its bias and factors applied, then y
};

}  // namespace attnflow
