#include "attnflow/flow/pair_flow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnflow/flow/cut_capacity.h"
#include "attnflow/flow/pair_solver.h"

namespace attnflow {
PairFlow flow_of_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token,
                      const PairFlowOptions& options) {
  validate_shapes(network);
  internal::check_pair(network, output_token, input_token);
  PairFlow result;
  internal::PairSolver solver(network, output_token, input_token);
  result.fixed_point = solver.fixed_point();
  if (!solver.joined()) return result;
  const std::int64_t units = solver.solve();
  const internal::PairSolver::Sides source_side =
      options.minimum_cut == MinimumCut::kNearestOutput ? solver.reached_by_source() : solver.not_reaching_sink();
  for (std::size_t k = network.depth(); k >= 1; --k) {
    const std::vector<std::uint32_t>& above = solver.positions(k);
    const std::vector<std::uint32_t>& below = solver.positions(k - 1);
    const auto first = static_cast<std::ptrdiff_t>(result.arc_flows.size());
    solver.for_each_flow(k, [&](std::size_t p, std::size_t q, std::int64_t arc_units) {
      result.arc_flows.push_back({k, above[p], below[q], arc_units});
    });
    std::stable_sort(result.arc_flows.begin() + first, result.arc_flows.end(),
                     [](const FlowArc& a, const FlowArc& b) { return a.from < b.from; });
    std::vector<std::size_t> sink_side;
    for (std::size_t q = 0; q < below.size(); ++q) {
      if (!source_side[k - 1][q]) sink_side.push_back(below[q]);
    }
    for (std::size_t p = 0; p < above.size(); ++p) {
      if (!source_side[k][p]) continue;
      for (const std::size_t q : sink_side) {
        // A capacity that rounds to zero units still counts: the cut's capacity is rounded up.
        if (network.layers[k - 1](above[p], q) > 0.0) result.minimum_cut.push_back({k, above[p], q, 0});
      }
    }
  }
  result.flow = result.fixed_point.value_below(units);
  result.flow_gap =
      internal::gap_between(result.flow, internal::capacity_above(network, result.fixed_point, result.minimum_cut));
  return result;
}

}  // namespace attnflow
