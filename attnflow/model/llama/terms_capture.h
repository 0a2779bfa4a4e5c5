// Reading the terms of a layer (graph/layer_terms.h) out of libllama while it computes.
//
// Architectures name their nodes differently, so the graph is followed instead of its names. From the softmax of a
// layer on, each node that takes what the node before gave is one of
//
//     kqv = v softmax        v is a view of the cache: the values
//     its heads side by side [head * width, query]
//     o = O kqv              O is a weight of the file, whose name the node tells (output_projections.h)
//     + a bias, or times a number, any of them or none
//     rows that are wanted   in the last layer only; the same rows of the residual stream
//     + x                    x is from before the layer's attention: the residual stream
//
// and anything else, a norm in between (Gemma, OLMo 2), a gate, a feed-forward net beside the attention (Falcon,
// Phi-2), is refused: there, x + sum_j T_ij + b = y_i does not hold. The last layer computes y of the positions alone
// whose logits are wanted, so y is added up here, from o of all positions; in the other layers it is the same bits.
//
// The library reuses memory. What a node is given is there while the library asks about that node, as far as it was
// computed before the last node that was wanted: values and x are copied then, o when it has been computed.
#ifndef ATTNFLOW_MODEL_LLAMA_TERMS_CAPTURE_H_
#define ATTNFLOW_MODEL_LLAMA_TERMS_CAPTURE_H_

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
  // Keeps a reference.
  explicit TermsCapture(const StoredMatrices& matrices) : projections_(matrices) {}

  // Whether the next chunks are looked at for what LayerTerms::rest needs, too. At least once before terms().
  void record_rests(bool recording) { recording_ = recording; }
  // What rests are computed by; `threads` may be null.
  void use_threads(int count, ggml_threadpool* threads) {
    thread_count_ = count;
    threads_ = threads;
  }
  // Before a chunk of queries is computed.
  void begin(std::size_t query_begin, std::size_t queries);
  // After it: of `layers` layers.
  void end(std::size_t layers);
  // The softmax node of a layer (from 1), computed; `attention` [head, query, key] is its result and outlives the
  // layer.
  void weights(std::size_t layer, const ggml_tensor& node, TensorView<const float> attention);
  // Each node that is no softmax, in order: whether its result is wanted. What is not understood makes
  // problem() say so; nothing is wanted then.
  bool is_wanted(const ggml_tensor& node);
  // A node that was wanted, computed. True when the layer is complete.
  bool receive(const ggml_tensor& node);

  // The layer that is complete: valid until the next begin(), weights() or terms(). Throws as OutputProjections::get().
  LayerTerms terms();
  // Why this model's layers cannot be taken apart, "a norm behind the output projection of layer 1", or nothing. Stays.
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
  std::vector<RestOfLayer> rests_;  // of each layer
  int thread_count_ = 1;
  ggml_threadpool* threads_ = nullptr;

  // Of the present chunk.
  std::size_t query_begin_ = 0;
  std::size_t queries_ = 0;
  std::size_t layers_seen_ = 0;

  // Of the present layer.
  Step step_ = Step::kNone;
  std::size_t layer_ = 0;
  const ggml_tensor* last_ = nullptr;      // that was followed
  std::vector<const ggml_tensor*> since_;  // nodes behind the softmax
  bool rows_chosen_ = false;
  std::size_t key_value_heads_ = 0;
  OutputProjections::Wanted projection_;
  TensorView<const float> attention_;
  std::vector<float> values_;    // [query, key-value head, width]
  std::vector<float> residual_;  // [query, hidden]
  std::vector<float> output_;    // [query, hidden]: o, then what is made of it, then y
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LLAMA_TERMS_CAPTURE_H_
