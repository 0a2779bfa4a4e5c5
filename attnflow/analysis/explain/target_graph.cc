#include "attnflow/analysis/explain/target_graph.h"

#include "attnflow/graph/relevance_mixing.h"

namespace attnflow {

std::unique_ptr<GraphOfGradientsSink> gradients_sink(std::size_t layers, const ResolvedMixing& mixing) {
  if (backward_rule(mixing.kind) == BackwardRule::kAttnLrp) {
    const bool by_head = mixing.kind == Mixing::kRelevanceByHead;
    return std::make_unique<RelevanceGraphSink>(layers, mixing.removal(),
                                                by_head ? RelevanceParts::kByHead : RelevanceParts::kTogether);
  }
  return std::make_unique<GradientGraphSink>(layers,
                                             GradientMixingOptions{mixing_info(mixing.kind).rule, mixing.removal()});
}

BackwardRule backward_rule(Mixing mixing) {
  return mixing_info(mixing).rule == ResidualRule::kContainedNormalized ? BackwardRule::kAttnLrp
                                                                        : BackwardRule::kGradient;
}

}  // namespace attnflow
