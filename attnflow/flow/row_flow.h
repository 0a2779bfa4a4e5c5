// Flow from one output token to every input token: the problem upside down, in networks of few layers where they do.
//
// Upside down, the output token is the only sink and each input token a source, so that one SinkSolver serves many of
// them. An upper bound of every value is found first, in O(n^2) a layer (flow/row_bounds.h). What then has to be shown
// is a flow that reaches it, and in deep causal networks the lowest layers are mostly enough for that:
//
// Few layers. Let some flow bring amounts to the nodes of layer k, all at the same time. With these as arcs of the
// output token, layers 1 ... k are a network of their own, and each of its flows, together with that one, is a flow of
// the whole: the two parts share no arc. When it attains the upper bound, the pair is settled, exactly. Amounts that
// serve this purpose take O(n) a layer to find. In the uppermost layers what the output token sends is made even: a
// node that holds more than 16 times the mean sends the surplus to nodes that hold less. Below, everything goes
// straight down, by the arcs (k, p) -> (k - 1, p), except that the node at the input token's own position is given as
// much as its straight arcs can carry, by every node that has an arc to it.
//
// Parts. What lies at positions before j cannot reach input token j. So input tokens are taken in parts [b, e) of
// neighbors, shorter and shorter to the end; for each, mass is made even over positions from e - 1 on, which can reach
// all of them, and nodes before b are left out. The upper layers are needed only by pairs that have a cut there: mostly
// the last tokens, whose networks are small.
//
// A pair is tried with 3, 4, 6, 12, 24 ... layers, less often with numbers that have not been enough for its neighbors,
// then with all, which finds its value whatever it is. Networks that are not causal are always solved in all layers;
// their parts are equal, and share one network in each worker. Where there is no memory for that many layers, some
// values stay between bounds.
//
// Complexity: as flow/sink_solver.h for k layers instead of all. Memory: for each worker 8 bytes an arc, and 8 or 16
// more for each number of layers that keeps it. Deterministic: what settles a pair never changes its value.
#ifndef ATTNFLOW_FLOW_ROW_FLOW_H_
#define ATTNFLOW_FLOW_ROW_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <vector>

#include "attnflow/base/deadline.h"
#include "attnflow/flow/arc_block.h"
#include "attnflow/flow/flow.h"
#include "attnflow/flow/meeting_flow.h"
#include "attnflow/flow/neighbor_columns.h"
#include "attnflow/flow/sink_solver.h"

namespace attnflow::internal {

class RowBounds;

// Of so many layers: the one down to whose nodes mass is made even (0: none), and the numbers of layers tried before
// all.
std::size_t even_layer(std::size_t all);
std::vector<std::size_t> few_layers(std::size_t all);

struct RowFlowOptions {
  std::size_t threads = 1;  // for which work is divided
  std::int64_t gap = 0;     // a value is settled once its bounds are that close
  // Networks of more layers are not made, and values that would take one stay between their bounds.
  std::size_t most_layers = std::numeric_limits<std::size_t>::max();
  std::stop_token stop = {};
  Deadline deadline = {};
};

class RowFlow {
 public:
  // One node above the top layer of `below` (bottom first, at least one layer, all but the lowest with as many nodes
  // below as above), with arcs `top` to its nodes; `own` is the output token's position among them, or kNoNode. Throws
  // Cancelled.
  RowFlow(std::vector<std::int64_t> top, std::size_t own, std::vector<const ArcBlock*> below,
          const RowFlowOptions& options = {});

  // By input token: what its value lies between; those at most `gap` apart are settled.
  const std::vector<SinkValue>& bounds() const { return bounds_; }
  // Units of work: parts of the others.
  std::size_t parts() const { return parts_.size(); }

  // Solves some of the parts; each thread has its own.
  class Worker {
   public:
    explicit Worker(const RowFlow& flow);
    ~Worker();
    // Calls `found` with the flow to each input token of the part: low and high are at most `gap` apart, if there is
    // memory. False: the deadline passed, and of what was left it was not called.
    bool solve(std::size_t part, const std::function<void(std::size_t input, const SinkValue&)>& found);
    FlowCounts counts() const;

   private:
    class Network;

    const RowFlow& flow_;
    NeighborColumns columns_;
    MeetingFlow meeting_;
    std::unique_ptr<Network> network_;  // of the last part
    FlowCounts counts_;                 // of those that are gone
  };

 private:
  // Input tokens order_[begin] ... order_[end - 1]. Nodes from `first` on can reach one of them, those from `all` on
  // can reach all of them, as far as positions tell.
  struct Part {
    std::size_t begin = 0, end = 0;
    std::size_t first = 0, all = 0;
  };
  void find_order(const RowBounds& bounds);
  void make_parts();

  std::vector<std::int64_t> top_;
  std::vector<const ArcBlock*> below_;
  RowFlowOptions options_;
  std::vector<SinkValue> bounds_;  // by input token
  // Whether arcs lead to the same or earlier positions.
  bool causal_ = false;
  std::vector<std::uint32_t> lowest_;  // by input token: the first position with an arc to it; 0 unless causal
  std::vector<std::uint32_t> order_;   // input tokens to be solved, those with the lowest such position first
  std::vector<Part> parts_;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_ROW_FLOW_H_
