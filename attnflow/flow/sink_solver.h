// Flow from every source to one sink, level by level.
//
// Levels go up from the sink. With values of depth - 1, or enclosures of them, a pair at `depth` is tried by the
// cheapest means first, until a lower and an upper bound meet (flow/flow.h has the bounds and their proofs; in upper
// bounds F is the upper end of its enclosure, in lower bounds the lower one):
//   1. upper bounds: what the source's arcs carry to nodes that reach the sink; what the sink's arcs carry from nodes
//      that the source reaches; sum_k min(row[k], F[k]);
//   2. lower bound by a threshold over the values one layer down;
//   3. the same further down, after the row's mass was pushed there in proportion to the arcs (flow/flow_bounds.h);
//   4. a greedy pass (flow/blocking_flow.h);
//   5. cuts of the shapes met before (flow/cut_templates.h);
//   6. augmenting paths.
// Means that rarely succeed at a depth are tried rarely. All are exact in integers, so what settles a pair never
// changes its value. Who wants a level only for the sake of those above it asks for the bounds of 1 and 2 alone: in a
// network of many layers a few more pairs of the last level then need a greedy pass, but none of the others.
#ifndef ATTNFLOW_FLOW_SINK_SOLVER_H_
#define ATTNFLOW_FLOW_SINK_SOLVER_H_

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

// What all sinks of a network share. Layer k = 0 ... depth of the network; blocks[k - 1] is [nodes of layer k, nodes of
// layer k - 1] in units.
struct SinkProblem {
  std::vector<const Tensor<std::int64_t>*> blocks;
  // reach_class[k][i], k = 1 ... depth: which set of nodes of layer 1 node i of layer k reaches; reach_sets are those,
  // as bits.
  std::vector<std::vector<std::uint32_t>> reach_class;
  std::vector<std::vector<std::uint64_t>> reach_sets;
  std::vector<std::vector<double>> demand;  // demand[k]: for k = 1 ..., sums of the arcs into the nodes of layer k

  explicit SinkProblem(std::vector<const Tensor<std::int64_t>*> network);
  // Of layers whose arcs lead to the same or later positions. What a node reaches is then taken to be all of layer 1 at
  // its own position and later, which saves finding it out and is a bound as good where no arc is missing; `positions`
  // are those of the rows of the top layer.
  SinkProblem(std::vector<const Tensor<std::int64_t>*> network, const std::vector<std::uint32_t>& positions);
  std::size_t depth() const { return blocks.size(); }
  // The sets that rows from outside the network reach: a block above the layer `depth - 1`.
  std::vector<std::uint32_t> classes_of(const Tensor<std::int64_t>& rows, std::size_t depth);

 private:
  void sum_demand();
};

// An enclosure of a value, and the two end cuts that it can be equal to.
struct SinkValue {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t column_cut = 0;  // the sink's arcs from nodes of layer 1 that the source reaches
  std::int64_t row_cut = 0;     // the source's arcs to nodes that reach the sink
};

class SinkSolver {
 public:
  // Keeps flows for the next level in at most so many bytes.
  explicit SinkSolver(const SinkProblem& problem, std::size_t kept_bytes = 0);

  // Begins with the sink whose arcs from the nodes of layer 1 are `column`.
  void start(const std::vector<std::int64_t>& column);
  // The level that the next row belongs to: 2 after start().
  std::size_t depth() const { return network_.layers() + 1; }
  // The flow from a source at `position` with these arcs to the nodes of layer depth() - 1 [by position]; `at_most` is
  // an upper bound, if one is known.
  SinkValue value(const std::int64_t* row, std::uint32_t reach_class, std::size_t position,
                  std::int64_t at_most = kManyUnits);
  // Of at most `enough`, how much flow is found when the sink's arcs from the nodes of layer 1 are `sink_arcs` [by
  // position] instead of those given to start(): by a greedy pass, or as much as there is. Nodes where those are 0 are
  // not used.
  enum class Effort : std::uint8_t { kGreedy, kAll };
  std::int64_t sent(const std::int64_t* row, std::size_t position, std::int64_t enough, const std::int64_t* sink_arcs,
                    Effort effort);
  // What is known of it in O(n).
  SinkValue bounds(const std::int64_t* row, std::uint32_t reach_class);
  // Goes one level up: the flows from the nodes of layer depth() lie from `low` to `high`.
  void climb(const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high);

  const FlowCounts& counts() const { return counts_; }

 private:
  // Successes of a means, and the work they took; old ones fade.
  struct Record {
    double tried = 0.0, worked = 0.0, work = 0.0;
    std::uint32_t skipped = 0;
    bool worth_trying();  // often when it works often, else once in a while
    void note(bool success, double work_done = 0.0);
  };
  // The ways to begin a greedy pass.
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
    bool searched = false;  // then the flow is still in the network
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

#endif  // ATTNFLOW_FLOW_SINK_SOLVER_H_
