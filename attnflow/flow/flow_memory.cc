#include "attnflow/flow/flow_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/fail.h"
#include "attnflow/flow/kept_flows.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/flow/row_flow.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::size_t times(std::initializer_list<std::size_t> factors) {
  return checked_product(std::span(factors.begin(), factors.size())).value_or(kMost);
}
std::size_t plus(std::size_t a, std::size_t b) { return a > kMost - b ? kMost : a + b; }

std::string readable(std::size_t bytes) {
  if (bytes == kMost) return "more than 16 EiB";
  const char* const units[] = {"MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 0x1p20;
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < std::size(units); ++unit) value /= 1024.0;
  return fmt::format("{:.{}f} {}", value, value < 10.0 ? 1 : 0, units[unit]);
}

// The largest value in [1, most] for which `fits` holds (it then holds for all smaller ones), or 0.
template <typename Fits>
std::size_t largest(std::size_t most, Fits fits) {
  std::size_t low = 0;
  std::size_t high = most;
  while (low < high) {
    const std::size_t middle = high - (high - low) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

std::size_t kept_flow_bytes(std::size_t tokens, std::size_t depth) {
  const std::size_t inner = depth > 2 ? depth - 2 : 0;
  return std::min(std::size_t{16} << 20, times({KeptFlows::kArcBytes, tokens, inner, tokens, tokens}));
}

std::optional<std::size_t> flow_bytes(const FlowSize& size) {
  const std::size_t n = size.tokens;
  const std::size_t arcs = times({n, n});
  const std::size_t rows = size.one_output_token ? 1 : n;
  const std::size_t tops = size.one_head ? size.layers : 0;
  // One thread per input token or, for one output token, per share of a layer's input tokens.
  const std::size_t workers =
      std::min(size.threads, size.one_output_token ? times({size.layers, size.input_tokens}) : size.input_tokens);
  const std::size_t inner = size.depth > 2 ? size.depth - 2 : 0;
  const std::size_t blocks = size.one_output_token ? size.depth : plus(size.depth, tops);
  std::size_t bytes = times({size.causal ? 4U : 8U, blocks, arcs});
  const std::size_t made = plus(bytes, times({8, std::min(size.threads, blocks), arcs}));
  bytes = plus(bytes, times({17, size.layers, rows, size.input_tokens}));
  std::size_t copied = inner, deepest = size.depth;
  if (size.one_output_token && size.causal && size.depth > 1) {
    const bool all = size.most_layers >= size.depth - 1;
    if (!all) copied = deepest = 0;
    for (const std::size_t kept : few_layers(std::min(size.depth - 1, kMaxFlowLayers))) {
      if (kept > size.most_layers) break;
      copied = plus(copied, kept - 1);
      deepest = std::max(deepest, kept);
    }
  }
  bytes = plus(bytes, times({16, workers, copied, arcs}));
  if (!size.one_output_token) bytes = plus(bytes, times({workers, kept_flow_bytes(n, size.depth)}));
  // Bits: the reach in each existing network (for one output token, each worker has its own), and which nodes sent.
  const std::size_t networks = size.one_output_token ? workers : 1;
  bytes = plus(bytes, times({plus(times({networks, deepest}), times({workers, copied})), arcs}) / 8);
  if (size.one_output_token) bytes = plus(bytes, times({8, workers, deepest, arcs}));
  bytes = plus(std::max(made, bytes), std::size_t{1} << 20);
  bytes = plus(bytes, bytes / 20);
  if (bytes == kMost) return std::nullopt;
  return bytes;
}

RowPlan plan_row(const FlowSize& size, std::optional<std::size_t> available) {
  RowPlan plan{size.most_layers, size.threads};
  if (!available) return plan;
  const auto fits = [&] {
    FlowSize planned = size;
    planned.most_layers = plan.most_layers;
    planned.threads = plan.workers;
    return flow_bytes(planned).value_or(kMost) <= *available;
  };
  plan.workers = 1;
  if (size.causal && size.depth > 1 && !fits()) {
    std::vector<std::size_t> few = few_layers(std::min(size.depth - 1, kMaxFlowLayers));
    for (plan.most_layers = 0; !few.empty(); few.pop_back()) {
      plan.most_layers = few.back();
      if (fits()) break;
      plan.most_layers = 0;
    }
  }
  FlowSize planned = size;
  planned.most_layers = plan.most_layers;
  plan.workers = threads_that_fit(planned, available);
  return plan;
}

std::size_t threads_that_fit(const FlowSize& size, std::optional<std::size_t> available) {
  if (!available) return size.threads;
  return std::max<std::size_t>(1, largest(size.threads, [&](std::size_t threads) {
                                 FlowSize other = size;
                                 other.threads = threads;
                                 return flow_bytes(other).value_or(kMost) <= *available;
                               }));
}

void check_flow_memory(const FlowSize& size, std::optional<std::size_t> available) {
  if (size.one_output_token && (size.threads > 1 || (size.causal && size.most_layers > 0))) {
    FlowSize least = size;
    least.threads = 1;
    if (size.causal) least.most_layers = 0;
    return check_flow_memory(least, available);
  }
  const std::optional<std::size_t> needed = flow_bytes(size);
  if (!available || (needed && *needed <= *available)) return;

  const auto bytes_of = [](const FlowSize& other) { return flow_bytes(other).value_or(kMost); };
  const auto fits = [&](const FlowSize& other) { return bytes_of(other) <= *available; };
  std::vector<std::string> ways;
  const auto add = [&](const FlowSize& other, const std::string& what) {
    ways.push_back(fmt::format("{} ({})", what, readable(bytes_of(other))));
  };

  const auto with_threads_that_fit = [&](FlowSize other) {
    other.threads = threads_that_fit(other, available);
    return other;
  };
  const auto threads_of = [&](const FlowSize& other, const char* before) {
    if (other.threads == size.threads) return std::string();
    return fmt::format("{}{} thread{}", before, other.threads, other.threads == 1 ? "" : "s");
  };

  FlowSize smaller = with_threads_that_fit(size);
  if (fits(smaller)) add(smaller, threads_of(smaller, ""));
  smaller = size;
  smaller.one_output_token = true;
  smaller = with_threads_that_fit(smaller);
  if (!size.one_output_token && fits(smaller)) add(smaller, "one output token" + threads_of(smaller, " on "));

  // From the same lower layer up, with as many of the requested layers as remain.
  const auto with_depth = [&](std::size_t depth) {
    FlowSize other = size;
    other.depth = depth;
    other.layers = std::min(size.layers, depth);
    return other;
  };
  if (size.depth > 1) {
    const std::size_t depth = largest(size.depth - 1, [&](std::size_t d) { return fits(with_depth(d)); });
    if (depth > 0)
      add(with_depth(depth), fmt::format("{} layer{} instead of {}", depth, depth == 1 ? "" : "s", size.depth));
  }
  if (ways.empty()) {
    FlowSize least = size;
    least.threads = 1;
    least.one_output_token = true;
    const std::size_t tokens = largest(size.tokens, [&](std::size_t n) {
      FlowSize other = least;
      other.tokens = n;
      other.input_tokens = std::min(least.input_tokens, n);
      return fits(other);
    });
    least.tokens = tokens;
    least.input_tokens = std::min(least.input_tokens, tokens);
    if (tokens > 0) add(least, fmt::format("one output token of at most {} input tokens, on one thread", tokens));
  }
  fail_with(ErrorKind::kOther, "flow of {} tokens over {} layer{}: expected {} of memory, found {} available; {}",
            size.tokens, size.depth, size.depth == 1 ? "" : "s", readable(needed.value_or(kMost)), readable(*available),
            ways.empty() ? std::string("nothing smaller would fit")
                         : fmt::format("what would fit: {}", fmt::join(ways, ", or ")));
}

}  // namespace attnflow::internal
