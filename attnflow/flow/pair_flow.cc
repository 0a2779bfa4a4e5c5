#include "attnflow/flow/pair_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "attnflow/flow/layered_dinic.h"

namespace attnflow {
namespace {

void check_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token) {
  const std::size_t outputs = network.layers.back().extent(0);
  const std::size_t inputs = network.layers.front().extent(1);
  if (output_token >= outputs || input_token >= inputs) {
    throw Error(ErrorKind::kUsage, fmt::format("flow: expected an output token below {} and an input token below {}, "
                                               "found {} and {}",
                                               outputs, inputs, output_token, input_token));
  }
}

// Units, rounded up. One unit more than rounding down unless the capacity is a whole number of units.
std::int64_t units_above(const FixedPoint& fixed_point, double capacity) {
  return static_cast<std::int64_t>(std::ceil(std::ldexp(capacity, fixed_point.exponent)));
}

// __int128 is not ISO C++, and long sums of units need it.
__extension__ using Wide = __int128;

double value_above(const FixedPoint& fixed_point, Wide units) {
  if (units <= static_cast<Wide>(kManyUnits)) return fixed_point.value_above(static_cast<std::int64_t>(units));
  // Too many for the exact conversion: round generously.
  return std::ldexp(std::nextafter(static_cast<double>(units), std::numeric_limits<double>::infinity()),
                    -fixed_point.exponent);
}

double capacity_above(const LayeredNetwork& network, const FixedPoint& fixed_point, const std::vector<FlowArc>& cut) {
  Wide units = 0;
  for (const FlowArc& arc : cut) units += units_above(fixed_point, network.layers[arc.layer - 1](arc.from, arc.to));
  return value_above(fixed_point, units);
}

// The smallest double that, added to low, is not below high.
double gap_between(double low, double high) {
  double gap = high - low;
  while (low + gap < high) gap = std::nextafter(gap, std::numeric_limits<double>::infinity());
  return std::max(gap, 0.0);
}

}  // namespace

PairFlow flow_of_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token) {
  validate_network(network);
  check_pair(network, output_token, input_token);
  PairFlow result;
  result.fixed_point = FixedPoint::for_row_sum(largest_row_sum(network));
  const IntegerNetwork integer = to_units(network, result.fixed_point);
  const std::size_t depth = network.depth();
  LayeredDinic dinic(integer);
  const std::int64_t* top_row = integer.layers.back().data() + output_token * integer.layers.back().extent(1);
  const std::int64_t units = dinic.solve(top_row, depth, input_token);

  const auto add_flow = [&](std::size_t layer, std::size_t from, std::size_t to, std::int64_t flow) {
    if (flow > 0) result.arc_flows.push_back({layer, from, to, flow});
  };
  // A capacity that rounds to no units still counts: the cut's capacity is rounded up.
  const auto add_cut = [&](std::size_t layer, std::size_t from, std::size_t to) {
    if (network.layers[layer - 1](from, to) > 0.0) result.minimum_cut.push_back({layer, from, to, 0});
  };
  if (depth == 1) {
    add_flow(1, output_token, input_token, units);
    add_cut(1, output_token, input_token);
  } else {
    for (std::size_t p = 0; p < integer.layers.back().extent(1); ++p) {
      add_flow(depth, output_token, p, dinic.flow_from_source(p));
      if (!dinic.on_source_side(depth - 1, p)) add_cut(depth, output_token, p);
    }
    for (std::size_t k = depth - 1; k >= 2; --k) {
      for (std::size_t p = 0; p < integer.layers[k - 1].extent(0); ++p) {
        for (std::size_t q = 0; q < integer.layers[k - 1].extent(1); ++q) {
          add_flow(k, p, q, dinic.flow_between(k, p, q));
          if (dinic.on_source_side(k, p) && !dinic.on_source_side(k - 1, q)) add_cut(k, p, q);
        }
      }
    }
    for (std::size_t p = 0; p < integer.layers[0].extent(0); ++p) {
      add_flow(1, p, input_token, dinic.flow_to_sink(p));
      if (dinic.on_source_side(1, p)) add_cut(1, p, input_token);
    }
  }
  result.flow = result.fixed_point.value_below(units);
  result.flow_gap = gap_between(result.flow, capacity_above(network, result.fixed_point, result.minimum_cut));
  return result;
}

FlowCertificate certify(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                        const PairFlow& flow) {
  validate_network(network);
  check_pair(network, output_token, input_token);
  FlowCertificate certificate;
  certificate.high = std::numeric_limits<double>::infinity();
  const FixedPoint finest = FixedPoint::for_row_sum(largest_row_sum(network));
  if (flow.fixed_point.exponent > finest.exponent) {
    // Capacities would not fit into std::int64_t, and a sum that wrapped around could prove anything.
    certificate.problem = fmt::format("units of 2^-{} are too small for this network: expected 2^-{} or larger",
                                      flow.fixed_point.exponent, finest.exponent);
    return certificate;
  }
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

  // Feasible, and the balance of every node. Out-flow counts positive.
  std::vector<std::vector<Wide>> balance(depth + 1);
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
    if (arc.units < 0 || arc.units > flow.fixed_point.units(capacity)) {
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

  // Separates: walk down every arc that has capacity and is not in the cut.
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
    certificate.high = capacity_above(network, flow.fixed_point, cut_arcs);
  }
  return certificate;
}

}  // namespace attnflow
