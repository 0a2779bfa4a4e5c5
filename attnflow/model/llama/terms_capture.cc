#include "attnflow/model/llama/terms_capture.h"

#include <fmt/format.h>
#include <ggml-backend.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string_view>
#include <utility>

namespace attnflow {
namespace {

std::size_t ne(const ggml_tensor& tensor, std::size_t dimension) {
  return static_cast<std::size_t>(tensor.ne[dimension]);
}

// A leaf of the graph other than an input.
bool is_weight(const ggml_tensor* tensor) {
  return tensor != nullptr && tensor->op == GGML_OP_NONE && tensor->view_src == nullptr &&
         (tensor->flags & GGML_TENSOR_FLAG_INPUT) == 0;
}

bool is_plain(const ggml_tensor& tensor) {
  return tensor.type == GGML_TYPE_F32 && tensor.nb[0] == sizeof(float) && tensor.ne[3] == 1 && tensor.data != nullptr &&
         (tensor.buffer == nullptr || ggml_backend_buffer_is_host(tensor.buffer));
}

bool is_matrix(const ggml_tensor& tensor, std::size_t width, std::size_t rows) {
  return is_plain(tensor) && ne(tensor, 0) == width && ne(tensor, 1) == rows && tensor.ne[2] == 1;
}

void copy_matrix(const ggml_tensor& tensor, std::vector<float>& to) {
  const std::size_t width = ne(tensor, 0);
  to.resize(width * ne(tensor, 1));
  for (std::size_t row = 0; row < ne(tensor, 1); ++row) {
    std::memcpy(to.data() + row * width, static_cast<const char*>(tensor.data) + row * tensor.nb[1],
                width * sizeof(float));
  }
}

}  // namespace

bool TermsCapture::refuse(const std::string& found) {
  problem_ = fmt::format("{} in layer {}", found, layer_);
  step_ = Step::kNone;
  return false;
}

void TermsCapture::begin(std::size_t query_begin, std::size_t queries) {
  query_begin_ = query_begin;
  queries_ = queries;
  layers_seen_ = 0;
  step_ = Step::kNone;
  if (recording_) rests_.clear();
}

void TermsCapture::end(std::size_t layers) {
  if (problem_.empty() && layers_seen_ != layers) refuse("attention that is not added to a residual stream");
  if (problem_.empty() && recording_ && layers > 1) rests_.push_back(recorder_.end_as(rests_.back()));
}

void TermsCapture::weights(std::size_t layer, const ggml_tensor& node, TensorView<const float> attention) {
  if (!problem_.empty()) return;
  if (step_ != Step::kNone && step_ != Step::kComplete) {
    refuse("attention that is not added to a residual stream");
    return;
  }
  layer_ = layer;
  last_ = &node;
  since_.clear();
  rows_chosen_ = false;
  attention_ = attention;
  projection_ = {};
  projection_.heads = attention.extent(0);
  step_ = Step::kWeights;
}

bool TermsCapture::is_wanted(const ggml_tensor& node) {
  if (recording_ && layers_seen_ != 0 && problem_.empty()) recorder_.add(node);
  if (step_ == Step::kNone || step_ == Step::kComplete) return false;
  since_.push_back(&node);
  if (std::find(std::begin(node.src), std::end(node.src), last_) == std::end(node.src)) return false;
  switch (step_) {
    case Step::kWeights:
      return take_values(node);
    case Step::kMixed:
      return take_heads(node);
    case Step::kHeads:
      return take_projection(node);
    default:
      return take_sum(node);
  }
}

bool TermsCapture::take_values(const ggml_tensor& node) {
  const ggml_tensor* const values = node.src[0];
  if (node.op != GGML_OP_MUL_MAT || node.src[1] != last_)
    return refuse(fmt::format("{} of attention weights", ggml_op_desc(&node)));
  const bool cached = values->view_src != nullptr && std::string_view(values->view_src->name).starts_with("cache_");
  if (!cached || values->type != GGML_TYPE_F32 || values->ne[3] != 1 || values->data == nullptr ||
      ne(*values, 0) < query_begin_ + queries_ || ne(*values, 2) == 0 || projection_.heads % ne(*values, 2) != 0 ||
      ne(node, 1) != queries_ || ne(node, 2) != projection_.heads) {
    return refuse("values in another layout");
  }
  projection_.width = ne(*values, 1);
  key_value_heads_ = ne(*values, 2);
  values_.resize(queries_ * key_value_heads_ * projection_.width);
  float* to = values_.data();
  for (std::size_t query = query_begin_; query < query_begin_ + queries_; ++query) {
    const char* const cell = static_cast<const char*>(values->data) + query * values->nb[0];
    for (std::size_t head = 0; head < key_value_heads_; ++head) {
      for (std::size_t i = 0; i < projection_.width; ++i, ++to)
        std::memcpy(to, cell + head * values->nb[2] + i * values->nb[1], sizeof(float));
    }
  }
  last_ = &node;
  step_ = Step::kMixed;
  return false;
}

// Converts [query, width] of each head to [head, width] of each query.
bool TermsCapture::take_heads(const ggml_tensor& node) {
  const std::size_t joined = projection_.heads * projection_.width;
  if (node.op == GGML_OP_PERMUTE && last_->op == GGML_OP_MUL_MAT && node.nb[1] == last_->nb[2] &&
      node.nb[2] == last_->nb[1] && ne(node, 1) == projection_.heads && ne(node, 2) == queries_) {
    last_ = &node;
    return false;
  }
  if (node.op == GGML_OP_CONT && last_->op == GGML_OP_PERMUTE && ne(node, 0) == joined && ne(node, 1) == queries_) {
    last_ = &node;
    step_ = Step::kHeads;
    return false;
  }
  return refuse(fmt::format("{} after the values that attention has mixed", ggml_op_desc(&node)));
}

bool TermsCapture::take_projection(const ggml_tensor& node) {
  const ggml_tensor* const weight = node.src[0];
  if (node.op != GGML_OP_MUL_MAT || node.src[1] != last_ || !is_weight(weight) || weight->ne[2] != 1)
    return refuse(fmt::format("{} before the output projection", ggml_op_desc(&node)));
  projection_.name = weight->name;
  projection_.hidden = ne(*weight, 1);
  const std::string problem = projections_.problem(projection_);
  if (!problem.empty()) return refuse(problem);
  last_ = &node;
  step_ = Step::kProjected;
  return true;
}

// The operations between the output projection and the residual stream, and that stream itself.
bool TermsCapture::take_sum(const ggml_tensor& node) {
  const std::size_t hidden = projection_.hidden;
  if (node.op == GGML_OP_GET_ROWS && node.src[0] == last_ && !rows_chosen_) {
    rows_chosen_ = true;
    last_ = &node;
    return false;
  }
  if (node.op == GGML_OP_SCALE) {
    float factor = 0.0F;
    float shift = 0.0F;
    std::memcpy(&factor, node.op_params, sizeof(float));
    std::memcpy(&shift, node.op_params + 1, sizeof(float));
    if (shift != 0.0F) return refuse("a shift after the output projection");
    for (float& value : output_) value *= factor;
    projection_.scale *= static_cast<double>(factor);
    last_ = &node;
    return false;
  }
  if (node.op != GGML_OP_ADD) return refuse(fmt::format("{} after the output projection", ggml_op_desc(&node)));
  const ggml_tensor* const other = node.src[0] == last_ ? node.src[1] : node.src[0];
  if (is_weight(other)) {
    if (!is_matrix(*other, hidden, 1)) return refuse("a bias in another layout");
    const auto* const bias = static_cast<const float*>(other->data);
    for (std::size_t i = 0; i < output_.size(); ++i) output_[i] += bias[i % hidden];
    last_ = &node;
    return false;
  }
  const bool chosen = other->op == GGML_OP_GET_ROWS;
  if (rows_chosen_ && !chosen) return refuse("attention of some positions but the whole residual stream");
  if (!take_residual(rows_chosen_ ? *other->src[0] : *other)) return false;
  last_ = &node;
  return true;
}

bool TermsCapture::take_residual(const ggml_tensor& x) {
  if (std::find(since_.begin(), since_.end(), &x) != since_.end())
    return refuse(fmt::format("attention next to \"{}\", which is not a residual stream,", std::string_view(x.name)));
  if (!is_matrix(x, projection_.hidden, queries_)) return refuse("a residual stream in another layout");
  copy_matrix(x, residual_);
  if (recording_ && layers_seen_ != 0) rests_.push_back(recorder_.end(x));
  return true;
}

bool TermsCapture::receive(const ggml_tensor& node) {
  if (&node != last_) return false;
  if (node.op == GGML_OP_MUL_MAT) {
    if (!is_matrix(node, projection_.hidden, queries_)) return refuse("an output projection in another layout");
    copy_matrix(node, output_);
    return false;
  }
  assert(node.op == GGML_OP_ADD && output_.size() == residual_.size());
  for (std::size_t i = 0; i < output_.size(); ++i) output_[i] += residual_[i];
  ++layers_seen_;
  if (recording_) recorder_.begin(node);
  step_ = Step::kComplete;
  return true;
}

LayerTerms TermsCapture::terms() {
  assert(step_ == Step::kComplete);
  LayerTerms terms;
  terms.layer = layer_;
  terms.query_begin = query_begin_;
  terms.attention = attention_;
  terms.values = {values_.data(), {queries_, key_value_heads_, projection_.width}};
  terms.output_projection = projections_.get(projection_);
  terms.residual = {residual_.data(), {queries_, projection_.hidden}};
  terms.output = {output_.data(), {queries_, projection_.hidden}};
  if (layer_ <= rests_.size() && !rests_[layer_ - 1].empty()) {
    terms.rest = [this](TensorView<const float> y) { return rests_[layer_ - 1].compute(y, thread_count_, threads_); };
  }
  return terms;
}

}  // namespace attnflow
