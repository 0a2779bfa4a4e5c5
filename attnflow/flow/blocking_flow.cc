#include "attnflow/flow/blocking_flow.h"

#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnflow/flow/blocking_flow.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Compiled once for each kind of processor, so it uses no standard templates: their instances would be shared.
HWY_BEFORE_NAMESPACE();
namespace attnflow::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Units = hn::CappedTag<std::int64_t, kBlock>;
using Bits = std::uint32_t;  // one bit per node of a block

HWY_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

HWY_INLINE Bits greater(const std::int64_t* a, const std::int64_t* b) {
  const Units d;
  Bits bits = 0;
  for (std::size_t e = 0; e < kBlock; e += hn::Lanes(d)) {
    std::uint8_t part[8] = {};
    hn::StoreMaskBits(d, hn::Gt(hn::LoadU(d, a + e), hn::LoadU(d, b + e)), part);
    bits |= static_cast<Bits>(part[0]) << e;
  }
  return bits;
}

HWY_INLINE Bits equal(const std::int64_t* a, std::int64_t value) {
  const Units d;
  const auto values = hn::Set(d, value);
  Bits bits = 0;
  for (std::size_t e = 0; e < kBlock; e += hn::Lanes(d)) {
    std::uint8_t part[8] = {};
    hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, a + e), values), part);
    bits |= static_cast<Bits>(part[0]) << e;
  }
  return bits;
}

HWY_INLINE bool all_zero(const std::int64_t* block) {
  std::int64_t any = 0;
  for (std::size_t e = 0; e < kBlock; ++e) any |= block[e];
  return any == 0;
}

// Returns the first set bit at or after `bit`, or `bits` if there is none.
HWY_INLINE std::size_t next_bit(const std::uint64_t* words, std::size_t bit, std::size_t bits) {
  if (bit >= bits) return bits;
  std::size_t w = bit / 64;
  std::uint64_t word = words[w] & (~std::uint64_t{0} << (bit % 64));
  while (word == 0) {
    if (++w >= (bits + 63) / 64) return bits;
    word = words[w];
  }
  return w * 64 + static_cast<std::size_t>(std::countr_zero(word));
}

HWY_INLINE void clear_bit(std::uint64_t* words, std::size_t bit) {
  words[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
}

// Returns the first live node at or after q, halving paths on the way.
HWY_INLINE std::uint32_t alive(std::uint32_t* next, std::uint32_t q) {
  while (next[q] != q) {
    next[q] = next[next[q]];
    q = next[q];
  }
  return q;
}

// Sends up to `amount` from node p of layer 2 to layer 1, and returns the amount sent.
template <bool kRecord>
std::int64_t push_to_layer_1(const FlowPass& pass, std::size_t p, std::int64_t amount) {
  const FlowLayer& layer = pass.layers[2];
  const std::int64_t* capacity = layer.capacity + p * layer.stride;
  std::int64_t* sink_left = pass.sink_left;
  const std::size_t blocks = layer.stride / kBlock;
  std::int64_t left = amount;

  // Handles arcs [begin, end) one at a time; `first` is the remainder of the first one.
  const auto push_singly = [&](std::size_t begin, std::size_t end, std::int64_t first) {
    for (std::size_t q = begin; q < end; ++q) {
      const std::int64_t arc = q == begin ? first : capacity[q];
      const std::int64_t x = smaller(smaller(arc, sink_left[q]), left);
      left -= x;
      sink_left[q] -= x;
      if (kRecord && x > 0) record_flow(pass, 2, p, q, x);
      if (left == 0) {
        layer.cursor[p] = static_cast<std::uint32_t>(q);
        layer.cursor_left[p] = arc - x;
        break;
      }
    }
    // The next vector that reads the block checks whether it is empty now: checking here would wait for these stores.
  };

  const std::size_t cursor = layer.cursor[p];
  std::size_t block = next_bit(pass.live_blocks, cursor / kBlock, blocks);
  if (cursor % kBlock != 0 || layer.cursor_left[p] >= 0) {
    if (block == cursor / kBlock && block < blocks) {
      push_singly(cursor, (block + 1) * kBlock, layer.cursor_left[p] >= 0 ? layer.cursor_left[p] : capacity[cursor]);
      if (left == 0) return amount;
      block = next_bit(pass.live_blocks, block + 1, blocks);
    }
  }
  const Units d;
  while (block < blocks) {
    const std::size_t q = block * kBlock;
    auto sum = hn::Zero(d);
    for (std::size_t e = 0; e < kBlock; e += hn::Lanes(d)) {
      sum = hn::Add(sum, hn::Min(hn::LoadU(d, capacity + q + e), hn::LoadU(d, sink_left + q + e)));
    }
    const std::int64_t total = hn::GetLane(hn::SumOfLanes(d, sum));
    if (total >= left) {
      push_singly(q, q + kBlock, capacity[q]);
      return amount;
    }
    left -= total;
    auto rest = hn::Zero(d);
    for (std::size_t e = 0; e < kBlock; e += hn::Lanes(d)) {
      const auto room = hn::LoadU(d, sink_left + q + e);
      const auto x = hn::Min(hn::LoadU(d, capacity + q + e), room);
      const auto after = hn::Sub(room, x);
      hn::StoreU(after, d, sink_left + q + e);
      rest = hn::Or(rest, after);
      if (kRecord) {
        std::int64_t* flow = layer.flow + p * layer.stride + q + e;
        hn::StoreU(hn::Add(hn::LoadU(d, flow), x), d, flow);
      }
    }
    if (kRecord) {
      const FlowLayer& below = pass.layers[1];
      alignas(64) const std::int64_t none[kBlock] = {};
      for (Bits sent = greater(layer.flow + p * layer.stride + q, none); sent != 0; sent &= sent - 1) {
        set_bit(below.inflow + (q + static_cast<std::size_t>(std::countr_zero(sent))) * below.inflow_words, p);
      }
    }
    if (hn::AllTrue(d, hn::Eq(rest, hn::Zero(d)))) clear_bit(pass.live_blocks, block);
    block = next_bit(pass.live_blocks, block + 1, blocks);
  }
  layer.cursor[p] = static_cast<std::uint32_t>(layer.stride);
  layer.cursor_left[p] = -1;
  layer.next_alive[p] = static_cast<std::uint32_t>(p + 1);
  return amount - left;
}

template <bool kRecord>
std::int64_t push(const FlowPass& pass, std::size_t k, std::uint32_t p, std::int64_t amount);

template <bool kRecord>
HWY_INLINE std::int64_t push_below(const FlowPass& pass, std::size_t k, std::uint32_t p, std::int64_t amount) {
  ++*pass.pushes;
  return k == 3 ? push_to_layer_1<kRecord>(pass, p, amount) : push<kRecord>(pass, k - 1, p, amount);
}

template <bool kRecord>
std::int64_t push(const FlowPass& pass, std::size_t k, std::uint32_t p, std::int64_t amount) {
  const FlowLayer& layer = pass.layers[k];
  const FlowLayer& below = pass.layers[k - 1];
  const std::int64_t* capacity = layer.capacity + p * layer.stride;
  const std::uint32_t straight = layer.straight[p];
  std::int64_t sent = 0;

  if (straight != kNoNode && (pass.straight_first == StraightFirst::kAll ||
                              (pass.straight_first == StraightFirst::kSource && p == pass.own[k]))) {
    if (layer.straight_left[p] < 0) layer.straight_left[p] = capacity[straight];
    const std::int64_t wanted = smaller(amount, layer.straight_left[p]);
    if (wanted > 0 && below.next_alive[straight] == straight) {
      const std::int64_t x = push_below<kRecord>(pass, k, straight, wanted);
      if (x > 0) {
        if (kRecord) record_flow(pass, k, p, straight, x);
        sent += x;
        layer.straight_left[p] -= x;
      }
    }
  }
  // Calls for lower layers don't change this node's state, so it can stay in registers.
  std::uint32_t cursor = layer.cursor[p];
  std::int64_t cursor_left = layer.cursor_left[p];
  while (sent < amount) {
    const std::uint32_t q = alive(below.next_alive, cursor);
    if (q != cursor) {
      cursor = q;
      cursor_left = -1;
    }
    if (q >= below.nodes) {
      layer.next_alive[p] = p + 1;
      break;
    }
    if (q == straight && layer.straight_left[p] >= 0) {
      cursor_left = layer.straight_left[p];
    } else if (cursor_left < 0) {
      cursor_left = capacity[q];
    }
    // The next node's row is probably needed next, and not in the cache if rows are long.
    if (k == 3 && q + 1 < below.nodes) hwy::Prefetch(below.capacity + (q + 1) * below.stride + below.cursor[q + 1]);
    const std::int64_t wanted = smaller(amount - sent, cursor_left);
    const std::int64_t x = wanted > 0 ? push_below<kRecord>(pass, k, q, wanted) : 0;
    if (kRecord && x > 0) record_flow(pass, k, p, q, x);
    sent += x;
    cursor_left -= x;
    if (q == straight) layer.straight_left[p] = cursor_left;
    if (cursor_left == 0) {
      cursor = q + 1;
      cursor_left = -1;
    }
  }
  layer.cursor[p] = cursor;
  layer.cursor_left[p] = cursor_left;
  return sent;
}

template <bool kRecord>
std::int64_t greedy(const FlowPass& pass) {
  const std::size_t top = pass.depth - 1;
  for (std::size_t k = 1; k <= top; ++k) {
    const FlowLayer& layer = pass.layers[k];
    if (k >= 2) {
      for (std::size_t p = 0; p < layer.nodes; ++p) layer.cursor[p] = 0;
      for (std::size_t p = 0; p < layer.nodes; ++p) layer.cursor_left[p] = -1;
      for (std::size_t p = 0; p < layer.nodes; ++p) layer.straight_left[p] = -1;
      for (std::size_t p = 0; p <= layer.nodes; ++p) layer.next_alive[p] = static_cast<std::uint32_t>(p);
    }
  }
  const std::size_t blocks = padded(pass.layers[1].nodes) / kBlock;
  for (std::size_t w = 0; w < bit_words(blocks); ++w) pass.live_blocks[w] = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t e = 0; e < kBlock; ++e) pass.sink_left[b * kBlock + e] = pass.sink_capacity[b * kBlock + e];
    if (!all_zero(pass.sink_left + b * kBlock)) set_bit(pass.live_blocks, b);
  }
  if (kRecord) {
    for (std::size_t p = 0; p < padded(pass.layers[top].nodes); ++p) pass.supply_left[p] = pass.supply[p];
  }
  std::int64_t total = 0;
  for (std::size_t o = 0; o < pass.sources && total < pass.enough; ++o) {
    const std::uint32_t p = pass.source_order[o];
    const std::int64_t x = push_below<kRecord>(pass, top + 1, p, smaller(pass.supply[p], pass.enough - total));
    if (kRecord) pass.supply_left[p] -= x;
    total += x;
  }
  return total;
}

class Augmenter {
 public:
  explicit Augmenter(const FlowPass& pass) : pass_(pass), layers_(pass.layers), top_(pass.depth - 1) {}

  std::int64_t run(std::int64_t total) {
    while (total < pass_.enough && search()) total = block(total);
    return total;
  }

 private:
  void reach(std::size_t k, std::size_t p, std::int64_t distance) {
    layers_[k].distance[p] = distance;
    clear_bit(layers_[k].unreached, p);
    pass_.queue[queued_++] = static_cast<std::uint64_t>(k) << 32 | p;
  }

  // Breadth-first search over residual arcs; false if it missed the sink. Nodes beyond the sink get no distance.
  bool search() {
    for (std::size_t k = 1; k <= top_; ++k) {
      const FlowLayer& layer = layers_[k];
      for (std::size_t p = 0; p < padded(layer.nodes); ++p) layer.distance[p] = -1;
      for (std::size_t p = 0; p < layer.nodes; ++p) layer.arc[p] = 0;
      for (std::size_t w = 0; w < bit_words(layer.nodes); ++w) layer.unreached[w] = ~std::uint64_t{0};
      if (layer.nodes % 64 != 0) layer.unreached[layer.nodes / 64] = (std::uint64_t{1} << (layer.nodes % 64)) - 1;
    }
    sink_distance_ = -1;
    queued_ = 0;
    for (std::size_t p = 0; p < layers_[top_].nodes; ++p) {
      if (pass_.supply_left[p] > 0) reach(top_, p, 1);
    }
    for (std::size_t head = 0; head < queued_; ++head) {
      const std::size_t k = pass_.queue[head] >> 32;
      const std::size_t p = pass_.queue[head] & 0xffffffff;
      const FlowLayer& layer = layers_[k];
      const std::int64_t next = layer.distance[p] + 1;
      if (sink_distance_ >= 0 && next > sink_distance_) break;
      if (k == 1) {
        if (pass_.sink_left[p] > 0) sink_distance_ = next;
      } else {
        const FlowLayer& below = layers_[k - 1];
        for (std::size_t w = 0; w < bit_words(below.nodes); ++w) {
          std::uint64_t word = below.unreached[w];
          while (word != 0) {
            const std::size_t byte = static_cast<std::size_t>(std::countr_zero(word)) / 8;
            const std::size_t q = w * 64 + byte * 8;
            const std::size_t at = p * layer.stride + q;
            Bits open = greater(layer.capacity + at, layer.flow + at) & static_cast<Bits>(word >> (byte * 8) & 0xff);
            for (; open != 0; open &= open - 1) {
              reach(k - 1, q + static_cast<std::size_t>(std::countr_zero(open)), next);
            }
            word &= ~(std::uint64_t{0xff} << (byte * 8));
          }
        }
      }
      if (k < top_) {
        const FlowLayer& above = layers_[k + 1];
        for (std::size_t w = 0; w < layer.inflow_words; ++w) {
          std::uint64_t word = layer.inflow[p * layer.inflow_words + w] & above.unreached[w];
          for (; word != 0; word &= word - 1) {
            const std::size_t r = w * 64 + static_cast<std::size_t>(std::countr_zero(word));
            if (above.flow[r * above.stride + p] > 0) reach(k + 1, r, next);
          }
        }
      }
    }
    return sink_distance_ >= 0;
  }

  // Moves a node's current arc to the next one with residual capacity that leads one step farther from the source.
  bool advance(std::size_t k, std::size_t p, FlowStep& step, std::size_t& next_layer, std::size_t& next_node) {
    const FlowLayer& layer = layers_[k];
    const std::int64_t wanted = layer.distance[p] + 1;
    std::uint32_t& arc = layer.arc[p];
    std::size_t forward_arcs = 1;
    const auto take = [&](std::int64_t* flow, std::int64_t room, bool forward, std::size_t start_layer,
                          std::size_t to) {
      step = {static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(p), flow, room, forward};
      next_layer = start_layer;
      next_node = to;
      return true;
    };
    if (k == 1) {
      if (arc == 0) {
        // The sink's arcs are stored as their remainders: taking from them is like going back.
        if (pass_.sink_left[p] > 0 && sink_distance_ == wanted) {
          return take(pass_.sink_left + p, pass_.sink_left[p], false, 0, 0);
        }
        arc = 1;
      }
    } else {
      forward_arcs = layer.stride;
      const std::int64_t* capacity = layer.capacity + p * layer.stride;
      std::int64_t* flow = layer.flow + p * layer.stride;
      const std::int64_t* distance = layers_[k - 1].distance;
      while (arc < forward_arcs) {
        const std::size_t q = arc / kBlock * kBlock;
        Bits open = equal(distance + q, wanted);
        if (open != 0) open &= greater(capacity + q, flow + q) & (0xffu << (arc % kBlock));
        if (open != 0) {
          arc = static_cast<std::uint32_t>(q) + static_cast<std::uint32_t>(std::countr_zero(open));
          return take(flow + arc, capacity[arc] - flow[arc], true, k - 1, arc);
        }
        arc = static_cast<std::uint32_t>(q + kBlock);
      }
    }
    if (k < top_) {
      const FlowLayer& above = layers_[k + 1];
      const std::uint64_t* senders = layer.inflow + p * layer.inflow_words;
      std::size_t r = next_bit(senders, arc - forward_arcs, above.nodes);
      for (; r < above.nodes; r = next_bit(senders, r + 1, above.nodes)) {
        std::int64_t* flow = above.flow + r * above.stride + p;
        if (above.distance[r] == wanted && *flow > 0) {
          arc = static_cast<std::uint32_t>(forward_arcs + r);
          return take(flow, *flow, false, k + 1, r);
        }
      }
      arc = static_cast<std::uint32_t>(forward_arcs + r);
    }
    return false;
  }

  std::int64_t block(std::int64_t total) {
    for (std::size_t p = 0; p < layers_[top_].nodes; ++p) {
      if (pass_.supply_left[p] <= 0 || layers_[top_].distance[p] != 1) continue;
      std::size_t length = 0;
      pass_.path[length++] = {static_cast<std::uint32_t>(pass_.depth), 0, pass_.supply_left + p, pass_.supply_left[p],
                              false};
      std::size_t k = top_;
      std::size_t node = p;
      while (length > 0) {
        if (k == 0) {
          std::int64_t units = pass_.enough - total;
          for (std::size_t s = 0; s < length; ++s) units = smaller(units, pass_.path[s].room);
          std::size_t first_full = length;
          for (std::size_t s = length; s-- > 0;) {
            FlowStep& step = pass_.path[s];
            if (step.forward) {
              const FlowLayer& below = layers_[step.layer - 1];
              const std::size_t to = static_cast<std::size_t>(
                  step.flow - (layers_[step.layer].flow + step.node * layers_[step.layer].stride));
              set_bit(below.inflow + to * below.inflow_words, step.node);
              *step.flow += units;
            } else {
              *step.flow -= units;
            }
            step.room -= units;
            if (step.room == 0) first_full = s;
          }
          total += units;
          if (total >= pass_.enough) return total;
          // first_full < length: some arc is full, or enough was reached.
          k = pass_.path[first_full].layer;
          node = pass_.path[first_full].node;
          length = first_full;
          continue;
        }
        FlowStep step{};
        std::size_t next_layer = 0;
        std::size_t next_node = 0;
        if (advance(k, node, step, next_layer, next_node)) {
          pass_.path[length++] = step;
          k = next_layer;
          node = next_node;
          continue;
        }
        // A dead end: nothing can pass here in this phase, so undo the step that led here and never take it again.
        layers_[k].distance[node] = -2;
        --length;
        k = pass_.path[length].layer;
        node = pass_.path[length].node;
      }
    }
    return total;
  }

  const FlowPass& pass_;
  FlowLayer* layers_;
  std::size_t top_;
  std::size_t queued_ = 0;
  std::int64_t sink_distance_ = -1;
};

std::int64_t greedy_pass(const FlowPass& pass, bool record) {
  return record ? greedy<true>(pass) : greedy<false>(pass);
}

std::int64_t augment(const FlowPass& pass, std::int64_t total) { return Augmenter(pass).run(total); }

}  // namespace HWY_NAMESPACE
}  // namespace attnflow::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnflow::internal {

HWY_EXPORT(greedy_pass);
HWY_EXPORT(augment);

std::int64_t greedy_flow(const FlowPass& pass, bool record) { return HWY_DYNAMIC_DISPATCH(greedy_pass)(pass, record); }

std::int64_t augment_flow(const FlowPass& pass, std::int64_t flow) { return HWY_DYNAMIC_DISPATCH(augment)(pass, flow); }

void clear_flow(const FlowPass& pass) {
  for (std::size_t k = 2; k < pass.depth; ++k) {
    for_each_recorded(pass, k, [](std::size_t, std::size_t, std::int64_t& units) { units = 0; });
  }
  for (std::size_t k = 1; k + 1 < pass.depth; ++k) {
    const FlowLayer& layer = pass.layers[k];
    std::memset(layer.inflow, 0, layer.nodes * layer.inflow_words * sizeof(std::uint64_t));
  }
}

}  // namespace attnflow::internal
#endif  // HWY_ONCE
