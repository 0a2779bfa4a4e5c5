// Rollout within capacities: the steps by which relevance passes down the layers.
//
// Problem. Over relevance (graph/relevance_mixing.h) a layer's weights are amounts: E_k[p, q] of the prediction passes
// from position p after layer k to position q before it. Rollout by proportions divides every row by its sum, however
// little the row carries; what reaches such a position goes on undiminished, and most of it ends at the position to
// which all attend, usually the first token. Flow has no such leak, since its arcs carry what they carry.
//
// Definition. With S_k[p] = sum_q E_k[p, q], what position p carries after layer k, let r be S_l[t] at the output token
// t and 0 elsewhere, and for k = l, ..., m + 1
//
//     r[p]  <- min(r[p], S_k[p])                                              a position passes on no more than it
//     carries, c[q]   = min(1, S_(k-1)[q] / sum_p E_k[p, q])    (1 for k = m + 1)      nor into one more than that
//     carries; r'[q]  = sum_p r[p] E_k[p, q] c[q] / sum_q' E_k[p, q'] c[q'].
//
// The result is r divided by its sum: shares of the prediction. R[l, l-1] is the row of E_l divided by its sum. A row
// that carries nothing is the identity's. Unlike plain rollout, it is not a product of matrices, since the minimum
// depends on t.
//
// O((l - m) n^2) for one output token, O((l - m) n^3) for all. float64; same bits for any number of threads.
//
// Source: this project; docs/edges.md has measurements.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

class CapacityRollout {
 public:
  // `weights`: E, [layer, query, key], first layer first; must outlive the object. For carried() and share(), numbers
  // that are not finite count as 0.
  CapacityRollout(TensorView<const double> weights, std::size_t layer, std::size_t start_layer);

  // S_k[p].
  double carried(std::size_t k, std::size_t p) const { return step(k).carried[p]; }
  // The share of what position p passes on at layer k that goes to position q: E_k[p, q] c[q] / sum.
  double share(std::size_t k, std::size_t p, std::size_t q) const;

  // Replaces the rows of r after layer k, [output token, position], by those before it.
  void pass(std::size_t k, Tensor<double>& rows, std::size_t threads = 1) const;
  // R[layer, start_layer] of some output tokens: [output token, position].
  Tensor<double> rows(const std::vector<std::size_t>& output_tokens, std::size_t threads = 1) const;

 private:
  struct Step {
    std::vector<double> carried;   // S_k
    std::vector<double> enters;    // c
    std::vector<double> divisors;  // sum_q E_k[p, q] c[q]
  };
  const Step& step(std::size_t k) const { return steps_[k - start_layer_ - 1]; }
  double weight(std::size_t k, std::size_t p, std::size_t q) const;

  TensorView<const double> weights_;
  std::size_t layer_;
  std::size_t start_layer_;
  std::vector<Step> steps_;  // of layers start_layer + 1, ..., layer
};

}  // namespace attnflow
