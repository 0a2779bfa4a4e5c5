// A stack's layers as libtorch tensors: all of them, or only those at hand.
//
// Problem. libtorch computes in float32, but files hold 4 to 16 bits per number. All layers in float32 take up to eight
// times the file's memory, and a text runs through one layer at a time.
//
// Method. Weights that lie in the file as float32 are used in place, and there is nothing to do. Otherwise a layer is
// made when it runs, from its stored form, and given back when the next one runs. While it runs, another thread makes
// the next one. Quantized maps are not made at all, but read by panels (weight_rows.h). Memory: two layers, without
// these. Work: each pass over the layers converts every number once, about as much as the product with ten tokens.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

class LayerStore {
 public:
  using Layer = std::shared_ptr<const TransformerLayer>;
  using Make = std::function<TransformerLayer(std::size_t index)>;

  // With `all`, makes every layer now. `make` may be called on another thread.
  LayerStore(std::size_t layers, Make make, bool all);

  // Layer `index` for as long as the caller holds it; `next` will be asked for next. One thread at a time gains: others
  // get their layers, but make more of them.
  Layer get(std::size_t index, std::optional<std::size_t> next = {}) const;

 private:
  struct Made {
    std::size_t index = 0;
    Layer layer;
  };
  struct Coming {
    std::size_t index = 0;
    std::future<Layer> layer;
  };

  std::size_t layers_;
  Make make_;
  std::vector<Layer> all_;  // empty: only those at hand
  mutable std::mutex changing_;
  mutable std::optional<Made> last_;
  mutable std::optional<Coming> coming_;  // destroyed first: its destructor waits for the other thread
};

}  // namespace attnflow::internal
