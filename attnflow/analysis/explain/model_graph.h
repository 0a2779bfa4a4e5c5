// The graph that a model makes of an input, whatever its matrices are made of: attention or contributions during the
// run, or gradients of a target in a backward pass after it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/analysis/explain/stop_sink.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model.h"
#include "attnflow/rollout/descending_rollout.h"

namespace attnflow {

// The sink that makes the graph of a mixing that needs gradients, and the rule for taking them.
std::unique_ptr<GraphOfGradientsSink> gradients_sink(std::size_t layers, const ResolvedMixing& mixing);
BackwardRule backward_rule(Mixing mixing);

struct ModelGraphQuestion {
  const ResolvedMixing& mixing;
  bool keep_attention = false;
  // Rollout over attention that a pass back shows beside its own matrices; none without tokens.
  DescendingQuestion beside = {};
  std::size_t tokens = 0;
  bool in_chunks = false;  // as decoders hand their layers over
  std::size_t threads = 0;
  std::stop_token stop_token = {};
  RunOptions run = {};
  ProgressFunction reading = {};  // of the model's pass, in tokens
  PhaseStart phases = {};         // of the pass back, in layers
};

struct ModelGraph {
  AttentionGraph graph;
  Tensor<float> attention;               // [layer, head, query, key], if it is to be kept
  std::optional<double> negative_share;  // as GraphOfGradientsSink::negative_share()
  FeedForwardRelevance feed_forward;     // as GraphOfGradientsSink::feed_forward()
  std::vector<double> attention_row;     // ModelGraphQuestion::beside, if there was a pass back
};

// `target_of`: from ModelOutput to std::optional<ScoreTarget>; called once, after the model has run, and must give one
// if the mixing needs gradients. Memory: O(L n^2), or O(L H n^2) if attention is kept. Throws as the model does, and
// the sinks, and Gradients::attention_gradients(); Cancelled.
template <typename Input, typename TargetOf>
ModelGraph model_graph(ModelOf<Input>& model, const Input& input, const ModelGraphQuestion& question,
                       const TargetOf& target_of) {
  const std::size_t layers = model.info().layers;
  const MixingInfo& mixing = mixing_info(question.mixing.kind);
  const MixingNeeds needs = mixing.needs;
  // The smallest weights of attention in chunks are known only at the end.
  const bool keeps_stack = question.keep_attention || (needs == MixingNeeds::kAttention && question.in_chunks &&
                                                       question.mixing.mixing.discard > 0.0);
  const std::size_t in_chunks = question.in_chunks ? question.tokens : 0;
  std::optional<StackSink> stack;
  std::optional<GraphSink> attention;
  std::optional<ContributionGraphSink> contributions;
  std::vector<AttentionSink*> sinks;
  if (needs == MixingNeeds::kTerms) {
    contributions.emplace(layers, question.mixing.contributions(question.threads), in_chunks);
    sinks.push_back(&*contributions);
  } else if (needs == MixingNeeds::kAttention && !keeps_stack) {
    attention.emplace(layers, question.mixing.mixing, in_chunks);
    sinks.push_back(&*attention);
  }
  if (keeps_stack) sinks.push_back(&stack.emplace(layers, question.tokens));
  const bool looks = !sinks.empty();
  RunOptions run = question.run;
  if (!looks) run.progress = question.reading;
  StopSink together(std::move(sinks), question.stop_token,
                    PassProgress(looks ? question.reading : ProgressFunction(), layers, question.tokens));
  const auto target = target_of(model.run(input, looks ? &together : nullptr, run));
  ModelGraph result;
  if (contributions) result.graph = contributions->take();
  if (attention) result.graph = attention->take();
  if (stack) {
    const AttentionStack kept = stack->take();
    if (needs == MixingNeeds::kAttention) result.graph = attention_graph(kept, question.mixing.mixing);
    if (question.keep_attention) result.attention = kept.weights();
  }
  if (mixing.has_target()) {
    const std::unique_ptr<GraphOfGradientsSink> gradients = gradients_sink(layers, question.mixing);
    DescendingRollout beside(question.beside);
    const bool has_row = !question.beside.tokens.empty();
    std::vector<AttentionGradientSink*> back = {gradients.get()};
    if (has_row) back.push_back(&beside);
    StopGradientSink stoppable(std::move(back), question.stop_token,
                               question.phases ? question.phases("layers passed back") : ProgressFunction(), layers);
    gradients_of(model).attention_gradients(input, *target, stoppable, backward_rule(question.mixing.kind));
    if (has_row) result.attention_row = beside.take();
    result.negative_share = gradients->negative_share();
    result.feed_forward = gradients->feed_forward();
    result.graph = gradients->take();
  }
  return result;
}

}  // namespace attnflow
