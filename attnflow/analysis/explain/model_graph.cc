#include "attnflow/analysis/explain/model_graph.h"

#include "attnflow/graph/relevance_mixing.h"

namespace attnflow {

std::unique_ptr<GraphOfGradientsSink> gradients_sink(std::size_t layers, const ResolvedMixing& mixing) {
  const MixingInfo& info = mixing_info(mixing.kind);
  if (info.needs == MixingNeeds::kRelevance) {
    return std::make_unique<RelevanceGraphSink>(layers, mixing.removal(),
                                                info.by_head ? RelevanceParts::kByHead : RelevanceParts::kTogether);
  }
  return std::make_unique<GradientGraphSink>(layers, GradientMixingOptions{info.rule, mixing.removal()});
}

BackwardRule backward_rule(Mixing mixing) {
  return mixing_info(mixing).needs == MixingNeeds::kRelevance ? BackwardRule::kAttnLrp : BackwardRule::kGradient;
}

}  // namespace attnflow
