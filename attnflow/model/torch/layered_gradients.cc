#include "attnflow/model/torch/layered_gradients.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

namespace {

// Returns one target's heads, for its tokens alone: [H, tokens, tokens].
at::Tensor as_heads(const at::Tensor& weights, std::int64_t tokens) {
  const at::Tensor heads = weights.reshape({-1, weights.size(-2), weights.size(-1)});
  return on_host(heads.narrow(1, 0, tokens).narrow(2, 0, tokens).contiguous());
}

at::Tensor first_rows(const at::Tensor& x, std::int64_t tokens) { return on_host(x.narrow(0, 0, tokens)); }

// The products of each row with its gradient: [tokens].
at::Tensor relevance_of(const at::Tensor& x, const at::Tensor& gradient, std::int64_t tokens) {
  return first_rows((x * gradient).sum(-1), tokens);
}

// The inputs of each layer, and the last layer's output.
std::vector<at::Tensor> run_forward(const LayeredModel& model, const at::Tensor& input,
                                    const std::stop_token& stop_token) {
  const c10::NoGradGuard no_gradients;
  std::vector<at::Tensor> inputs = {input};
  for (std::size_t layer = 0; layer < model.layers; ++layer) {
    if (stop_token.stop_requested()) throw Cancelled();
    const bool is_last = layer + 1 == model.layers;  // it is the first to run again
    inputs.push_back(model.run_layer(layer, inputs.back(), nullptr, is_last ? std::nullopt : std::optional(layer + 1)));
  }
  return inputs;
}

void send_layer(const LayeredModel& model, std::size_t layer, std::span<const LayeredTarget> targets,
                const at::Tensor& leaf, const LayerTap& tap, const std::vector<at::Tensor>& gradients) {
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::int64_t tokens = to_signed(targets[k].tokens);
    const std::int64_t place = to_signed(k);
    const at::Tensor attention = as_heads(tap.weights[place], tokens);
    at::Tensor slope = as_heads(gradients[1][place], tokens);
    // This is the gradient of the product of attention and values, of which half reached the weights.
    if (model.rule == BackwardRule::kAttnLrp) slope = slope * 2.0;
    const at::Tensor residual = first_rows(leaf.detach()[place], tokens);
    const at::Tensor output_gradient = first_rows(gradients[2][place], tokens);
    const at::Tensor through = relevance_of(tap.written[place], gradients[3][place], tokens);
    const at::Tensor past = relevance_of(tap.passed[place], gradients[3][place], tokens);
    targets[k].sink->layer({.layer = layer + 1,
                            .attention = view_of(attention),
                            .attention_gradient = view_of(slope),
                            .residual = view_of(residual),
                            .output_gradient = view_of(output_gradient),
                            .through_feed_forward = view_of(through),
                            .past_feed_forward = view_of(past)});
  }
}

}  // namespace

std::vector<LayeredGradient> differentiate_layers(const LayeredModel& model, const at::Tensor& input,
                                                  std::span<const LayeredTarget> targets,
                                                  const std::stop_token& stop_token) {
  std::vector<at::Tensor> inputs = run_forward(model, input, stop_token);
  const c10::AutoGradMode with_gradients(true);
  std::vector<LayeredGradient> results;
  std::vector<at::Tensor> tops;
  const at::Tensor stream = inputs.back().detach();
  inputs.pop_back();
  for (const LayeredTarget& target : targets) {
    const at::Tensor leaf = stream.detach().requires_grad_(true);
    const at::Tensor value = target.value(leaf);
    tops.push_back(torch::autograd::grad({value}, {leaf}).front());
    results.push_back({value.item<double>(), tops.back()});
    if (target.sink == nullptr) continue;
    const at::Tensor rows = first_rows(stream[0], to_signed(target.tokens));
    const at::Tensor slope = first_rows(tops.back()[0], to_signed(target.tokens));
    target.sink->top(view_of(rows), view_of(slope));
  }
  const bool has_sinks = !targets.empty() && targets.front().sink != nullptr;
  if (targets.empty() || (has_sinks && !targets.front().sink->wants_layers())) return results;
  at::Tensor gradient = at::cat(tops);
  tops.clear();
  for (std::size_t layer = model.layers; layer-- > 0;) {
    if (stop_token.stop_requested()) throw Cancelled();
    const at::Tensor x = inputs.back();
    inputs.pop_back();
    const at::Tensor leaf =
        (targets.size() == 1 ? x : x.repeat({to_signed(targets.size()), 1, 1})).detach().requires_grad_(true);
    LayerTap tap;
    const std::optional<std::size_t> next = layer == 0 ? std::nullopt : std::optional(layer - 1);
    at::Tensor output = model.run_layer(layer, leaf, has_sinks ? &tap : nullptr, next);
    if (!has_sinks) {
      gradient = torch::autograd::grad({output}, {leaf}, {gradient}).front();
      continue;
    }
    const std::vector<at::Tensor> all =
        torch::autograd::grad({output}, {leaf, tap.weights, tap.output, tap.sum}, {gradient});
    gradient = all[0];
    output.reset();  // and with it the layer's intermediate results
    tap.output.reset();
    tap.sum.reset();
    tap.weights = tap.weights.detach();
    send_layer(model, layer, targets, leaf, tap, all);
  }
  for (std::size_t k = 0; k < results.size(); ++k) results[k].gradient = gradient.narrow(0, to_signed(k), 1);
  return results;
}

at::Tensor value_of(const ScoreTarget& target, const at::Tensor& logits, BackwardRule rule) {
  const auto label = static_cast<std::int64_t>(target.label);
  const auto mean_of_others = [&](const at::Tensor& values) {
    at::Tensor sum = values[static_cast<std::int64_t>(target.others.front())];
    for (std::size_t i = 1; i < target.others.size(); ++i) {
      sum = sum + values[static_cast<std::int64_t>(target.others[i])];
    }
    return sum / static_cast<double>(target.others.size());
  };
  switch (target.kind) {
    case ScoreTarget::Kind::kLogit:
      return logits[label];
    case ScoreTarget::Kind::kLogitDifference:
      return logits[label] - mean_of_others(logits);
    case ScoreTarget::Kind::kLogitAgainstRest: {
      const auto rest = static_cast<double>(logits.numel() - 1);
      return rest == 0.0 ? logits[label] : logits[label] - (logits.sum() - logits[label]) / rest;
    }
    case ScoreTarget::Kind::kProbability:
      return at::softmax(logits, -1)[label];
    case ScoreTarget::Kind::kProbabilityDifference: {
      const at::Tensor probabilities = at::softmax(logits, -1);
      return probabilities[label] - mean_of_others(probabilities);
    }
    case ScoreTarget::Kind::kCosine: {
      const at::Tensor length = logits.norm();
      const at::Tensor direction = at::tensor(target.direction, at::TensorOptions(at::kFloat)).to(logits.device());
      return (logits * direction).sum() / (rule == BackwardRule::kAttnLrp ? length.detach() : length);
    }
  }
  return {};
}

}  // namespace attnflow::internal
