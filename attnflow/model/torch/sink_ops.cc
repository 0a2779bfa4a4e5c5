#include "attnflow/model/torch/sink_ops.h"

#include <utility>

#include "attnflow/model/torch/block_terms.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

void SinkOps::deliver(std::size_t index, at::Tensor attention, at::Tensor value) {
  if (sink_ == nullptr) return;
  if (sink_->wants_terms()) {
    attention_ = std::move(attention);
    values_ = value[0];
    return;
  }
  value.reset();
  const at::Tensor host = on_host(attention);
  sink_->layer(index + 1, begin_, view_of(host));
}

const at::Tensor& SinkOps::attended(const TransformerLayer& layer, std::size_t index, const at::Tensor& x,
                                    const at::Tensor& y) {
  if (!wants_terms()) return y;
  BlockTerms block{.layer = index + 1,
                   .begin = begin_,
                   .attention = std::exchange(attention_, {}),
                   .values = std::exchange(values_, {}),
                   .projection = written_projection(layer),
                   .block_scale = block_scale_,
                   .residual = x[0],
                   .output = y[0]};
  if (layer.form.norm_place == NormPlace::kAfter) {
    block.norm = &layer.attention_norm;
    block.last_norm = &layer.feed_forward_norm;
  }
  // With a norm of the block's output, or parallel halves, the rest does not depend on y alone.
  if (!layer.form.parallel && !block_scale_.defined()) {
    block.rest = [&](at::Tensor rows) { return rest_of_layer(*this, layer, std::move(rows)); };
  }
  send_terms(block, *sink_);
  return y;
}

}  // namespace attnflow::internal
