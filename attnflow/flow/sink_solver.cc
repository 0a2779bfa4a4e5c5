#include "attnflow/flow/sink_solver.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <numeric>

#include "attnflow/flow/flow_bounds.h"
#include "attnflow/flow/layered_network.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kDeepestPush = 16;  // layers that mass is pushed down through before giving up

std::vector<std::uint64_t> reached(const Tensor<std::int64_t>& rows, std::size_t i,
                                   const std::vector<std::uint32_t>& classes,
                                   const std::vector<std::vector<std::uint64_t>>& sets, std::size_t words) {
  std::vector<std::uint64_t> bits(words, 0);
  std::uint32_t last = kNoNode;
  for (std::size_t k = 0; k < rows.extent(1); ++k) {
    if (rows(i, k) == 0 || classes[k] == last) continue;
    last = classes[k];
    for (std::size_t w = 0; w < words; ++w) bits[w] |= sets[last][w];
  }
  return bits;
}

}  // namespace

SinkProblem::SinkProblem(std::vector<const Tensor<std::int64_t>*> network) : blocks(std::move(network)) {
  const std::size_t bottom = blocks[0]->extent(0);
  reach_class.resize(blocks.size() + 1);
  reach_class[1].resize(bottom);
  for (std::size_t p = 0; p < bottom; ++p) {
    reach_class[1][p] = static_cast<std::uint32_t>(p);
    std::vector<std::uint64_t> set(bit_words(bottom), 0);
    set_bit(set.data(), p);
    reach_sets.push_back(std::move(set));
  }
  for (std::size_t k = 2; k <= blocks.size(); ++k) reach_class[k] = classes_of(*blocks[k - 1], k);
  sum_demand();
}

SinkProblem::SinkProblem(std::vector<const Tensor<std::int64_t>*> network, const std::vector<std::uint32_t>& positions)
    : blocks(std::move(network)) {
  const std::size_t nodes = blocks[0]->extent(0);
  std::vector<std::uint32_t> own(nodes);
  std::iota(own.begin(), own.end(), std::uint32_t{0});
  reach_class.assign(blocks.size() + 1, own);
  reach_class.back() = positions;
  reach_sets.assign(nodes, std::vector<std::uint64_t>(bit_words(nodes), 0));
  for (std::size_t p = 0; p < nodes; ++p) {
    std::vector<std::uint64_t>& set = reach_sets[p];
    for (std::size_t q = p; q < nodes; ++q) set_bit(set.data(), q);
  }
  sum_demand();
}

void SinkProblem::sum_demand() {
  demand.resize(blocks.size());
  for (std::size_t k = 1; k < blocks.size(); ++k) demand[k] = sums_of_columns(*blocks[k]);
}

std::vector<std::uint32_t> SinkProblem::classes_of(const Tensor<std::int64_t>& rows, std::size_t depth) {
  if (depth == 1) return std::vector<std::uint32_t>(rows.extent(0), 0);
  std::map<std::vector<std::uint64_t>, std::uint32_t> known;
  for (std::uint32_t c = 0; c < reach_sets.size(); ++c) known.emplace(reach_sets[c], c);
  std::vector<std::uint32_t> classes(rows.extent(0));
  for (std::size_t i = 0; i < rows.extent(0); ++i) {
    const auto [at, added] = known.emplace(reached(rows, i, reach_class[depth - 1], reach_sets, reach_sets[0].size()),
                                           static_cast<std::uint32_t>(reach_sets.size()));
    if (added) reach_sets.push_back(at->first);
    classes[i] = at->second;
  }
  return classes;
}

SinkSolver::SinkSolver(const SinkProblem& problem, std::size_t kept_bytes)
    : problem_(problem),
      network_(problem.blocks),
      templates_(problem.blocks, network_),
      kept_(kept_bytes),
      pushing_(problem.depth() + 1),
      straight_first_(2 * (problem.depth() + 1)),
      searched_(problem.depth() + 1) {}

bool SinkSolver::Record::worth_trying() {
  constexpr double kTrials = 32.0;
  constexpr std::uint32_t kEvery = 256;
  return tried < kTrials || worked * 8.0 >= tried || ++skipped % kEvery == 0;
}

void SinkSolver::Record::note(bool success, double work_done) {
  constexpr double kMemory = 1024.0;
  tried += 1.0;
  worked += success ? 1.0 : 0.0;
  work += work_done;
  if (tried >= kMemory) {
    tried /= 2.0;
    worked /= 2.0;
    work /= 2.0;
  }
}

StraightFirst SinkSolver::Choice::best() {
  // Every way is tried initially; after that, ways other than the best only now and then.
  constexpr std::uint32_t kTrials = 16;
  constexpr std::uint32_t kEvery = 128;
  constexpr double kSearch = 4.0;  // cost of a search, in greedy passes
  const std::uint32_t pair = pairs++;
  if (pair < kStraightFirstWays * kTrials) return static_cast<StraightFirst>(pair / kTrials);
  if (pair % kEvery == 0) return static_cast<StraightFirst>(pair / kEvery % kStraightFirstWays);
  const auto cost = [](const Record& way) {
    return way.work / way.tried * (1.0 + kSearch * (1.0 - way.worked / way.tried));
  };
  std::size_t cheapest = 0;
  for (std::size_t w = 1; w < kStraightFirstWays; ++w) {
    if (cost(ways[w]) < cost(ways[cheapest])) cheapest = w;
  }
  return static_cast<StraightFirst>(cheapest);
}

void SinkSolver::start(const std::vector<std::int64_t>& column) {
  network_.clear();
  kept_.clear();
  templates_.start_sink(column);
  column_cuts_.assign(problem_.reach_sets.size(), 0);
  for (std::size_t c = 0; c < column_cuts_.size(); ++c) {
    for_each_bit(problem_.reach_sets[c],
                 [&](std::size_t p) { column_cuts_[c] = add_units(column_cuts_[c], column[p]); });
  }
  climb(column, column);
}

void SinkSolver::climb(const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high) {
  network_.add_layer(low, high, problem_.demand[network_.layers() + 1]);
}

// Returns min over t in {0} and {F} of t + total of the amounts at nodes of layer k with a larger F, or less.
std::int64_t SinkSolver::threshold_bound(std::size_t k, const std::int64_t* at) const {
  const SinkLayer& layer = network_.layer(k);
  std::int64_t best = kManyUnits;
  std::int64_t above = 0;
  for (const std::uint32_t p : layer.by_low) {
    best = std::min(best, add_units(layer.low[p], above));
    above = add_units(above, at[p]);
    if (above >= best) return best;  // no later value can be less
  }
  return std::min(best, above);
}

bool SinkSolver::pushed_bound_reaches(std::int64_t upper) {
  here_.assign(row_.begin(), row_.end());
  const std::size_t top = depth() - 1;
  for (std::size_t k = top; k >= 2 && top - k < kDeepestPush; --k) {
    const SinkLayer& layer = network_.layer(k);
    const SinkLayer& lower = network_.layer(k - 1);
    below_.resize(padded(lower.nodes));
    const std::int64_t arrived = push_down({.capacity = layer.capacity.data(),
                                            .nodes = layer.nodes,
                                            .stride = padded(lower.nodes),
                                            .mass = layer.mass.data(),
                                            .widest = layer.widest.data()},
                                           here_.data(), below_.data());
    if (arrived < upper) return false;
    if (threshold_bound(k - 1, below_.data()) >= upper) return true;
    std::swap(here_, below_);
  }
  return false;
}

// Orders the top layer's nodes with supply roughly by descending ratio of supply to what they can deliver, in buckets.
void SinkSolver::order_sources() {
  const SinkLayer& top = network_.layer(depth() - 1);
  constexpr int kBuckets = 64;
  std::uint32_t begin[kBuckets + 1] = {};
  bucket_.resize(top.nodes);
  std::size_t sources = 0;
  for (std::size_t p = 0; p < top.nodes; ++p) {
    if (row_[p] == 0) continue;
    const float ratio = static_cast<float>(row_[p]) / static_cast<float>(top.high[p]);
    const int quarter = static_cast<int>(std::bit_cast<std::uint32_t>(ratio) >> 21) - (127 - 12) * 4;  // of log2
    bucket_[p] = static_cast<std::uint8_t>(kBuckets - 1 - std::clamp(quarter, 0, kBuckets - 1));
    ++begin[bucket_[p] + 1];
    ++sources;
  }
  for (int b = 0; b < kBuckets; ++b) begin[b + 1] += begin[b];
  source_order_.resize(sources);
  for (std::size_t p = 0; p < top.nodes; ++p) {
    if (row_[p] != 0) source_order_[begin[bucket_[p]]++] = static_cast<std::uint32_t>(p);
  }
}

void SinkSolver::place(const std::int64_t* row) {
  const SinkLayer& top = network_.layer(depth() - 1);
  row_.resize(padded(top.nodes));
  for (std::size_t p = 0; p < top.nodes; ++p) row_[p] = row[top.position[p]];
  std::fill(row_.begin() + static_cast<std::ptrdiff_t>(top.nodes), row_.end(), 0);
}

// Sends the amounts in row_ as far as a greedy pass does or, if that is not enough, as far as possible.
SinkSolver::Sent SinkSolver::send(FlowPass& pass, std::size_t position, Choice& straight_first, Effort effort) {
  order_sources();
  pass.supply = row_.data();
  pass.source_order = source_order_.data();
  pass.sources = source_order_.size();
  pass.straight_first = straight_first.best();
  Record& record = straight_first.ways[static_cast<std::size_t>(pass.straight_first)];
  // A recording pass costs about twice as much, but need not be repeated before a search. Sources that needed a search
  // for the last sink mostly need one for this one, too.
  std::vector<bool>& searched = searched_[pass.depth];
  if (searched.size() <= position) searched.resize(position + 1, false);
  const bool recorded = effort == Effort::kAll && searched[position];
  searched[position] = false;
  *pass.pushes = 0;
  const std::int64_t greedy = greedy_flow(pass, recorded);
  const auto work = static_cast<double>(*pass.pushes);
  if (greedy == pass.enough) {
    record.note(true, work);
    if (recorded) clear_flow(pass);
    return {greedy, false};
  }
  if (effort == Effort::kGreedy) {
    record.note(false, work);
    return {greedy, false};
  }
  if (!recorded) {
    [[maybe_unused]] const std::int64_t again = greedy_flow(pass, true);
    assert(again == greedy);
  }
  searched[position] = true;
  const std::int64_t most = augment_flow(pass, greedy);
  record.note(most == greedy, work);
  return {most, true};
}

void SinkSolver::solve(const std::int64_t* row, std::size_t position, SinkValue& value) {
  Choice& straight_first = straight_first_[2 * depth() + (value.high == value.column_cut)];
  const std::int64_t bound = value.high;
  value.high = templates_.upper_bound(depth(), position, row, value.row_cut, value.low, value.high);
  if (value.low == value.high) {
    ++counts_.cuts;
    return;
  }
  const bool by_template = value.high < bound;
  network_.record();
  FlowPass pass = network_.pass(position);
  pass.enough = value.high;
  pass.supply = row_.data();
  const std::int64_t kept = kept_.restore(pass, position);
  const Sent sent = kept > 0 ? Sent{augment_flow(pass, kept), true} : send(pass, position, straight_first);
  value.low = sent.units;
  if (!sent.searched) {
    ++(by_template ? counts_.cuts : counts_.greedy);
    return;
  }
  ++counts_.search;
  if (value.low < pass.enough) {
    templates_.learn(position, pass);
    value.high = value.low;  // the failed search has found the cut
  }
  kept_.keep(pass, position);
  clear_flow(pass);
}

std::int64_t SinkSolver::sent(const std::int64_t* row, std::size_t position, std::int64_t enough,
                              const std::int64_t* sink_arcs, Effort effort) {
  place(row);
  const SinkLayer& bottom = network_.layer(1);
  sink_arcs_.assign(padded(bottom.nodes), 0);
  for (std::size_t p = 0; p < bottom.nodes; ++p) sink_arcs_[p] = sink_arcs[bottom.position[p]];
  if (effort == Effort::kAll) network_.record();
  FlowPass pass = network_.pass(position);
  pass.sink_capacity = sink_arcs_.data();
  pass.enough = enough;
  const Sent sent = send(pass, position, straight_first_[2 * depth()], effort);
  if (sent.searched) clear_flow(pass);
  if (sent.units == enough) ++(sent.searched ? counts_.search : counts_.greedy);
  return sent.units;
}

SinkValue SinkSolver::bounds(const std::int64_t* row, std::uint32_t reach_class) {
  const SinkLayer& top = network_.layer(depth() - 1);
  SinkValue result{.column_cut = column_cuts_[reach_class]};
  place(row);
  result.row_cut = sum_of_minima(row_.data(), row_.data(), row_.size(), 0);
  const std::int64_t through = sum_of_minima(row_.data(), top.high.data(), row_.size(), 0);
  result.high = std::min(through, result.column_cut);
  result.low = result.high;
  // One layer below are single arcs, which nothing else uses: the sum is exact.
  if (result.high == 0 || depth() == 2) return result;
  result.low = std::min(result.high, threshold_bound(depth() - 1, row_.data()));
  return result;
}

SinkValue SinkSolver::value(const std::int64_t* row, std::uint32_t reach_class, std::size_t position,
                            std::int64_t at_most) {
  SinkValue result = bounds(row, reach_class);
  result.high = std::min(result.high, at_most);
  if (result.high == 0 || depth() == 2) return result;
  if (result.low == result.high) {
    ++counts_.bounds;
    return result;
  }
  Record& pushing = pushing_[depth()];
  // At depth 3 there is only one layer to push through, for a weaker bound than the greedy pass's at the same cost.
  if (depth() > 3 && result.row_cut < kManyUnits && pushing.worth_trying()) {
    const bool reached = pushed_bound_reaches(result.high);
    pushing.note(reached);
    if (reached) {
      ++counts_.pushed;
      result.low = result.high;
      return result;
    }
  }
  solve(row, position, result);
  return result;
}

}  // namespace attnflow::internal
