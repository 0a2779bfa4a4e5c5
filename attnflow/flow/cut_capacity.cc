#include "attnflow/flow/cut_capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace internal {

void check_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token) {
  const std::size_t outputs = network.layers.back().extent(0);
  const std::size_t inputs = network.layers.front().extent(1);
  if (output_token >= outputs || input_token >= inputs) {
    fail_with(ErrorKind::kUsage,
              "flow: expected an output token below {} and an input token below {}, "
              "found {} and {}",
              outputs, inputs, output_token, input_token);
  }
}

std::int64_t units_above(const FixedPoint& fixed_point, double capacity) {
  if (capacity <= 0.0) return 0;
  // At least one, because the result of ldexp may be too small for a double.
  const double units = std::max(1.0, std::ceil(std::ldexp(capacity, fixed_point.exponent)));
  return units < static_cast<double>(kManyUnits) ? static_cast<std::int64_t>(units) : kManyUnits;
}

double value_above(const FixedPoint& fixed_point, WideSum units) {
  if (units <= static_cast<WideSum>(kManyUnits)) return fixed_point.value_above(static_cast<std::int64_t>(units));
  // Too many for the exact conversion: round up generously.
  return std::ldexp(std::nextafter(static_cast<double>(units), std::numeric_limits<double>::infinity()),
                    -fixed_point.exponent);
}

double capacity_above(const LayeredNetwork& network, const FixedPoint& fixed_point, const std::vector<FlowArc>& cut) {
  WideSum sum = 0;
  for (const FlowArc& arc : cut) {
    const std::int64_t units = units_above(fixed_point, network.layers[arc.layer - 1](arc.from, arc.to));
    if (units == kManyUnits) return std::numeric_limits<double>::infinity();
    sum += units;
  }
  return value_above(fixed_point, sum);
}

double gap_between(double low, double high) {
  double gap = high - low;
  while (low + gap < high) gap = std::nextafter(gap, std::numeric_limits<double>::infinity());
  return std::max(gap, 0.0);
}

}  // namespace internal

std::vector<CutShare> cut_shares(const LayeredNetwork& network, const PairFlow& flow) {
  const std::size_t depth = network.depth();
  std::vector<internal::WideSum> units(depth + 1, 0);
  std::vector<CutShare> shares(depth);
  for (std::size_t k = 1; k <= depth; ++k) shares[depth - k].layer = k;
  internal::WideSum total = 0;
  for (const FlowArc& arc : flow.minimum_cut) {
    if (arc.layer < 1 || arc.layer > depth || arc.from >= network.layers[arc.layer - 1].extent(0) ||
        arc.to >= network.layers[arc.layer - 1].extent(1)) {
      fail_with(ErrorKind::kUsage, "cut: expected arcs of the network, found ({}, {}) -> ({}, {})", arc.layer, arc.from,
                arc.layer - 1, arc.to);
    }
    const std::int64_t arc_units =
        internal::units_above(flow.fixed_point, network.layers[arc.layer - 1](arc.from, arc.to));
    if (arc_units == kManyUnits) {
      fail_with(ErrorKind::kUsage, "cut: expected capacities below 2^62 units of 2^-{}, found {}",
                flow.fixed_point.exponent, network.layers[arc.layer - 1](arc.from, arc.to));
    }
    units[arc.layer] += arc_units;
    total += arc_units;
    ++shares[depth - arc.layer].arcs;
  }
  for (CutShare& share : shares) {
    share.capacity = internal::value_above(flow.fixed_point, units[share.layer]);
    if (total > 0) share.share = static_cast<double>(units[share.layer]) / static_cast<double>(total);
  }
  return shares;
}

}  // namespace attnflow
