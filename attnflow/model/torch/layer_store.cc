#include "attnflow/model/torch/layer_store.h"

#include <c10/core/InferenceMode.h>

#include <utility>

#include "attnflow/model/torch/split_work.h"

namespace attnflow::internal {

LayerStore::LayerStore(std::size_t layers, Make make, bool all) : layers_(layers), make_(std::move(make)) {
  if (!all) return;
  for (std::size_t index = 0; index < layers; ++index) {
    all_.push_back(std::make_shared<const TransformerLayer>(make_(index)));
  }
}

LayerStore::Layer LayerStore::get(std::size_t index, std::optional<std::size_t> next) const {
  if (!all_.empty()) return all_[index];
  const std::scoped_lock lock(changing_);
  const c10::InferenceMode normal(false);  // a layer made for a forward pass may serve a backward pass
  if (!last_ || last_->index != index) {
    last_.reset();  // its memory serves the next one
    if (coming_ && coming_->index == index) {
      last_ = Made{index, std::exchange(coming_, std::nullopt)->layer.get()};
    } else {
      last_ = Made{index, std::make_shared<const TransformerLayer>(make_(index))};
    }
  }
  if (next && *next < layers_ && *next != index && (!coming_ || coming_->index != *next)) {
    coming_.reset();
    coming_ = Coming{*next, std::async(std::launch::async, [this, wanted = *next] {
                       keep_calls_on_one_thread();
                       return Layer(std::make_shared<const TransformerLayer>(make_(wanted)));
                     })};
  }
  return last_->layer;
}

}  // namespace attnflow::internal
