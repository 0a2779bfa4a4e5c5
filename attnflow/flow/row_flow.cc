#include "attnflow/flow/row_flow.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "attnflow/base/progress.h"
#include "attnflow/flow/meeting_flow.h"
#include "attnflow/flow/row_bounds.h"

namespace attnflow::internal {
namespace {

using Block = Tensor<std::int64_t>;

// A part of a causal network has one in this many of the remaining input tokens: with larger parts, threads would wait
// for the first one at the end, and with smaller parts, more networks are built.
std::size_t parts_of_the_rest(std::size_t threads) { return 2 * (threads + 1); }
// A lower limit, because each part has its own networks.
constexpr std::size_t kLeastInPart = 8;
// For other networks, which all parts share.
constexpr std::size_t kShares = 64;
// The most layers over which mass is evened out, and the most that a node takes from others, as a multiple of the mean.
constexpr std::size_t kEvenLayers = 8;
constexpr double kMostOfMean = 16.0;
constexpr std::size_t kThreadsWhereOpen = 2;
constexpr std::size_t kSquare = 32;
// Networks of up to this many layers are cheap enough to be built for a greedy pass alone.
constexpr std::size_t kGreedyLayers = 6;

void check(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Cancelled();
}

void send_to_earlier(std::span<const std::int64_t> row, std::size_t p, std::size_t first, std::size_t own,
                     std::int64_t left, std::vector<std::int64_t>& below) {
  for (std::size_t q = p; left > 0 && q-- > first;) {
    if (q == own) continue;
    const std::int64_t sent = std::min(left, row[q]);
    below[q] += sent;
    left -= sent;
  }
}

// Sends the amounts at a causal layer's nodes one layer down, such that no node from `all` on keeps much more than
// others: the excess goes to those that have less, and what finds no place stays. Nodes before `first` do not matter.
void even_out(const ArcBlock& arcs, std::size_t first, std::size_t all, std::vector<std::int64_t>& held) {
  const std::size_t nodes = held.size();
  std::vector<std::int64_t> below(nodes, 0);
  double total = 0.0;
  for (std::size_t p = all; p < nodes; ++p) total += static_cast<double>(held[p]);
  constexpr auto kLargest = static_cast<double>(std::int64_t{1} << 62);
  const auto share =
      static_cast<std::int64_t>(std::min(kLargest, kMostOfMean * total / static_cast<double>(nodes - all)));
  for (std::size_t p = nodes; p-- > first;) {
    const auto row = arcs.row(p);
    std::int64_t keep = std::min({held[p], row[p], p >= all ? share : held[p]});
    std::int64_t left = held[p] - keep;
    for (std::size_t q = p; left > 0 && q-- > all;) {
      const std::int64_t sent = std::min({left, row[q], share - std::min(held[q], share) - below[q]});
      if (sent <= 0) continue;
      below[q] += sent;
      left -= sent;
    }
    const std::int64_t more = std::min(left, row[p] - keep);
    below[p] += keep + more;
    send_to_earlier(row, std::min(p, all), first, nodes, left - more, below);
  }
  held = std::move(below);
}

// Sends the amounts at a causal layer's nodes one layer down: the node at position `own` receives as much as it has
// room for, and the rest goes straight down. `into_own` and `straight` hold the arcs to that node and the straight
// arcs.
void carry_down(const ArcBlock& arcs, const std::int64_t* into_own, const std::int64_t* straight, std::size_t own,
                std::int64_t room, std::vector<std::int64_t>& held) {
  const std::size_t nodes = held.size();
  room -= std::min(held[own], room);
  for (std::size_t p = own + 1; p < nodes && room > 0; ++p) {
    const std::int64_t over = std::min({into_own[p], held[p], room});
    room -= over;
    held[own] += over;
    held[p] -= over;
  }
  for (std::size_t p = own + 1; p < nodes; ++p) {
    const std::int64_t keep = std::min(held[p], straight[p]);
    const std::int64_t left = held[p] - keep;
    held[p] = keep;
    // Nodes before p have already sent, so what they receive now stays on the lower layer.
    if (left > 0) send_to_earlier(arcs.row(p), p, own, own, left, held);
  }
}

}  // namespace

std::size_t even_layer(std::size_t all) { return all > 4 ? all - std::min(kEvenLayers, (all - 2) / 2) : 0; }

std::vector<std::size_t> few_layers(std::size_t all) {
  std::vector<std::size_t> numbers;
  const std::size_t most = even_layer(all);
  for (std::size_t kept = 3; kept <= most; kept += kept == 3 ? 1 : kept == 4 ? 2 : kept) numbers.push_back(kept);
  return numbers;
}

RowFlow::RowFlow(std::vector<std::int64_t> top, std::size_t own, std::vector<const ArcBlock*> below,
                 const RowFlowOptions& options)
    : top_(std::move(top)), below_(std::move(below)), options_(options) {
  RowBounds bounds(top_, own);
  for (std::size_t k = below_.size(); k > 0; --k) {
    check(options_.stop);
    bounds.descend(*below_[k - 1]);
  }
  bounds_ = bounds.values();
  find_order(bounds);
  make_parts();
}

void RowFlow::find_order(const RowBounds& bounds) {
  causal_ = bounds.causal_above();
  lowest_ = bounds.first_above();
  if (!causal_) std::fill(lowest_.begin(), lowest_.end(), 0);
  for (std::uint32_t q = 0; q < lowest_.size(); ++q) {
    if (bounds_[q].high - bounds_[q].low > options_.gap) order_.push_back(q);
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return lowest_[a] < lowest_[b]; });
}

void RowFlow::make_parts() {
  // The width of open values' bounds depends on their part, which must not depend on the number of threads.
  const bool exact = options_.gap == 0 && options_.most_layers >= below_.size();
  const std::size_t threads = exact ? options_.threads : kThreadsWhereOpen;
  const std::size_t share = (order_.size() + kShares - 1) / kShares;
  for (std::size_t begin = 0; begin < order_.size();) {
    const std::size_t rest = order_.size() - begin;
    const std::size_t size = causal_ ? std::max(kLeastInPart, rest / parts_of_the_rest(threads)) : share;
    const std::size_t end = begin + std::min(size, rest);
    parts_.push_back({begin, end, lowest_[order_[begin]], lowest_[order_[end - 1]]});
    begin = end;
  }
}

class RowFlow::Worker::Network {
 public:
  Network(const RowFlow& flow, const Part& part, NeighborColumns& columns, MeetingFlow& meeting)
      : flow_(flow), part_(part), columns_(columns), meeting_(meeting) {
    const std::size_t all = flow_.below_.size();
    if (flow_.causal_) {
      even_layer_ = even_layer(all);
      numbers_ = few_layers(all);
      while (!numbers_.empty() && numbers_.back() > flow_.options_.most_layers) numbers_.pop_back();
    } else {  // one network serves all parts
      part_.begin = 0;
      part_.end = flow_.order_.size();
    }
    carried_.resize(numbers_.size());
    tries_.resize(numbers_.size());
    numbers_.push_back(all);
    stages_.resize(numbers_.size());
    if (even_layer_ > 0) {
      even_ = flow_.top_;
      for (std::size_t k = all; k > even_layer_; --k) even_out(*flow_.below_[k - 1], part_.first, part_.all, even_);
    }
  }
  bool serves(const Part& part) const {
    return part_.first == part.first && part_.all == part.all && part_.begin <= part.begin && part.end <= part_.end;
  }

  // Returns the flow to input token order_[number].
  SinkValue value(std::size_t number) {
    SinkValue value = flow_.bounds_[flow_.order_[number]];
    if (!carried_.empty() && settle(number, value)) return value;
    if (flow_.options_.most_layers < numbers_.back()) return value;
    const Stage& whole = made(stages_.size() - 1);
    const std::size_t row = number - part_.begin;
    const SinkValue exact =
        whole.solver->value(whole.arcs_of(row), whole.problem->reach_class.back()[row], position(number), value.high);
    value.low = exact.low;
    value.high = exact.high;
    return value;
  }

  FlowCounts counts() const {
    FlowCounts counts;
    for (const auto& stage : stages_) {
      if (stage) counts += stage->solver->counts();
    }
    counts.meetings += meetings_;
    return counts;
  }

 private:
  struct Stage {
    Block top;  // [nodes, 1]
    std::optional<SinkProblem> problem;
    std::unique_ptr<SinkSolver> solver;

    const std::int64_t* arcs_of(std::size_t row) const {
      const Block& sources = *problem->blocks.back();
      return sources.data() + row * sources.extent(1);
    }
  };

  // Neighbors mostly need the same number of layers. The choice of networks tried never changes a value.
  struct Tries {
    std::uint32_t tried = 0, worked = 0, skipped = 0;
    bool worth_it() { return tried < 4 || 4 * worked >= tried || ++skipped % 16 == 0; }
    void note(bool success) {
      worked += success;
      if (++tried < 16) return;
      tried /= 2;
      worked /= 2;
    }
  };

  struct Means {
    Tries greedy, meeting, search;
  };

  bool settle(std::size_t number, SinkValue& value) {
    const std::size_t own = part_.first + position(number);
    const std::int64_t enough = value.high - std::min(flow_.options_.gap, value.high);
    const auto found = [&](std::int64_t units, Tries& tries) {
      value.low = std::max(value.low, units);
      tries.note(units >= enough);
      return units >= enough;
    };
    carry(flow_.order_[number], own);
    meeting_.start(flow_.order_[number], own);
    for (std::size_t s = 0; s < carried_.size(); ++s) {
      Means& means = tries_[s];
      if (numbers_[s] <= kGreedyLayers && means.greedy.worth_it() &&
          found(sent(s, number, enough, SinkSolver::Effort::kGreedy), means.greedy)) {
        return true;
      }
      if (means.meeting.worth_it() && found(meeting_.value(numbers_[s], carried_[s], enough), means.meeting)) {
        ++meetings_;
        return true;
      }
    }
    for (std::size_t s = 0; s < carried_.size(); ++s) {
      Tries& tries = tries_[s].search;
      if (tries.worth_it() && found(sent(s, number, enough, SinkSolver::Effort::kAll), tries)) return true;
    }
    return false;
  }

  std::int64_t sent(std::size_t s, std::size_t number, std::int64_t enough, SinkSolver::Effort effort) {
    const Stage& stage = made(s);
    return stage.solver->sent(stage.arcs_of(number - part_.begin), position(number), enough,
                              carried_[s].data() + part_.first, effort);
  }

  std::size_t position(std::size_t number) const { return flow_.lowest_[flow_.order_[number]] - part_.first; }

  // Computes the amounts at the top of each stage except the last, for an input token at position `own`.
  void carry(std::uint32_t input, std::size_t own) {
    // The amount that the straight arcs of that node, which has no others, can bring from a layer to the input token.
    std::vector<std::int64_t> room(even_layer_ + 1, (*flow_.below_[0])(own, input));
    for (std::size_t k = 2; k <= even_layer_; ++k) {
      room[k] = std::min(room[k - 1], columns_.straight(k)[own]);
    }
    std::vector<std::int64_t> held = even_;
    held[own] = std::min(held[own], room[even_layer_]);
    std::size_t s = carried_.size();
    for (std::size_t k = even_layer_;; --k) {
      if (numbers_[s - 1] == k) carried_[--s] = held;
      if (s == 0) break;
      carry_down(*flow_.below_[k - 1], columns_.into(k, own), columns_.straight(k), own, room[k - 1], held);
    }
  }

  const Block& flipped(std::size_t k) {
    if (flipped_.size() < k) flipped_.resize(k);
    Block& result = flipped_[k - 1];
    if (result.size() > 0) return result;
    const ArcBlock& block = *flow_.below_[k - 1];
    const std::size_t first = part_.first;
    const std::size_t nodes = block.above() - first;
    const std::size_t rows = k == 1 ? part_.end - part_.begin : block.below() - first;
    result = Block({rows, nodes});
    // In squares, so that reads and writes stay in the cache.
    for (std::size_t q0 = 0; q0 < rows; q0 += kSquare) {
      const std::size_t q1 = std::min(q0 + kSquare, rows);
      for (std::size_t p0 = 0; p0 < nodes; p0 += kSquare) {
        const std::size_t p1 = std::min(p0 + kSquare, nodes);
        for (std::size_t q = q0; q < q1; ++q) {
          const std::size_t column = k == 1 ? flow_.order_[part_.begin + q] : first + q;
          for (std::size_t p = p0; p < p1; ++p) result(q, p) = block(first + p, column);
        }
      }
    }
    return result;
  }

  const Stage& made(std::size_t number) {
    if (stages_[number]) return *stages_[number];
    auto stage = std::make_unique<Stage>();
    const std::size_t kept = numbers_[number];
    const std::vector<std::int64_t>& top = number + 1 < numbers_.size() ? even_ : flow_.top_;
    const std::vector<std::int64_t> column(top.begin() + static_cast<std::ptrdiff_t>(part_.first), top.end());
    stage->top = Block({column.size(), 1});
    std::copy(column.begin(), column.end(), stage->top.data());
    std::vector<const Block*> blocks = {&stage->top};
    for (std::size_t k = kept; k >= 1; --k) blocks.push_back(&flipped(k));
    if (flow_.causal_) {
      std::vector<std::uint32_t> positions;
      for (std::size_t i = part_.begin; i < part_.end; ++i) {
        positions.push_back(static_cast<std::uint32_t>(position(i)));
      }
      stage->problem.emplace(std::move(blocks), positions);
    } else {
      stage->problem.emplace(std::move(blocks));
    }
    // Bounds suffice for intermediate levels: without them, most pairs of most levels would take a greedy pass.
    stage->solver = std::make_unique<SinkSolver>(*stage->problem);
    stage->solver->start(column);
    std::vector<std::int64_t> low, high;
    for (std::size_t level = 2; level <= kept; ++level) {
      check(flow_.options_.stop);
      const Block& block = *stage->problem->blocks[level - 1];
      low.resize(block.extent(0));
      high.resize(block.extent(0));
      for (std::size_t q = 0; q < high.size(); ++q) {
        const SinkValue value =
            stage->solver->bounds(block.data() + q * block.extent(1), stage->problem->reach_class[level][q]);
        low[q] = value.low;
        high[q] = value.high;
      }
      stage->solver->climb(low, high);
    }
    stages_[number] = std::move(stage);
    return *stages_[number];
  }

  const RowFlow& flow_;
  Part part_;
  std::size_t even_layer_ = 0;
  std::vector<std::int64_t> even_;  // amounts at the nodes of that layer
  std::vector<std::size_t> numbers_;
  std::vector<std::unique_ptr<Stage>> stages_;
  // By stage except the last: the amounts at its top for the current input token.
  std::vector<std::vector<std::int64_t>> carried_;
  std::vector<Means> tries_;
  NeighborColumns& columns_;
  MeetingFlow& meeting_;
  std::uint64_t meetings_ = 0;
  std::deque<Block> flipped_;  // by layer
};

RowFlow::Worker::Worker(const RowFlow& flow) : flow_(flow), columns_(flow.below_), meeting_(flow.below_, columns_) {}
RowFlow::Worker::~Worker() = default;

bool RowFlow::Worker::solve(std::size_t part, const std::function<void(std::size_t, const SinkValue&)>& found) {
  const Part& inputs = flow_.parts_[part];
  if (flow_.options_.deadline.passed()) return false;
  if (!network_ || !network_->serves(inputs)) {
    if (network_) counts_ += network_->counts();
    network_.reset();  // before the next one allocates its memory
    network_ = std::make_unique<Network>(flow_, inputs, columns_, meeting_);
  }
  for (std::size_t i = inputs.begin; i < inputs.end; ++i) {
    check(flow_.options_.stop);
    if (flow_.options_.deadline.passed()) return false;
    found(flow_.order_[i], network_->value(i));
  }
  return true;
}

FlowCounts RowFlow::Worker::counts() const {
  FlowCounts counts = counts_;
  if (network_) counts += network_->counts();
  return counts;
}

}  // namespace attnflow::internal
