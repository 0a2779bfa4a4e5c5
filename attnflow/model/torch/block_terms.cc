#include "attnflow/model/torch/block_terms.h"

#include "attnflow/graph/layer_terms.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

namespace {

// A norm's numbers on the host.
struct HostNorm {
  explicit HostNorm(const Norm* norm) {
    if (norm == nullptr) return;
    scale = on_host(norm->scale);
    terms = {.scale = view_of(scale), .shift = {}, .epsilon = norm->eps};
    if (!norm->shift.defined()) return;
    shift = on_host(norm->shift);
    terms.shift = view_of(shift);
  }

  at::Tensor scale, shift;
  NormTerms terms;
};

}  // namespace

at::Tensor written_projection(const TransformerLayer& layer) {
  at::Tensor projection = layer.attention_output.whole().weight.t();
  if (layer.attention_after.scale.defined()) projection = projection * layer.attention_after.scale;
  if (layer.attention_scale.defined()) projection = projection * layer.attention_scale;
  const double factor = layer.form.residual_factor;
  return factor == 1.0 ? projection : projection * factor;
}

void send_terms(const BlockTerms& block, AttentionSink& sink) {
  const at::Tensor attention = on_host(block.attention);
  const at::Tensor values = on_host(block.values);
  const at::Tensor projection = on_host(block.projection.reshape({attention.size(0), values.size(2), -1}));
  const at::Tensor block_scale = block.block_scale.defined() ? on_host(block.block_scale) : at::Tensor();
  const at::Tensor residual = on_host(block.residual);
  const at::Tensor output = on_host(block.output);
  const HostNorm norm(block.norm);
  const HostNorm last_norm(block.last_norm);

  LayerTerms terms;
  terms.layer = block.layer;
  terms.query_begin = block.begin;
  terms.attention = view_of(attention);
  terms.values = view_of(values);
  terms.output_projection = view_of(projection);
  if (block_scale.defined()) terms.block_scale = view_of(block_scale);
  terms.residual = view_of(residual);
  terms.output = view_of(output);
  terms.norm = norm.terms;
  terms.feed_forward_norm = last_norm.terms;
  if (block.rest) {
    terms.rest = [&](TensorView<const float> rows) {
      const at::Tensor given = from_host(rows).clone().to(block.output.device()).unsqueeze(0);
      return to_host(block.rest(given)[0]);
    };
  }
  sink.terms(terms);
}

}  // namespace attnflow::internal
