// How much memory attention flow takes, known before it starts.
//
// What counts, for blocks of n^2 arcs, D = l - m layers, W layers wanted, R output tokens asked for, S input tokens and
// T threads at work:
//   * the capacities in units: 8 bytes an arc, D n^2 arcs (W n^2 more for one head); while they are made, for each
//     thread those of one layer as numbers;
//   * the results: 17 bytes a value, W R S values;
//   * for each thread, the permuted blocks and the flows of layers 2 ... D - 1: 16 bytes an arc;
//   * for each thread, flows that are kept (flow/kept_flows.h): for each output token at most 24 bytes an arc, but no
//     more than 16 MiB in all;
//   * for one output token of a causal stack, 4 bytes instead of 8 for each pair of tokens, and for each thread at most
//     three times as much for networks of few layers, and those upside down: 8 bytes an arc. Networks that there is no
//     memory for are not made: some enclosures then stay wide;
//   * which input tokens each node reaches: n bits a node at most.
//   * who sent to whom: n bits a node and thread.
// What grows with n only is not counted; a mebibyte and a twentieth are added for it.
#ifndef ATTNFLOW_FLOW_FLOW_MEMORY_H_
#define ATTNFLOW_FLOW_FLOW_MEMORY_H_

#include <cstddef>
#include <limits>
#include <optional>

namespace attnflow::internal {

struct FlowSize {
  std::size_t tokens = 0;        // n
  std::size_t input_tokens = 0;  // S: tokens, or groups
  std::size_t depth = 0;         // D, of the deepest layer wanted
  std::size_t layers = 0;        // W
  bool one_head = false;
  bool one_output_token = false;
  bool causal = false;      // of one output token: half of the arcs are kept
  std::size_t threads = 1;  // as asked for, at least 1
  // Of one output token: networks of more layers are not made.
  std::size_t most_layers = std::numeric_limits<std::size_t>::max();
};

// What a thread may keep of flows.
std::size_t kept_flow_bytes(std::size_t tokens, std::size_t depth);

// Bytes, or nothing when they do not fit into std::size_t.
std::optional<std::size_t> flow_bytes(const FlowSize& size);

// Of one output token: networks of how many layers may be made (flow/row_flow.h), and by how many workers at a time.
struct RowPlan {
  std::size_t most_layers = 0;
  std::size_t workers = 1;
};
// The most layers that fit into `available` bytes (nothing: unknown, and all is well) with one worker, then as many
// workers: what is found does not depend on the threads.
RowPlan plan_row(const FlowSize& size, std::optional<std::size_t> available);

// How many of its threads fit into `available` bytes, at least one.
std::size_t threads_that_fit(const FlowSize& size, std::optional<std::size_t> available);

// The system is not asked for questions that need less: that would take longer than answering them.
inline constexpr std::size_t kFlowBytesThatAlwaysFit = std::size_t{64} << 20;

// Throws Error(kOther) when the question needs more than `available` bytes (nothing: unknown, and all is well). The
// message says how much it needs, how much there is, and which smaller questions would fit.
void check_flow_memory(const FlowSize& size, std::optional<std::size_t> available);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_FLOW_MEMORY_H_
