#include "attnflow/flow/causal_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/flow_of_row.h"
#include "attnflow/flow/flow_problem.h"

namespace attnflow {

struct CausalNetwork::Arcs : internal::ArcBlock {};

namespace {

const FixedPoint kUnits = FixedPoint::for_row_sum(1.0);

void check(std::size_t layer, std::span<const double> row) {
  double sum = 0.0;
  bool negative = false;
  for (const double capacity : row) {
    sum += capacity;
    negative = negative || capacity < 0.0;
  }
  if (!negative && sum < 2.0) return;
  fail_with(ErrorKind::kUsage,
            "flow: expected capacities of at least 0 that sum to less than 2, found a row of layer {} "
            "with {}",
            layer, negative ? "one below 0" : fmt::format("the sum {:g}", sum));
}

}  // namespace

CausalNetwork::CausalNetwork(std::size_t layers, std::size_t tokens) : tokens_(tokens), arcs_(layers), tops_(layers) {
  if (layers > 0 && tokens > 0) return;
  throw Error(ErrorKind::kUsage, "flow: expected at least one layer and one token, found none");
}
CausalNetwork::~CausalNetwork() = default;
CausalNetwork::CausalNetwork(CausalNetwork&&) noexcept = default;
CausalNetwork& CausalNetwork::operator=(CausalNetwork&&) noexcept = default;

void CausalNetwork::set_row(std::size_t layer, std::size_t p, std::span<const double> capacities) {
  if (layer < 1 || layer > layers() || p >= tokens_ || capacities.size() != p + 1) {
    fail_with(ErrorKind::kUsage,
              "flow: expected the first {} capacities of row {} in one of {} layers of "
              "{} tokens, found {} for layer {}",
              p + 1, p, layers(), tokens_, capacities.size(), layer);
  }
  check(layer, capacities);
  internal::ArcBlock& block = arcs_[layer - 1];
  if (block.empty()) block = internal::ArcBlock::causal(tokens_);
  kUnits.units(capacities, block.row(p).data());
}

void CausalNetwork::set_top(std::size_t layer, std::vector<double> capacities) {
  if (layer < 1 || layer > layers() || capacities.size() > tokens_) {
    fail_with(ErrorKind::kUsage,
              "flow: expected at most {} capacities for one of {} layers, found {} for "
              "layer {}",
              tokens_, layers(), capacities.size(), layer);
  }
  check(layer, capacities);
  capacities.resize(tokens_, 0.0);
  tops_[layer - 1] = std::move(capacities);
}

FlowResult attention_flow(const CausalNetwork& network, const FlowOptions& options) {
  internal::FlowProblem problem(options, network.layers(), network.tokens());
  if (!options.output_token) {
    throw Error(ErrorKind::kUsage, "flow: expected an output token, found none; AttentionGraph has all of them");
  }
  problem.set_units(1.0);
  std::vector<const internal::ArcBlock*> below;
  for (std::size_t k = options.start_layer; k < problem.layers.back(); ++k) below.push_back(&network.arcs_[k]);
  std::vector<std::vector<std::int64_t>> tops;
  for (const std::size_t layer : problem.layers) {
    std::vector<std::int64_t>& row = tops.emplace_back(network.tokens(), 0);
    const std::vector<double>& top = network.tops_[layer - 1];
    if (!top.empty()) {
      kUnits.units(top, row.data());
    } else if (const internal::ArcBlock& arcs = network.arcs_[layer - 1]; !arcs.empty()) {
      const auto units = arcs.row(*options.output_token);
      std::copy(units.begin(), units.end(), row.begin());
    }
  }
  const internal::FlowSize size = problem.size(/*one_head=*/false, /*causal=*/true);
  auto available = problem.available_memory();
  // The memory that the network already uses is part of the need computed above.
  if (available && !options.memory_limit) {
    for (const internal::ArcBlock& arcs : network.arcs_) {
      if (!arcs.empty()) *available += network.tokens() * (network.tokens() + 1) / 2 * sizeof(std::int64_t);
    }
  }
  internal::check_flow_memory(size, available);
  FlowResult result = internal::flow_of_row(problem, below, std::move(tops), size, available);
  const std::vector<double>& top = network.tops_[problem.layers[0] - 1];
  if (problem.depth_of(0) == 1 && options.input_groups == nullptr && !top.empty()) {
    std::copy(top.begin(), top.end(), result.flow.data());
    std::fill_n(result.flow_gap.data(), top.size(), 0.0);
  }
  return result;
}

}  // namespace attnflow
