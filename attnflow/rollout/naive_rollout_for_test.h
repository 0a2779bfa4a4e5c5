#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/graph/mixing.h"

namespace attnflow::test {

// Reference: A_l ... A_(m + 1) [output_token, input_token], long double products in the definition's order.
inline std::vector<long double> naive_rollout(const AttentionGraph& graph, std::size_t l, std::size_t m) {
  const std::size_t n = graph.tokens();
  std::vector<long double> product(n * n, 0.0L);
  for (std::size_t i = 0; i < n; ++i) product[i * n + i] = 1.0L;
  for (std::size_t k = l; k > m; --k) {
    const Tensor<double> a = k == l ? graph.top(k) : graph.below(k);
    std::vector<long double> next(n * n, 0.0L);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t p = 0; p < n; ++p) {
        for (std::size_t j = 0; j < n; ++j) next[i * n + j] += product[i * n + p] * static_cast<long double>(a(p, j));
      }
    }
    product = next;
  }
  return product;
}

}  // namespace attnflow::test
