// The feed-forward half of a layer of libllama, computed again for rows of one's own.
//
// Between y, the residual stream behind the attention, and the next layer's residual stream, the graph holds operations
// that take each position by itself: a norm, products with weights, a gate, sums. While a model runs for the first time
// they are written down, without their results; the same operations of the same library are then computed for other
// rows. What mixes positions or chooses between weights (experts) is not understood, and such a layer has no rest.
#ifndef ATTNFLOW_MODEL_LLAMA_REST_OF_LAYER_H_
#define ATTNFLOW_MODEL_LLAMA_REST_OF_LAYER_H_

#include <ggml.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "attnflow/tensor/tensor.h"

struct ggml_threadpool;

namespace attnflow {

class RestOfLayer {
 public:
  bool empty() const { return nodes_.empty(); }
  // From rows of y [rows, hidden] to rows of the layer's output [rows, hidden]. `threads` may be null. Throws
  // Error(kOther) when the library fails.
  Tensor<float> compute(TensorView<const float> y, int thread_count, ggml_threadpool* threads) const;

 private:
  friend class RestRecorder;
  struct Source {
    ggml_tensor* weight = nullptr;  // of the model, which must outlive this; or
    std::size_t row = 0;            // 0: y; else the result of node row - 1; kNone: the operation takes less
  };
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Node {
    ggml_op op = GGML_OP_NONE;
    std::array<std::int32_t, GGML_MAX_OP_PARAMS / sizeof(std::int32_t)> parameters{};
    std::size_t width = 0;
    std::array<Source, GGML_MAX_SRC> sources{};
  };
  std::vector<Node> nodes_;  // the last is the output
};

// Writes down one layer after another.
class RestRecorder {
 public:
  // A layer's y.
  void begin(const ggml_tensor& y);
  // The nodes behind it, in order.
  void add(const ggml_tensor& node);
  // The residual stream of the layer that follows: the rest of the layer that came before, empty where it is not
  // understood.
  RestOfLayer end(const ggml_tensor& x);
  // The same for the last layer, which no layer follows: as many nodes as the layer before it has, where they are the
  // same operations.
  RestOfLayer end_as(const RestOfLayer& before) const;

 private:
  bool understood_ = false;
  RestOfLayer rest_;
  std::map<const ggml_tensor*, std::size_t> rows_;  // Source::row of y and of each node
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LLAMA_REST_OF_LAYER_H_
