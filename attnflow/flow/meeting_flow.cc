#include "attnflow/flow/meeting_flow.h"

#include <algorithm>
#include <numeric>

#include "attnflow/flow/flow_bounds.h"

namespace attnflow::internal {
namespace {

// Less than 1, by more than the relative error of a sum of 2^20 doubles.
constexpr double kRoundedDown = 1.0 - 0x1p-32;

// Each pass mostly leaves a third of the previous remainder, or nothing.
constexpr std::size_t kPasses = 6;

}  // namespace

void MeetingFlow::start(std::size_t input, std::size_t own) {
  const ArcBlock& lowest = layer(1);
  own_ = own;
  level_ = 1;
  passed_.assign(lowest.above(), 0);
  for (std::size_t p = own; p < passed_.size(); ++p) passed_[p] = lowest(p, input);
  chain_ = passed_[own];
  passed_[own] = 0;
}

void MeetingFlow::climb() {
  const ArcBlock& arcs = layer(level_ + 1);
  const std::size_t nodes = passed_.size();
  std::vector<double>& demand = demand_[level_];
  if (demand.empty()) demand = sums_of_columns(arcs);
  const std::int64_t* column = columns_.into(level_ + 1, own_);
  const std::int64_t chain = std::min(chain_, column[own_]);
  passed_[own_] += chain_ - chain;
  chain_ = chain;
  // Summed again rather than subtracted from a rounded sum.
  auto into_own = static_cast<double>(column[own_] - chain);
  for (std::size_t p = own_ + 1; p < nodes; ++p) into_own += static_cast<double>(column[p]);
  part_.resize(nodes);
  for (std::size_t q = own_; q < nodes; ++q) {
    const double into = q == own_ ? into_own : demand[q];
    const auto has = static_cast<double>(passed_[q]);
    part_[q] = has < into ? has / into * kRoundedDown : kRoundedDown;
  }
  passed_[own_] = static_cast<std::int64_t>(static_cast<double>(column[own_] - chain) * part_[own_]);
  for (std::size_t p = own_ + 1; p < nodes; ++p) {
    passed_[p] = sum_of_parts(arcs.row(p).data() + own_, part_.data() + own_, p + 1 - own_);
  }
  ++level_;
}

std::int64_t MeetingFlow::value(std::size_t k, const std::vector<std::int64_t>& held, std::int64_t enough) {
  while (level_ + 1 < k) climb();
  const std::size_t nodes = passed_.size();
  order_.resize(nodes - own_ - 1);
  std::iota(order_.begin(), order_.end(), static_cast<std::uint32_t>(own_ + 1));
  std::int64_t most = 0;
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    const std::int64_t arrived = meet(layer(k), held, enough);
    if (arrived >= enough) return arrived;
    if (arrived <= most) break;
    most = arrived;
    std::stable_partition(order_.begin(), order_.end(), [this](std::uint32_t p) { return short_[p]; });
  }
  return most;
}

std::int64_t MeetingFlow::meet(const ArcBlock& arcs, const std::vector<std::int64_t>& held, std::int64_t enough) {
  const std::size_t nodes = passed_.size();
  short_.assign(nodes, false);
  left_ = passed_;
  left_[own_] += chain_;
  std::int64_t arrived = std::min({held[own_], arcs(own_, own_), left_[own_], enough});
  left_[own_] -= arrived;
  for (const std::uint32_t p : order_) {
    const std::int64_t wanted = std::min(held[p], enough - arrived);
    if (wanted <= 0) continue;
    const std::int64_t taken = take_parts(arcs.row(p).data() + own_, p + 1 - own_, wanted, left_.data() + own_);
    arrived += taken;
    short_[p] = taken < wanted;
  }
  return arrived;
}

}  // namespace attnflow::internal
