#include "attnflow/model/torch/layer_terms.h"

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

void send_terms(const TransformerLayer& layer, const AttendedLayer& attended, AttentionSink& sink) {
  const LayerForm& form = layer.form;
  at::Tensor projection = layer.attention_output.weight.t();  // [H d, hidden]
  if (layer.attention_after.scale.defined()) projection = projection * layer.attention_after.scale;
  if (layer.attention_scale.defined()) projection = projection * layer.attention_scale;
  if (form.residual_factor != 1.0) projection = projection * form.residual_factor;
  projection = on_host(projection.reshape({form.heads, form.head_width, -1}));
  const at::Tensor attention = on_host(attended.attention);
  const at::Tensor values = on_host(attended.values);
  const at::Tensor x = on_host(attended.x[0]);
  const at::Tensor y = on_host(attended.y[0]);

  LayerTerms terms;
  terms.layer = attended.index + 1;
  terms.query_begin = attended.query_begin;
  terms.attention = view_of(attention);
  terms.values = view_of(values);
  terms.output_projection = view_of(projection);
  terms.residual = view_of(x);
  terms.output = view_of(y);
  const at::Tensor block_scale = attended.block_scale.defined() ? on_host(attended.block_scale) : at::Tensor();
  if (block_scale.defined()) terms.block_scale = view_of(block_scale);
  at::Tensor scale, shift, last_scale, last_shift;
  if (form.norm_place == NormPlace::kAfter) {
    terms.norm = norm_terms(layer.attention_norm, scale, shift);
    terms.feed_forward_norm = norm_terms(layer.feed_forward_norm, last_scale, last_shift);
  }
  if (attended.rest && !block_scale.defined()) {  // with a norm of the block's output, it does not depend on y alone
    terms.rest = [&](TensorView<const float> rows) {
      return to_host(attended.rest(from_host(rows).clone().to(attended.y.device()).unsqueeze(0))[0]);
    };
  }
  sink.terms(terms);
}

}  // namespace attnflow::internal
