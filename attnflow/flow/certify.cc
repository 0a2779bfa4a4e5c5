// certify() is deliberately simple, and shares no code with the solver except the capacity of a cut.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attnflow/flow/cut_capacity.h"
#include "attnflow/flow/pair_flow.h"

namespace attnflow {
namespace {

double largest_sum_on_paths(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token) {
  const std::size_t depth = network.depth();
  std::vector<std::vector<bool>> from_output(depth + 1);
  from_output[depth].assign(network.layers.back().extent(0), false);
  from_output[depth][output_token] = true;
  for (std::size_t k = depth; k >= 1; --k) {
    const Tensor<double>& block = network.layers[k - 1];
    from_output[k - 1].assign(block.extent(1), false);
    for (std::size_t p = 0; p < block.extent(0); ++p) {
      if (!from_output[k][p]) continue;
      for (std::size_t q = 0; q < block.extent(1); ++q) {
        if (block(p, q) > 0.0) from_output[k - 1][q] = true;
      }
    }
  }
  double largest = 0.0;
  std::vector<bool> to_input(network.layers.front().extent(1), false);
  to_input[input_token] = from_output[0][input_token];
  for (std::size_t k = 1; k <= depth; ++k) {
    const Tensor<double>& block = network.layers[k - 1];
    std::vector<bool> above(block.extent(0), false);
    for (std::size_t p = 0; p < above.size(); ++p) {
      if (!from_output[k][p]) continue;
      double sum = 0.0;
      for (std::size_t q = 0; q < block.extent(1); ++q) {
        if (to_input[q]) sum += block(p, q);
      }
      above[p] = sum > 0.0;
      largest = std::max(largest, sum);
    }
    to_input = std::move(above);
  }
  return largest;
}

}  // namespace

FlowCertificate certify(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                        const PairFlow& flow) {
  validate_network(network);
  internal::check_pair(network, output_token, input_token);
  FlowCertificate certificate;
  certificate.high = std::numeric_limits<double>::infinity();
  const std::size_t depth = network.depth();
  const auto nodes = [&](std::size_t layer) {
    return layer == 0 ? network.layers[0].extent(1) : network.layers[layer - 1].extent(0);
  };
  const auto exists = [&](const FlowArc& arc) {
    return arc.layer >= 1 && arc.layer <= depth && arc.from < nodes(arc.layer) && arc.to < nodes(arc.layer - 1);
  };
  const auto name = [](const FlowArc& arc) {
    return fmt::format("({}, {}) -> ({}, {})", arc.layer, arc.from, arc.layer - 1, arc.to);
  };
  const auto fail = [&](std::string sentence) {
    if (certificate.problem.empty()) certificate.problem = std::move(sentence);
  };

  constexpr int kCoarsest = -1100;  // such a unit is larger than any double
  if (flow.fixed_point.exponent < kCoarsest) {
    fail(fmt::format("the exponent of the unit, {}, is below {}", flow.fixed_point.exponent, kCoarsest));
    return certificate;
  }
  const FixedPoint finest = FixedPoint::for_row_sum(largest_sum_on_paths(network, output_token, input_token));
  if (flow.fixed_point.exponent > finest.exponent) {
    // Capacities might not fit into std::int64_t, and a sum that wrapped around could prove anything.
    fail(fmt::format("units of 2^-{} are too small for this network: expected 2^-{} or larger",
                     flow.fixed_point.exponent, finest.exponent));
    return certificate;
  }

  std::vector<std::vector<internal::WideSum>> balance(depth + 1);
  for (std::size_t k = 0; k <= depth; ++k) balance[k].assign(nodes(k), 0);
  certificate.feasible = true;
  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> seen;
  for (const FlowArc& arc : flow.arc_flows) {
    if (!exists(arc)) {
      certificate.feasible = false;
      fail("flow on an arc that is not in the network: " + name(arc));
      continue;
    }
    const double capacity = network.layers[arc.layer - 1](arc.from, arc.to);
    // Whole units; the power of two is exact. Off the paths, a capacity may be larger than any number of units.
    const double most = std::floor(std::ldexp(capacity, flow.fixed_point.exponent));
    const bool fits = most >= static_cast<double>(kManyUnits) || arc.units <= static_cast<std::int64_t>(most);
    if (arc.units < 0 || arc.units > kManyUnits || !fits) {
      certificate.feasible = false;
      fail(fmt::format("the flow on {} is not between 0 and its capacity {}", name(arc), capacity));
    }
    if (!seen.emplace(arc.layer, arc.from, arc.to).second) {
      certificate.feasible = false;
      fail("flow is given twice on " + name(arc));
    }
    balance[arc.layer][arc.from] += arc.units;
    balance[arc.layer - 1][arc.to] -= arc.units;
  }
  certificate.conserves = true;
  for (std::size_t k = 0; k <= depth; ++k) {
    for (std::size_t p = 0; p < balance[k].size(); ++p) {
      const bool terminal = (k == depth && p == output_token) || (k == 0 && p == input_token);
      if (!terminal && balance[k][p] != 0) {
        certificate.conserves = false;
        fail(fmt::format("flow is not conserved at ({}, {})", k, p));
      }
    }
  }
  if (certificate.feasible && certificate.conserves) {
    // A feasible flow is at most a row sum, which fits.
    certificate.low = flow.fixed_point.value_below(static_cast<std::int64_t>(balance[depth][output_token]));
  }

  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> cut;
  std::vector<FlowArc> cut_arcs;
  for (const FlowArc& arc : flow.minimum_cut) {
    if (!exists(arc)) {
      fail("the cut names an arc that is not in the network: " + name(arc));
    } else if (cut.emplace(arc.layer, arc.from, arc.to).second) {
      cut_arcs.push_back(arc);
    }
  }
  std::vector<bool> reached(nodes(depth), false);
  reached[output_token] = true;
  for (std::size_t k = depth; k >= 1; --k) {
    std::vector<bool> below(nodes(k - 1), false);
    for (std::size_t p = 0; p < reached.size(); ++p) {
      if (!reached[p]) continue;
      for (std::size_t q = 0; q < below.size(); ++q) {
        if (!below[q] && network.layers[k - 1](p, q) > 0.0 && !cut.contains({k, p, q})) below[q] = true;
      }
    }
    reached = std::move(below);
  }
  certificate.separates = !reached[input_token];
  if (!certificate.separates) {
    fail("the cut leaves a path from the output token to the input token");
  } else {
    certificate.high = internal::capacity_above(network, flow.fixed_point, cut_arcs);
  }
  return certificate;
}

}  // namespace attnflow
