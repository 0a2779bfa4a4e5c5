// Shared by flow_of_pair() and certify(): checks of a pair's nodes, and the capacity of a cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/layered_network.h"
#include "attnflow/flow/pair_flow.h"

namespace attnflow::internal {

// __int128 is not ISO C++, but long sums of units need it.
__extension__ using WideSum = __int128;

// Throws Error(kUsage) for nodes that are not in the network.
void check_pair(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token);

// Returns the capacity of an arc in units, rounded up. At most kManyUnits, a capacity that no flow reaches.
std::int64_t units_above(const FixedPoint& fixed_point, double capacity);

// Returns the smallest double that is at least this many units.
double value_above(const FixedPoint& fixed_point, WideSum units);

// Returns the capacity of a list of arcs, rounded up; infinite if any arc has kManyUnits or more.
double capacity_above(const LayeredNetwork& network, const FixedPoint& fixed_point, const std::vector<FlowArc>& cut);

// Returns the smallest double that, added to low, is at least high.
double gap_between(double low, double high);

}  // namespace attnflow::internal
