// Dinic's algorithm (E. A. Dinic, 1970) on a layered network with dense blocks: one source, one sink, integer
// capacities. A simple, independent solver for tests at sizes where flow/naive_flow_for_test.h is too slow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "attnflow/flow/layered_network.h"

namespace attnflow {

class LayeredDinic {
 public:
  explicit LayeredDinic(const IntegerNetwork& network) : network_(network) {}

  // Returns the maximum flow in units from a source, with arcs `top_row` to layer depth - 1, to node `sink` of layer 0.
  std::int64_t solve(const std::int64_t* top_row, std::size_t depth, std::size_t sink) {
    if (depth == 1) return top_row[sink];
    down_.assign(depth + 1, {});
    for (std::size_t k = 2; k < depth; ++k) down_[k] = network_.layers[k - 1];
    const Tensor<std::int64_t>& bottom = network_.layers[0];
    down_[1] = Tensor<std::int64_t>({bottom.extent(0), 1});
    for (std::size_t p = 0; p < bottom.extent(0); ++p) down_[1](p, 0) = bottom(p, sink);
    const std::size_t top = network_.layers[depth - 2].extent(0);
    down_[depth] = Tensor<std::int64_t>({1, top}, {top_row, top_row + top});
    up_.assign(1, {});
    for (std::size_t k = 1; k <= depth; ++k) up_.emplace_back(down_[k].shape());
    std::int64_t total = 0;
    while (search()) total += push(depth, 0, kManyUnits);
    return total;
  }

 private:
  std::size_t nodes(std::size_t k) const { return k == 0 ? 1 : down_[k].extent(0); }

  bool search() {
    const std::size_t depth = down_.size() - 1;
    distance_.clear();
    current_.clear();
    for (std::size_t k = 0; k <= depth; ++k) {
      distance_.emplace_back(nodes(k), -1);
      current_.emplace_back(nodes(k), 0);
    }
    distance_[depth][0] = 0;
    std::vector<std::pair<std::size_t, std::size_t>> queue = {{depth, 0}};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const auto [k, p] = queue[head];
      const auto reach = [&, k = k, p = p](std::size_t layer, std::size_t q, std::int64_t room) {
        if (room == 0 || distance_[layer][q] >= 0) return;
        distance_[layer][q] = distance_[k][p] + 1;
        queue.emplace_back(layer, q);
      };
      for (std::size_t q = 0; k > 0 && q < nodes(k - 1); ++q) reach(k - 1, q, down_[k](p, q));
      for (std::size_t r = 0; k < depth && r < nodes(k + 1); ++r) reach(k + 1, r, up_[k + 1](r, p));
    }
    return distance_[0][0] >= 0;
  }

  std::int64_t push(std::size_t k, std::size_t p, std::int64_t amount) {
    if (k == 0) return amount;
    const std::size_t below = nodes(k - 1);
    const std::size_t arcs = below + (k + 1 < down_.size() ? nodes(k + 1) : 0);
    std::int64_t sent = 0;
    for (std::size_t& arc = current_[k][p]; arc < arcs; ++arc) {
      const bool is_down = arc < below;
      const std::size_t layer = is_down ? k - 1 : k + 1;
      const std::size_t q = is_down ? arc : arc - below;
      std::int64_t& room = is_down ? down_[k](p, q) : up_[layer](q, p);
      std::int64_t& back = is_down ? up_[k](p, q) : down_[layer](q, p);
      if (room == 0 || distance_[layer][q] != distance_[k][p] + 1) continue;
      const std::int64_t x = push(layer, q, std::min(room, amount - sent));
      room -= x;
      back += x;
      sent += x;
      if (sent == amount) break;  // the arc may have room left
    }
    return sent;
  }

  const IntegerNetwork& network_;
  // Residual capacities between layers k and k - 1; the source is layer `depth`.
  std::vector<Tensor<std::int64_t>> down_, up_;
  std::vector<std::vector<int>> distance_;
  std::vector<std::vector<std::size_t>> current_;  // arcs before it are exhausted: those down first, then those up
};

}  // namespace attnflow
