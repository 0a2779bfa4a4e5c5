// The graph of one prediction: mixings that need a target and a backward pass (MixingNeeds::kGradients).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/analysis/explain/prediction_target.h"
#include "attnflow/analysis/explain/stop_sink.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// The sink that makes the graph of a mixing that needs gradients, and the rule for taking them.
std::unique_ptr<GraphOfGradientsSink> gradients_sink(std::size_t layers, const ResolvedMixing& mixing);
BackwardRule backward_rule(Mixing mixing);

struct TargetGraph {
  AttentionGraph graph;
  std::optional<double> negative_share;  // as GraphOfGradientsSink::negative_share()
  FeedForwardRelevance feed_forward;     // as GraphOfGradientsSink::feed_forward()
};

// One forward and one backward pass: O(L n^2) memory in addition to the model's. `beside`, if any, sees the same
// layers. Throws as Gradients::attention_gradients() and the sinks do; Cancelled. Progress is in layers.
template <typename Input>
TargetGraph target_graph(ModelOf<Input>& model, const Input& input, const ScoreTarget& target,
                         const ResolvedMixing& mixing, const std::stop_token& stop_token,
                         const ProgressFunction& progress = {}, AttentionGradientSink* beside = nullptr) {
  const std::unique_ptr<GraphOfGradientsSink> sink = gradients_sink(model.info().layers, mixing);
  std::vector<AttentionGradientSink*> sinks = {sink.get()};
  if (beside != nullptr) sinks.push_back(beside);
  StopGradientSink stoppable(std::move(sinks), stop_token, progress, model.info().layers);
  gradients_of(model).attention_gradients(input, target, stoppable, backward_rule(mixing.kind));
  const std::optional<double> share = sink->negative_share();
  FeedForwardRelevance feed_forward = sink->feed_forward();
  return {sink->take(), share, std::move(feed_forward)};
}

}  // namespace attnflow
