#include "attnflow/graph/value_zeroing.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "attnflow/base/fail.h"
#include "attnflow/graph/contribution_tiles.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kRestRows = 256;  // passed to the rest of the layer at a time

struct ZeroedPair {
  std::size_t query = 0;
  std::size_t key = 0;
};

Tensor<float> rest_of(const LayerTerms& terms, TensorView<const float> rows) {
  Tensor<float> result = terms.rest(rows);
  if (result.rank() != 2 || result.extent(0) != rows.extent(0)) {
    fail_with(ErrorKind::kOther,
              "mixing value-zeroing: expected the rest of layer {} to give {} rows, "
              "found an array {}",
              terms.layer, rows.extent(0), shape_to_string(result.shape()));
  }
  return result;
}

double length_of(std::span<const float> v) {
  double squares = 0.0;
  for (const float x : v) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

// 1 - cos. A zero vector has no direction: the distance is 0 if both are zero, and 1 if only one is.
double cosine_distance(std::span<const float> a, std::span<const float> b) {
  const double a_length = length_of(a);
  const double b_length = length_of(b);
  if (a_length == 0.0 || b_length == 0.0) return a_length == b_length ? 0.0 : 1.0;
  double squares = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    const double difference = static_cast<double>(a[c]) / a_length - static_cast<double>(b[c]) / b_length;
    squares += difference * difference;
  }
  return squares / 2.0;
}

class ZeroedRows {
 public:
  ZeroedRows(const LayerTerms& terms, std::size_t hidden, Tensor<double>& result)
      : terms_(terms), hidden_(hidden), result_(result), whole_(rest_of(terms, terms.output)) {}

  void add(ZeroedPair pair, const float* row) {
    rows_.insert(rows_.end(), row, row + hidden_);
    pairs_.push_back(pair);
    if (pairs_.size() == kRestRows) flush();
  }

  void flush() {
    if (pairs_.empty()) return;
    const Tensor<float> changed = rest_of(terms_, TensorView<const float>(rows_.data(), {pairs_.size(), hidden_}));
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      result_(pairs_[p].query, pairs_[p].key) = cosine_distance(whole_[pairs_[p].query].span(), changed[p].span());
    }
    pairs_.clear();
    rows_.clear();
  }

 private:
  const LayerTerms& terms_;
  std::size_t hidden_;
  Tensor<double>& result_;
  Tensor<float> whole_;  // y'
  std::vector<ZeroedPair> pairs_;
  std::vector<float> rows_;
};

}  // namespace

Tensor<double> value_zeroing(const LayerTerms& terms, const ContributionLayer& layer) {
  Tensor<double> result({layer.queries, layer.positions});
  ZeroedRows rows(terms, layer.hidden, result);
  const std::size_t tile_vectors = kTileKeys * (layer.heads + 1) * layer.stride;
  std::vector<float> vectors(tile_vectors);
  std::vector<float> changed(layer.stride);
  std::vector<float> weights(layer.heads);
  for (std::size_t first = 0; first < layer.positions; first += kTileKeys) {
    const std::size_t count = std::min(kTileKeys, layer.positions - first);
    project_keys(layer, first, count, {0, layer.stride}, vectors.data());
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t q = 0; q < layer.queries; ++q) {
        if (layer.used_keys[q] <= first + k) continue;
        for (std::size_t h = 0; h < layer.heads; ++h) weights[h] = layer.attention_row(h, q)[first + k];
        if (std::all_of(weights.begin(), weights.end(), [](float w) { return w == 0.0F; })) continue;
        subtract_sum(layer.output + q * layer.stride, vectors.data() + k * (layer.heads + 1) * layer.stride,
                     layer.stride, layer.heads, weights.data(), layer.stride, changed.data());
        rows.add({q, first + k}, changed.data());
      }
    }
  }
  rows.flush();
  return result;
}

}  // namespace attnflow::internal
