#include "attnflow/model/torch/joint_gradients.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>
#include <vector>

#include "attnflow/model/fail.h"
#include "attnflow/model/torch/autograd_ops.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {
namespace {

// Runs decoder layers, which also attend to the encoder's output.
class TargetGradientOps : public AutogradOps {
 public:
  at::Tensor states;                          // the encoder's output, [1, m, hidden]
  const TransformerLayer* running = nullptr;  // the layer
  at::Tensor stream;                          // before the block that attends to the source
  LayerTap to_source;                         // of that block

  at::Tensor attend_to_source(const LayerForm& form, std::size_t index, const at::Tensor& query) {
    const auto by_head = [&](const Linear& map) {
      return linear(map, states).view({1, states.size(1), -1, form.head_width});
    };
    AutogradOps ops = *this;
    ops.causal = false;
    ops.score_bias.reset();
    ops.tap = &to_source;
    return ops.attend(form, index, query, by_head(running->cross_key), by_head(running->cross_value));
  }
  const at::Tensor& attended_to_source(const TransformerLayer& /*layer*/, std::size_t /*index*/, const at::Tensor& y,
                                       const at::Tensor& z) {
    stream = y.detach();
    to_source.output = z;
    return z;
  }
};

// Attention of a layer of the joint graph: its rows and columns begin at these tokens.
struct Block {
  std::size_t layer = 0;
  at::Tensor weights;  // [1, G, H / G, row, column]
  at::Tensor slope;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

class JointLayers {
 public:
  // `sink` may be null.
  JointLayers(AttentionGradientSink* sink, BackwardRule rule, std::int64_t tokens)
      : sink_(sink), rule_(rule), tokens_(tokens) {}

  // Streams and gradients of all tokens: [1, m, hidden] of the source, then the target's.
  void send(const Block& block, const at::Tensor& source, const at::Tensor& target, const at::Tensor& source_gradient,
            const at::Tensor& target_gradient) {
    if (sink_ == nullptr) return;
    at::Tensor attention = whole(block, block.weights.detach());
    stand_alone(attention, block);
    // This is the gradient of the product of attention and values, of which half reached the weights.
    const at::Tensor slope = whole(block, rule_ == BackwardRule::kAttnLrp ? block.slope * 2.0 : block.slope);
    const at::Tensor residual = joined(source, target);
    const at::Tensor gradient = joined(source_gradient, target_gradient);
    sink_->layer({.layer = block.layer,
                  .attention = view_of(attention),
                  .attention_gradient = view_of(slope),
                  .residual = view_of(residual),
                  .output_gradient = view_of(gradient)});
  }
  void top(const at::Tensor& source, const at::Tensor& target, const at::Tensor& gradient) {
    if (sink_ == nullptr) return;
    const at::Tensor residual = joined(at::zeros_like(source), target);
    const at::Tensor slope = joined(at::zeros_like(source), gradient);
    sink_->top(view_of(residual), view_of(slope));
  }

  static at::Tensor joined(const at::Tensor& source, const at::Tensor& target) {
    return on_host(at::cat({source[0].detach(), target[0].detach()}));
  }

 private:
  // [head, token, token], zeros outside the block.
  at::Tensor whole(const Block& block, const at::Tensor& numbers) const {
    const at::Tensor heads = numbers.reshape({-1, numbers.size(-2), numbers.size(-1)});
    const at::Tensor all = at::zeros({heads.size(0), tokens_, tokens_}, heads.options());
    all.narrow(1, block.row, heads.size(1)).narrow(2, block.column, heads.size(2)).copy_(heads);
    return on_host(all);
  }

  // The tokens without a row of the block attend to themselves alone, as where the model runs.
  static void stand_alone(at::Tensor& attention, const Block& block) {
    const std::int64_t end = block.row + block.weights.size(-2);
    at::Tensor own = attention.diagonal(0, 1, 2);  // [head, token]
    own.narrow(1, 0, block.row).fill_(1.0);
    own.narrow(1, end, own.size(1) - end).fill_(1.0);
  }

  AttentionGradientSink* sink_;
  BackwardRule rule_;
  std::int64_t tokens_;
};

// The inputs of each layer, and the output of the last.
template <typename Ops>
std::vector<at::Tensor> inputs_of(const ModelTensors& stack, Ops& ops, at::Tensor x) {
  std::vector<at::Tensor> inputs = {std::move(x)};
  for (std::size_t index = 0; index < stack.config.layers; ++index) {
    const TransformerLayer& layer = *stack.layers.get(index, index + 1);
    if constexpr (SeesSource<Ops>) ops.running = &layer;
    inputs.push_back(run_layer(ops, layer, index, inputs.back()));
  }
  return inputs;
}

at::Tensor leaf_of(const at::Tensor& x) { return x.detach().requires_grad_(true); }

}  // namespace

InputGradient differentiate_joint(const JointGradientQuestion& question, AttentionGradientSink* sink) {
  const ModelTensors& encoder = question.encoder;
  const ModelTensors& decoder = question.decoder;
  const std::int64_t m = to_signed(question.source.size());
  const std::int64_t n = to_signed(question.target.size());
  AutogradOps below;
  below.rule = question.rule;
  below.score_bias = question.source_bias;
  TargetGradientOps above;
  above.rule = question.rule;
  above.score_bias = question.target_bias;
  above.causal = true;
  std::vector<at::Tensor> sources, targets;
  {
    const c10::NoGradGuard no_gradients;
    at::Tensor source = encoder.embed(question.source, 0);
    at::Tensor target = decoder.embed(question.target, 0);
    if (question.embedding != nullptr) {
      const at::Tensor both = at::cat({source, target}, 1);
      replace_embedding(both[0], *question.embedding);
      source = both.narrow(1, 0, m);
      target = both.narrow(1, m, n);
    }
    sources = inputs_of(encoder, below, std::move(source));
    above.states = below.normed(encoder.final_norm, sources.back());
    targets = inputs_of(decoder, above, std::move(target));
  }
  const at::Tensor states = above.states;
  const c10::AutoGradMode with_gradients(true);
  JointLayers joint(sink, question.rule, m + n);

  if (question.score.position && to_signed(*question.score.position) < m) {
    internal::fail(ErrorKind::kUsage, "expected a target at a position of the decoder, from {} to {}, found {}", m,
                   m + n - 1, *question.score.position);
  }
  at::Tensor stream = leaf_of(targets.back());
  const std::int64_t row = question.score.position ? to_signed(*question.score.position) - m : n - 1;
  const at::Tensor value = decoder.value(above, question.score, stream[0][row]);
  at::Tensor gradient = torch::autograd::grad({value}, {stream}).front();
  joint.top(states, stream, gradient);
  InputGradient result;
  result.value = value.item<double>();
  if (sink != nullptr && !sink->wants_layers()) return result;

  at::Tensor come = at::zeros_like(states);  // the gradient that has come to the encoder's output
  LayerTap tap;
  above.tap = &tap;
  for (std::size_t index = decoder.config.layers; index-- > 0;) {
    const std::size_t number = encoder.config.layers + 2 * index;
    const at::Tensor x = leaf_of(targets[index]);
    above.states = leaf_of(states);
    above.running = decoder.layers.get(index, std::nullopt).get();
    const at::Tensor output = run_layer(above, *above.running, index, x);
    const LayerTap& cross = above.to_source;
    const std::vector<at::Tensor> of = torch::autograd::grad(
        {output}, {x, above.states, tap.weights, tap.output, cross.weights, cross.output}, {gradient});
    joint.send({number + 2, cross.weights, of[4], m, 0}, states, above.stream, come, of[5]);
    come = come + of[1];
    joint.send({number + 1, tap.weights, of[2], m, m}, states, x, come, of[3]);
    gradient = of[0];
  }

  stream = leaf_of(sources.back());
  at::Tensor source_gradient =
      torch::autograd::grad({below.normed(encoder.final_norm, stream)}, {stream}, {come}).front();
  below.tap = &tap;
  for (std::size_t index = encoder.config.layers; index-- > 0;) {
    const at::Tensor x = leaf_of(sources[index]);
    const at::Tensor output = run_layer(below, *encoder.layers.get(index, std::nullopt), index, x);
    const std::vector<at::Tensor> of = torch::autograd::grad({output}, {x, tap.weights, tap.output}, {source_gradient});
    joint.send({index + 1, tap.weights, of[1], 0, 0}, x, targets.front(), of[2], gradient);
    source_gradient = of[0];
  }
  result.embedding = to_host(JointLayers::joined(sources.front(), targets.front()));
  result.gradient = to_host(JointLayers::joined(source_gradient, gradient));
  return result;
}

}  // namespace attnflow::internal
