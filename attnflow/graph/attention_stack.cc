#include "attnflow/graph/attention_stack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

std::string rank_advice(const Shape& shape) {
  switch (shape.size()) {
    case 2:
      return "a layer and a head dimension are missing: attention[None, None] is one layer of one head";
    case 3:
      return "one dimension is missing: attention[:, None] adds the head, if these are layers whose heads were "
             "averaged; attention[None] adds the layer, if these are the heads of one layer";
    case 5:
      return "take one input of the batch, without its padding: attention[:, i, :, :n, :n], or attention[i, :, :, :n, "
             ":n] if the batch stands first";
    default:
      return "stack the layers and drop the batch dimension";
  }
}

std::string square_advice(const Shape& shape) {
  if (shape[1] == shape[2]) return "heads look last: np.moveaxis(attention, -1, 1) puts them second";
  if (shape[0] == shape[1]) return "layers and heads look last: np.moveaxis(attention, (2, 3), (0, 1)) puts them first";
  return "save the attention of the whole sequence without padding or a key cache";
}

template <typename Weight>
std::string weight_advice(TensorView<const Weight> weights, std::size_t index) {
  const std::size_t n = weights.extent(3);
  const auto row = weights.span().subspan(index / n * n, n);
  if (std::all_of(row.begin(), row.end(), [](Weight w) { return std::isnan(w); })) {
    return "a whole row of NaN comes from padding, all of whose keys are masked (leave padding out, or set such rows "
           "to 0 and pass --renormalize), or from a model that overflows";
  }
  return std::isnan(row[index % n]) ? "the model overflowed: compute it in float32 or bfloat16"
                                    : "save the weights after softmax";
}

template <typename Weight>
void validate_weights(TensorView<const Weight> weights, std::string_view what, std::size_t layers_before = 0) {
  const Shape& shape = weights.shape();
  if (shape.size() != 4) {
    fail_with(ErrorKind::kBadFile, "{}: expected an array of rank 4, [layer, head, query, key], found shape {}; {}",
              what, shape_to_string(shape), rank_advice(shape));
  }
  if (weights.empty()) {
    fail_with(ErrorKind::kBadFile, "{}: expected at least one layer, head and token, found shape {}", what,
              shape_to_string(shape));
  }
  if (shape[2] != shape[3]) {
    fail_with(ErrorKind::kBadFile, "{}: expected as many queries as keys, found shape {} (queries {}, keys {}); {}",
              what, shape_to_string(shape), shape[2], shape[3], square_advice(shape));
  }
  const auto values = weights.span();
  // Written so that NaN fails. Products over layers of values outside the float32 range would overflow.
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](Weight w) { return !(w >= 0 && w <= std::numeric_limits<float>::max()); });
  if (bad == values.end()) return;
  const auto index = static_cast<std::size_t>(bad - values.begin());
  const std::size_t n = shape[2];
  fail_with(ErrorKind::kBadFile,
            "{}: expected weights from 0 to 3.4e38, found {} at layer {}, head {}, query {}, key {}; {}", what, *bad,
            layers_before + index / (n * n * shape[1]) + 1, index / (n * n) % shape[1], index / n % n, index % n,
            weight_advice(weights, index));
}

template <typename Weight>
bool has_shares_in_columns(TensorView<const Weight> weights) {
  const std::size_t n = weights.extent(2);
  std::vector<double> sums(n);
  for (std::size_t head = 0; head < weights.size() / (n * n); ++head) {
    std::fill(sums.begin(), sums.end(), 0.0);
    const Weight* row = weights.data() + head * n * n;
    for (std::size_t q = 0; q < n; ++q, row += n) {
      for (std::size_t k = 0; k < n; ++k) sums[k] += static_cast<double>(row[k]);
    }
    if (std::any_of(sums.begin(), sums.end(), [](double sum) { return std::abs(sum - 1.0) > kRowSumTolerance; })) {
      return false;
    }
  }
  return true;
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
    const bool is_first_zero = sum == 0.0 && result.zero_rows++ == 0;
    if (is_first_zero || (result.zero_rows == 0 && error > result.largest_error)) {
      result.layer = r / (n * heads) + 1;
      result.head = r / n % heads;
      result.query = r % n;
      result.sum = sum;
    }
    result.largest_error = std::max(result.largest_error, error);
  }
  result.columns_sum_to_one = result.largest_error > kRowSumTolerance && has_shares_in_columns(weights);
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

bool renormalize_row(std::span<double> row, std::size_t position) {
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  if (sum == 0.0) {
    if (position < row.size()) row[position] = 1.0;
    return true;
  }
  for (double& weight : row) weight /= sum;
  return false;
}

void ZeroRows::add(const ZeroRows& more) {
  count += more.count;
  layers.insert(more.layers.begin(), more.layers.end());
  heads.insert(more.heads.begin(), more.heads.end());
  queries.insert(more.queries.begin(), more.queries.end());
}

ZeroRows renormalize_rows(Tensor<double>& weights, std::size_t layers_before) {
  ZeroRows zeros;
  if (weights.empty()) return zeros;
  const std::size_t heads = weights.extent(1);
  const std::size_t n = weights.extent(2);
  for (std::size_t r = 0; r < weights.size() / n; ++r) {
    if (!renormalize_row(weights.span().subspan(r * n, n), r % n)) continue;
    ++zeros.count;
    zeros.layers.insert(layers_before + r / (n * heads) + 1);
    zeros.heads.insert(r / n % heads);
    zeros.queries.insert(r % n);
  }
  return zeros;
}

template <typename Weight>
BasicAttentionStack<Weight>::BasicAttentionStack(Tensor<Weight> weights) : weights_(std::move(weights)) {
  validate_weights(std::as_const(weights_).view(), "attention");
}

template <typename Weight>
void BasicAttentionStack<Weight>::send_to(AttentionSink& sink) const requires std::same_as<Weight, float> {
  // clang 14 also compiles this for double when the whole class is instantiated.
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
    // take() uses this to find rows that never arrived: attention is never negative.
    std::fill(weights_.span().begin(), weights_.span().end(), -1.0F);
  }
  assert(layer >= 1 && layer <= layers_ && heads == weights_.extent(1));
  assert(query_begin + queries <= tokens_ && keys <= tokens_);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t q = 0; q < queries; ++q) {
      float* row = &weights_(layer - 1, h, query_begin + q, 0);
      std::copy_n(attention.data() + (h * queries + q) * keys, keys, row);
      std::fill(row + keys, row + tokens_, 0.0F);  // keys that a chunked engine had not reached yet
    }
  }
}

AttentionStack StackSink::take() { return AttentionStack(std::exchange(weights_, {})); }

}  // namespace attnflow
