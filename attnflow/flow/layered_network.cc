#include "attnflow/flow/layered_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "attnflow/base/fail.h"
#include "attnflow/graph/layers.h"

namespace attnflow {
namespace {

void check_capacities(std::span<const double> capacities, std::size_t k) {
  for (const double c : capacities) {
    if (c >= 0.0 && std::isfinite(c)) continue;
    fail_with(ErrorKind::kUsage, "flow: expected finite capacities of at least 0, found {} in layer {}", c, k);
  }
}

}  // namespace

LayeredNetwork attention_network(const AttentionGraph& graph, std::size_t l, std::size_t m) {
  resolve_layers({l}, m, graph.layers());
  LayeredNetwork network;
  for (std::size_t k = m + 1; k <= l; ++k) network.layers.push_back(k == l ? graph.top(k) : graph.below(k));
  return network;
}

void validate_shapes(const LayeredNetwork& network) {
  if (network.layers.empty())
    throw Error(ErrorKind::kUsage, "flow: expected a network of at least one layer, found none");
  if (network.depth() > kMaxFlowLayers)
    fail_with(ErrorKind::kUsage, "flow: expected at most {} layers, found {}", kMaxFlowLayers, network.depth());
  for (std::size_t k = 0; k < network.depth(); ++k) {
    const Tensor<double>& block = network.layers[k];
    if (block.rank() != 2) {
      fail_with(ErrorKind::kUsage, "flow: expected layer {} to be a matrix, found shape {}", k + 1,
                shape_to_string(block.shape()));
    }
    if (k > 0 && block.extent(1) != network.layers[k - 1].extent(0)) {
      fail_with(ErrorKind::kUsage,
                "flow: expected layer {} to have one column for each of the {} nodes below it, found "
                "shape {}",
                k + 1, network.layers[k - 1].extent(0), shape_to_string(block.shape()));
    }
  }
}

void validate_network(const LayeredNetwork& network) {
  validate_shapes(network);
  for (std::size_t k = 0; k < network.depth(); ++k) check_capacities(network.layers[k].span(), k + 1);
}

FixedPoint FixedPoint::for_row_sum(double row_sum) {
  if (!std::isfinite(row_sum)) {
    throw Error(ErrorKind::kUsage,
                "flow: expected capacities whose sum over a row is a finite number, found a larger "
                "sum; divide all weights by a power of two");
  }
  if (row_sum <= 0.0) return {};
  // row_sum < 2^(ilogb + 1), so row_sum * 2^(60 - ilogb) < 2^61. Subnormal sums are not worth a larger exponent.
  return {60 - std::max(std::ilogb(row_sum), -900)};
}

std::int64_t FixedPoint::units(double capacity) const {
  std::int64_t result = 0;
  units({&capacity, 1}, &result);
  return result;
}

void FixedPoint::units(std::span<const double> capacities, std::int64_t* to) const {
  // Multiplying by a power of two rounds nothing, unless the result is below one unit.
  const double scale = std::ldexp(1.0, exponent);
  for (const double capacity : capacities) *to++ = static_cast<std::int64_t>(capacity * scale);
}

double FixedPoint::value_below(std::int64_t units) const {
  double value = static_cast<double>(units);
  if (static_cast<std::int64_t>(value) > units) value = std::nextafter(value, 0.0);
  return std::ldexp(value, -exponent);
}

double FixedPoint::value_above(std::int64_t units) const {
  double value = static_cast<double>(units);
  if (static_cast<std::int64_t>(value) < units) value = std::nextafter(value, std::numeric_limits<double>::infinity());
  return std::ldexp(value, -exponent);
}

double largest_row_sum(const Tensor<double>& block, std::size_t k) {
  double largest = 0.0;
  const std::size_t columns = block.extent(1);
  for (std::size_t p = 0; p < block.extent(0); ++p) {
    const double* row = block.data() + p * columns;
    // Several independent sums. A value that is negative or not finite shows up in one of the two arrays.
    double sums[4] = {}, smallest[4] = {};
    for (std::size_t q = 0; q < columns; q += 4) {
      for (std::size_t i = 0; i < std::min<std::size_t>(4, columns - q); ++i) {
        sums[i] += row[q + i];
        smallest[i] = std::min(smallest[i], row[q + i]);
      }
    }
    const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    if (!std::isfinite(sum) || *std::min_element(smallest, smallest + 4) < 0.0) check_capacities({row, columns}, k);
    largest = std::max(largest, sum);
  }
  // The sum above may have been rounded down.
  return largest * (1.0 + 1e-9);
}

double largest_row_sum(const LayeredNetwork& network) {
  double largest = 0.0;
  for (std::size_t k = 0; k < network.depth(); ++k) {
    largest = std::max(largest, largest_row_sum(network.layers[k], k + 1));
  }
  return largest;
}

Tensor<std::int64_t> to_units(const Tensor<double>& block, FixedPoint fixed_point) {
  Tensor<std::int64_t> units(block.shape());
  fixed_point.units(block.span(), units.data());
  return units;
}

IntegerNetwork to_units(const LayeredNetwork& network, FixedPoint fixed_point) {
  IntegerNetwork integer{fixed_point, {}};
  for (const Tensor<double>& block : network.layers) integer.layers.push_back(to_units(block, fixed_point));
  return integer;
}

}  // namespace attnflow
