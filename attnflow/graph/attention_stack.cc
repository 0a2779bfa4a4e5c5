#include "attnflow/graph/attention_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace attnflow {
namespace {

template <typename Weight>
void validate_weights(TensorView<const Weight> weights, std::string_view what, std::size_t layers_before = 0) {
  const Shape& shape = weights.shape();
  if (shape.size() != 4) {
    throw Error(
        ErrorKind::kBadFile,
        fmt::format("{}: expected an array of rank 4, [layer, head, query, key], found shape {}; stack the layers "
                    "and drop the batch dimension",
                    what, shape_to_string(shape)));
  }
  if (weights.empty()) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected at least one layer, head and token, found shape {}",
                                                 what, shape_to_string(shape)));
  }
  if (shape[2] != shape[3]) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected as many queries as keys, found shape {} (queries {}, keys {}); save the "
                            "attention of the whole sequence without padding or a key cache",
                            what, shape_to_string(shape), shape[2], shape[3]));
  }
  const auto values = weights.span();
  // Written so that NaN fails. Products over layers of what no float32 holds would overflow.
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](Weight w) { return !(w >= 0 && w <= std::numeric_limits<float>::max()); });
  if (bad == values.end()) return;
  const auto index = static_cast<std::size_t>(bad - values.begin());
  const std::size_t n = shape[2];
  throw Error(ErrorKind::kBadFile,
              fmt::format("{}: expected weights from 0 to 3.4e38, found {} at layer {}, head {}, query {}, key {}; "
                          "save the weights after softmax",
                          what, *bad, layers_before + index / (n * n * shape[1]) + 1, index / (n * n) % shape[1],
                          index / n % n, index % n));
}

template <typename Weight>
RowSums inspect_sums(TensorView<const Weight> weights) {
  RowSums result;
  const std::size_t heads = weights.extent(1);
  const std::size_t n = weights.extent(2);
  const Weight* row = weights.data();
  for (std::size_t r = 0; r < weights.size() / n; ++r, row += n) {
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += static_cast<double>(row[k]);
    const double error = std::abs(sum - 1.0);
    if (error > result.largest_error) {
      result = {error, r / (n * heads) + 1, r / n % heads, r % n, sum};
    }
  }
  return result;
}

template <typename Weight>
bool has_nothing_above(TensorView<const Weight> weights) {
  const std::size_t n = weights.extent(weights.rank() - 1);
  if (n < 2) return false;
  const Weight* row = weights.data();
  for (std::size_t r = 0; r < weights.size() / n; ++r, row += n) {
    for (std::size_t k = r % n + 1; k < n; ++k) {
      if (row[k] != 0) return false;
    }
  }
  return true;
}

}  // namespace

void validate_attention(TensorView<const float> weights, std::string_view what, std::size_t layers_before) {
  validate_weights(weights, what, layers_before);
}
void validate_attention(TensorView<const double> weights, std::string_view what, std::size_t layers_before) {
  validate_weights(weights, what, layers_before);
}

RowSums inspect_row_sums(TensorView<const float> weights) { return inspect_sums(weights); }
RowSums inspect_row_sums(TensorView<const double> weights) { return inspect_sums(weights); }

bool is_causal(TensorView<const float> weights) { return has_nothing_above(weights); }
bool is_causal(TensorView<const double> weights) { return has_nothing_above(weights); }

void renormalize_row(std::span<double> row) {
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  if (sum == 0.0) return;
  for (double& weight : row) weight /= sum;
}

void renormalize_rows(Tensor<double>& weights) {
  if (weights.empty()) return;
  const std::size_t n = weights.extent(weights.rank() - 1);
  for (std::size_t begin = 0; begin < weights.size(); begin += n) renormalize_row(weights.span().subspan(begin, n));
}

template <typename Weight>
BasicAttentionStack<Weight>::BasicAttentionStack(Tensor<Weight> weights) : weights_(std::move(weights)) {
  validate_weights(std::as_const(weights_).view(), "attention");
}

template <typename Weight>
void BasicAttentionStack<Weight>::send_to(AttentionSink& sink) const requires std::same_as<Weight, float> {
  // clang 14 compiles it for doubles, too, where the whole class is instantiated.
  if constexpr (std::same_as<Weight, float>) {
    for (std::size_t l = 1; l <= layers(); ++l) sink.layer(l, 0, layer(l));
  }
}

template class BasicAttentionStack<float>;
template class BasicAttentionStack<double>;

void StackSink::layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) {
  const std::size_t heads = attention.extent(0);
  const std::size_t queries = attention.extent(1);
  const std::size_t keys = attention.extent(2);
  if (weights_.empty()) {
    weights_ = Tensor<float>({layers_, heads, tokens_, tokens_});
    // Rows that never come are found by take(): attention is never negative.
    std::fill(weights_.span().begin(), weights_.span().end(), -1.0F);
  }
  assert(layer >= 1 && layer <= layers_ && heads == weights_.extent(1));
  assert(query_begin + queries <= tokens_ && keys <= tokens_);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t q = 0; q < queries; ++q) {
      float* row = &weights_(layer - 1, h, query_begin + q, 0);
      std::copy_n(attention.data() + (h * queries + q) * keys, keys, row);
      std::fill(row + keys, row + tokens_, 0.0F);  // keys that a chunked engine had not seen yet
    }
  }
}

AttentionStack StackSink::take() { return AttentionStack(std::exchange(weights_, {})); }

}  // namespace attnflow
