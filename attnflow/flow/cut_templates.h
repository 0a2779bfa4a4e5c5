// Cuts that were found for some pairs, tried on others.
//
// Minimum cuts of attention graphs have few shapes. From the top down, the source side of most is, in each layer: the
// source's own position and a few more (hubs that everyone attends to, or neighbours); then, in one layer, some set
// that differs from pair to pair; then all nodes but a few near the sink. So a cut found by a failed search is kept in
// two halves around that *free* layer m:
//
//   * upper half: the few nodes S_k of each layer k > m, as positions or as offsets from the source's position;
//   * lower half: the nodes R_k on the sink's side, in each layer k < m. For one sink, its price is a number, the
//     capacity of the arcs it cuts below layer m - 1, and a vector, b[j] = the arcs from node j of layer m into
//     R_(m-1).
//
// In causal networks arcs lead to the same or lower positions (upside down, to the same or higher ones), so that a
// source whose arcs end at position t reaches none beyond t. For it the nodes beyond t, wherever the cut had them, can
// stand on the sink's side: no arc leads there, and what they would have cost is saved. So the price of a lower half is
// a number for each t. Sources that reach most should come first: a cut found for one then holds for those that reach
// less.
//
// Any upper half with any lower half of the same free layer gives a cut for any pair, once each node j of the free
// layer takes the cheaper side:  price(upper) + price(lower) + sum_j min(a[j], b[j]),  a[j] = the arcs from S_(m+1)
// into j. Where that equals a known flow, the flow is proven maximum without any search.
//
// O(n) a combination. Lower halves are forgotten with their sink; upper halves stay. What is tried never changes a
// value, only how it is proven.
#ifndef ATTNFLOW_FLOW_CUT_TEMPLATES_H_
#define ATTNFLOW_FLOW_CUT_TEMPLATES_H_

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

  // A new sink, whose arcs from the nodes of layer 1 have these capacities.
  void start_sink(const std::vector<std::int64_t>& column);

  // The least price of a known template for the source at `position`, whose arcs by position of layer depth - 1 are
  // `row` (`row_cut`: those that lead to nodes that reach the sink, in all); `upper` when none is cheaper. Looks no
  // further once a price is as low as `flow`, the value of a known flow.
  std::int64_t upper_bound(std::size_t depth, std::size_t position, const std::int64_t* row, std::int64_t row_cut,
                           std::int64_t flow, std::int64_t upper);

  // Learns from the source side of the cut that a search left in `pass`.
  void learn(std::size_t position, const FlowPass& pass);

 private:
  struct Member {
    std::int32_t where;  // a position, or an offset from the source's
    bool relative;
    friend bool operator==(const Member&, const Member&) = default;
  };
  struct UpperHalf {
    std::size_t free_layer = 0;
    std::vector<std::vector<Member>> members;  // members[t]: of layer free_layer + 1 + t
    friend bool operator==(const UpperHalf&, const UpperHalf&) = default;
  };
  struct LowerHalf {
    std::vector<std::vector<std::uint32_t>> sink_side;  // R_k by node, k = 1 ... free layer - 1
    std::vector<std::int64_t> price;                    // by t, or one number
    std::int64_t price_of(std::size_t t) const { return price[std::min(t, price.size() - 1)]; }
    std::vector<std::int64_t> room;  // b, by position of the free layer
  };

  // Where arcs lead: anywhere, to the same or lower positions, to the same or higher ones. Those into the sink aside.
  enum class Direction : std::uint8_t { kAny, kDown, kUp };

  // t of a source, as an index into prices.
  std::size_t reach(std::size_t depth, const std::int64_t* row) const;
  std::int64_t upper_price(const UpperHalf& half, std::size_t depth, std::size_t position, const std::int64_t* row,
                           std::int64_t row_cut, std::int64_t limit);

  const std::vector<const Tensor<std::int64_t>*>& blocks_;
  const SinkNetwork& network_;
  Direction direction_ = Direction::kAny;
  std::vector<std::vector<UpperHalf>> upper_;  // by depth; last used first
  std::vector<std::vector<LowerHalf>> lower_;  // by free layer; last used first
  std::vector<std::int64_t> arcs_;             // a of the upper half at hand
  std::vector<std::uint32_t> side_, next_side_;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FLOW_CUT_TEMPLATES_H_
