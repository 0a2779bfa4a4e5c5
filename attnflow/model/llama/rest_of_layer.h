// Recomputes the feed-forward half of a libllama layer for other rows.
//
// Between y, the residual stream after attention, and the next layer's residual stream, the graph processes each
// position separately: a norm, products with weights, a gate, sums. These operations are recorded, without their
// results, in a model's first run; the same library then computes them for other rows. A layer with operations that mix
// positions or choose between weights (experts) has no rest.
#pragma once

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
  // Converts rows of y [rows, hidden] to rows of the layer's output [rows, hidden]. `threads` may be null. Throws
  // Error(kOther) when the library fails.
  Tensor<float> compute(TensorView<const float> y, int thread_count, ggml_threadpool* threads) const;

 private:
  friend class RestRecorder;
  struct Source {
    ggml_tensor* weight = nullptr;  // owned by the model, which must outlive this; or
    std::size_t row = 0;            // 0: y; else the result of node row - 1; kNone: not a row (a weight, or no source)
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

// Records one layer after another.
class RestRecorder {
 public:
  void begin(const ggml_tensor& y);
  // Adds the nodes after it, in order.
  void add(const ggml_tensor& node);
  // Takes the next layer's residual stream; returns the rest of the layer before it, empty if it is not supported.
  RestOfLayer end(const ggml_tensor& x);
  // Does the same for the last layer, which no layer follows: returns as many of the recorded nodes as `before`, the
  // rest of the previous layer, has; empty unless their operations are the same.
  RestOfLayer end_as(const RestOfLayer& before) const;

 private:
  bool understood_ = false;
  RestOfLayer rest_;
  std::map<const ggml_tensor*, std::size_t> rows_;  // Source::row for y and for each node
};

}  // namespace attnflow
