#include "attnflow/flow/kept_flows.h"

#include <algorithm>

namespace attnflow::internal {

void KeptFlows::clear() {
  for (Flow& flow : flows_) flow.depth = 0;
}

void KeptFlows::keep(const FlowPass& pass, std::size_t position) {
  if (most_ == 0) return;
  if (flows_.size() <= position) flows_.resize(position + 1);
  Flow& flow = flows_[position];
  const std::size_t before = flow.arcs.capacity();
  flow.arcs.clear();
  flow.depth = pass.depth;
  flow.value = 0;
  const std::size_t room = most_ - (kept_ - before);
  bool fits = true;
  const auto add = [&](std::size_t layer, std::size_t node, std::size_t end, std::int64_t units) {
    fits = fits && flow.arcs.size() < room;
    if (!fits) return;
    flow.arcs.push_back(
        {static_cast<std::uint32_t>(layer), static_cast<std::uint32_t>(node), static_cast<std::uint32_t>(end), units});
  };
  const std::size_t top = pass.depth - 1;
  for (std::size_t p = 0; p < pass.layers[top].nodes; ++p) {
    const std::int64_t units = pass.supply[p] - pass.supply_left[p];
    if (units <= 0) continue;
    add(pass.depth, kNoNode, p, units);
    flow.value += units;
  }
  for (std::size_t k = 2; k < pass.depth; ++k) {
    for_each_recorded(pass, k, [&](std::size_t node, std::size_t end, std::int64_t units) {
      if (units > 0) add(k, node, end, units);
    });
  }
  kept_ += flow.arcs.capacity() - before;
  if (fits && kept_ <= most_) return;
  kept_ -= flow.arcs.capacity();
  flow = {};
}

std::int64_t KeptFlows::restore(const FlowPass& pass, std::size_t position) const {
  if (position >= flows_.size()) return 0;
  const Flow& kept = flows_[position];
  const std::size_t top = pass.depth - 1;
  if (kept.depth == 0 || kept.depth > top || kept.value == 0) return 0;
  // Straight down to where the flow began.
  if (pass.own[top] == kNoNode || pass.supply[pass.own[top]] < kept.value) return 0;
  for (std::size_t k = top; k > kept.depth; --k) {
    if (pass.own[k - 1] == kNoNode) return 0;
    if (pass.layers[k].capacity[pass.own[k] * pass.layers[k].stride + pass.own[k - 1]] < kept.value) return 0;
  }
  const auto node_of = [&](const Arc& arc) { return arc.layer == kept.depth ? pass.own[kept.depth] : arc.node; };
  for (const Arc& arc : kept.arcs) {
    const FlowLayer& layer = pass.layers[arc.layer];
    if (arc.units > layer.capacity[node_of(arc) * layer.stride + arc.end]) return 0;  // a different row
  }

  std::copy_n(pass.supply, padded(pass.layers[top].nodes), pass.supply_left);
  std::copy_n(pass.sink_capacity, padded(pass.layers[1].nodes), pass.sink_left);
  const auto record = [&](std::size_t k, std::size_t node, std::size_t end, std::int64_t units) {
    record_flow(pass, k, node, end, units);
    if (k == 2) pass.sink_left[end] -= units;
  };
  pass.supply_left[pass.own[top]] -= kept.value;
  for (std::size_t k = top; k > kept.depth; --k) record(k, pass.own[k], pass.own[k - 1], kept.value);
  for (const Arc& arc : kept.arcs) record(arc.layer, node_of(arc), arc.end, arc.units);
  return kept.value;
}

}  // namespace attnflow::internal
