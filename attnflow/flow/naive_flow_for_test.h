// The reference that flow is tested against: maximum flow by augmenting paths (Ford and Fulkerson, 1956, shortest
// first) on exact 128-bit multiples of 2^-100, without bounds, phases or fixed point.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attnflow/flow/layered_network.h"

namespace attnflow {

__extension__ using WideUnits = __int128;

// Converts a double in [0, 2^26) to a multiple of 2^-100: exact for multiples of 2^-100, which includes every double
// above 2^-47; smaller ones lose less than 2^-100.
inline WideUnits wide_units(double value) {
  int exponent = 0;
  const auto mantissa = static_cast<long long>(std::ldexp(std::frexp(value, &exponent), 53));
  const int shift = exponent - 53 + 100;
  if (shift >= 0) return static_cast<WideUnits>(mantissa) << shift;
  return shift > -64 ? static_cast<WideUnits>(mantissa) >> -shift : 0;
}

// Capacities must be below 2^120. Layers are as in LayeredNetwork, bottom first; they must outlive the solver.
class NaiveFlow {
 public:
  explicit NaiveFlow(std::vector<const Tensor<WideUnits>*> layers) : layers_(std::move(layers)), blocks_(depth() + 1) {
    first_.push_back(0);
    first_.push_back(layers_[0]->extent(1));
    for (const auto* layer : layers_) first_.push_back(first_.back() + layer->extent(0));
  }
  std::size_t depth() const { return layers_.size(); }

  WideUnits solve(std::size_t output_token, std::size_t input_token) {
    for (std::size_t k = 1; k <= depth(); ++k) {
      const Tensor<WideUnits>& layer = *layers_[k - 1];
      blocks_[k].down.assign(layer.data(), layer.data() + layer.size());
      blocks_[k].up.assign(layer.size(), 0);
    }
    const std::size_t source = first_[depth()] + output_token;
    const std::size_t sink = first_[0] + input_token;
    WideUnits total = 0;
    while (search(source, sink)) {
      WideUnits push = static_cast<WideUnits>(1) << 126;
      for (std::size_t v = sink; v != source; v = parent_[v]) push = std::min(push, *step_[v].from);
      for (std::size_t v = sink; v != source; v = parent_[v]) {
        *step_[v].from -= push;
        *step_[v].to += push;
      }
      total += push;
    }
    return total;
  }

 private:
  struct Block {
    std::vector<WideUnits> down, up;  // residual capacity, laid out like the layer
  };
  struct Step {
    WideUnits* from;  // the remainder of the arc taken, and of its reverse
    WideUnits* to;
  };
  struct Place {
    std::size_t layer, node;
  };

  bool search(std::size_t source, std::size_t sink) {
    const std::size_t none = first_.back();
    parent_.assign(none, none);
    step_.resize(none);
    queue_.clear();
    parent_[source] = source;
    queue_.push_back({depth(), source - first_[depth()]});
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const auto [k, p] = queue_[head];
      const std::size_t here = first_[k] + p;
      const auto visit = [&](std::size_t layer, std::size_t q, WideUnits& residual, WideUnits& reverse) {
        const std::size_t v = first_[layer] + q;
        if (residual <= 0 || parent_[v] != none) return;
        parent_[v] = here;
        step_[v] = {&residual, &reverse};
        queue_.push_back({layer, q});
      };
      if (k >= 1) {
        const std::size_t below = layers_[k - 1]->extent(1);
        Block& block = blocks_[k];
        for (std::size_t q = 0; q < below; ++q) visit(k - 1, q, block.down[p * below + q], block.up[p * below + q]);
        if (parent_[sink] != none) return true;
      }
      if (k < depth()) {
        const std::size_t width = layers_[k]->extent(1);
        Block& block = blocks_[k + 1];
        for (std::size_t r = 0; r < layers_[k]->extent(0); ++r) {
          visit(k + 1, r, block.up[r * width + p], block.down[r * width + p]);
        }
      }
    }
    return false;
  }

  std::vector<const Tensor<WideUnits>*> layers_;
  std::vector<Block> blocks_;       // blocks_[k]: between layers k and k - 1
  std::vector<std::size_t> first_;  // index of each layer's first node
  std::vector<std::size_t> parent_;
  std::vector<Step> step_;
  std::vector<Place> queue_;
};

inline Tensor<WideUnits> wide_block(const Tensor<double>& block, int exponent = 0) {
  Tensor<WideUnits> wide(block.shape());
  for (std::size_t e = 0; e < block.size(); ++e) wide.data()[e] = wide_units(std::ldexp(block.data()[e], exponent));
  return wide;
}

inline WideUnits naive_max_flow(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token) {
  std::vector<Tensor<WideUnits>> wide;
  for (const auto& block : network.layers) wide.push_back(wide_block(block));
  std::vector<const Tensor<WideUnits>*> layers;
  for (const auto& block : wide) layers.push_back(&block);
  return NaiveFlow(layers).solve(output_token, input_token);
}

}  // namespace attnflow
