#include "attnflow/graph/remove_weights.h"

#include <algorithm>
#include <utility>

#include "attnflow/base/fail.h"

namespace attnflow::internal {
namespace {

void check_positions(const std::vector<std::size_t>& positions, std::size_t n, const char* what) {
  for (const std::size_t position : positions) {
    if (position >= n) {
      fail_with(ErrorKind::kUsage, "{}: expected positions below {} (the number of tokens), found {}", what, n,
                position);
    }
  }
}

std::vector<bool> mask_columns(Tensor<double>& matrix, const std::vector<std::size_t>& keys) {
  std::vector<bool> changed(matrix.extent(0), false);
  for (const std::size_t k : keys) {
    for (std::size_t q = 0; q < matrix.extent(0); ++q) {
      if (matrix(q, k) != 0.0) changed[q] = true;
      matrix(q, k) = 0.0;
    }
  }
  return changed;
}

void discard_smallest(Tensor<double>& matrix, double share, const std::vector<std::size_t>& keep,
                      std::vector<bool>& changed) {
  const std::size_t n = matrix.extent(1);
  std::vector<bool> kept(n, false);
  for (const std::size_t k : keep) kept[k] = true;
  std::vector<std::size_t> order;
  order.reserve(matrix.size());
  for (std::size_t e = 0; e < matrix.size(); ++e) {
    if (!kept[e % n]) order.push_back(e);
  }
  // The largest whole number of weights not above the share; 1e-9 keeps 0.9 * 100 from becoming 89.
  const auto wanted = static_cast<std::size_t>(share * static_cast<double>(matrix.size()) + 1e-9);
  const std::size_t count = std::min(wanted, order.size());
  const double* values = matrix.data();
  const auto smaller = [values](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a > b;
  };
  if (count < order.size()) {
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), smaller);
  }
  for (std::size_t e = 0; e < count; ++e) {
    double& weight = matrix.data()[order[e]];
    if (weight != 0.0) changed[order[e] / n] = true;
    weight = 0.0;
  }
}

}  // namespace

void check_removal(const WeightRemoval& removal, std::size_t keys) {
  check_positions(removal.mask_columns, keys, "mask-columns");
  check_positions(removal.discard_keeps, keys, "columns kept by discard");
  if (!(removal.discard >= 0.0 && removal.discard < 1.0))
    fail_with(ErrorKind::kUsage, "discard: expected a share of at least 0 and below 1, found {}", removal.discard);
}

std::vector<bool> remove_weights(Tensor<double>& matrix, const WeightRemoval& removal, Diagonal diagonal,
                                 std::size_t query_begin) {
  check_removal(removal, matrix.extent(1));
  std::vector<double> kept;
  for (std::size_t i = 0; diagonal == Diagonal::kStays && i < matrix.extent(0); ++i) {
    kept.push_back(std::exchange(matrix(i, query_begin + i), 0.0));
  }
  std::vector<bool> changed = mask_columns(matrix, removal.mask_columns);
  if (removal.discard > 0.0) discard_smallest(matrix, removal.discard, removal.discard_keeps, changed);
  for (std::size_t i = 0; i < kept.size(); ++i) matrix(i, query_begin + i) = kept[i];
  return changed;
}

void remove_and_renormalize(Tensor<double>& matrix, const WeightRemoval& removal, Diagonal diagonal,
                            std::size_t query_begin) {
  const std::size_t keys = matrix.extent(1);
  const std::vector<bool> changed = remove_weights(matrix, removal, diagonal, query_begin);
  for (std::size_t q = 0; q < changed.size(); ++q) {
    if (changed[q]) renormalize_row({matrix.data() + q * keys, keys}, query_begin + q);
  }
}

}  // namespace attnflow::internal
