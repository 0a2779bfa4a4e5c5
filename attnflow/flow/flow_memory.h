// The memory that attention flow needs, known before it starts.
//
// Counted, for blocks of n^2 arcs, D = l - m layers, W requested layers, R requested output tokens, S input tokens and
// T threads:
//   * capacities in units: 8 bytes per arc, D n^2 arcs (W n^2 more for one head), plus, during their construction, one
//     layer of floating-point capacities per thread;
//   * results: 17 bytes for each of W R S values;
//   * per thread, the permuted blocks and the flows of layers 2 ... D - 1: 16 bytes per arc;
//   * per thread, kept flows (flow/kept_flows.h): at most 24 bytes per arc for each output token and 16 MiB in total;
//   * for one output token of a causal stack, capacities take 4 bytes instead of 8 per pair of tokens. Per thread, the
//     networks of few layers and that of all layers take at most three times the 16 bytes per arc above, and the
//     upside-down blocks 8 bytes per arc. Networks that do not fit are not built: some enclosures then stay wide;
//   * the input tokens that each node reaches: at most n bits per node;
//   * the record of which nodes sent flow to which: n bits per node and thread.
// Memory linear in n is not counted; one mebibyte and a twentieth of the total are added for it.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

namespace attnflow::internal {

struct FlowSize {
  std::size_t tokens = 0;        // n
  std::size_t input_tokens = 0;  // S: tokens, or groups
  std::size_t depth = 0;         // D, of the deepest requested layer
  std::size_t layers = 0;        // W
  bool one_head = false;
  bool one_output_token = false;
  bool causal = false;      // for one output token: half of the arcs are stored
  std::size_t threads = 1;  // as requested, at least 1
  // For one output token: larger networks are not built.
  std::size_t most_layers = std::numeric_limits<std::size_t>::max();
};

std::size_t kept_flow_bytes(std::size_t tokens, std::size_t depth);

// Returns nothing if the number does not fit into std::size_t.
std::optional<std::size_t> flow_bytes(const FlowSize& size);

// For one output token: the most layers of a network that may be built (flow/row_flow.h), and the number of workers.
struct RowPlan {
  std::size_t most_layers = 0;
  std::size_t workers = 1;
};
// Finds the most layers that fit into `available` bytes (nothing: unknown, assume everything fits) with one worker, and
// then the number of workers that fit: results do not depend on the number of threads.
RowPlan plan_row(const FlowSize& size, std::optional<std::size_t> available);

// Returns at least 1.
std::size_t threads_that_fit(const FlowSize& size, std::optional<std::size_t> available);

// Available memory is not queried for problems that need less: that would take longer than solving them.
inline constexpr std::size_t kFlowBytesThatAlwaysFit = std::size_t{64} << 20;

// Throws Error(kOther) when the problem needs more than `available` bytes (nothing: unknown, assume everything fits).
// The message says how much it needs, how much is available, and which smaller problems would fit.
void check_flow_memory(const FlowSize& size, std::optional<std::size_t> available);

}  // namespace attnflow::internal
