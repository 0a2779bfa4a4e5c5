// Flow from one output token to every input token: the problem upside down, with few layers where these suffice.
//
// Upside down, the output token is the only sink and each input token is a source, so one SinkSolver serves many. An
// upper bound of every value is computed first, in O(n^2) per layer (flow/row_bounds.h). It remains to find a flow that
// attains it, and in deep causal networks the lowest layers usually suffice for that:
//
// Few layers. Let some flow bring amounts to the nodes of layer k, all at the same time. With these as arcs of the
// output token, layers 1 ... k are a separate network, and each of its flows, combined with that first one, is a flow
// of the whole. If it attains the upper bound, the pair is settled exactly. Suitable amounts take O(n) per layer to
// find. In the uppermost layers a node that holds more than 16 times the mean sends the surplus to nodes that hold
// less. Below, all goes straight down, by the arcs (k, p) -> (k - 1, p), except that every node with an arc to the
// input token's own position gives that node as much as its straight arcs can carry.
//
// Parts. Amounts at positions before j cannot reach input token j. So input tokens are processed in parts [b, e) of
// neighbors, which get shorter toward the end; for each part, mass is evened out over positions from e - 1 on, which
// can reach all of them, and nodes before b are left out. Only pairs with a cut in the upper layers need these: mostly
// the last tokens, whose networks are small.
//
// A pair is tried with 3, 4, 6, 12, 24 ... layers: first by a greedy pass (up to 6 layers) and by a flow built from
// both ends, which needs no network (flow/meeting_flow.h); then again from 3 layers on, by augmenting paths. Numbers of
// layers that failed for its neighbors are tried less often. All layers, the last resort, always give its value.
// Networks that are not causal are always solved with all layers; their parts have equal size, and share one network
// per worker. If memory does not suffice for that many layers, some values stay between bounds.
//
// Complexity: as in flow/sink_solver.h for k layers instead of all. Deterministic: the method never changes a value.
#pragma once

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

// For a stack of `all` layers: the layer down to which mass is evened out (0: none), and the layer counts tried first.
std::size_t even_layer(std::size_t all);
std::vector<std::size_t> few_layers(std::size_t all);

struct RowFlowOptions {
  std::size_t threads = 1;  // number of threads to divide the work for
  std::int64_t gap = 0;     // a value is settled once its bounds are this close
  // Larger networks are not built, and values that would need one stay between their bounds.
  std::size_t most_layers = std::numeric_limits<std::size_t>::max();
  std::stop_token stop = {};
  Deadline deadline = {};
};

class RowFlow {
 public:
  // One node above the top layer of `below` (bottom first; all except the lowest with as many nodes below as above),
  // with arcs `top` to its nodes; `own` is the output token's position among them, or kNoNode. Throws Cancelled.
  RowFlow(std::vector<std::int64_t> top, std::size_t own, std::vector<const ArcBlock*> below,
          const RowFlowOptions& options = {});

  // Bounds by input token; those at most `gap` apart are settled.
  const std::vector<SinkValue>& bounds() const { return bounds_; }
  // The number of units of work, into which the unsettled values are divided.
  std::size_t parts() const { return parts_.size(); }

  class Worker {
   public:
    explicit Worker(const RowFlow& flow);
    ~Worker();
    // Calls `found` with the flow to each input token of the part; low and high are at most `gap` apart if memory
    // suffices. Returns false if the deadline passed, and skips the remaining tokens.
    bool solve(std::size_t part, const std::function<void(std::size_t input, const SinkValue&)>& found);
    FlowCounts counts() const;

   private:
    class Network;

    const RowFlow& flow_;
    NeighborColumns columns_;
    MeetingFlow meeting_;
    std::unique_ptr<Network> network_;  // for the last part
    FlowCounts counts_;                 // from discarded networks
  };

 private:
  // Input tokens order_[begin] ... order_[end - 1]. Nodes before `first` reach none; those from `all` on, all.
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
  bool causal_ = false;
  std::vector<std::uint32_t> lowest_;  // by input token: the first position with an arc to it; 0 unless causal
  std::vector<std::uint32_t> order_;   // input tokens to be solved, those with the lowest such position first
  std::vector<Part> parts_;
};

}  // namespace attnflow::internal
