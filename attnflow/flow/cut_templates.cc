#include "attnflow/flow/cut_templates.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "attnflow/flow/flow_bounds.h"
#include "attnflow/flow/layered_network.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kFewMembers = 8;  // a layer with more nodes on the source side is the free layer
constexpr std::size_t kMaxUpperHalves = 16;
constexpr std::size_t kMaxLowerHalves = 8;
constexpr std::int64_t kNear = 8;  // members this close to the source are treated as neighbors

template <class T>
void bring_forward(std::vector<T>& list, std::size_t t) {
  if (t > 0)
    std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(t),
                list.begin() + static_cast<std::ptrdiff_t>(t) + 1);
}

template <class T>
void remember(std::vector<T>& list, T item, std::size_t most) {
  list.insert(list.begin(), std::move(item));
  if (list.size() > most) list.pop_back();
}

}  // namespace

CutTemplates::CutTemplates(const std::vector<const Tensor<std::int64_t>*>& blocks, const SinkNetwork& network)
    : blocks_(blocks), network_(network), upper_(blocks.size() + 1), lower_(blocks.size() + 1) {
  bool down = true;
  bool up = true;
  for (std::size_t k = 1; k < blocks.size() && (down || up); ++k) {
    const Tensor<std::int64_t>& block = *blocks[k];
    for (std::size_t p = 0; p < block.extent(0); ++p) {
      const std::int64_t* row = block.data() + p * block.extent(1);
      const std::int64_t* end = row + block.extent(1);
      const std::int64_t* own = std::min(row + p, end);
      const auto is_arc = [](std::int64_t arc) { return arc != 0; };
      down = down && (own == end || std::none_of(own + 1, end, is_arc));
      up = up && std::none_of(row, own, is_arc);
    }
  }
  if (down) direction_ = Direction::kDown;
  if (up && !down) direction_ = Direction::kUp;
}

std::size_t CutTemplates::reach(std::size_t depth, const std::int64_t* row) const {
  if (direction_ == Direction::kAny) return 0;
  const std::size_t positions = blocks_[depth - 1]->extent(1);
  std::size_t t = 0;
  if (direction_ == Direction::kUp) {
    while (t + 1 < positions && row[t] == 0) ++t;
    return t;
  }
  for (t = positions - 1; t > 0 && row[t] == 0;) --t;
  return t;
}

void CutTemplates::start_sink(const std::vector<std::int64_t>& column) {
  for (auto& halves : lower_) halves.clear();
  lower_[1].push_back({.sink_side = {}, .price = {0}, .room = column});
}

// Leaves `a` in arcs_ (or nothing if the free layer is the top one: then a is the row). Saturates at limit + 1.
std::int64_t CutTemplates::upper_price(const UpperHalf& half, std::size_t depth, std::size_t position,
                                       const std::int64_t* row, std::int64_t row_cut, std::int64_t limit) {
  if (half.free_layer + 1 == depth) return 0;
  std::int64_t price = 0;
  for (std::size_t k = depth - 1; k > half.free_layer; --k) {
    const SinkLayer& layer = network_.layer(k);
    next_side_.clear();
    for (const Member& member : half.members[k - half.free_layer - 1]) {
      const std::int64_t at = member.relative ? static_cast<std::int64_t>(position) + member.where : member.where;
      if (at < 0 || at >= static_cast<std::int64_t>(layer.node_at.size())) continue;
      const std::uint32_t node = layer.node_at[static_cast<std::size_t>(at)];
      if (node == kNoNode || std::find(next_side_.begin(), next_side_.end(), node) != next_side_.end()) continue;
      next_side_.push_back(node);
    }
    if (k == depth - 1) {
      std::int64_t cut = row_cut;
      if (cut >= kManyUnits) return limit + 1;
      for (const std::uint32_t q : next_side_) cut -= row[layer.position[q]];
      price = add_units(price, cut);
    } else {
      const SinkLayer& above = network_.layer(k + 1);
      for (const std::uint32_t p : side_) {
        std::int64_t cut = above.mass[p];
        if (cut >= kManyUnits) return limit + 1;
        const std::int64_t* arcs = above.capacity.data() + p * padded(layer.nodes);
        for (const std::uint32_t q : next_side_) cut -= arcs[q];
        price = add_units(price, cut);
      }
    }
    if (price > limit) return limit + 1;
    std::swap(side_, next_side_);
  }
  const Tensor<std::int64_t>& block = *blocks_[half.free_layer];
  arcs_.assign(block.extent(1), 0);
  const SinkLayer& above = network_.layer(half.free_layer + 1);
  for (const std::uint32_t p : side_)
    add_row(block.data() + above.position[p] * block.extent(1), arcs_.size(), arcs_.data());
  return price;
}

std::int64_t CutTemplates::upper_bound(std::size_t depth, std::size_t position, const std::int64_t* row,
                                       std::int64_t row_cut, std::int64_t flow, std::int64_t upper) {
  std::vector<UpperHalf>& uppers = upper_[depth];
  if (uppers.empty()) return upper;
  const std::size_t t = reach(depth, row);
  std::int64_t best = upper;
  std::size_t best_upper = 0;
  std::size_t best_lower = 0;
  for (std::size_t u = 0; u < uppers.size() && best > flow; ++u) {
    const std::size_t free_layer = uppers[u].free_layer;
    const std::vector<LowerHalf>& lowers = lower_[free_layer];
    if (lowers.empty()) continue;
    const std::int64_t price = upper_price(uppers[u], depth, position, row, row_cut, best - 1);
    if (price >= best) continue;
    const std::int64_t* a = free_layer + 1 == depth ? row : arcs_.data();
    for (std::size_t h = 0; h < lowers.size() && best > flow; ++h) {
      const std::int64_t start = add_units(price, lowers[h].price_of(t));
      if (start >= best) continue;
      const std::int64_t sum = sum_of_minima(a, lowers[h].room.data(), lowers[h].room.size(), start);
      if (sum >= best) continue;
      best = sum;
      best_upper = u;
      best_lower = h;
    }
  }
  if (best < upper) {
    bring_forward(lower_[uppers[best_upper].free_layer], best_lower);
    bring_forward(uppers, best_upper);
  }
  return best;
}

void CutTemplates::learn(std::size_t position, const FlowPass& pass) {
  const auto on_source_side = [&pass](std::size_t k, std::size_t p) { return pass.layers[k].distance[p] >= 0; };
  const std::size_t top = pass.depth - 1;
  std::size_t free_layer = 1;
  for (std::size_t k = top; k >= 1; --k) {
    std::size_t members = 0;
    for (std::size_t p = 0; p < pass.layers[k].nodes; ++p) members += on_source_side(k, p);
    if (members > kFewMembers) {
      free_layer = k;
      break;
    }
  }
  UpperHalf upper;
  upper.free_layer = free_layer;
  for (std::size_t k = free_layer + 1; k <= top; ++k) {
    std::vector<Member> members;
    for (std::size_t p = 0; p < pass.layers[k].nodes; ++p) {
      if (!on_source_side(k, p)) continue;
      const auto at = static_cast<std::int64_t>(network_.layer(k).position[p]);
      const std::int64_t offset = at - static_cast<std::int64_t>(position);
      const bool relative = std::abs(offset) <= kNear;
      members.push_back({static_cast<std::int32_t>(relative ? offset : at), relative});
    }
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return a.relative != b.relative ? a.relative : a.where < b.where;
    });
    upper.members.push_back(std::move(members));
  }
  std::vector<UpperHalf>& uppers = upper_[pass.depth];
  if (std::find(uppers.begin(), uppers.end(), upper) == uppers.end()) {
    remember(uppers, std::move(upper), kMaxUpperHalves);
  }
  if (free_layer == 1) return;  // the lower half is the sink's column, known from the start

  LowerHalf lower;
  lower.sink_side.resize(free_layer - 1);
  for (std::size_t k = 1; k < free_layer; ++k) {
    for (std::size_t p = 0; p < pass.layers[k].nodes; ++p) {
      if (!on_source_side(k, p)) lower.sink_side[k - 1].push_back(static_cast<std::uint32_t>(p));
    }
  }
  for (const LowerHalf& known : lower_[free_layer]) {
    if (known.sink_side == lower.sink_side) return;
  }
  std::size_t positions = 1;
  if (direction_ != Direction::kAny) {
    for (std::size_t k = 1; k < pass.depth; ++k) positions = std::max(positions, network_.layer(k).node_at.size());
  }
  lower.price.assign(positions, 0);
  for (std::size_t k = 1; k < free_layer; ++k) {
    for (std::size_t p = 0; p < pass.layers[k].nodes; ++p) {
      if (!on_source_side(k, p)) continue;
      std::int64_t& price = lower.price[direction_ == Direction::kAny ? 0 : network_.layer(k).position[p]];
      if (k == 1) {
        price = add_units(price, pass.sink_capacity[p]);
      } else {
        const std::int64_t* arcs = pass.layers[k].capacity + p * pass.layers[k].stride;
        for (const std::uint32_t q : lower.sink_side[k - 2]) price = add_units(price, arcs[q]);
      }
    }
  }
  if (direction_ == Direction::kUp) {
    std::partial_sum(lower.price.rbegin(), lower.price.rend(), lower.price.rbegin(), add_units);
  } else {
    std::partial_sum(lower.price.begin(), lower.price.end(), lower.price.begin(), add_units);
  }
  const SinkLayer& layer = network_.layer(free_layer);
  lower.room.assign(layer.node_at.size(), 0);
  for (std::size_t p = 0; p < layer.nodes; ++p) {
    const std::int64_t* arcs = pass.layers[free_layer].capacity + p * pass.layers[free_layer].stride;
    std::int64_t room = 0;
    for (const std::uint32_t q : lower.sink_side[free_layer - 2]) room = add_units(room, arcs[q]);
    lower.room[layer.position[p]] = std::min(room, kManyUnits / 2);
  }
  remember(lower_[free_layer], std::move(lower), kMaxLowerHalves);
}

}  // namespace attnflow::internal
