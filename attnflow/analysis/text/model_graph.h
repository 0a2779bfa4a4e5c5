// The graph that a model makes of an input, whatever its matrices are made of: attention or contributions during the
// run, or gradients of a target in a backward pass after it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/graph/attention_mask.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model.h"
#include "attnflow/rollout/descending_rollout.h"

namespace attnflow {

// The graph of one mixing, from what it needs of a model: the layers while it runs, or those of a pass back.
class MixingGraph {
 public:
  // `in_chunks`: the number of tokens of a decoder, whose layers come in chunks of queries; else 0.
  MixingGraph(std::size_t layers, const ResolvedMixing& mixing, std::size_t in_chunks = 0, std::size_t threads = 0);

  AttentionSink* forward() const;  // null if it needs a pass back
  GraphOfGradientsSink* backward() const { return gradients_.get(); }
  BackwardRule rule() const { return rule_; }
  // Call once all layers have come.
  AttentionGraph take();

 private:
  std::unique_ptr<GraphSink> attention_;
  std::unique_ptr<ContributionGraphSink> contributions_;
  std::unique_ptr<GraphOfGradientsSink> gradients_;
  BackwardRule rule_ = BackwardRule::kGradient;
};

struct ModelGraphQuestion {
  const ResolvedMixing& mixing;
  const ExplainOptions& options;
  // Rollout over attention that a pass back shows beside its own matrices; none without tokens.
  DescendingQuestion beside = {};
  std::size_t tokens = 0;
  AttentionMask mask = false;
  bool in_chunks = false;  // as decoders hand their layers over
  RunOptions run = {};
};

struct ModelGraph {
  AttentionGraph graph;
  AttentionMask mask = false;            // of the graph
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
  const ExplainOptions& options = question.options;
  const bool of_attention = mixing_info(question.mixing.kind).needs == MixingNeeds::kAttention;
  // The smallest weights of attention in chunks are known only at the end.
  const bool keeps_stack =
      options.keep_attention || (of_attention && question.in_chunks && question.mixing.mixing.discard > 0.0);
  std::optional<StackSink> stack;
  std::optional<MixingGraph> graph;
  std::vector<AttentionSink*> sinks;
  if (!of_attention || !keeps_stack) {
    graph.emplace(layers, question.mixing, question.in_chunks ? question.tokens : 0, options.threads);
    if (graph->forward() != nullptr) sinks.push_back(graph->forward());
  }
  if (keeps_stack) sinks.push_back(&stack.emplace(layers, question.tokens));
  const bool looks = !sinks.empty();
  RunOptions run = question.run;
  if (!looks) run.progress = options.reading;
  StopSink together(std::move(sinks), options.stop_token,
                    PassProgress(looks ? options.reading : ProgressFunction(), layers, question.tokens));
  const auto target = target_of(model.run(input, looks ? &together : nullptr, run));
  ModelGraph result;
  result.mask = question.mask;
  if (stack) {
    const AttentionStack kept = stack->take();
    if (of_attention) result.graph = attention_graph(kept, question.mixing.mixing);
    if (options.keep_attention) result.attention = kept.weights();
  }
  if (!graph) return result;
  if (GraphOfGradientsSink* const gradients = graph->backward()) {
    DescendingRollout beside(question.beside);
    const bool has_row = !question.beside.tokens.empty();
    std::vector<AttentionGradientSink*> back = {gradients};
    if (has_row) back.push_back(&beside);
    StopGradientSink stoppable(std::move(back), options.stop_token,
                               options.phases ? options.phases("layers passed back") : ProgressFunction(), layers);
    gradients_of(model).attention_gradients(input, *target, stoppable, graph->rule());
    if (has_row) result.attention_row = beside.take();
    result.negative_share = gradients->negative_share();
    result.feed_forward = gradients->feed_forward();
  }
  result.graph = graph->take();
  return result;
}

// Fills the report with what the graph says: attention that is kept, the row of rollout over attention (summed over
// `groups`, the positions of each token), and as fill_report() does.
void fill_report_of_model(Report& report, ModelGraph made, const TokenGroups& groups, const ReportQuestion& question,
                          const ExplainOptions& options);

}  // namespace attnflow
