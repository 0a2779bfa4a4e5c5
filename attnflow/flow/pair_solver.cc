#include "attnflow/flow/pair_solver.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "attnflow/base/fail.h"

namespace attnflow::internal {
namespace {

// NaN and negative capacities count as arcs here, so that choose_unit() detects them; both zeros do not count.
bool is_arc(double capacity) { return (std::bit_cast<std::uint64_t>(capacity) << 1) != 0; }

constexpr std::size_t kLanes = 8;

bool has_arc(const double* row, std::size_t begin, std::size_t end) {
  std::size_t q = begin;
  for (; q + 2 * kLanes <= end; q += 2 * kLanes) {
    std::uint64_t any = 0;
    for (std::size_t e = 0; e < 2 * kLanes; ++e) any |= std::bit_cast<std::uint64_t>(row[q + e]) << 1;
    if (any != 0) return true;
  }
  for (; q < end; ++q) {
    if (is_arc(row[q])) return true;
  }
  return false;
}

bool has_marked_arc(const double* row, std::size_t begin, std::size_t end, const std::uint8_t* marks) {
  for (std::size_t q = begin; q < end; ++q) {
    if (marks[q] != 0 && is_arc(row[q])) return true;
  }
  return false;
}

std::optional<double> row_sum(const double* row, std::size_t count) {
  double sum[kLanes] = {};
  std::uint64_t wrong[kLanes] = {};
  const auto add = [&](std::size_t lane, double c) {
    sum[lane] += c;
    wrong[lane] |= c >= 0.0 && c <= std::numeric_limits<double>::max() ? 0 : ~std::uint64_t{0};
  };
  std::size_t q = 0;
  for (; q + kLanes <= count; q += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, row[q + lane]);
  }
  for (; q < count; ++q) add(0, row[q]);
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    sum[0] += sum[lane];
    wrong[0] |= wrong[lane];
  }
  if (wrong[0] != 0) return std::nullopt;
  return sum[0];
}

template <typename T>
struct Pool {
  T* next = nullptr;
  std::size_t size = 0;
  T* take(std::size_t count) {
    size += count;
    return next == nullptr ? nullptr : std::exchange(next, next + count);
  }
};

}  // namespace

PairSolver::PairSolver(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token)
    : network_(network), output_token_(output_token), input_token_(input_token), positions_(network.depth() + 1) {
  find_paths();
  if (!joined_) return;
  choose_unit();
  lay_out();
}

void PairSolver::find_paths() {
  std::vector<std::uint8_t> marks;
  positions_[depth()] = {static_cast<std::uint32_t>(output_token_)};
  for (std::size_t k = depth(); k >= 2; --k) {
    const Tensor<double>& block = network_.layers[k - 1];
    const std::size_t nodes = block.extent(1);
    marks.assign(nodes, 0);
    // Only the range not reached yet is searched: after a causal block's last row, or any of a dense one, it is small.
    std::size_t begin = 0;
    std::size_t end = nodes;
    const std::vector<std::uint32_t>& above = positions_[k];
    for (auto p = above.rbegin(); p != above.rend() && begin < end; ++p) {
      const double* row = block.data() + *p * nodes;
      if (!has_arc(row, begin, end)) continue;
      for (std::size_t q = begin; q < end; ++q) marks[q] |= static_cast<std::uint8_t>(is_arc(row[q]));
      while (begin < end && marks[begin] != 0) ++begin;
      while (begin < end && marks[end - 1] != 0) --end;
    }
    for (std::size_t q = 0; q < nodes; ++q) {
      if (marks[q] != 0) positions_[k - 1].push_back(static_cast<std::uint32_t>(q));
    }
  }
  positions_[0] = {static_cast<std::uint32_t>(input_token_)};
  for (std::size_t k = 1; k <= depth(); ++k) {
    const Tensor<double>& block = network_.layers[k - 1];
    const std::vector<std::uint32_t>& below = positions_[k - 1];
    if (below.empty()) {
      positions_[k].clear();
      continue;
    }
    const std::size_t begin = below.front();
    const std::size_t end = below.back() + std::size_t{1};
    marks.assign(end, 0);
    for (const std::uint32_t q : below) marks[q] = 1;
    const bool all = end - begin == below.size();
    std::erase_if(positions_[k], [&](std::uint32_t p) {
      const double* row = block.data() + p * block.extent(1);
      return !has_arc(row, begin, end) || !(all || has_marked_arc(row, begin, end, marks.data()));
    });
  }
  joined_ = !positions_[depth()].empty();
}

// Chooses the smallest unit for which no sum over the arcs of a node overflows.
void PairSolver::choose_unit() {
  double largest = 0.0;
  std::vector<double> gathered;
  for (std::size_t k = 1; k <= depth(); ++k) {
    const Tensor<double>& block = network_.layers[k - 1];
    const std::vector<std::uint32_t>& below = positions_[k - 1];
    const bool in_one_piece = below.back() + std::size_t{1} - below.front() == below.size();
    for (const std::uint32_t p : positions_[k]) {
      const double* row = block.data() + p * block.extent(1);
      const double* arcs = row + below.front();
      if (!in_one_piece) {
        gathered.clear();
        for (const std::uint32_t q : below) gathered.push_back(row[q]);
        arcs = gathered.data();
      }
      const std::optional<double> sum = row_sum(arcs, below.size());
      if (!sum) {
        const auto is_wrong = [](double c) { return !(c >= 0.0 && std::isfinite(c)); };
        fail_with(ErrorKind::kUsage, "flow: expected finite capacities of at least 0, found {} in layer {}",
                  *std::find_if(arcs, arcs + below.size(), is_wrong), k);
      }
      largest = std::max(largest, *sum);
    }
  }
  // Sums may have been rounded down.
  fixed_point_ = FixedPoint::for_row_sum(largest * (1.0 + 1e-9));
  scale_ = std::ldexp(1.0, fixed_point_.exponent);
}

void PairSolver::lay_out() {
  const std::vector<std::uint32_t>& top = positions_[depth() - 1];
  supply_.assign(padded(top.size()), 0);
  for (std::size_t p = 0; p < top.size(); ++p) {
    supply_[p] = units(network_.layers.back()(output_token_, top[p]));
    if (supply_[p] > 0) source_order_.push_back(static_cast<std::uint32_t>(p));
  }
  supply_left_ = supply_;
  std::stable_sort(source_order_.begin(), source_order_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return supply_[a] > supply_[b]; });
  if (depth() == 1) return;
  const std::vector<std::uint32_t>& bottom = positions_[1];
  sink_.assign(padded(bottom.size()), 0);
  for (std::size_t p = 0; p < bottom.size(); ++p) sink_[p] = units(network_.layers.front()(bottom[p], input_token_));
  sink_left_ = sink_;

  // Buffers shared by all layers: the system would provide many large pieces anew for each pair.
  view_.resize(depth());
  Pool<std::int64_t> filled, zeroed;
  Pool<std::uint64_t> bits;
  Pool<std::uint32_t> numbers;
  std::vector<std::int64_t*> arcs(depth(), nullptr);
  std::vector<std::uint32_t*> straight(depth(), nullptr);
  const auto hand_out = [&] {
    for (std::size_t k = 1; k < depth(); ++k) {
      FlowLayer& view = view_[k];
      view.nodes = positions(k).size();
      view.cursor = numbers.take(view.nodes);
      view.next_alive = numbers.take(view.nodes + 1);
      view.arc = numbers.take(view.nodes);
      view.cursor_left = filled.take(view.nodes);
      view.straight_left = filled.take(view.nodes);
      view.distance = filled.take(padded(view.nodes));
      view.unreached = bits.take(bit_words(view.nodes));
      if (k == 1) continue;
      view.stride = padded(positions(k - 1).size());
      view.capacity = arcs[k] = filled.take(view.nodes * view.stride);
      view.straight = straight[k] = numbers.take(view.nodes);
      view.flow = zeroed.take(view.nodes * view.stride);
      view_[k - 1].inflow_words = bit_words(view.nodes);
      view_[k - 1].inflow = bits.take(view.stride * view_[k - 1].inflow_words);
    }
  };
  hand_out();
  filled_ = std::make_unique_for_overwrite<std::int64_t[]>(filled.size);
  zeroed_.assign(zeroed.size, 0);
  bits_.assign(bits.size, 0);
  numbers_.resize(numbers.size);
  filled.next = filled_.get();
  zeroed.next = zeroed_.data();
  bits.next = bits_.data();
  numbers.next = numbers_.data();
  hand_out();

  for (std::size_t k = 2; k < depth(); ++k) {
    const std::vector<std::uint32_t>& here = positions(k);
    const std::vector<std::uint32_t>& below = positions(k - 1);
    const Tensor<double>& block = network_.layers[k - 1];
    std::int64_t* to = arcs[k];
    for (std::size_t p = 0; p < here.size(); ++p, to += view_[k].stride) {
      const double* from = block.data() + here[p] * block.extent(1);
      for (std::size_t q = 0; q < below.size(); ++q) to[q] = units(from[below[q]]);
      std::fill(to + below.size(), to + view_[k].stride, 0);
    }
    std::fill_n(straight[k], here.size(), kNoNode);
    for (std::size_t p = 0, q = 0; p < here.size() && q < below.size();) {
      if (here[p] == below[q]) straight[k][p] = static_cast<std::uint32_t>(q);
      here[p] <= below[q] ? ++p : ++q;
    }
  }
  std::size_t nodes_in_all = 0;
  for (std::size_t k = 1; k < depth(); ++k) nodes_in_all += positions(k).size();
  live_blocks_.resize(bit_words(sink_.size() / kBlock));
  queue_.resize(nodes_in_all);
  path_.resize(nodes_in_all + 2);
  pass_.layers = view_.data();
  pass_.depth = depth();
  pass_.supply = supply_.data();
  pass_.source_order = source_order_.data();
  pass_.sources = source_order_.size();
  pass_.sink_capacity = sink_.data();
  pass_.enough = kManyUnits;  // the failing search gives the cut
  pass_.straight_first = StraightFirst::kAll;
  pass_.supply_left = supply_left_.data();
  pass_.sink_left = sink_left_.data();
  pass_.live_blocks = live_blocks_.data();
  pass_.path = path_.data();
  pass_.queue = queue_.data();
  pass_.pushes = &pushes_;
}

std::int64_t PairSolver::solve() {
  if (depth() >= 3) return augment_flow(pass_, greedy_flow(pass_, true));
  // Paths of one or two arcs share no arcs.
  std::int64_t total = 0;
  for (std::size_t p = 0; p < positions_[depth() - 1].size(); ++p) {
    const std::int64_t x = depth() == 1 ? supply_[p] : std::min(supply_[p], sink_[p]);
    total += x;
    supply_left_[p] = supply_[p] - x;
    if (depth() == 1) continue;
    sink_left_[p] = sink_[p] - x;
    view_[1].distance[p] = supply_left_[p] > 0 ? 1 : -1;
  }
  return total;
}

std::int64_t PairSolver::flow(std::size_t k, std::size_t p, std::size_t q) const {
  if (k == depth()) return supply_[q] - supply_left_[q];
  return k == 1 ? sink_[p] - sink_left_[p] : view_[k].flow[p * view_[k].stride + q];
}

std::int64_t PairSolver::capacity(std::size_t k, std::size_t p, std::size_t q) const {
  if (k == depth()) return supply_[q];
  return k == 1 ? sink_[p] : view_[k].capacity[p * view_[k].stride + q];
}

PairSolver::Sides PairSolver::reached_by_source() const {
  Sides sides(depth() + 1);
  sides[0] = {false};
  for (std::size_t k = 1; k < depth(); ++k) {
    sides[k].resize(positions(k).size());
    for (std::size_t p = 0; p < sides[k].size(); ++p) sides[k][p] = view_[k].distance[p] >= 0;
  }
  sides[depth()] = {true};
  return sides;
}

PairSolver::Sides PairSolver::not_reaching_sink() const {
  Sides sides(depth() + 1);
  for (std::size_t k = 1; k <= depth(); ++k) sides[k].assign(positions_[k].size(), true);
  sides[0] = {false};
  std::vector<std::pair<std::size_t, std::size_t>> queue{{0, 0}};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const auto [k, p] = queue[head];
    // From above over an arc with residual capacity, from below by taking flow back. The source is never reached,
    // because the flow is a maximum.
    for (std::size_t r = 0; r < sides[k + 1].size(); ++r) {
      if (!sides[k + 1][r] || flow(k + 1, r, p) == capacity(k + 1, r, p)) continue;
      assert(k + 1 < depth());
      sides[k + 1][r] = false;
      queue.emplace_back(k + 1, r);
    }
    if (k == 0) continue;
    for (std::size_t q = 0; q < sides[k - 1].size(); ++q) {
      if (!sides[k - 1][q] || flow(k, p, q) == 0) continue;
      sides[k - 1][q] = false;
      queue.emplace_back(k - 1, q);
    }
  }
  return sides;
}

}  // namespace attnflow::internal
