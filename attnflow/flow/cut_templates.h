// Reuses cuts found for some pairs to bound the flow of others.
//
// Minimum cuts of attention graphs have few shapes. From the top down, the source side of most of them is, in each
// layer, the source's own position and a few more (hubs that all tokens attend to, or neighbors); then, in one layer,
// some set that differs between pairs; then all nodes except a few near the sink. So a cut found by a failed search is
// stored as two halves around that *free* layer m:
//
//   * upper half: the few nodes S_k of each layer k > m, as positions or as offsets from the source's position;
//   * lower half: the nodes R_k on the sink's side of each layer k < m. For one sink, its price is the capacity of the
//     arcs it cuts below layer m - 1, and a vector b: b[j] is the capacity of the arcs from node j of layer m into
//     R_(m-1).
//
// Any upper half with any lower half of the same free layer is a cut for any pair, once each node j of the free layer
// is put on the cheaper side:  price(upper) + price(lower) + sum_j min(a[j], b[j]),  where a[j] is the capacity of the
// arcs from S_(m+1) into j. If that equals a known flow, the flow is proven maximum without a search.
//
// In causal networks, a source whose arcs end at position t reaches no node beyond t (upside down: before it). For this
// source these nodes can be on the sink's side wherever the cut had them, which saves their cost. So a lower half has a
// price for each t. Sources that reach the most nodes should come first: their cuts are valid for those that reach
// fewer.
//
// O(n) per combination. Lower halves are discarded with their sink; upper halves are kept. Trying a template never
// changes a value, only how it is proven.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/flow/sink_network.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

class CutTemplates {
 public:
  CutTemplates(const std::vector<const Tensor<std::int64_t>*>& blocks, const SinkNetwork& network);

  // Begins a new sink; `column` holds its arcs from the nodes of layer 1.
  void start_sink(const std::vector<std::int64_t>& column);

  // Returns the lowest price of a known template for the source at `position`, at most `upper`. `row` holds its arcs by
  // position of layer depth - 1, and `row_cut` the sum of those to nodes that reach the sink. Stops once a price is as
  // low as `flow`, the value of a known flow.
  std::int64_t upper_bound(std::size_t depth, std::size_t position, const std::int64_t* row, std::int64_t row_cut,
                           std::int64_t flow, std::int64_t upper);

  // Learns from the source side of the cut that a search left in `pass`.
  void learn(std::size_t position, const FlowPass& pass);

 private:
  struct Member {
    std::int32_t where;  // a position, or an offset from the source's position
    bool relative;
    friend bool operator==(const Member&, const Member&) = default;
  };
  struct UpperHalf {
    std::size_t free_layer = 0;
    std::vector<std::vector<Member>> members;  // members[t]: in layer free_layer + 1 + t
    friend bool operator==(const UpperHalf&, const UpperHalf&) = default;
  };
  struct LowerHalf {
    std::vector<std::vector<std::uint32_t>> sink_side;  // R_k by node, k = 1 ... free layer - 1
    std::vector<std::int64_t> price;                    // by t, or a single number
    std::int64_t price_of(std::size_t t) const { return price[std::min(t, price.size() - 1)]; }
    std::vector<std::int64_t> room;  // b, by position in the free layer
  };

  // Where arcs lead: anywhere, or to the same or lower, or higher, positions. Arcs into the sink don't count.
  enum class Direction : std::uint8_t { kAny, kDown, kUp };

  // A source's t, as an index into prices.
  std::size_t reach(std::size_t depth, const std::int64_t* row) const;
  std::int64_t upper_price(const UpperHalf& half, std::size_t depth, std::size_t position, const std::int64_t* row,
                           std::int64_t row_cut, std::int64_t limit);

  const std::vector<const Tensor<std::int64_t>*>& blocks_;
  const SinkNetwork& network_;
  Direction direction_ = Direction::kAny;
  std::vector<std::vector<UpperHalf>> upper_;  // by depth; most recently used first
  std::vector<std::vector<LowerHalf>> lower_;  // by free layer; most recently used first
  std::vector<std::int64_t> arcs_;             // a of the current upper half
  std::vector<std::uint32_t> side_, next_side_;
};

}  // namespace attnflow::internal
