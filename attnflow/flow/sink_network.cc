#include "attnflow/flow/sink_network.h"

#include <algorithm>
#include <numeric>

#include "attnflow/base/large_pages.h"
#include "attnflow/flow/layered_network.h"

namespace attnflow::internal {

SinkNetwork::SinkNetwork(const std::vector<const Tensor<std::int64_t>*>& blocks)
    : blocks_(blocks), layer_(blocks.size() + 1), view_(blocks.size() + 1), own_(blocks.size() + 1) {
  // Reserve the largest sizes at once: growing between sinks would copy, and briefly hold twice as much.
  for (std::size_t k = 2; k < blocks.size(); ++k) reserve_in_large_pages(layer_[k].capacity, largest_capacity(k));
}

std::size_t SinkNetwork::largest_capacity(std::size_t k) const {
  return blocks_[k - 1]->extent(0) * padded(blocks_[k - 1]->extent(1));
}

void SinkNetwork::record() {
  if (records_) return;
  records_ = true;
  for (std::size_t k = 2; k < blocks_.size(); ++k) {
    const Tensor<std::int64_t>& block = *blocks_[k - 1];
    reserve_in_large_pages(layer_[k].flow, largest_capacity(k));
    reserve_in_large_pages(layer_[k - 1].inflow, padded(block.extent(1)) * bit_words(block.extent(0)));
  }
  for (std::size_t k = 1; k <= layers_; ++k) prepare_record(k);
}

void SinkNetwork::add_layer(const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high,
                            const std::vector<double>& demand) {
  const std::size_t k = ++layers_;
  SinkLayer& layer = layer_[k];
  layer.position.clear();
  for (std::size_t p = 0; p < high.size(); ++p) {
    if (high[p] > 0) layer.position.push_back(static_cast<std::uint32_t>(p));
  }
  key_.resize(high.size());
  for (const std::uint32_t p : layer.position) {
    key_[p] = demand[p] > 0 ? static_cast<double>(high[p]) / demand[p] : 0.0;
  }
  std::sort(layer.position.begin(), layer.position.end(),
            [this](std::uint32_t a, std::uint32_t b) { return key_[a] != key_[b] ? key_[a] > key_[b] : a < b; });
  layer.nodes = layer.position.size();
  layer.node_at.assign(high.size(), kNoNode);
  layer.low.assign(padded(layer.nodes), 0);
  layer.high.assign(padded(layer.nodes), 0);
  for (std::size_t p = 0; p < layer.nodes; ++p) {
    layer.node_at[layer.position[p]] = static_cast<std::uint32_t>(p);
    layer.low[p] = low[layer.position[p]];
    layer.high[p] = high[layer.position[p]];
  }
  layer.by_low.resize(layer.nodes);
  std::iota(layer.by_low.begin(), layer.by_low.end(), std::uint32_t{0});
  std::sort(layer.by_low.begin(), layer.by_low.end(), [&layer](std::uint32_t a, std::uint32_t b) {
    return layer.low[a] != layer.low[b] ? layer.low[a] > layer.low[b] : a < b;
  });
  if (k >= 2) {
    const SinkLayer& below = layer_[k - 1];
    const Tensor<std::int64_t>& block = *blocks_[k - 1];
    const std::size_t stride = padded(below.nodes);
    layer.capacity.resize(layer.nodes * stride);
    layer.mass.resize(layer.nodes);
    layer.widest.resize(layer.nodes);
    layer.straight.resize(layer.nodes);
    for (std::size_t p = 0; p < layer.nodes; ++p) {
      const std::uint32_t position = layer.position[p];
      const std::int64_t* from = block.data() + position * block.extent(1);
      std::int64_t* to = layer.capacity.data() + p * stride;
      std::int64_t mass = 0;
      std::size_t widest = 0;
      for (std::size_t q = 0; q < below.nodes; ++q) {
        to[q] = from[below.position[q]];
        mass = add_units(mass, to[q]);
        if (to[q] > to[widest]) widest = q;
      }
      std::fill(to + below.nodes, to + stride, 0);
      layer.mass[p] = mass;
      layer.widest[p] = static_cast<std::uint32_t>(widest);
      layer.straight[p] = position < below.node_at.size() ? below.node_at[position] : kNoNode;
    }
  }
  prepare_search(k);
}

void SinkNetwork::prepare_search(std::size_t k) {
  SinkLayer& layer = layer_[k];
  const std::size_t stride = k >= 2 ? padded(layer_[k - 1].nodes) : 0;
  layer.cursor.resize(layer.nodes);
  layer.cursor_left.resize(layer.nodes);
  layer.straight_left.resize(layer.nodes);
  layer.next_alive.resize(layer.nodes + 1);
  layer.arc.resize(layer.nodes);
  layer.distance.resize(padded(layer.nodes));
  layer.unreached.resize(bit_words(layer.nodes));
  view_[k] = {.nodes = layer.nodes,
              .stride = stride,
              .capacity = layer.capacity.data(),
              .straight = layer.straight.data(),
              .cursor = layer.cursor.data(),
              .cursor_left = layer.cursor_left.data(),
              .straight_left = layer.straight_left.data(),
              .next_alive = layer.next_alive.data(),
              .flow = nullptr,
              .inflow = nullptr,
              .inflow_words = 0,
              .distance = layer.distance.data(),
              .unreached = layer.unreached.data(),
              .arc = layer.arc.data()};
  if (records_) prepare_record(k);
}

void SinkNetwork::prepare_record(std::size_t k) {
  if (k < 2) return;
  SinkLayer& layer = layer_[k];
  SinkLayer& below = layer_[k - 1];
  layer.flow.resize(layer.nodes * view_[k].stride);
  view_[k].flow = layer.flow.data();
  view_[k - 1].inflow_words = bit_words(layer.nodes);
  below.inflow.resize(padded(below.nodes) * view_[k - 1].inflow_words);
  view_[k - 1].inflow = below.inflow.data();
}

FlowPass SinkNetwork::pass(std::size_t position) {
  std::size_t nodes = 0;
  for (std::size_t k = 1; k <= layers_; ++k) {
    nodes += layer_[k].nodes;
    own_[k] = position < layer_[k].node_at.size() ? layer_[k].node_at[position] : kNoNode;
  }
  queue_.resize(nodes);
  path_.resize(nodes + 2);
  supply_left_.resize(padded(layer_[layers_].nodes));
  sink_left_.resize(padded(layer_[1].nodes));
  live_blocks_.resize(bit_words(sink_left_.size() / kBlock));
  FlowPass pass{.layers = view_.data(),
                .depth = layers_ + 1,
                .sink_capacity = layer_[1].high.data(),
                .own = own_.data(),
                .supply_left = supply_left_.data(),
                .sink_left = sink_left_.data(),
                .live_blocks = live_blocks_.data(),
                .path = path_.data(),
                .pushes = &pushes_,
                .queue = queue_.data()};
  return pass;
}

}  // namespace attnflow::internal
