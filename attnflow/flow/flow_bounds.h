// Vector code for the bounds on a flow (flow/flow.h): sums of minima, a row's mass pushed one layer down, the bounds of
// all nodes of a layer at once, and the two ends of a flow that meet (flow/meeting_flow.h).
#ifndef ATTNFLOW_FLOW_FLOW_BOUNDS_H_
#define ATTNFLOW_FLOW_FLOW_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// start + sum over e < count of min(a[e], b[e]), saturating at kManyUnits. Entries are in [0, kManyUnits / 2].
std::int64_t sum_of_minima(const std::int64_t* a, const std::int64_t* b, std::size_t count, std::int64_t start);

// to[e] += row[e] for e < count, saturating at kManyUnits / 2.
void add_row(const std::int64_t* row, std::size_t count, std::int64_t* to);

// Arcs between two layers: capacity [nodes, stride], stride a multiple of kBlock.
struct PushedLayer {
  const std::int64_t* capacity = nullptr;
  std::size_t nodes = 0;
  std::size_t stride = 0;
  const std::int64_t* mass = nullptr;     // [nodes] sum of a row, saturating at kManyUnits
  const std::uint32_t* widest = nullptr;  // [nodes] where the largest arc of a row leads
};

// Spreads what lies at the upper nodes, `from` [nodes], over their arcs in proportion to the capacities (all of them
// filled where more lies there than a row takes) into `to` [stride], and returns how much arrived. Some flow does
// exactly this, so what arrives can be at the lower nodes at the same time.
std::int64_t push_down(const PushedLayer& layer, const std::int64_t* from, std::int64_t* to);

// A node that sends to `count` nodes below, and between what its own flow lies.
struct RowSource {
  const std::int64_t* arcs = nullptr;
  std::size_t count = 0;
  std::int64_t low = 0, high = 0;
};

// What the source adds to the bounds of each node q below (flow/row_bounds.h), saturating at kManyUnits. Sources come
// with `low` descending, and column[q] is the sum of the arcs of those before:
//   threshold[q] = min(threshold[q], low + column[q]);  minima[q] += min(arcs[q], high);  column[q] += arcs[q].
void add_source(const RowSource& source, std::int64_t* minima, std::int64_t* column, std::int64_t* threshold);

// What the arcs into each node below carry in all, of arcs [nodes above, nodes below].
std::vector<double> sums_of_columns(const Tensor<std::int64_t>& arcs);
std::vector<double> sums_of_columns(const ArcBlock& arcs);

// Sum over e < count of row[e] * part[e], each rounded down; parts are at most 1 - 2^-50.
std::int64_t sum_of_parts(const std::int64_t* row, const double* part, std::size_t count);

// Takes `wanted` of what is left at `count` nodes, or what there is: of each in proportion to min(row[e], left[e]).
// Returns what was taken. Rows sum to less than 2^62.
std::int64_t take_parts(const std::int64_t* row, std::size_t count, std::int64_t wanted, std::int64_t* left);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_FLOW_BOUNDS_H_
