#include "attnflow/rollout/descending_rollout.h"

#include <algorithm>
#include <utility>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

// The row of the output itself, before any layer.
std::vector<double> output_row(const std::vector<std::size_t>& tokens, std::size_t n) {
  std::vector<double> row(n, 0.0);
  for (const std::size_t token : tokens) {
    if (token >= n) {
      fail_with(ErrorKind::kOther, "rollout from the top: expected output tokens below {}, found {}", n, token);
    }
    row[token] += 1.0 / static_cast<double>(tokens.size());
  }
  return row;
}

// r W, with W the mean over heads of [head, query, key].
std::vector<double> times_attention(const std::vector<double>& row, TensorView<const float> attention) {
  const std::size_t heads = attention.extent(0);
  const std::size_t n = row.size();
  std::vector<double> product(n, 0.0);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t q = 0; q < n; ++q) {
      if (row[q] == 0.0) continue;  // the top layer has one query, a causal one only those before
      const double share = row[q] / static_cast<double>(heads);
      const float* const weights = attention[h][q].data();
      for (std::size_t k = 0; k < n; ++k) product[k] += share * static_cast<double>(weights[k]);
    }
  }
  return product;
}

}  // namespace

DescendingRollout::DescendingRollout(DescendingQuestion question)
    : question_(std::move(question)), expected_(question_.top) {}

void DescendingRollout::layer(const LayerGradients& gradients) {
  if (gradients.layer > question_.top || gradients.layer <= question_.start_layer) return;
  if (gradients.layer != expected_) {
    fail_with(ErrorKind::kOther, "rollout from the top: expected layer {}, found layer {}", expected_, gradients.layer);
  }
  const std::size_t n = gradients.attention.extent(1);
  if (row_.empty()) row_ = output_row(question_.tokens, n);
  if (row_.size() != n || gradients.attention.extent(2) != n) {
    fail_with(ErrorKind::kOther, "rollout from the top: expected {} tokens in every layer, found {} x {}", row_.size(),
              n, gradients.attention.extent(2));
  }
  std::vector<double> product = times_attention(row_, gradients.attention);
  for (std::size_t k = 0; k < n; ++k) {
    row_[k] = (1.0 - question_.residual) * product[k] + question_.residual * row_[k];
  }
  --expected_;
}

std::vector<double> DescendingRollout::take() {
  if (expected_ != question_.start_layer) {
    fail_with(ErrorKind::kOther, "rollout from the top: expected layers down to {}, found none below {}",
              question_.start_layer + 1, expected_ + 1);
  }
  return std::move(row_);
}

}  // namespace attnflow
