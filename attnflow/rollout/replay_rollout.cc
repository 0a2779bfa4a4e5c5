#include "attnflow/rollout/replay_rollout.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/graph/layers.h"

namespace attnflow {
namespace {

class RowSum : public AttentionSink {
 public:
  RowSum(const std::vector<double>& row, const MixingOptions& mixing) : row_(row), mixing_(mixing), sum_(row.size()) {}

  void layer(std::size_t, std::size_t query_begin, TensorView<const float> attention) override {
    const Tensor<double> weights = fused_rows(attention, mixing_, query_begin);
    const std::size_t keys = weights.extent(1);
    for (std::size_t q = 0; q < weights.extent(0); ++q) {
      const double share = row_[query_begin + q];
      if (share == 0.0) continue;
      const double* w = weights.data() + q * keys;
      const std::size_t seen = std::min(keys, query_begin + q + 1);
      for (std::size_t j = 0; j < seen; ++j) sum_[j] += share * w[j];
    }
  }

  const std::vector<double>& sum() const { return sum_; }

 private:
  const std::vector<double>& row_;
  const MixingOptions& mixing_;
  std::vector<double> sum_;
};

// The row of a layer's output, down to its input.
void pass_evenly(const AttentionMask& mask, std::size_t layer, double residual, std::vector<double>& row) {
  std::vector<double> rises(row.size() + 1, 0.0);  // of what position j receives, from that of j - 1
  for (std::size_t q = 0; q < row.size(); ++q) {
    const AttentionMask::Keys keys = mask.keys(layer, q, row.size());
    const double each = (1.0 - residual) * row[q] / static_cast<double>(keys.size());
    rises[keys.begin] += each;
    rises[keys.end] -= each;
  }
  double received = 0.0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    received += rises[j];
    row[j] = residual * row[j] + received;
  }
}

}  // namespace

std::vector<double> replay_rollout(AttentionReplay& attention, const ReplayRolloutOptions& options) {
  const std::size_t n = attention.tokens();
  const std::size_t top = options.layer == 0 ? attention.layers() : options.layer;
  resolve_layers({top}, options.start_layer, attention.layers());
  check_output_token(options.output_token, n);
  const double rho = options.mixing.residual;
  check_residual(rho);
  const MixingOptions below = below_top(options.mixing);

  const std::size_t row_bytes = attention.heads() * n * sizeof(float);
  const std::size_t tile = std::max<std::size_t>(1, options.tile_bytes / row_bytes);
  std::vector<double> row(n, 0.0);
  row[options.output_token] = 1.0;
  for (std::size_t l = top; l > options.start_layer; --l) {
    RowSum sum(row, l == top ? options.mixing : below);
    const auto used = [&](std::size_t i) { return row[i] != 0.0; };
    std::size_t begin = 0;
    const std::size_t end = options.output_token + 1;
    while (begin < end) {
      if (options.stop_token.stop_requested()) throw Cancelled();
      while (begin < end && !used(begin)) ++begin;
      if (begin == end) break;
      std::size_t last = std::min(end, begin + tile);
      while (!used(last - 1)) --last;
      attention.rows(l, begin, last, sum);
      begin = last;
    }
    for (std::size_t j = 0; j < n; ++j) row[j] = rho * row[j] + (1.0 - rho) * sum.sum()[j];
    if (options.layer_done) options.layer_done(l - 1, row);
    if (options.progress) options.progress(top - l + 1, top - options.start_layer);
  }
  return row;
}

Tensor<double> uniform_rollout_rows(const AttentionMask& mask, std::size_t position, std::size_t layer,
                                    std::size_t start_layer, double residual) {
  assert(layer > start_layer);
  const std::size_t tokens = position + 1;
  Tensor<double> rows({layer - start_layer, tokens});
  std::vector<double> own(tokens, 0.0);
  own.back() = 1.0;
  std::vector<double> row = own;
  for (std::size_t l = start_layer + 1; l <= layer; ++l) {
    if (mask.varies_by_layer()) {
      row = own;
      for (std::size_t below = l; below > start_layer; --below) pass_evenly(mask, below, residual, row);
    } else {
      pass_evenly(mask, l, residual, row);
    }
    std::copy(row.begin(), row.end(), rows.data() + (l - start_layer - 1) * tokens);
  }
  return rows;
}

}  // namespace attnflow
