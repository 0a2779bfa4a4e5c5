// Vector code for bounds on a flow (flow/flow.h): sums of minima, pushing a row's mass one layer down, the bounds of
// all nodes of a layer at once, and the step at which both ends of a flow meet (flow/meeting_flow.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/arc_block.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Returns start + sum over e < count of min(a[e], b[e]), saturating at kManyUnits. Entries are in [0, kManyUnits / 2].
std::int64_t sum_of_minima(const std::int64_t* a, const std::int64_t* b, std::size_t count, std::int64_t start);

// to[e] += row[e] for e < count, saturating at kManyUnits / 2.
void add_row(const std::int64_t* row, std::size_t count, std::int64_t* to);

// Arcs between two layers: capacity [nodes, stride], stride a multiple of kBlock.
struct PushedLayer {
  const std::int64_t* capacity = nullptr;
  std::size_t nodes = 0;
  std::size_t stride = 0;
  const std::int64_t* mass = nullptr;     // [nodes] sum of a row, saturating at kManyUnits
  const std::uint32_t* widest = nullptr;  // [nodes] the end of each row's largest arc
};

// Distributes the amounts at the upper nodes, `from` [nodes], over their arcs in proportion to the capacities (all full
// if a node holds more than they can carry) into `to` [stride], and returns the total that arrived. Some flow does
// exactly this, so the lower nodes can hold these amounts simultaneously.
std::int64_t push_down(const PushedLayer& layer, const std::int64_t* from, std::int64_t* to);

// A node that sends to `count` nodes below, with bounds on its own flow.
struct RowSource {
  const std::int64_t* arcs = nullptr;
  std::size_t count = 0;
  std::int64_t low = 0, high = 0;
};

// Adds the source's contribution to the bounds of each node q below (flow/row_bounds.h), saturating at kManyUnits.
// Sources must come in descending order of `low`, and column[q] is the sum of the arcs of earlier sources:
//   threshold[q] = min(threshold[q], low + column[q]);  minima[q] += min(arcs[q], high);  column[q] += arcs[q].
void add_source(const RowSource& source, std::int64_t* minima, std::int64_t* column, std::int64_t* threshold);

// Returns the total capacity of the arcs into each node below; arcs are [nodes above, nodes below].
std::vector<double> sums_of_columns(const Tensor<std::int64_t>& arcs);
std::vector<double> sums_of_columns(const ArcBlock& arcs);

// Returns the sum over e < count of row[e] * part[e], each rounded down; parts are at most 1 - 2^-50.
std::int64_t sum_of_parts(const std::int64_t* row, const double* part, std::size_t count);

// Takes up to `wanted` of the remainders at `count` nodes, each in proportion to min(row[e], left[e]), and returns the
// amount taken. Rows sum to less than 2^62.
std::int64_t take_parts(const std::int64_t* row, std::size_t count, std::int64_t wanted, std::int64_t* left);

}  // namespace attnflow::internal
