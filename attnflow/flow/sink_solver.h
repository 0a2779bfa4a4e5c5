// Flow from every source to one sink, level by level.
//
// Levels are processed from the sink up. With the values of depth - 1, or enclosures of them, a pair at `depth` is
// tried by the cheapest methods first, until a lower and an upper bound meet (flow/flow.h has the proofs; upper bounds
// use the upper end of F's enclosure, lower bounds the lower end):
//   1. upper bounds: the capacity of the source's arcs to nodes that reach the sink; the capacity of the sink's arcs
//      from nodes that the source reaches; sum_k min(row[k], F[k]);
//   2. a lower bound by a threshold over the values one layer down;
//   3. the same at a lower layer, after the row's mass was pushed there in proportion to the arcs (flow/flow_bounds.h);
//   4. a greedy pass (flow/blocking_flow.h);
//   5. cuts of shapes met before (flow/cut_templates.h);
//   6. augmenting paths.
// Methods that rarely succeed at a depth are rarely tried. All are exact in integers, so the method that settles a pair
// never changes its value. Callers that need only the last level request just the bounds of 1 and 2 below it: a few
// more of its pairs then need a greedy pass, but no pair below does, which saves much more in a network of many layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/cut_templates.h"
#include "attnflow/flow/flow.h"
#include "attnflow/flow/kept_flows.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/flow/sink_network.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Shared by all sinks of a network of layers 0 ... depth; blocks[k - 1] is [nodes of layer k, of layer k - 1] in units.
struct SinkProblem {
  std::vector<const Tensor<std::int64_t>*> blocks;
  // reach_class[k][i], k = 1 ... depth: index into reach_sets: the layer 1 nodes, as bits, that node i reaches.
  std::vector<std::vector<std::uint32_t>> reach_class;
  std::vector<std::vector<std::uint64_t>> reach_sets;
  std::vector<std::vector<double>> demand;  // demand[k], k = 1 ...: sums of the arcs into the nodes of layer k

  explicit SinkProblem(std::vector<const Tensor<std::int64_t>*> network);
  // For layers whose arcs lead to the same or later positions. A node is assumed to reach all of layer 1 at its own
  // position and later: as good a bound if no arc is missing, without computing sets. `positions`: of the top layer's
  // rows.
  SinkProblem(std::vector<const Tensor<std::int64_t>*> network, const std::vector<std::uint32_t>& positions);
  std::size_t depth() const { return blocks.size(); }
  // The sets reached by rows from outside the network: a block above layer `depth - 1`.
  std::vector<std::uint32_t> classes_of(const Tensor<std::int64_t>& rows, std::size_t depth);

 private:
  void sum_demand();
};

// An enclosure of a value, and the two end cuts that it may equal.
struct SinkValue {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t column_cut = 0;  // total of the sink's arcs from nodes of layer 1 that the source reaches
  std::int64_t row_cut = 0;     // total of the source's arcs to nodes that reach the sink
};

class SinkSolver {
 public:
  // Keeps flows for the next level in at most `kept_bytes` bytes.
  explicit SinkSolver(const SinkProblem& problem, std::size_t kept_bytes = 0);

  // Begins the sink whose arcs from the nodes of layer 1 are `column`.
  void start(const std::vector<std::int64_t>& column);
  // The level of the next row: 2 after start().
  std::size_t depth() const { return network_.layers() + 1; }
  // Returns the flow from a source at `position` with these arcs to the nodes of layer depth() - 1 [by position];
  // `at_most` is an upper bound, if one is known.
  SinkValue value(const std::int64_t* row, std::uint32_t reach_class, std::size_t position,
                  std::int64_t at_most = kManyUnits);
  // Returns how much flow, at most `enough`, a greedy pass, or the maximum, finds when `sink_arcs` [by position]
  // replace those given to start(). Nodes where `sink_arcs` is 0 are not used.
  enum class Effort : std::uint8_t { kGreedy, kAll };
  std::int64_t sent(const std::int64_t* row, std::size_t position, std::int64_t enough, const std::int64_t* sink_arcs,
                    Effort effort);
  SinkValue bounds(const std::int64_t* row, std::uint32_t reach_class);
  // Goes one level up: the flows from the nodes of layer depth() are between `low` and `high`.
  void climb(const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high);

  const FlowCounts& counts() const { return counts_; }

 private:
  struct Record {
    double tried = 0.0, worked = 0.0, work = 0.0;
    std::uint32_t skipped = 0;
    bool worth_trying();  // often if the method often works, else once in a while
    void note(bool success, double work_done = 0.0);
  };
  struct Choice {
    Record ways[kStraightFirstWays];
    std::uint32_t pairs = 0;
    StraightFirst best();
  };

  std::int64_t threshold_bound(std::size_t k, const std::int64_t* at) const;
  bool pushed_bound_reaches(std::int64_t upper);
  void solve(const std::int64_t* row, std::size_t position, SinkValue& value);
  void place(const std::int64_t* row);
  struct Sent {
    std::int64_t units = 0;
    bool searched = false;  // if so, the flow is still in the network
  };
  Sent send(FlowPass& pass, std::size_t position, Choice& straight_first, Effort effort = Effort::kAll);
  void order_sources();

  const SinkProblem& problem_;
  SinkNetwork network_;
  CutTemplates templates_;
  KeptFlows kept_;
  std::vector<std::int64_t> column_cuts_;  // by reach class
  std::vector<std::int64_t> row_;          // of the source, by node of the top layer
  std::vector<std::int64_t> sink_arcs_;    // by node of layer 1
  std::vector<std::int64_t> here_, below_;
  std::vector<std::uint32_t> source_order_;
  std::vector<std::uint8_t> bucket_;
  std::vector<Record> pushing_;              // by depth
  std::vector<Choice> straight_first_;       // by depth, then by whether the sink's arcs are the upper bound
  std::vector<std::vector<bool>> searched_;  // by depth and position: whether the last pair there needed a search
  FlowCounts counts_;
};

}  // namespace attnflow::internal
