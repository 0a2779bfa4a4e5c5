#include "attnflow/model/torch/sink_ops.h"

#include <utility>

#include "attnflow/graph/layer_terms.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

namespace {

NormTerms norm_terms(const Norm& norm, at::Tensor& scale, at::Tensor& shift) {
  scale = on_host(norm.scale);
  if (norm.shift.defined()) shift = on_host(norm.shift);
  return {.scale = view_of(scale),
          .shift = shift.defined() ? view_of(shift) : TensorView<const float>(),
          .epsilon = norm.eps};
}

}  // namespace

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
  const LayerForm& form = layer.form;
  at::Tensor projection = layer.attention_output.whole().weight.t();  // [H d, hidden]
  if (layer.attention_after.scale.defined()) projection = projection * layer.attention_after.scale;
  if (layer.attention_scale.defined()) projection = projection * layer.attention_scale;
  if (form.residual_factor != 1.0) projection = projection * form.residual_factor;
  projection = on_host(projection.reshape({form.heads, form.head_width, -1}));
  const at::Tensor attention = on_host(std::exchange(attention_, {}));
  const at::Tensor values = on_host(std::exchange(values_, {}));
  const at::Tensor before = on_host(x[0]);
  const at::Tensor after = on_host(y[0]);

  LayerTerms terms;
  terms.layer = index + 1;
  terms.query_begin = begin_;
  terms.attention = view_of(attention);
  terms.values = view_of(values);
  terms.output_projection = view_of(projection);
  terms.residual = view_of(before);
  terms.output = view_of(after);
  const at::Tensor block_scale = block_scale_.defined() ? on_host(block_scale_) : at::Tensor();
  if (block_scale.defined()) terms.block_scale = view_of(block_scale);
  at::Tensor scale, shift, last_scale, last_shift;
  if (form.norm_place == NormPlace::kAfter) {
    terms.norm = norm_terms(layer.attention_norm, scale, shift);
    terms.feed_forward_norm = norm_terms(layer.feed_forward_norm, last_scale, last_shift);
  }
  // With a norm of the block's output, or parallel halves, the rest does not depend on y alone.
  if (!form.parallel && !block_scale.defined()) {
    terms.rest = [&](TensorView<const float> rows) {
      const at::Tensor given = from_host(rows).clone().to(y.device()).unsqueeze(0);
      return to_host(rest_of_layer(*this, layer, given)[0]);
    };
  }
  sink_->terms(terms);
  return y;
}

}  // namespace attnflow::internal
