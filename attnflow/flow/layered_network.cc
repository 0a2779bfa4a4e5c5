#include "attnflow/flow/layered_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnflow/graph/layers.h"

namespace attnflow {

LayeredNetwork attention_network(const AttentionGraph& graph, std::size_t l, std::size_t m) {
  resolve_layers({l}, m, graph.layers());
  LayeredNetwork network;
  for (std::size_t k = m + 1; k <= l; ++k) network.layers.push_back(k == l ? graph.top(k) : graph.below(k));
  return network;
}

void validate_shapes(const LayeredNetwork& network) {
  if (network.layers.empty())
    throw Error(ErrorKind::kUsage, "flow: expected a network of at least one layer, found none");
  if (network.depth() > kMaxFlowLayers) {
    throw Error(ErrorKind::kUsage,
                fmt::format("flow: expected at most {} layers, found {}", kMaxFlowLayers, network.depth()));
  }
  for (std::size_t k = 0; k < network.depth(); ++k) {
    const Tensor<double>& block = network.layers[k];
    if (block.rank() != 2) {
      throw Error(ErrorKind::kUsage, fmt::format("flow: expected layer {} to be a matrix, found shape {}", k + 1,
                                                 shape_to_string(block.shape())));
    }
    if (k > 0 && block.extent(1) != network.layers[k - 1].extent(0)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("flow: expected layer {} to have one column for each of the {} nodes below it, found "
                              "shape {}",
                              k + 1, network.layers[k - 1].extent(0), shape_to_string(block.shape())));
    }
  }
}

void validate_network(const LayeredNetwork& network) {
  validate_shapes(network);
  for (std::size_t k = 0; k < network.depth(); ++k) {
    for (const double c : network.layers[k].span()) {
      if (!(c >= 0.0 && std::isfinite(c))) {
        throw Error(ErrorKind::kUsage,
                    fmt::format("flow: expected finite capacities of at least 0, found {} in layer {}", c, k + 1));
      }
    }
  }
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
  return static_cast<std::int64_t>(std::floor(std::ldexp(capacity, exponent)));
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

double largest_row_sum(const LayeredNetwork& network) {
  double largest = 0.0;
  for (const Tensor<double>& block : network.layers) {
    const std::size_t columns = block.extent(1);
    for (std::size_t p = 0; p < block.extent(0); ++p) {
      double sum = 0.0;
      for (std::size_t q = 0; q < columns; ++q) sum += block(p, q);
      largest = std::max(largest, sum);
    }
  }
  // The sum above may have been rounded down.
  return largest * (1.0 + 1e-9);
}

IntegerNetwork to_units(const LayeredNetwork& network, FixedPoint fixed_point) {
  IntegerNetwork integer{fixed_point, {}};
  for (const Tensor<double>& block : network.layers) {
    Tensor<std::int64_t> units(block.shape());
    for (std::size_t e = 0; e < block.size(); ++e) units.data()[e] = fixed_point.units(block.data()[e]);
    integer.layers.push_back(std::move(units));
  }
  return integer;
}

std::int64_t max_inner_cut_arcs(const IntegerNetwork& network, std::size_t depth) {
  std::size_t all = 0;   // most arcs below a layer that is wholly on the source side
  std::size_t none = 0;  // ... wholly on the sink side
  for (std::size_t k = 2; k < depth; ++k) {
    const std::size_t next_all = std::max(all, none + network.layers[k - 1].size());
    none = std::max(all, none);
    all = next_all;
  }
  return static_cast<std::int64_t>(std::max(all, none));
}

}  // namespace attnflow
