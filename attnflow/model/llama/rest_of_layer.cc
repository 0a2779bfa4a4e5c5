#include "attnflow/model/llama/rest_of_layer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "attnflow/model/llama/library.h"

namespace attnflow {
namespace {

// Operations that compute each row of their result from the same rows of their inputs.
bool keeps_rows_apart(ggml_op op) {
  constexpr std::array kOperations = {GGML_OP_NORM,    GGML_OP_RMS_NORM, GGML_OP_MUL,   GGML_OP_ADD,
                                      GGML_OP_MUL_MAT, GGML_OP_GLU,      GGML_OP_UNARY, GGML_OP_SCALE};
  return std::find(kOperations.begin(), kOperations.end(), op) != kOperations.end();
}

bool has_rows(const ggml_tensor& node) {
  return node.type == GGML_TYPE_F32 && node.ne[2] == 1 && node.ne[3] == 1 && node.view_src == nullptr;
}

}  // namespace

void RestRecorder::begin(const ggml_tensor& y) {
  rest_.nodes_.clear();
  rows_ = {{&y, 0}};
  understood_ = true;
}

void RestRecorder::add(const ggml_tensor& node) {
  if (!understood_) return;
  RestOfLayer::Node made;
  bool takes = false;
  bool plain = keeps_rows_apart(node.op) && has_rows(node);
  for (std::size_t i = 0; i < GGML_MAX_SRC; ++i) {
    RestOfLayer::Source& source = made.sources[i];
    source.row = RestOfLayer::kNone;
    if (node.src[i] == nullptr) continue;
    const auto found = rows_.find(node.src[i]);
    if (found != rows_.end()) {
      source.row = found->second;
      takes = true;
      if (node.op == GGML_OP_MUL_MAT && i == 0) plain = false;  // multiplies rows by rows
    } else if (node.src[i]->op == GGML_OP_NONE && (node.src[i]->flags & GGML_TENSOR_FLAG_INPUT) == 0) {
      source.weight = node.src[i];
    } else {
      plain = false;
    }
  }
  if (!takes) return;
  if (!plain) {
    understood_ = false;  // applies to the nodes that follow; the layer may already have ended
    return;
  }
  made.op = node.op;
  std::memcpy(made.parameters.data(), node.op_params, sizeof(node.op_params));
  made.width = static_cast<std::size_t>(node.ne[0]);
  rest_.nodes_.push_back(made);
  rows_[&node] = rest_.nodes_.size();
}

RestOfLayer RestRecorder::end(const ggml_tensor& x) {
  const auto found = rows_.find(&x);
  if (found == rows_.end()) return {};
  RestOfLayer rest = rest_;
  rest.nodes_.resize(found->second);
  return rest;
}

RestOfLayer RestRecorder::end_as(const RestOfLayer& before) const {
  if (rest_.nodes_.size() < before.nodes_.size()) return {};
  RestOfLayer rest = rest_;
  rest.nodes_.resize(before.nodes_.size());
  const bool same = std::equal(rest.nodes_.begin(), rest.nodes_.end(), before.nodes_.begin(),
                               [](const RestOfLayer::Node& a, const RestOfLayer::Node& b) {
                                 return a.op == b.op && a.width == b.width && a.parameters == b.parameters;
                               });
  return same ? rest : RestOfLayer();
}

Tensor<float> RestOfLayer::compute(TensorView<const float> y, int thread_count, ggml_threadpool* threads) const {
  assert(!empty() && y.rank() == 2);
  const auto rows = static_cast<std::int64_t>(y.extent(0));
  const std::size_t objects = nodes_.size() * GGML_MAX_SRC + 2;  // upper bound: tensors made here, and weights
  const GgmlContextHandle context = make_ggml_context(objects);

  ggml_tensor* const given =
      ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, static_cast<std::int64_t>(y.extent(1)), rows);
  given->data = const_cast<float*>(y.data());
  std::vector<ggml_tensor*> tensors = {given};
  std::vector<std::vector<float>> results;
  results.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    ggml_tensor* const made =
        ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, static_cast<std::int64_t>(node.width), rows);
    results.emplace_back(node.width * y.extent(0));
    made->data = results.back().data();
    made->op = node.op;
    std::memcpy(made->op_params, node.parameters.data(), sizeof(made->op_params));
    for (std::size_t i = 0; i < GGML_MAX_SRC; ++i) {
      const Source& source = node.sources[i];
      made->src[i] = source.row == kNone ? source.weight : tensors[source.row];
    }
    tensors.push_back(made);
  }
  compute_again(context.get(), objects, tensors.back(), thread_count, threads, "a layer");
  return {Shape{y.extent(0), nodes_.back().width}, std::move(results.back())};
}

}  // namespace attnflow
