// Normalization of finished values, and merging of sub-word pieces into words.
//
// Values V[i, j] are how much output token i depends on input token j, according to some method.
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//
// Example:
//
//     const Tensor<double> pieces({1, 3}, {1.0, 2.0, 1.0});              // one output token over "key", "##s", "rust"
//     Tensor<double> words = sum_columns(pieces.view(), {{0, 1}, {2}});  // over "keys", "rust": 3, 1
//     normalize_rows(words.view());
//     assert(words(0, 0) == 0.75 && words(0, 1) == 0.25);
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Row normalization: V[i, j] / sum_j V[i, j]. Rows that sum to 0 stay 0. Returns the divisors, one per row (1 for rows
// that stay 0), so that errors of the values can be scaled likewise. `values` is [output_token, input_token].
std::vector<double> normalize_rows(TensorView<double> values);

// Smaller baselines are not divided by: they are the noise of a path that uniform attention almost never takes.
inline constexpr double kSmallestBaseline = 1e-6;

// Receptive-field normalization. In a decoder the earliest tokens are visible to every later position, in every layer,
// so they collect mass whatever the weights are. Dividing each value by U[i, j], the same method's value under uniform
// attention with the same mask, removes exactly that bias; then rows are normalized:
//
//     V'[i, j] = (V[i, j] / U[i, j]) / sum_j (V[i, j] / U[i, j]).
//
// Abnar & Zuidema (2020, section 5) call for such a normalization in decoders and give no formula; under uniform
// attention, this one gives the uniform distribution over the tokens visible to i. If U[i, j] < kSmallestBaseline, the
// result is 0 and, if V[i, j] > 0, the pair is counted. Returns the factor by which each value was multiplied, and the
// number of pairs counted.
struct ReceptiveField {
  Tensor<double> scale;     // V' = V * scale, so that errors can be scaled alike
  std::size_t flagged = 0;  // pairs with a value and no usable baseline
};
ReceptiveField normalize_receptive_field(TensorView<double> values, TensorView<const double> baseline);

// Groups of positions in increasing order, a partition of 0..n-1: the pieces of one word, or a single position.
using TokenGroups = std::vector<std::vector<std::size_t>>;

// Words of an attention-like matrix [output_token, input_token]: columns of a group are summed (attention to a word),
// and rows of a group are averaged (a word attends as its pieces do on average).
Tensor<double> sum_columns(TensorView<const double> values, const TokenGroups& groups);
Tensor<double> average_rows(TensorView<const double> values, const TokenGroups& groups);

}  // namespace attnflow
